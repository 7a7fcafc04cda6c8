package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxGivenFrames is how many frames of an allocator, and of what called it, are looked at for who gave it a block back.
const maxGivenFrames = 16

// maxGivenSteps is how many instructions may lie between the read of a pointer and the call that gives it back.
const maxGivenSteps = 16

// maxRounded is how much larger a small block may be than what was asked for; a large one may be by a quarter.
const maxRounded = 24

// nearGiven is how far from a pointer the allocator looks at what is before a block.
const nearGiven = 4096

// leastGiven is the least pointer that null is not near to: allocators look at a few words before a block.
const leastGiven = 64

// A givenBack is a pointer that the program gave back to its allocator, in the call in which it died.
type givenBack struct {
	to    string // the function: "free"
	value uint64
	name  string // of the pointer, as the source of the caller has it; "" if it has none
	known bool
	exact bool   // it was not read from memory that may have changed since
	at    uint64 // where in memory it was read from; 0 if that is not known
	size  uint64 // of the object, as C++ passes it; 0 if it does not
	typ   string // of the object, if the source of the caller tells
	from  string // instead of value: what it was computed from
}

// freeing is the name of a function that takes a block back, as the first argument of the C function is; "" for others.
func freeing(name string) string {
	name, _, _ = strings.Cut(name, "@")
	switch {
	case strings.HasPrefix(name, "operator delete[]"), strings.HasPrefix(name, "_Zda"):
		return "operator delete[]"
	case strings.HasPrefix(name, "operator delete"), strings.HasPrefix(name, "_Zdl"):
		return "operator delete"
	}
	if rust := name[strings.LastIndexByte(name, ':')+1:]; rust == "__rust_dealloc" || rust == "__rust_realloc" {
		return rust[len("__rust_"):]
	}
	switch name = libcName(name); name {
	case "free", "realloc", "cfree", "reallocarray":
		return name
	}
	return ""
}

// gaveBack is the pointer that the program gave to the function of the allocator in which it died. What was passed must be
// what the caller's code says.
func (c *crash) gaveBack() givenBack { return c.known.given.of(c.findGivenBack) }

func (c *crash) findGivenBack() givenBack {
	for n := 1; n < min(len(c.stack), maxGivenFrames) && !c.ofProgram(n-1); n++ {
		site, ok := c.callSite(c.stack[n])
		if !ok || c.stack[n-1].IsTrampoline() || glibc(c.libraryPath(c.stack[n].LookupAddr())) {
			continue
		}
		code := codeReader{in: c.question}
		if f, ok := code.function(site.Target); site.Direct && (!ok || freeing(f.Name) == "") {
			if c.leavesTo(site.Target).to == "" {
				continue
			}
		}
		w := c.witnessOf(c.stack, n, nil)
		if w == nil {
			break
		}
		g := w.givesBack()
		w.close()
		if g.known || site.Direct {
			return g
		}
	}
	return givenBack{}
}

// callee is where a call leads: a direct one, or one by a pointer at a fixed address, as code calls other modules that was compiled to do without a PLT.
func (w *witness) callee(call *disasm.Inst) (uint64, bool) {
	m := call.Mem()
	switch {
	case call.Kind == disasm.Call, call.Kind == disasm.Jump:
		return call.Target, true
	case (call.Kind == disasm.CallIndirect || call.Kind == disasm.JumpIndirect) && m != nil && m.Base == arch.NoReg && m.Index == arch.NoReg && m.Segment == arch.NoReg:
		at, ok := m.Address(&arch.RegSet{})
		if !ok {
			return 0, false
		}
		return w.in.mem.Uint(at, w.in.arch.WordSize)
	}
	return 0, false
}

