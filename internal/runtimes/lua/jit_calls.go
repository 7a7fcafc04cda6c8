package lua

import (
	"fmt"
	"strings"
)

// Types of the links between frames on the stack of LuaJIT: the lower bits of a link. Without them a link is the address to which a function of
// Lua returns, else what is above them is the distance to the caller.
const (
	linkLua      = 0
	linkNative   = 1 // called by C
	linkContinue = 2 // of a metamethod: what happens with its result is below it
	linkVararg   = 3 // the arguments of the same function are below it
	linkType     = 3
	linkBits     = 7
	linkProtect  = 4 // with linkNative and linkContinue: errors end there
)

// errLink is said of a link that leads nowhere.
const errLink chainError = "the list of its Lua calls is damaged"

// bottom is where the first function of a thread is on its stack.
func (r *runtime) bottom(state uint64) uint64 {
	return r.field(state, "state.stack") + 8*r.at("words.frame")
}

// A jitStack is the stack of a thread, with what compiled code has not written to it.
type jitStack struct {
	r      *runtime
	state  uint64
	shadow map[uint64]uint64
}

// word is a slot of the stack.
func (s *jitStack) word(at uint64) uint64 {
	if v, ok := s.shadow[at]; ok {
		return v
	}
	return s.r.Word(at)
}

// link is that of a frame, and its function. A frame's address is that of the slot before its variables.
func (s *jitStack) link(frame uint64) (link, function uint64) {
	if s.r.at("words.frame") == 2 {
		return s.word(frame), s.word(frame-8) & (1<<addressBits - 1)
	}
	w := s.word(frame)
	return w >> 32, w & (1<<32 - 1)
}

// caller is the frame below another; 0 if its link leads nowhere.
func (s *jitStack) caller(frame, link uint64) uint64 {
	distance := link &^ linkBits
	if link&linkType == linkLua {
		i, ok := s.r.U32(link - 4)
		if !ok {
			return 0
		}
		distance = 8 * (s.r.at("words.frame") + uint64(i>>8&0xff))
	} else if s.r.at("words.frame") == 1 {
		distance = uint64(uint32(link) &^ linkBits)
	}
	if distance == 0 || distance > frame {
		return 0
	}
	return frame - distance
}

// returns is to where a function of Lua returns from what is called: it called the frame with a link. 0 if it is not on the stack of Lua.
func (s *jitStack) returns(frame, link uint64) uint64 {
	switch link & linkBits {
	case linkLua, linkProtect:
		return link
	case linkContinue:
		if s.r.at("words.frame") == 1 {
			return s.word(frame-8) >> 32
		}
		return s.word(frame - 16)
	}
	return 0
}

// A nativeFrame goes through the frames of the virtual machine on the native stack, from the youngest on.
type nativeFrame struct {
	r     *runtime
	stack uint64
	at    uint64
}

// nativeMask are the bits of the address of a frame of the virtual machine that say what it is.
const nativeMask = 3

func (r *runtime) nativeFrames(state uint64) nativeFrame {
	return nativeFrame{r, r.field(state, "state.stack"), r.field(state, "state.frame") &^ nativeMask}
}

// previous goes to the one that was made before, which is above on the native stack.
func (n *nativeFrame) previous() {
	at := n.r.field(n.at, "frame.previous") &^ nativeMask
	if at <= n.at {
		at = 0
	}
	n.at = at
}

// skip leaves those that were made for a function of C without a frame on the stack of Lua.
func (n *nativeFrame) skip(frame uint64) {
	for n.at != 0 && n.r.p.Spend(1) == nil {
		results := int32(n.r.number(n.at, "frame.results"))
		if results >= 0 || frame >= n.stack+uint64(-int64(results)) {
			return
		}
		n.previous()
	}
}

// jitCalls lists the calls of a thread of LuaJIT from the youngest on. native is where compiled code runs; 0 if that is not known.
func (r *runtime) jitCalls(state, native uint64) ([]call, error) {
	s := jitStack{r: r, state: state}
	compiled := r.compiledCode(&s, native)
	list, err := s.calls(compiled)
	if g := r.field(state, "state.global"); err == nil && compiled == nil && r.field(g, "global.compiled") != 0 &&
		r.field(g, "global.current") == state && int32(r.number(g, "global.running")) > 0 {
		err = errNoTrace
	}
	return list, err
}

