package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The C library's functions with formats, %s given what is no string: the bad pointer is an argument of printf or scanf, and the trace
// through their own code tells nobody which.

// A formatFunction is a function that takes a format.
type formatFunction struct {
	format int  // the number of the format among the arguments, from 0
	list   bool // the argument after it is a va_list
}

var formatFunctions = lazy.Value[map[string]formatFunction]{Make: func() map[string]formatFunction {
	return map[string]formatFunction{
		"printf": {format: 0}, "fprintf": {format: 1}, "dprintf": {format: 1}, "sprintf": {format: 1}, "asprintf": {format: 1}, "snprintf": {format: 2},
		"__printf_chk": {format: 1}, "__fprintf_chk": {format: 2}, "__dprintf_chk": {format: 2}, "__asprintf_chk": {format: 2}, "__sprintf_chk": {format: 3}, "__snprintf_chk": {format: 4},
		"vprintf": {0, true}, "vfprintf": {1, true}, "vdprintf": {1, true}, "vsprintf": {1, true}, "vasprintf": {1, true}, "vsnprintf": {2, true},
		"__vprintf_chk": {1, true}, "__vfprintf_chk": {2, true}, "__vdprintf_chk": {2, true}, "__vasprintf_chk": {2, true}, "__vsprintf_chk": {3, true}, "__vsnprintf_chk": {4, true},
		"syslog": {format: 1}, "vsyslog": {1, true}, "__syslog_chk": {format: 2}, "__vsyslog_chk": {2, true},
		"err": {format: 1}, "errx": {format: 1}, "warn": {format: 0}, "warnx": {format: 0}, "error": {format: 2},
		"scanf": {format: 0}, "fscanf": {format: 1}, "sscanf": {format: 1}, "vscanf": {0, true}, "vfscanf": {1, true}, "vsscanf": {1, true},
	}
}}

// formatFunctionOf returns the function that a call's name is of, as the source calls it.
func formatFunctionOf(name string) (string, formatFunction, bool) {
	for _, prefix := range [...]string{"__isoc99_", "__isoc23_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	f, ok := formatFunctions.Get()[name]
	if ok && strings.HasPrefix(name, "__") {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "__"), "_chk")
	}
	return name, f, ok
}

// inFormats reports whether a function is one that those with formats call, in programs with a C library of their own.
func inFormats(name string) bool {
	if called, _ := stringName(name); called != "" && called != "free" {
		return true
	}
	name = strings.TrimPrefix(strings.TrimSuffix(libcName(name), "_internal"), "_IO_")
	if _, _, ok := formatFunctionOf(name); ok {
		return true
	}
	_, _, ok := formatFunctionOf(strings.TrimLeft(name, "_"))
	return ok || name == "printf_positional" || name == "buffered_vfprintf" || name == "printf_core"
}

// A formatCall is a call of a function with a format, and where its arguments are.
type formatCall struct {
	name     string
	text     string   // the format
	constant bool     // which the program cannot write to
	by       *witness // the frame that passed the arguments
	to       *witness // the frame that took them, with a variable number of arguments
	named    int      // registers for integers that the named arguments of to take,
	floats   int      // those for floating-point numbers,
	stack    int64    // and bytes of the stack
	saved    uint64   // where the registers for integers are; 0 if not known
	in       *witness // the frame that called the C library
}

// given finds the argument that a function with a format took for a pointer, if the bad value is one of them. The suspect has no
// witness if nothing but the fault's address is known.
func (t *tracer) given(s suspect, why *reason.Reason) *report.Blame {
	l, ok := layoutOf(t.in.arch)
	if !ok || t.in.Exception != nil || why.Access == report.AccessExecute {
		return nil
	}
	c, ok := t.formatCall(l)
	if !ok {
		return nil
	}
	scan := strings.Contains(c.name, "scanf")
	f := parseFormat(c.text, scan)
	for i := range f.conversions {
		one := &f.conversions[i]
		place, ok := l.place(f.arguments, one.argument, c.named, c.floats, c.stack)
		if !one.pointer || !ok {
			continue
		}
		v, value, known := c.argument(place)
		if !known {
			return nil // it may be the one
		}
		if value == 0 && !scan && !strings.HasSuffix(one.text, "n") {
			continue // printed as "(null)"
		}
		if !(s.w != nil && value == s.value) && !nearFault(value, why) {
			continue
		}
		return t.took(s, c, one, v, value)
	}
	return nil
}

