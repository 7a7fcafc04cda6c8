package perl

import (
	"errors"
	"fmt"
)

// Kinds of calls.
const (
	callSub = iota
	callFormat
	callBlock // eval { }
	callText  // eval of a text
	callFile  // require, use, do
	callMain  // the main program
	callTry   // try { }, which caller does not list
)

// A call is a sub, an eval or a file that an interpreter runs, as caller lists them, and the main program.
type call struct {
	at       uint64 // the context; 0 of the main program
	kind     int
	function string
	cv       uint64 // whose variables it has; 0 if that is another call's
	depth    uint64 // how often the code runs
	retop    uint64 // the operation to which it returns; 0 if C called it
	env      uint64 // of an eval: on the native stack, where its errors go
	// arguments says that it has @_.
	arguments bool
	hook      bool // of the code that handles an error before it is raised
	place
	known bool  // the place is
	outer *call // of an eval of a block: what has its variables, too
}

// A level is calls that one native frame runs: what an interpreter ran since C entered it. list[from:to], youngest first.
type level struct {
	from, to int
	native   int  // the frame; -1 if it is not known
	soft     bool // it may be one with the next: nothing says whether C called its oldest call, or the end of code that C called
}

// A stack is what a thread's interpreter runs.
type stack struct {
	list   []call
	levels []level
}

// Limits on what memory can ask for.
const (
	maxContexts = 1 << 20 // of one stack
	maxCalls    = 1 << 17
	maxInfos    = 1 << 12
)

var (
	errLimit = errors.New("the limit of the analysis is reached in its Perl calls")
	errDeep  = errors.New("it has too many Perl calls")
)

// calls lists the calls of an interpreter, youngest first. With an error it has those before the damage.
func (r *runtime) calls(interpreter uint64) (s stack, err error) {
	b := stackBuilder{r: r, cop: r.Word(r.global(interpreter, "curcop"))}
	at := r.Word(r.global(interpreter, "curstackinfo"))
	for n := 0; at != 0; n++ {
		if n >= maxInfos || !r.isInfo(at) {
			b.close()
			return b.stack, fmt.Errorf("its stack of Perl's contexts at %#x is damaged", at)
		}
		b.kind = r.number(at, "info.type")
		if err := b.contexts(r.field(at, "info.contexts"), int32(r.number(at, "info.index"))); err != nil {
			b.close()
			return b.stack, err
		}
		if uint64(b.kind) == r.at("info.main") {
			break
		}
		b.end()
		at = r.field(at, "info.prev")
	}
	b.main(interpreter)
	return b.stack, nil
}

// enclose says of evals of blocks whose variables they have: those of the sub, text, file or program around them.
func enclose(list []call) {
	var around *call
	for i := len(list) - 1; i >= 0; i-- {
		c := &list[i]
		if c.kind == callTry {
			continue
		}
		if c.kind != callBlock {
			around = c
			continue
		}
		c.outer = around
		if around != nil {
			c.cv, c.depth = around.cv, around.depth
		}
		around = c
	}
}

// A stackBuilder goes through the contexts of an interpreter.
type stackBuilder struct {
	stack
	r      *runtime
	cop    uint64 // what the call runs whose context comes next
	kind   uint32 // of the stack of contexts
	closed int    // the context that was the last to end a level; -1 for none
	called int    // likewise, if it was a sub
}

// contexts reads the contexts of one stack.
func (b *stackBuilder) contexts(list uint64, last int32) error {
	r := b.r
	size := r.at("context.size")
	b.called, b.closed = -1, -1
	const step = 64
	for end := int(last) + 1; end > 0; {
		n := min(step, end)
		first := list + uint64(end-n)*size
		bytes := r.Bytes(first, n*int(size))
		if bytes == nil {
			return fmt.Errorf("its contexts of Perl at %#x are not there", first)
		}
		for i := n - 1; i >= 0; i-- {
			if r.p.Spend(4) != nil {
				return errLimit
			}
			if len(b.list) >= maxCalls {
				return errDeep
			}
			if err := b.context(end-n+i, first+uint64(i)*size, bytes[i*int(size):(i+1)*int(size)]); err != nil {
				return err
			}
		}
		end -= n
	}
	return nil
}