// jitCallsAt lists the calls of a thread that the virtual machine runs, where it has what is not on the stack.
func (r *runtime) jitCallsAt(state uint64, at *compiledCall) ([]call, error) {
	s := jitStack{r: r, state: state}
	return s.calls(at)
}

// calls lists those of a stack. compiled is where its youngest is, if the thread does not say so.
func (s *jitStack) calls(compiled *compiledCall) ([]call, error) {
	r, state := s.r, s.state
	frame := r.field(state, "state.call") - 8
	pc := uint64(0)
	if compiled != nil {
		frame, pc = compiled.frame, compiled.pc
	}
	stack, last := r.field(state, "state.stack"), r.field(state, "state.last")
	bottom := r.bottom(state) - 8
	machine := r.nativeFrames(state)
	above := r.field(state, "state.top")
	if compiled != nil {
		above = last
	}
	var list []call
	first := true
	for frame > bottom {
		if len(list) >= maxDepth {
			return list, errDeep
		}
		if r.p.Spend(8) != nil {
			return list, errLimit
		}
		if frame > last+maxExtra || (frame-stack)%8 != 0 {
			return list, fmt.Errorf("its Lua call at %#x is not on the stack of Lua", frame)
		}
		c := call{at: frame, state: state, slot: frame + 8 - 8*r.at("words.frame"), base: frame + 8, top: above, pc: -1, inner: first && compiled == nil}
		link, function := s.link(frame)
		machine.skip(frame)
		if function == state { // where what is no function was called
			above = c.slot
			if frame = s.caller(frame, link); frame == 0 {
				return list, errLink
			}
			continue
		}
		if err := r.jitFunction(&c, function); err != nil {
			return list, err
		}
		if c.f != nil {
			if pc == 0 {
				pc = r.field(machine.at, "frame.pc")
			}
			c.pc = r.position(c.f, pc)
		}
		if compiled != nil && compiled.number != 0 && frame >= compiled.root {
			c.trace, c.stale, c.staleEnd = compiled.number, compiled.root, last+maxExtra
		}
		if link&linkBits == linkVararg { // its arguments
			if frame = s.caller(frame, link); frame == 0 || frame <= bottom {
				return list, errLink
			}
			c.slot = frame + 8 - 8*r.at("words.frame")
			link, function = s.link(frame)
			if function != c.function.bits {
				return list, errLink
			}
		}
		above = c.slot
		list = append(list, c)
		first = false
		pc = s.returns(frame, link)
		if link&linkType == linkNative || link&linkBits == linkContinue && s.foreign(frame) {
			machine.previous()
		}
		if frame = s.caller(frame, link); frame == 0 {
			return list, errLink
		}
	}
	return list, nil
}

// maxExtra is how far frames may be behind what LuaJIT calls the end of the stack: room for handlers of errors.
const maxExtra = 8 * 64

// foreign reports whether a frame of a continuation is a call by the ffi.
func (s *jitStack) foreign(frame uint64) bool {
	const callback = 1
	if s.r.at("words.frame") == 1 {
		return s.word(frame-8)&(1<<32-1) == callback
	}
	return s.word(frame-24) == callback
}

// jitFunction reads the function of a call.
func (r *runtime) jitFunction(c *call, function uint64) error {
	if !r.is(function, tagFunction) {
		return fmt.Errorf("its Lua call at %#x has no function", c.at)
	}
	which, _ := r.U8(function + r.at("closure.kind"))
	c.function = value{function, kindNative}
	if which == 0 {
		c.function.kind = kindFunction
		c.f = r.functionOf(function)
	} else {
		c.native = r.field(function, "closure.native")
	}
	if c.f == nil && c.native == 0 {
		return fmt.Errorf("its Lua call at %#x has no function", c.at)
	}
	return nil
}