// nearFault reports whether an address is in the part of memory at once read that the fault is in.
func nearFault(value uint64, why *reason.Reason) bool {
	const atOnce = 64
	return why.HasAddr && value&^(atOnce-1) <= why.Addr && why.Addr-value&^(atOnce-1) < 2*atOnce && why.Addr < value+atOnce
}

// took reports a conversion that took a bad value, and continues with where that came from. That is no more than likely: the code of
// the C library is not followed, and calls with too few arguments leave what a register held before.
func (t *tracer) took(s suspect, c formatCall, one *conversion, v *provenance.Value, value uint64) *report.Blame {
	const most = 256 // bytes of the format
	t.out = report.Blame{Confidence: report.Likely, Value: report.Addr(value)}
	t.value = value
	if !c.constant {
		t.doubt(report.Possible)
	}
	if s.w != nil && s.reg != arch.NoReg {
		t.out.Register = t.in.arch.RegName(s.reg)
	}
	if s.w != nil && s.w.number == 0 && s.v.Kind == provenance.Entry {
		for i, r := range s.w.abi.Args {
			if s.v.Reg == r {
				t.argument = i + 1
			}
		}
	}
	step := c.by.step(report.BlameConversion, c.by.state.PC)
	step.Function, step.Name, step.Number, step.Expression = c.name, one.text, one.number, c.text
	if len(c.text) > most {
		step.Expression = strings.ToValidUTF8(c.text[:most], "") + "..."
	}
	if v == nil {
		t.out.Steps = append(t.out.Steps, step)
		return &t.out
	}
	name, typ := c.by.passedAs(v)
	if step.Passed = name; name != "" && typ != nil {
		step.Type = integerName(typ)
		held := report.Addr(value)
		if bits := 8 * typ.Size(); step.Type != "" && bits > 0 && bits < 64 {
			held = report.Addr(value & (1<<bits - 1))
			if typ.Strip().Encoding.Signed() {
				held = report.Addr(signExtended(value, int(typ.Size())))
			}
		}
		step.Value = &held
	}
	t.out.Steps = append(t.out.Steps, step)
	return t.from(suspect{w: c.by, v: v, reg: arch.NoReg, value: value})
}

// passedAs names what a frame passed, and its type.
func (w *witness) passedAs(v *provenance.Value) (string, *types.Type) {
	n := w.name(v, w.state.PC, arch.NoReg, 0)
	switch {
	case n.typ != nil:
		return n.text, n.typ
	case n.held != nil:
		return n.text, n.held.Type
	case v.Kind == provenance.Cut:
		n = w.name(w.code.Before(v.At, provenance.Reg(v.Base)), v.At, v.Base, 0)
	}
	return n.text, n.typ
}

// integerName returns the name of a type of integers; "" for other types.
func integerName(t *types.Type) string {
	s := t.Strip()
	switch {
	case s.Encoding == types.EncSigned, s.Encoding == types.EncUnsigned, s.Encoding == types.EncBoolean, s.Encoding.Char():
	default:
		return ""
	}
	return t.Name()
}