// context adds the call of a context, if it is one.
func (b *stackBuilder) context(index int, at uint64, c []byte) error {
	r := b.r
	word := func(name string) uint64 { return r.Arch.Word(c[r.at(name):]) }
	one := call{at: at, retop: word("context.retop")}
	kind := uint64(c[r.at("context.type")])
	switch kind & r.at("context.mask") {
	default:
		return nil
	case r.at("context.defer"): // a block of a sub that ends
		b.soften()
		b.close()
		b.closed = index
		return nil
	case r.at("context.sub"), r.at("context.format"):
		if kind&r.at("context.mask") == r.at("context.format") {
			one.kind = callFormat
		} else if kind&r.at("context.fake") != 0 { // code in a pattern is in the sub around it
			b.soften()
			b.close()
			b.closed = index
			return nil
		}
		if kind&r.at("context.pattern") != 0 && one.kind == callSub {
			b.soften()
		}
		var ok bool
		one.cv = word("context.cv")
		if one.function, ok = r.subName(one.cv); !ok {
			return fmt.Errorf("its call of Perl at %#x has no sub", at)
		}
		one.depth = uint64(r.Arch.ByteOrder.Uint32(c[r.at("context.depth"):])) + 1
		one.arguments = kind&r.at("context.hasargs") != 0
		one.hook = one.retop == 0 && uint64(b.kind) == r.at("info.diehook")
	case r.at("context.eval"):
		one.env = word("context.env")
		if r.has("context.try") && kind&r.at("context.try") != 0 { // it is no call, and has no place
			one.kind = callTry
			b.list = append(b.list, one)
			return nil
		}
		one.cv, one.depth = word("context.evalcv"), 1
		b.eval(&one, r.Arch.ByteOrder.Uint16(c[r.at("context.u16"):])>>7, word("context.name"))
	}
	one.place, one.known = r.placeOf(b.cop)
	b.cop = word("context.oldcop")
	b.list = append(b.list, one)
	if one.retop != 0 {
		return nil
	}
	b.closed = index
	if one.kind >= callBlock && b.called == index+1 && len(b.levels) > 0 && b.levels[len(b.levels)-1].to == len(b.list)-1 {
		b.levels[len(b.levels)-1].to++ // C called the sub within an eval
		return nil
	}
	if one.kind < callBlock {
		b.called = index
	}
	b.close()
	return nil
}

// eval says which kind of eval one is.
func (b *stackBuilder) eval(one *call, op uint16, name uint64) {
	r := b.r
	switch {
	case uint64(op) == r.at("op.entereval"):
		one.kind, one.function = callText, "eval '...'"
	case name != 0:
		one.kind, one.function = callFile, "require"
		if uint64(op) == r.at("op.dofile") {
			one.function = "do"
		}
		if s, n, ok := r.text(name, maxName); ok && n <= maxName {
			one.function += " " + s
		}
	default:
		one.kind, one.function, one.cv = callBlock, "eval {...}", 0
	}
}

// end ends the contexts of one stack: C entered it, and the code that it called may have no context of its own.
func (b *stackBuilder) end() {
	if b.closed == 0 {
		return
	}
	b.soften()
	b.close()
}

// soften says of the last level that it may be one with what comes next, if no call is between.
func (b *stackBuilder) soften() {
	if n := len(b.levels); n > 0 && b.closed > 0 && b.levels[n-1].to == len(b.list) {
		b.levels[n-1].soft = true
	}
}

// close ends the level of the calls that have none yet.
func (b *stackBuilder) close() {
	from := 0
	if n := len(b.levels); n > 0 {
		from = b.levels[n-1].to
	}
	b.levels = append(b.levels, level{from: from, to: len(b.list), native: -1})
}

// main adds the main program, if it runs.
func (b *stackBuilder) main(interpreter uint64) {
	r := b.r
	if p, ok := r.placeOf(b.cop); ok && interpreter == r.first {
		b.list = append(b.list, call{kind: callMain, function: "main program", cv: r.Word(r.global(interpreter, "main_cv")), depth: 1, place: p, known: true})
	}
	b.close()
}
