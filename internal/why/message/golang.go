package message

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Go panics. A goroutine (runtime.g, runtime2.go of package runtime) has a list of its panics, latest first.
// Before the runtime prints them it replaces each value that is an error or a Stringer by its text, so the text
// can be read. Only the first fields of the structures are relied on: those of a goroutine have not moved since
// Go 1.4, and all of them are words or come behind words, so that one table serves 32 and 64 bits.

// Offsets in runtime.g, in words.
const (
	gStackLo = 0
	gStackHi = 1
	gPanic   = 4
	gM       = 6
)

// A goPanicking is the start of a runtime._panic.
type goPanicking struct{ typ, data, link uint64 }

// panicking reads a runtime._panic: the value, which is an interface, and the previous panic. Until Go 1.25
// they follow the address of an argument on the stack. Types are in read-only memory. That of runtime.Goexit
// has no value.
func (p *Process) panicking(at arch.Address) (goPanicking, bool) {
	ws, ok := p.Words(at, 4)
	if !ok {
		return goPanicking{}, false
	}
	switch {
	case ws[0] == 0 && ws[1] == 0 && !p.writable(ws[3]): // no argument before it: the last word is an address of code
		return goPanicking{link: ws[2]}, true
	case ws[0] == 0 || p.writable(ws[0]):
		ws = ws[1:]
	}
	if ws[0] != 0 && p.writable(ws[0]) {
		return goPanicking{}, false
	}
	return goPanicking{ws[0], ws[1], ws[2]}, true
}

// goWords describes an unrecovered panic or a fatal error of the runtime.
func goWords(p *Process) Words {
	if f := p.frame("runtime.throw", "runtime.fatal"); f != nil {
		return p.goFatal(f)
	}
	if f := p.frame("runtime.gopanic"); f != nil && p.frame("runtime.fatalpanic") != nil {
		return p.goPanic(f)
	}
	return Words{}
}

// A Fault is a fault of the processor of which Go's runtime made a panic or a fatal error.
type Fault struct {
	Signal, Code int
	Addr         arch.Address  // that the kernel reported
	PC           arch.Address  // of the instruction; without code if that was called
	Frame        *unwind.Frame // that made it, or called PC
}

// goSignals are the offsets of sig, of 32 bits, and of sigpc in runtime.g, where words have 8 bytes and where they have 4: Go 1.18 and newer.
// Before sigpc are sigcode0 and sigcode1, words like it.
var goSignals = [...][5][2]uint64{
	{{240, 288}, {216, 264}, {224, 272}, {228, 272}, {220, 264}},
	{{156, 180}, {136, 160}, {140, 164}, {144, 168}, {144, 172}},
}

// fault returns the fault for which the runtime called f, with which it ends the program; nil if it called f for another reason. The
// goroutine has the signal of its last fault: it must be of the instruction to which runtime.sigpanic returns, or of an address without
// code that was called there.
func (p *Process) fault(f *Frame) *Fault {
	at := slices.IndexFunc(p.Stack, func(s Frame) bool { return s.Frame == f.Frame }) + 1
	if at < len(p.Stack) && !p.Stack[at].is("runtime.sigpanic") {
		at++ // runtime.panicmem
	}
	if at == 0 || at+1 >= len(p.Stack) || !p.Stack[at].is("runtime.sigpanic") {
		return nil
	}
	g, ok := p.goroutine(f)
	if !ok {
		return nil
	}
	by := p.Stack[at+1].Frame
	w := uint64(p.Arch.WordSize)
	for _, offs := range goSignals[1-w/8] {
		sig, ok1 := p.Uint(g+offs[0], 4)
		v, ok2 := p.Words(g+offs[1]-2*w, 3)
		if !ok1 || !ok2 || sig == 0 || sig > maxSignal || v[0] > maxCode {
			continue
		}
		if pc := v[2]; pc == by.RA() || pc == v[1] && !p.runs(pc) {
			return &Fault{Signal: int(sig), Code: int(v[0]), Addr: v[1], PC: pc, Frame: by}
		}
	}
	return nil
}