// ofProgram reports whether a frame is of the program itself, and not of an allocator that is linked into it.
func (c *crash) ofProgram(n int) bool {
	libs := c.Proc.LibraryTracker()
	if libs == nil {
		return true
	}
	lib, ok := libs.LibraryAt(c.stack[n].LookupAddr())
	if !ok || lib.Kind != libstate.Executable {
		return !ok
	}
	code := codeReader{in: c.question}
	f, ok := code.function(c.stack[n].LookupAddr())
	return !ok || !allocators.Get()[libcName(f.Name)] && !allocatorPart(f.Name)
}

// givesBack is what a frame's call gives back, if it is such a call.
func (w *witness) givesBack() givenBack {
	call, ok := w.code.Inst(w.state.PC)
	if !ok || w.doubt {
		return givenBack{}
	}
	target, ok := w.callee(&call)
	if !ok {
		return givenBack{}
	}
	code := codeReader{in: w.in}
	f, ok := code.function(target)
	if !ok || f.Entry != target {
		return givenBack{}
	}
	to, reg := freeing(f.Name), arch.NoReg
	if len(w.abi.Args) > 0 {
		reg = w.abi.Args[0]
	}
	v := w.code.Argument(call.PC, 0)
	if to == "" {
		left := w.in.leavesTo(target)
		if to = left.to; left.v == nil || left.v.Kind != provenance.Entry {
			return w.leftWith(&left, call.PC)
		}
		reg = left.v.Reg
		v = w.code.Before(call.PC, provenance.Reg(reg))
	}
	value, exact, ok := w.eval.Value(v, 0)
	if !ok {
		value, exact, ok = w.passedOn(v)
	}
	if !ok {
		value, ok = w.onStack(v)
	}
	if !ok {
		value, exact, ok = w.onFrame(v, call.PC)
	}
	if !ok || value == 0 {
		if s, made := w.shiftedFrom(v); made {
			return givenBack{from: s.text(to), exact: s.made}
		}
		return givenBack{}
	}
	g := givenBack{to: to, value: value, known: true, exact: exact}
	if at, ok := w.eval.Address(v, 0); ok && v.Kind == provenance.Load {
		g.at = at
	}
	if size := w.code.Argument(call.PC, 1); size.Kind == provenance.Const && to == "operator delete" {
		g.size = uint64(size.K)
	}
	if n := w.name(v, call.PC, reg, 0); !n.doubt {
		g.name = sourceWords(n.text)
		if n.typ != nil && len(n.arms) == 0 {
			g.typ = pointsToA(n.typ)
		}
	}
	return g
}

// onStack is the only address on the stack that a value may be, of those that meet there: it was given back if the allocator refused a pointer.
func (w *witness) onStack(v *provenance.Value) (value uint64, ok bool) {
	for _, a := range v.Alternatives() {
		if a.Kind != provenance.StackAddr {
			continue
		}
		at, _, known := w.eval.Value(a, 0)
		if !known || ok && at != value {
			return 0, false
		}
		value, ok = at, true
	}
	return value, ok
}

// onFrame is a value that was read from the frame, whose address others have, too: what stands there now. It is exact if nothing wrote to memory between the
// read and the call that it was passed to.
func (w *witness) onFrame(v *provenance.Value, call uint64) (value uint64, exact, ok bool) {
	if v.Kind != provenance.Slot || v.Size != w.in.arch.WordSize || !w.state.HasCFA {
		return 0, false, false
	}
	if value, ok = w.in.mem.Uint(w.state.CFA+uint64(v.K), v.Size); !ok {
		return 0, false, false
	}
	at := v.At
	for range maxGivenSteps {
		in, known := w.code.Inst(at)
		if !known || !slices.Contains([]disasm.Kind{disasm.Other, disasm.Nop, disasm.Mov, disasm.MovImm, disasm.Load}, in.Kind) {
			break
		}
		if m := in.Mem(); m != nil && m.Write {
			break
		}
		if at = in.Next(); at == call {
			return value, true, true
		}
	}
	return value, false, true
}