// formatCall finds the call of a function with a format in which the thread died.
func (t *tracer) formatCall(l layout) (formatCall, bool) {
	in := t.in
	number := 0
	for number < len(t.stack) && number < maxBlameFrames {
		f := t.stack[number]
		code := codeReader{in: in}
		call, _ := code.function(f.LookupAddr())
		if !systemModule(in.libraryPath(f.LookupAddr())) && !inFormats(call.Name) && !inFormats(call.LinkageName) {
			break
		}
		number++
	}
	if number == 0 || number == len(t.stack) {
		return formatCall{}, false
	}
	w := t.witness(number, nil)
	if w == nil || w.state.PC == w.frame.RA() || len(t.stack) <= number+1 {
		return formatCall{}, false
	}
	target := t.callee(w)
	name, f, ok := formatFunctionOf(target)
	if !ok {
		return formatCall{}, false
	}
	c := formatCall{name: name, in: w}
	at, ok := t.argumentOf(w, l, f.format)
	if !ok || !t.readFormat(&c, at) {
		return formatCall{}, false
	}
	if !f.list {
		c.by, c.to = w, t.witness(number-1, nil)
		c.named = min(f.format+1, l.registers)
		c.stack = int64(f.format+1-c.named) * l.word
		return c, c.to != nil && c.to.state.HasCFA && sameFormatFunction(target, c.to.call)
	}
	list, ok := t.argumentOf(w, l, f.format+1)
	return c, ok && t.listAt(&c, l, list)
}

// callee returns the name of the function that a frame called by its name.
func (t *tracer) callee(w *witness) string {
	call, ok := w.code.Inst(w.state.PC)
	if !ok || call.Kind != disasm.Call {
		return ""
	}
	code := codeReader{in: t.in}
	f, ok := code.function(call.Target)
	if !ok || f.Entry != call.Target {
		return ""
	}
	name, _, _ := strings.Cut(f.Name, "@")
	return libcName(name)
}

// calledBy reports whether a frame's call led to a function of another frame, and not to one that left by a tail call.
func (t *tracer) calledBy(w, callee *witness) bool {
	call, ok := w.code.Inst(w.state.PC)
	return ok && w.number == callee.number+1 && w.state.PC != w.frame.RA() && t.calls(&call, callee)
}

// sameFormatFunction reports whether a function with a format is the one that a call names: the C library has several names for one.
func sameFormatFunction(target string, f unwind.Call) bool {
	for _, name := range [...]string{f.Name, f.LinkageName} {
		name, _, _ = strings.Cut(libcName(name), "@")
		if name = strings.TrimPrefix(strings.TrimLeft(name, "_"), "IO_"); name == strings.TrimLeft(target, "_") {
			return true
		}
	}
	return false
}

// argumentOf returns the argument with a number, from 0, that a frame passes to what it calls. The callers are asked for what the frame
// itself was called with.
func (t *tracer) argumentOf(w *witness, l layout, number int) (uint64, bool) {
	if l.registers == 0 {
		callee := t.stack[w.number-1]
		cfa, ok := callee.CFA()
		if !ok {
			return 0, false
		}
		return t.in.mem.Uint(cfa+uint64(int64(number)*l.word), int(l.word))
	}
	if number >= len(w.abi.Args) {
		return 0, false
	}
	reg := w.abi.Args[number]
	for range maxBlameFrames {
		v := w.code.Before(w.state.PC, provenance.Reg(reg))
		if value, _, ok := w.eval.Value(v, 0); ok {
			return value, true
		}
		for v.Kind == provenance.Slot {
			v = w.code.Stored(v)
		}
		if v.Kind != provenance.Entry {
			break
		}
		caller := t.witness(w.number+1, nil)
		if caller == nil || !t.calledBy(caller, w) {
			break
		}
		w, reg = caller, v.Reg
	}
	return 0, false
}

// readFormat reads a format, and whether the program can write to it.
func (t *tracer) readFormat(c *formatCall, at uint64) bool {
	text, ended := t.in.mem.CString(at, 4096)
	m, mapped := t.in.Proc.MappingAt(at)
	c.text, c.constant = string(text), mapped && m.Perm&libstate.Write == 0
	return ended && len(text) > 0
}