// Limits of what signals of faults have.
const maxSignal, maxCode = 31, 128

// goFatal reads the argument of runtime.throw. It is in a closure in the function's frame, after the address of
// the closure's code and, in some versions, one more word.
func (p *Process) goFatal(f *Frame) Words {
	name := "runtime.fatal"
	if f.is("runtime.throw") {
		name = "runtime.throw"
	}
	s, ok := p.closureText(p.frameWords(f), name+".func1")
	if !ok {
		return Words{}
	}
	w := Words{Message: "fatal error: " + s, Source: "the frame of " + name, Reason: "fatal error: " + s, Cause: UncaughtException,
		Panic: &Panic{Runtime: Go, Value: s, Fatal: true}}
	if strings.HasPrefix(s, "runtime: out of memory") || strings.Contains(s, "cannot allocate memory") {
		w.Cause = OutOfMemory
	}
	if s == "stack overflow" {
		w.Cause = StackOverflow
		f = p.overflowed(&w, f)
	}
	w.Fault = p.fault(f)
	w.inGoroutine(p, f)
	return w
}

// overflowed returns the frame that needed more stack than there may be, which the runtime looked at on its own stack, and the
// goroutine's stack with it; f if it is not found.
func (p *Process) overflowed(w *Words, f *Frame) *Frame {
	for i := range p.Stack {
		if !p.Stack[i].is("runtime.morestack", "runtime.morestack_noctxt") {
			continue
		}
		for i++; i < len(p.Stack); i++ {
			g, ok := p.goroutine(&p.Stack[i])
			if !ok {
				continue // the runtime's own stack
			}
			if s, ok := p.Words(g, gStackHi+1); ok {
				w.Stack = [2]arch.Address{s[gStackLo], s[gStackHi]}
			}
			return &p.Stack[i]
		}
	}
	return f
}

// closureText finds the string in a function's closure among the words of a frame.
func (p *Process) closureText(ws []uint64, function string) (string, bool) {
	for i := 0; i+2 < len(ws) && p.Function != nil; i++ {
		if !p.runs(ws[i]) || p.Function(ws[i]) != function {
			continue
		}
		for k := i + 1; k <= i+2 && k+1 < len(ws); k++ {
			if s, ok := p.strictText(ws[k], ws[k+1]); ok && s != "" {
				return s, true
			}
		}
	}
	return "", false
}

// inGoroutine records the number of the goroutine that a frame belongs to, if any.
func (w *Words) inGoroutine(p *Process, f *Frame) {
	g, ok := p.goroutine(f)
	if !ok {
		return
	}
	if n, ok := p.goroutineID(g); ok {
		w.Panic.Goroutine = n
		w.Reason += fmt.Sprintf(" (goroutine %d)", n)
	}
}

// goPanic reads the list of the goroutine's panics.
func (p *Process) goPanic(f *Frame) Words {
	g, ok := p.goroutine(f)
	if !ok {
		return Words{}
	}
	w := uint64(p.Arch.WordSize)
	at, ok := p.LookupWord(g + gPanic*w)
	var texts []string
	kind := ""
	for n := 0; ok && at != 0 && n < maxNested; n++ {
		v, have := p.panicking(at)
		if !have {
			return Words{}
		}
		switch {
		case v.typ == 0 && n == 0: // the panic that ended the program, so it is not runtime.Goexit
			texts = append(texts, "nil")
		case v.typ != 0: // otherwise it is runtime.Goexit
			s, t, have := p.goValue(v.typ, v.data)
			if !have {
				return Words{}
			}
			if texts = append(texts, s); kind == "" {
				kind = t
			}
		}
		at = v.link
	}
	if len(texts) == 0 {
		return Words{}
	}
	if t, ok := p.goArgType(f); ok {
		kind = t
	} else if kind == "string" { // or the text of another type's value
		kind = ""
	}
	words := Words{Source: "the goroutine's panics", Fault: p.fault(f), Cause: UncaughtException, Reason: "panic: " + texts[0],
		Panic: &Panic{Runtime: Go, Type: kind, Value: texts[0]}}
	for i := len(texts) - 1; i >= 0; i-- { // as printed: the oldest first
		if words.Message != "" {
			words.Message += "\n\t"
		}
		words.Message += "panic: " + texts[i]
	}
	if n, ok := p.goroutineID(g); ok {
		words.Panic.Goroutine = n
		words.Reason += fmt.Sprintf(" (goroutine %d)", n)
	}
	return words
}