// wildlyGiven reports whether a pointer that the program gave back is an address where nothing is, and the fault is not there.
func (c *crash) wildlyGiven(g givenBack) bool {
	if _, mapped := c.Proc.MappingAt(g.value); mapped || c.PartialMaps {
		return false
	}
	at := c.fault().address
	return at == nil || uint64(*at)-g.value+nearGiven > 2*nearGiven || *at == 0 && g.value >= leastGiven // where a table that is looked up has nothing
}

// wronglyGiven says what is wrong with a pointer that the program gave back: it is no block that is in use. Of a block in use nothing is said.
func (c *crash) wronglyGiven() []report.Cause {
	kind := c.verdict().kind
	if kind != report.CrashHeapCorruption && kind != report.CrashAbort && !dataFault(kind) {
		return nil
	}
	return c.noBlockGiven()
}

// noBlockGiven is wronglyGiven, whatever the program died of.
func (c *crash) noBlockGiven() []report.Cause {
	g := c.gaveBack()
	confidence := report.Likely
	switch {
	case g.from != "" && !g.exact && c.verdict().kind == report.CrashHeapCorruption:
		return []report.Cause{{Text: g.from, Confidence: report.Possible}}
	case g.from != "" && g.exact:
		return []report.Cause{{Text: g.from, Confidence: report.Likely}}
	case !g.known && musl(c.topModule()) && c.freesInto():
		text := c.freedInside()
		if text == "" {
			text = c.freedAgain()
		}
		if text == "" {
			return nil
		}
		return []report.Cause{{Text: text, Confidence: report.Possible}}
	case !g.known:
		return nil
	case !g.exact && len(c.toldOfGiven()) > 0:
		return nil
	case !g.exact:
		confidence = report.Possible
	}
	given := fmt.Sprintf("%s was given %#x", g.to, g.value)
	if g.name != "" {
		given = fmt.Sprintf("%s was given %s = %#x", g.to, g.name, g.value)
	}
	cause := func(format string, args ...any) []report.Cause {
		return []report.Cause{{Text: given + ", " + fmt.Sprintf(format, args...), Confidence: confidence}}
	}
	m, mapped := c.Proc.MappingAt(g.value)
	switch {
	case c.wildlyGiven(g):
		return cause("where no memory is")
	case !mapped && !c.PartialMaps:
		return nil // the fault itself says so
	case c.isOfModule(g.value) && !c.donated(g.value):
		if name, _ := c.names().variableAt(g.value, 0); name != "" {
			return cause("the address of %s, which is no block of the heap", strings.TrimSuffix(name, "[0]"))
		}
		if musl(c.topModule()) {
			return nil // it may be one, of those whose records are damaged
		}
		return cause("which is in %s, and no block of the heap", c.libraryPath(g.value))
	}
	if c.hasStack(m) {
		if name, t := c.names().variableAt(g.value, 0); t != nil {
			return cause("the address of %s on the stack, which is no block of the heap", strings.TrimSuffix(name, "[0]"))
		}
		return cause("which is on the stack, and no block of the heap")
	}
	h := c.heap()
	if h == nil {
		return nil
	}
	b, ok := h.BlockAt(g.value)
	switch {
	case !ok || b.Own:
		return nil
	case b.Free && b.List == "top":
		if text := c.freedTop(); text != "" && b.Start == g.value {
			return []report.Cause{{Text: text, Confidence: report.Possible}}
		}
		return nil
	case b.Start == g.value && b.Free && !strings.Contains(c.message(), "double free") && !c.givenErased(g.value) && !marksLast(h):
		return nil // what is given back is on a list before the allocator is done with it
	case b.Start == g.value && b.Free && marksLast(h): // it may have been joined with what is free behind it
		return []report.Cause{{Text: fmt.Sprintf("the block at %#x%s was freed twice: it is %s already", b.Start, c.ownerOf(b), listed(b.List)), Confidence: confidence}}
	case b.Start == g.value && b.Free:
		return []report.Cause{{Text: fmt.Sprintf("the block of %s at %#x%s was freed twice: it is %s already", byteCount(b.Size), b.Start, c.ownerOf(b), listed(b.List)), Confidence: confidence, Block: c.causeBlock(report.BlockFreed, b)}}
	case !b.Contains(g.value) || b.Start == g.value:
		return nil
	case b.Free:
		return cause("%s from the beginning of the freed block of %s at %#x%s: what was there may have been freed already", byteCount(g.value-b.Start), byteCount(b.Size), b.Start, c.ownerOf(b))
	}
	text := cause("%s from the beginning of the block of %s at %#x%s", byteCount(g.value-b.Start), byteCount(b.Size), b.Start, c.ownerInside(b, g.value, g.name))
	if n, ok := c.countBefore(b, &g); ok && g.to == "operator delete" {
		text[0].Text += fmt.Sprintf(": it begins with the number %d, as blocks of new[] do, which delete[] gives back", n)
	}
	return text
}

