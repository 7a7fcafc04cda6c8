package lua

import (
	"fmt"
	"strings"
	"sync"
)

// A call is a function that has begun.
type call struct {
	at       uint64 // its record
	state    uint64 // whose stack it is on
	slot     uint64 // of the stack, that has the function
	base     uint64 // of its variables
	top      uint64 // the end of its part of the stack
	function value
	f        *function // of a function of Lua
	native   uint64    // the code of a function of C
	pc       int       // number of the instruction that runs, or that called; -1 if it is not known
	flags    uint64
	lost     int // calls that ended with a call of this one
	inner    bool
	// LuaJIT: the number of the compiled code that runs it, 0 for none; and the part of the stack to which that has not written.
	trace           int
	stale, staleEnd uint64
}

// A function is what is read of one.
type function struct {
	at                                     uint64
	code, lines, abs, constants            uint64
	codes, lineCount, absCount, constCount uint32
	source                                 string
	first, last                            uint32
	end                                    uint64 // LuaJIT: of what is read of it
	variables, upvalues                    uint64
	variableCount, upvalueCount            uint32
	parameters                             byte
	vararg                                 bool
	readNames                              sync.Once
	names                                  []variableName
}

// A variableName is a local variable, and of which instructions.
type variableName struct {
	name     string
	from, to uint32
}

// Limits on what memory can ask for.
const (
	maxDepth        = 1 << 18
	maxInstructions = 1 << 24
	maxVariables    = 1 << 12
	maxStack        = 1 << 21 // slots; Lua's limit is a million
)

// A chainError says why a list of calls ends early.
type chainError string

func (e chainError) Error() string { return string(e) }

const (
	errCycle  chainError = "the list of its Lua calls is a circle"
	errDeep   chainError = "it has too many Lua calls"
	errForgot chainError = "Lua has forgotten its calls: 5.4 does when nobody catches an error"
	errLimit  chainError = "the limit of the analysis is reached in its Lua calls"
)

// global returns the global state of what may be a state; 0 if it is none: it must lead to a main thread, and that back to it.
func (r *runtime) global(state uint64) uint64 {
	if !r.is(state, tagThread) {
		return 0
	}
	g := r.field(state, "state.global")
	if g == 0 || g%8 != 0 {
		return 0
	}
	main := r.field(g, "global.main")
	if !r.is(main, tagThread) || r.field(main, "state.global") != g {
		return 0
	}
	stack, top, last := r.field(state, "state.stack"), r.field(state, "state.top"), r.field(state, "state.last")
	if stack == 0 || stack%8 != 0 || top < stack || last < stack || last-stack > maxStack*r.valueSize() || (top-stack)%r.valueSize() != 0 || r.field(state, "state.call") == 0 {
		return 0
	}
	return g
}

// status is how a thread is: 0 if it runs or has not begun, 1 if it has yielded, else an error ended it.
func (r *runtime) status(state uint64) byte {
	v, _ := r.U8(state + r.at("state.status"))
	return v
}

const statusYield = 1

// baseCall is the record that is under those of the calls.
func (r *runtime) baseCall(state uint64) uint64 {
	if r.jit {
		return r.bottom(state)
	}
	if r.minor == 1 {
		return r.field(state, "state.base")
	}
	return state + r.at("state.base")
}

// busy reports whether a thread has calls.
func (r *runtime) busy(state uint64) bool {
	return r.field(state, "state.call") != r.baseCall(state)
}

// calls lists the calls of a thread from the youngest on. With an error it has those before the damage.
func (r *runtime) calls(state uint64) ([]call, error) {
	if r.jit {
		return r.jitCalls(state, 0)
	}
	var list []call
	base := r.baseCall(state)
	slow, half := r.field(state, "state.call"), false
	inner := true
	above := r.field(state, "state.top")
	for at := slow; at != base; {
		if len(list) >= maxDepth {
			return list, errDeep
		}
		if r.p.Spend(8) != nil {
			return list, errLimit
		}
		c, err := r.callAt(state, at, inner)
		if err != nil {
			return list, err
		}
		if c.f == nil || c.top > above && above >= c.slot {
			c.top = above
		}
		above = c.slot
		list = append(list, c)
		inner = false
		if at = r.previous(at); half {
			slow = r.previous(slow)
		}
		half = !half
		if r.minor == 1 && at < base {
			return list, fmt.Errorf("the list of its Lua calls leads to %#x", at)
		}
		if at == slow {
			return list, errCycle
		}
	}
	return list, nil
}