// position is the number of the instruction before an address; -1 if that is not in the function.
func (r *runtime) position(f *function, pc uint64) int {
	if at := pc - 4; at >= f.code && at < f.code+4*uint64(f.codes) && (at-f.code)%4 == 0 {
		return int(at-f.code) / 4
	}
	if pc == f.code {
		return 0
	}
	// An instruction that compiled code has replaced is kept in what describes that.
	trace := pc - 4 - r.at("trace.instruction")
	if pc%4 == 0 && r.isTrace(trace) {
		if at := r.field(trace, "trace.start"); at >= f.code && at < f.code+4*uint64(f.codes) && (at-f.code)%4 == 0 {
			return int(at-f.code) / 4
		}
	}
	return -1
}

// Flags of functions.
const jitVararg = 2

// readJITFunction reads what closures are made of; nil if there is nothing.
func (r *runtime) readJITFunction(at uint64) *function {
	if !r.is(at, tagPrototype51) {
		return nil
	}
	u8 := func(name string) byte { v, _ := r.U8(at + r.at(name)); return v }
	f := &function{at: at, code: at + r.at("function.size"), codes: r.number(at, "function.codecount"), lines: r.field(at, "function.lines"),
		constants: r.field(at, "function.constants"), constCount: r.number(at, "function.constantcount"), first: r.number(at, "function.line"),
		variables: r.field(at, "function.variables"), upvalues: r.field(at, "function.upvalues"), upvalueCount: uint32(u8("function.upvaluecount")),
		parameters: u8("function.parameters"), vararg: u8("function.flags")&jitVararg != 0}
	lines := r.number(at, "function.linecount")
	f.lineCount = lines
	f.last = f.first + lines
	bytes := r.number(at, "function.bytes")
	if f.codes == 0 || f.codes > maxInstructions || f.constCount > maxInstructions || uint64(bytes) < r.at("function.size")+4*uint64(f.codes) {
		return nil
	}
	builtin := f.first == jitBuiltin
	if builtin {
		f.first, f.last, f.lines = 0, 0, 0
	}
	if f.first > f.last || f.last >= 1<<31 {
		return nil
	}
	f.end = at + uint64(bytes)
	if source := r.field(at, "function.source"); source != 0 {
		s, n, ok := r.text(source, maxName)
		if !ok {
			return nil
		}
		if f.source = chunk(s, uint64(len(s)) < n); builtin {
			f.source = "[builtin:" + s + "]"
		}
	}
	return f
}

// jitBuiltin is the line of functions of LuaJIT's own library that are written in Lua.
const jitBuiltin = 1<<32 - 1

// jitLine is the line of an instruction; 0 if it is not known.
func (r *runtime) jitLine(f *function, pc int) int {
	if f.lines == 0 {
		return 0
	}
	if pc == 0 {
		return int(f.first)
	}
	size := 4
	switch {
	case f.lineCount < 1<<8:
		size = 1
	case f.lineCount < 1<<16:
		size = 2
	}
	n, ok := r.Uint(f.lines+uint64(size*(pc-1)), size)
	if !ok || n > uint64(f.lineCount) {
		return 0
	}
	return int(f.first) + int(n)
}

// jitNames are the names of variables that are no text: the number is before what would be one.
var jitNames = [...]string{1: "(for index)", "(for limit)", "(for step)", "(for generator)", "(for state)", "(for control)"}

// jitVariableNames are the names of local variables, and of which instructions: distances to the one before, in pieces of 7 bits.
func (r *runtime) jitVariableNames(f *function) (names []variableName) {
	if f.variables >= f.end || f.variables < f.code {
		return nil
	}
	b := string(r.Some(f.variables, int(min(f.end-f.variables, maxVariables*8))))
	number := func() (n uint32) {
		for shift := 0; len(b) > 0 && shift < 32; shift += 7 {
			c := b[0]
			b = b[1:]
			n |= uint32(c&0x7f) << shift
			if c < 0x80 {
				break
			}
		}
		return n
	}
	last := uint32(0)
	for len(b) > 0 && b[0] != 0 && len(names) < maxVariables && r.p.Spend(1) == nil {
		v := variableName{name: "?"}
		if int(b[0]) < len(jitNames) {
			v.name, b = jitNames[b[0]], b[1:]
		} else {
			name, rest, ok := strings.Cut(b, "\x00")
			if !ok {
				return names
			}
			v.name, b = name, rest
		}
		last += number()
		v.from = last
		v.to = last + number()
		names = append(names, v)
	}
	return names
}