// goArgType returns the name of the type of the value that runtime.gopanic was called with. The function first
// stores its argument, an interface in two registers, in its caller's frame. Where words have 32 bits its caller has
// put it there, on ARM behind the word for the return address.
func (p *Process) goArgType(f *Frame) (string, bool) {
	at, ok := f.CFA()
	if !ok {
		return "", false
	}
	switch p.Arch {
	case arch.X86:
	case arch.ARM:
		at += uint64(p.Arch.WordSize)
	default:
		_, entry, found := p.symbol("runtime.gopanic")
		off, ok := p.storedPair(entry)
		cfa := at
		at = f.SP() + off
		if !found || !ok || at < cfa || at > cfa+uint64(p.Arch.WordSize) {
			return "", false
		}
	}
	typ, ok := p.LookupWord(at)
	if !ok {
		return "", false
	}
	return p.goTypeName(typ)
}

// storedPair returns where a compiled function of Go stores the first two words of its arguments: the offset
// from its stack pointer. It is among the first instructions.
func (p *Process) storedPair(entry arch.Address) (uint64, bool) {
	const most = 16 // instructions
	names := map[*arch.Arch][2]string{arch.AMD64: {"rax", "rbx"}, arch.ARM64: {"x0", "x1"}}[p.Arch]
	first, ok1 := p.Arch.RegByName(names[0])
	second, ok2 := p.Arch.RegByName(names[1])
	if !ok1 || !ok2 {
		return 0, false
	}
	word := int64(p.Arch.WordSize)
	var one, two int64 // offsets
	pc := entry
	for range most {
		inst, err := disasm.Decode(p.Arch, p.Some(pc, disasm.MaxLen), pc)
		if err != nil || inst.Kind.IsCall() || inst.Writes&(arch.Mask(first)|arch.Mask(second)) != 0 {
			break
		}
		pc = inst.Next()
		if m := inst.Mem(); m == nil || inst.Kind != disasm.Store || m.Base != p.Arch.SP || m.Index != arch.NoReg || inst.Writeback != 0 {
			continue
		} else if inst.Src == first {
			one = m.Disp
		} else if inst.Src == second {
			two = m.Disp
		}
		if inst.Src == first && inst.Src2 == second {
			two = one + word
		}
		if one > 0 && two == one+word {
			return uint64(one), true
		}
	}
	return 0, false
}

// goroutine returns the runtime.g whose stack contains a frame: the one in Go's goroutine register, in that
// frame or in a callee, or one that its thread (runtime.m) refers to.
func (p *Process) goroutine(f *Frame) (arch.Address, bool) {
	name := map[*arch.Arch]string{arch.AMD64: "r14", arch.ARM64: "x28", arch.ARM: "r10"}[p.Arch]
	reg, ok := p.Arch.RegByName(name)
	if !ok {
		return p.goroutineInFrames(f)
	}
	for i := range p.Stack {
		regs := p.Stack[i].Registers()
		if g, ok := regs.Get(reg); ok {
			if p.hasStack(g, f.SP()) {
				return g, true
			}
			if cur, ok := p.ofThread(g, f.SP()); ok {
				return cur, true
			}
		}
	}
	return 0, false
}

// goroutineInFrames is goroutine where no register is set apart for it: functions of the runtime have it, or another of its
// thread, in their frames, down to that frame.
func (p *Process) goroutineInFrames(f *Frame) (arch.Address, bool) {
	for i := range p.Stack {
		for _, g := range p.frameWords(&p.Stack[i]) {
			if cur, ok := p.ofThread(g, f.SP()); ok {
				return cur, true
			}
		}
		if p.Stack[i].Frame == f.Frame {
			break
		}
	}
	return 0, false
}