// previous is the record of the caller.
func (r *runtime) previous(at uint64) uint64 {
	if r.minor == 1 {
		return at - r.at("call.size")
	}
	return r.field(at, "call.previous")
}

// callAt reads a record of a call.
func (r *runtime) callAt(state, at uint64, inner bool) (call, error) {
	b := []byte(nil)
	if at%8 == 0 {
		b = r.Bytes(at, int(r.at("call.size")))
	}
	if b == nil {
		return call{}, fmt.Errorf("its Lua call at %#x is not there", at)
	}
	word := func(name string) uint64 { return r.Arch.Word(b[r.at(name):]) }
	c := call{at: at, state: state, slot: word("call.func"), top: word("call.top"), pc: -1, inner: inner}
	stack, last := r.field(state, "state.stack"), r.field(state, "state.last")
	if c.slot < stack || c.slot > last || (c.slot-stack)%r.valueSize() != 0 {
		return call{}, fmt.Errorf("its Lua call at %#x is not on the stack of Lua", at)
	}
	if r.minor > 1 {
		c.flags = uint64(r.Arch.ByteOrder.Uint16(b[r.at("call.status"):]))
	}
	var ok bool
	if c.function, ok = r.valueAt(c.slot); !ok {
		return call{}, fmt.Errorf("its Lua call at %#x has no function", at)
	}
	switch c.function.kind {
	case kindPlain:
		c.native = c.function.bits
	case kindNative:
		if r.is(c.function.bits, tagFunction) {
			c.native = r.field(c.function.bits, "closure.native")
		}
	case kindFunction:
		if r.is(c.function.bits, tagFunction) {
			c.f = r.functionOf(c.function.bits)
		}
	}
	if c.native == 0 && c.f == nil {
		return call{}, fmt.Errorf("its Lua call at %#x has no function", at)
	}
	c.base = c.slot + r.valueSize()
	if c.f == nil {
		return c, nil
	}
	if r.minor < 4 {
		if c.base = word("call.base"); c.base <= c.slot || c.base > last || (c.base-stack)%r.valueSize() != 0 {
			return call{}, fmt.Errorf("the variables of its Lua call at %#x are not on the stack of Lua", at)
		}
	}
	pc := word("call.savedpc")
	if r.minor == 1 {
		c.lost = int(int32(r.Arch.ByteOrder.Uint32(b[r.at("call.tailcalls"):])))
		if inner {
			pc = r.field(state, "state.savedpc")
		}
	}
	if at := pc - 4; at >= c.f.code && at < c.f.code+4*uint64(c.f.codes) && (at-c.f.code)%4 == 0 {
		c.pc = int(at-c.f.code) / 4
	}
	return c, nil
}

// tail reports whether the caller of a call ended with it.
func (r *runtime) tail(c *call) bool {
	return c.flags&r.flag("flag.tail") != 0 || c.f != nil && c.lost > 0
}

// functionOf reads what a closure of Lua is made of; nil if there is nothing.
func (r *runtime) functionOf(closure uint64) *function {
	at := r.field(closure, "closure.function")
	if r.jit { // it has the address of the first instruction, which is behind the function
		at -= r.at("function.size")
	}
	return r.functionAt(at)
}

// functionAt reads a function; nil if there is none.
func (r *runtime) functionAt(at uint64) *function {
	return r.functions.Get(at, func() *function { return r.readFunction(at) })
}