// freedAgain says of which freed block free seems to have been given an address.
func (c *crash) freedAgain() string {
	b, at, ok := c.given(func(b heap.Block, at uint64) bool { return b.Free && b.Contains(at) })
	if !ok {
		return ""
	}
	return fmt.Sprintf("free may have been given %#x, in the freed block of %s at %#x%s: what was there may have been freed already", at, byteCount(b.Size), b.Start, c.ownerOf(b))
}

func (c *crash) topModule() string {
	if top := c.top(); top != nil {
		return c.libraryPath(top.LookupAddr())
	}
	return ""
}

// freesInto reports whether the program called a function that takes a block back, and died in it.
func (c *crash) freesInto() bool {
	for n := 1; n < min(len(c.stack), maxGivenFrames) && !c.ofProgram(n-1); n++ {
		site, ok := c.callSite(c.stack[n])
		if !ok || !site.Direct {
			continue
		}
		code := codeReader{in: c.question}
		if f, ok := code.function(site.Target); ok && freeing(f.Name) != "" || c.leavesTo(site.Target).to != "" {
			return true
		}
	}
	return false
}

// givenErased reports whether musl's free found that the record of what it was given is no more: it erases that itself, but reads all of it before, and it
// died with the block, or with what it took for its group, in a register, while nothing else is wrong.
func (c *crash) givenErased(value uint64) bool {
	top := c.top()
	if top == nil || !musl(c.libraryPath(top.LookupAddr())) || len(c.heap().Damages()) > 0 {
		return false
	}
	index, ok := c.mem.Uint(value-3, 1)
	const erased, header = 0xff, 16
	regs := top.Registers()
	for m := regs.Valid; ok && index == erased && m != 0; m &= m - 1 {
		if v, _ := regs.Get(m.First()); v == value || v == value-header {
			return true
		}
	}
	return false
}

// marksLast reports whether an allocator marks a block as free when nothing it finds can end the program any more.
func marksLast(h heap.Allocator) bool {
	_, ok := unwrapped(h).(heap.MarksLast)
	return ok
}

// unwrapped is an allocator as it was found.
func unwrapped(h heap.Allocator) heap.Allocator {
	if p, ok := h.(*partlyRead); ok {
		return p.Allocator
	}
	return h
}

// countBefore is the number of elements with which a block of new[] begins, if what follows it may be so many, and no more.
func (c *crash) countBefore(b heap.Block, g *givenBack) (uint64, bool) {
	word := uint64(c.arch.WordSize)
	if g.value != b.Start+word || b.Size < word {
		return 0, false
	}
	n, ok := c.mem.Uint(b.Start, int(word))
	room := b.Size - word
	if g.size != 0 && room-n*g.size > max(maxRounded, room/4) { // allocators round up
		return 0, false
	}
	return n, ok && n > 0 && n <= room
}