// hasStack reports whether the address is in a goroutine's stack.
func (p *Process) hasStack(g, sp arch.Address) bool {
	const maxStack = 1 << 31
	if g == 0 || g%uint64(p.Arch.WordSize) != 0 {
		return false
	}
	s, ok := p.Words(g, gStackHi+1)
	return ok && s[gStackLo] < s[gStackHi] && s[gStackHi]-s[gStackLo] <= maxStack && sp >= s[gStackLo] && sp < s[gStackHi]
}

// ofThread finds the goroutine with the stack among those of the thread (runtime.m) of goroutine g: the
// thread's own goroutine, its signal handlers' and the current one. Their offsets in runtime.m depend on the
// version; each goroutine refers back to the thread.
func (p *Process) ofThread(g, sp arch.Address) (arch.Address, bool) {
	const maxThread = 64 // words
	w := uint64(p.Arch.WordSize)
	if g == 0 || g%w != 0 {
		return 0, false
	}
	m, ok := p.LookupWord(g + gM*w)
	if !ok || m == 0 || m%w != 0 {
		return 0, false
	}
	for i := range uint64(maxThread) {
		cand, ok := p.LookupWord(m + i*w)
		if !ok {
			return 0, false
		}
		if !p.hasStack(cand, sp) {
			continue
		}
		if back, ok := p.LookupWord(cand + gM*w); ok && back == m {
			return cand, true
		}
	}
	return 0, false
}

// goroutineID reads a goroutine's number. It follows two 32-bit numbers: the status, running, and a lock. The
// words before them are 18 or 19, by the version.
func (p *Process) goroutineID(g arch.Address) (uint64, bool) {
	const running, scanned = 2, 0x1000
	for _, words := range []uint64{18, 19} {
		off := words*uint64(p.Arch.WordSize) + 8
		status, ok1 := p.Uint(g+off-8, 4)
		lock, ok2 := p.Uint(g+off-4, 4)
		id, ok3 := p.Uint(g+off, 8)
		if ok1 && ok2 && ok3 && status&^scanned == running && lock == 0 && id > 0 && id < 1<<48 {
			return id, true
		}
	}
	return 0, false
}

// Kinds of Go types (internal/abi, type.go).
const (
	goBool = iota + 1
	goInt
	goInt8
	goInt16
	goInt32
	goInt64
	goUint
	goUint8
	goUint16
	goUint32
	goUint64
	goUintptr
	goFloat32
	goFloat64
	goComplex64
	goComplex128
	goString = 24
	goKinds  = 27
)

// goSizes are the sizes of numbers in bytes, by kind; 0 for a word.
var goSizes = [...]int{goBool: 1, goInt: 0, goInt8: 1, goInt16: 2, goInt32: 4, goInt64: 8,
	goUint: 0, goUint8: 1, goUint16: 2, goUint32: 4, goUint64: 8, goUintptr: 0, goFloat32: 4, goFloat64: 8, goComplex64: 8, goComplex128: 16}

// A type (internal/abi.Type) has two words and a hash of 32 bits, a byte of flags, two of alignments, one of its kind, two
// words, and the offset of its name.
const (
	goTypeFlags = 4 // after two words
	goTypeKind  = 7
	goTypeName  = 8 // after four
)