func (r *runtime) readFunction(at uint64) *function {
	if r.jit {
		return r.readJITFunction(at)
	}
	if !r.is(at, r.tagPrototype()) {
		return nil
	}
	b := r.Bytes(at, 128)
	if b == nil {
		b = r.Bytes(at, 120)
	}
	if b == nil {
		return nil
	}
	word := func(name string) uint64 { return r.Arch.Word(b[r.at(name):]) }
	number := func(name string) uint32 { return r.Arch.ByteOrder.Uint32(b[r.at(name):]) }
	f := &function{at: at, code: word("function.code"), codes: number("function.codecount"), lines: word("function.lines"), lineCount: number("function.linecount"),
		constants: word("function.constants"), constCount: number("function.constantcount"), first: number("function.line"), last: number("function.lastline"),
		variables: word("function.variables"), variableCount: number("function.variablecount"), upvalues: word("function.upvalues"), upvalueCount: number("function.upvaluecount"),
		parameters: b[r.at("function.parameters")], vararg: b[r.at("function.vararg")] != 0}
	if r.minor == 4 {
		f.abs, f.absCount = word("function.abslines"), number("function.abslinecount")
	}
	if f.code == 0 || f.code%4 != 0 || f.codes == 0 || f.codes > maxInstructions || f.first > f.last || f.last >= 1<<31 ||
		f.lineCount > maxInstructions || f.absCount > maxInstructions || f.constCount > maxInstructions {
		return nil
	}
	if source := word("function.source"); source != 0 {
		s, n, ok := r.text(source, maxName)
		if !ok {
			return nil
		}
		f.source = chunk(s, uint64(len(s)) < n)
	}
	return f
}

// maxChunk is how much of a chunk's text names it.
const maxChunk = 60

// chunk names where code came from, as Lua does: a file, or the first line of the text.
func chunk(source string, cut bool) string {
	switch {
	case source == "":
		return `[string ""]`
	case source[0] == '=' || source[0] == '@':
		return source[1:]
	}
	line, _, more := strings.Cut(source, "\n")
	if limit := maxChunk - len(`[string "..."]`) - 1; len(line) > limit {
		line, more = line[:limit], true
	}
	if more || cut {
		line += "..."
	}
	return `[string "` + line + `"]`
}

// instruction reads one of a function's.
func (r *runtime) instruction(f *function, pc int) (instruction, bool) {
	if pc < 0 || pc >= int(f.codes) {
		return 0, false
	}
	v, ok := r.U32(f.code + 4*uint64(pc))
	return instruction(v), ok
}

// line is where a call is; approximate if only its function is known.
func (r *runtime) line(c *call) (line int, approximate bool) {
	if c.f == nil {
		return 0, false
	}
	if c.pc >= 0 {
		if n := r.lineAt(c.f, c.pc); n > 0 {
			// What the virtual machine itself fails at, it has not stored: the place is that of the last call.
			return n, c.inner
		}
	}
	return int(c.f.first), c.f.first > 0
}

// absent says of an instruction that its line differs too much from the last to be written as a difference.
const absent = -128

// lineAt is the line of an instruction; 0 if it is not known.
func (r *runtime) lineAt(f *function, pc int) int {
	if r.jit {
		return r.jitLine(f, pc)
	}
	if f.lines == 0 || pc >= int(f.lineCount) {
		return 0
	}
	if r.minor < 4 {
		n, _ := r.U32(f.lines + 4*uint64(pc))
		if n >= 1<<31 {
			return 0
		}
		return int(n)
	}
	from, line := -1, int64(f.first)
	low, high := 0, int(f.absCount)
	for low < high { // the last that is not behind the instruction
		mid := (low + high) / 2
		at, ok := r.U32(f.abs + 8*uint64(mid))
		if !ok {
			return 0
		}
		if int64(at) <= int64(pc) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low > 0 {
		at, _ := r.U32(f.abs + 8*uint64(low-1))
		n, ok := r.U32(f.abs + 8*uint64(low-1) + 4)
		if !ok || int64(at) > int64(pc) {
			return 0
		}
		from, line = int(at), int64(n)
	}
	deltas := r.Bytes(f.lines+uint64(from+1), pc-from)
	if deltas == nil && pc > from || r.p.Spend(1+len(deltas)/64) != nil {
		return 0
	}
	for _, d := range deltas {
		if int8(d) == absent {
			return 0
		}
		line += int64(int8(d))
	}
	if line <= 0 || line >= 1<<31 {
		return 0
	}
	return int(line)
}