// jitUpvalue is the name of a variable of an outer function: texts after one another.
func (r *runtime) jitUpvalue(f *function, i int) string {
	if i < 0 || i >= int(f.upvalueCount) || f.upvalues < f.code || f.upvalues >= f.end || r.p.Spend(1) != nil {
		return "?"
	}
	rest := string(r.Some(f.upvalues, int(min(f.end-f.upvalues, maxVariables*8))))
	for {
		name, behind, ok := strings.Cut(rest, "\x00")
		if !ok || name == "" {
			return "?"
		}
		if i == 0 {
			return name
		}
		rest = behind
		i--
	}
}

// jitExtra is where the arguments are that a call has beyond its parameters, and how many.
func (r *runtime) jitExtra(c *call) (first, n uint64) {
	first = c.slot + 8*(r.at("words.frame")+uint64(c.f.parameters))
	if end := c.base - 8*r.at("words.frame"); end > first {
		n = (end - first) / 8
	}
	return first, n
}

// jitCalled finds how the instruction that runs in a caller names what it called.
func (r *runtime) jitCalled(caller *call, i instruction) (kind, name string) {
	switch op := r.opcode(i); op.calls {
	case "":
		return "", ""
	case "call":
		slot := r.a(i)
		if op.name == "ITERC" || op.name == "ITERN" {
			slot -= 3
		}
		return r.jitNameOf(caller.f, caller.pc, slot)
	default:
		return "metamethod", "__" + op.calls
	}
}

// jitNameOf finds how a function names what is in a register, as lj_debug_slotname does.
func (r *runtime) jitNameOf(f *function, pc, slot int) (kind, name string) {
	if pc > maxSearched || r.p.Spend(1+pc/16) != nil {
		return "", ""
	}
	b := r.Bytes(f.code, 4*(pc+1))
	if b == nil {
		return "", ""
	}
	at := func(pc int) instruction { return instruction(r.Arch.ByteOrder.Uint32(b[4*pc:])) }
	if name = r.local(f, slot, pc); name != "" {
		return "local", name
	}
	for names := 0; ; {
		if pc--; pc <= 0 {
			return "", ""
		}
		i := at(pc)
		op := r.opcode(i)
		if op.from && slot >= r.a(i) && (op.name != "KNIL" || slot <= r.bx(i)) {
			return "", ""
		}
		if !op.sets || r.a(i) != slot {
			continue
		}
		switch op.name {
		case "MOV":
			slot = r.bx(i)
			if names++; names > maxNames {
				return "", ""
			}
			if name = r.local(f, slot, pc); name != "" {
				return "local", name
			}
		case "GGET":
			return "global", r.jitConstant(f, r.bx(i))
		case "TGETS":
			if pc > 0 {
				if before := at(pc - 1); r.op(before) == "MOV" && r.a(before) == r.a(i)+int(r.at("words.frame")) && r.bx(before) == r.b(i) {
					return "method", r.jitConstant(f, r.c(i))
				}
			}
			return "field", r.jitConstant(f, r.c(i))
		case "UGET":
			return "upvalue", r.upvalue(f, r.bx(i))
		default:
			return "", ""
		}
	}
}

// jitConstant is a text among the constants, which are before where a function says that they are.
func (r *runtime) jitConstant(f *function, i int) string {
	if i < 0 || i >= int(f.constCount) {
		return "?"
	}
	size := uint64(8)
	if r.layout["values.narrow"] != 0 {
		size = 4
	}
	if s := r.name(r.reference(f.constants-size*uint64(i+1), size == 4)); s != "" {
		return s
	}
	return "?"
}