// goValue formats the value of an interface as the runtime prints a panic's value (printpanicval): numbers and
// strings, with the type's name unless it is predeclared; for other types the type and the address.
func (p *Process) goValue(typ, data arch.Address) (text, name string, ok bool) {
	w := uint64(p.Arch.WordSize)
	kind, ok := p.Uint(typ+2*w+goTypeKind, 1)
	if !ok {
		return "", "", false
	}
	kind &= 31 // the upper bits are flags
	if kind == 0 || kind >= goKinds || typ%w != 0 {
		return "", "", false
	}
	name, named := p.goTypeName(typ)
	switch {
	case kind == goString:
		two, ok := p.Words(data, 2)
		if !ok {
			return "", "", false
		}
		if text, ok = p.text(two[0], two[1]); !ok {
			return "", "", false
		}
		if named && name != "string" {
			return name + `("` + text + `")`, name, true
		}
		return text, name, true
	case kind < uint64(len(goSizes)):
		text, ok := p.goNumber(int(kind), data)
		if named && strings.Contains(name, ".") {
			text = name + "(" + strings.TrimSuffix(strings.TrimPrefix(text, "("), ")") + ")"
		}
		return text, name, ok
	}
	if !named {
		return "", "", false
	}
	return fmt.Sprintf("(%s) %#x", name, data), name, true
}

// goNumber formats the number of a kind at an address.
func (p *Process) goNumber(kind int, at arch.Address) (string, bool) {
	size := goSizes[kind]
	switch {
	case size == 0:
		size = p.Arch.WordSize
	case kind == goComplex64 || kind == goComplex128:
		half := kind - goComplex64 + goFloat32
		re, ok := p.goNumber(half, at)
		im, ok2 := p.goNumber(half, at+uint64(size/2))
		if !strings.HasPrefix(im, "+") && !strings.HasPrefix(im, "-") {
			im = "+" + im
		}
		return "(" + re + im + "i)", ok && ok2
	}
	v, ok := p.Uint(at, size)
	switch kind {
	case goBool:
		return strconv.FormatBool(v&1 != 0), ok
	case goInt, goInt8, goInt16, goInt32, goInt64:
		shift := 64 - 8*size
		return strconv.FormatInt(int64(v)<<shift>>shift, 10), ok
	case goFloat32:
		return p.goFloat(float64(math.Float32frombits(uint32(v))), 32), ok
	case goFloat64:
		return p.goFloat(math.Float64frombits(v), 64), ok
	}
	return strconv.FormatUint(v, 10), ok
}

// goFloat formats like the built-in print: as short as it can be, and before Go 1.26 with a sign, six digits and three of
// the exponent.
func (p *Process) goFloat(v float64, bits int) string {
	if minor := p.goMinor(); minor == 0 || minor >= 26 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	s := fmt.Sprintf("%+.6e", v)
	if i := strings.LastIndexAny(s, "+-"); i > 0 && len(s)-i == 3 {
		s = s[:i+1] + "0" + s[i+1:]
	}
	return s
}

// goMinor is N of the release 1.N of the Go whose runtime panicked; 0 if it is not known.
func (p *Process) goMinor() int {
	f := p.frame("runtime.gopanic")
	if f == nil || p.GoMinor == nil || p.LibraryAt == nil {
		return 0
	}
	return p.GoMinor(p.LibraryAt(f.LookupAddr()))
}

// goTypeName reads a type's name at an offset from the start of the program's types: a byte of flags, the
// length and the text. A flag of the type says that the text starts with a star that is not part of the name.
func (p *Process) goTypeName(typ arch.Address) (string, bool) {
	_, types, ok := p.symbol("runtime.types")
	if !ok {
		return "", false
	}
	if _, end, known := p.symbol("runtime.etypes"); typ < types || known && typ >= end {
		return "", false // made at run time, or none
	}
	w := uint64(p.Arch.WordSize)
	flags, ok1 := p.Uint(typ+2*w+goTypeFlags, 1)
	off, ok2 := p.Uint(typ+4*w+goTypeName, 4)
	if !ok1 || !ok2 || off == 0 {
		return "", false
	}
	at := types + off + 1
	var n uint64
	for shift := 0; ; shift += 7 {
		b, ok := p.Uint(at, 1)
		if !ok || shift > 14 {
			return "", false
		}
		at++
		if n |= b & 0x7f << shift; b&0x80 == 0 {
			break
		}
	}
	s, ok := p.strictText(at, min(n, maxName))
	const extraStar = 2
	if flags&extraStar != 0 {
		s = strings.TrimPrefix(s, "*")
	}
	return s, ok && s != ""
}