// listAt finds the frame that made the va_list with which a function was called, and which arguments that begins with.
func (t *tracer) listAt(c *formatCall, l layout, list uint64) bool {
	place := list // what tells the frame
	for number := c.in.number; number < len(t.stack)-1 && number < maxBlameFrames; number++ {
		low, ok := t.stack[number-1].CFA()
		high, known := t.stack[number].CFA()
		if l.registers == 0 { // the list is the address of the first argument, above the frame
			low, high = high, high+maxNamedWords*uint64(l.word)
		}
		if !ok || !known || place < low || place >= high {
			continue
		}
		w, caller := t.witness(number, nil), t.witness(number+1, nil)
		if w == nil || !w.state.HasCFA {
			return false
		}
		c.to, c.by = w, caller
		if caller != nil && !t.calledBy(caller, w) {
			c.by = nil
		}
		if l.registers == 0 {
			c.stack = int64(list - high + maxNamedWords*uint64(l.word))
			return c.by != nil
		}
		return c.by != nil && c.startOfList(list)
	}
	return false
}

// maxNamedWords is how many words of named arguments a function has at most that makes a list of the others.
const maxNamedWords = 16

// startOfList reads from the code that made a list of x86-64 what it began with: it is advanced in place as arguments are taken.
func (c *formatCall) startOfList(list uint64) bool {
	w := c.to
	part := func(off uint64, size int) *provenance.Value {
		return w.code.Before(w.state.PC, provenance.Frame(int64(list+off-w.state.CFA), size))
	}
	stack, saved := part(8, 8), part(16, 8)
	both := part(0, 8) // set by one instruction
	integers, floats := both.K&0xffffffff, both.K>>32
	if both.Kind != provenance.Const {
		low, high := part(0, 4), part(4, 4)
		if low.Kind != provenance.Const || high.Kind != provenance.Const {
			return false
		}
		integers, floats = low.K, high.K
	}
	const ofIntegers, ofFloats = 6 * 8, 8 * 16
	if stack.Kind != provenance.StackAddr || saved.Kind != provenance.StackAddr || stack.K < 0 || integers < 0 || integers > ofIntegers || integers%8 != 0 ||
		floats < ofIntegers || floats > ofIntegers+ofFloats || floats%16 != 0 {
		return false
	}
	c.named, c.floats, c.stack = int(integers/8), int(floats-ofIntegers)/16, stack.K
	c.saved = w.state.CFA + uint64(saved.K)
	return true
}

// argument returns what was passed in a place: as the frame that passed it has it, nil if it is not called by its name, and its value.
func (c *formatCall) argument(p argumentPlace) (v *provenance.Value, value uint64, ok bool) {
	w, word := c.to, c.to.in.arch.WordSize
	if p.register < 0 {
		if !w.state.HasCFA {
			return nil, 0, false
		}
		at := w.state.CFA + uint64(p.stack)
		if c.by.state.HasCFA {
			for size := word; size >= 4 && (v == nil || v.Kind == provenance.Unknown); size /= 2 { // of an int, the upper half may not be set
				v = c.by.code.Before(c.by.state.PC, provenance.Frame(int64(at-c.by.state.CFA), size))
			}
		}
		value, ok = w.in.mem.Uint(at, word)
		return v, value, ok
	}
	reg := w.abi.Args[p.register]
	v = c.by.code.Before(c.by.state.PC, provenance.Reg(reg))
	value, _, known := c.by.eval.Value(v, 0)
	at, found := c.savedAt(p.register, reg)
	if !found {
		return v, value, known
	}
	now, ok := w.in.mem.Uint(at, word)
	return v, now, ok && (!known || value == now)
}

// savedAt returns where the function with the arguments saved a register.
func (c *formatCall) savedAt(number int, reg arch.Reg) (uint64, bool) {
	const frame = 0x200 // bytes of those of the C library, in which the registers are
	w := c.to
	word := int64(w.in.arch.WordSize)
	if c.saved != 0 {
		return c.saved + uint64(int64(number)*word), true
	}
	for off := -word; off >= -frame; off -= word {
		if v := w.code.Before(w.state.PC, provenance.Frame(off, int(word))); v.Kind == provenance.Entry && v.Reg == reg {
			return w.state.CFA + uint64(off), true
		}
	}
	return 0, false
}
