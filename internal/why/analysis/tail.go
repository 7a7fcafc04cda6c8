package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Functions that left by tail calls. The call in the caller's frame led to the first of them. DWARF often says to
// which, and otherwise the instruction does, or the value that it called through: main is called that way.

// tailCalls returns the functions that ran between a frame and its callee and left by a tail call. Only a frame
// that made a call can have them.
func (in *Engine) tailCalls(frames []*unwind.Frame, number int, target unwind.Address) []unwind.Call {
	lookup, ok := in.Walker.SymbolLookup().(unwind.TailCallLookup)
	if !ok || !madeCall(frames, number) {
		return nil
	}
	return lookup.LookupTailCalls(frames[number].RA(), target, frames[number-1].LookupAddr(), nil)
}

// madeCall reports whether a frame's call led to the frame before.
func madeCall(frames []*unwind.Frame, number int) bool {
	return number > 0 && !frames[number].NonCall() && !frames[number-1].IsTrampoline()
}

// calledAs returns the address that the call in a frame led to; 0 if that is not certain, or nobody asks.
func (in *question) calledAs(frames []*unwind.Frame, number int) unwind.Address {
	if _, ok := in.Walker.SymbolLookup().(unwind.TailCallLookup); !ok || !madeCall(frames, number) {
		return 0
	}
	ra, callee := frames[number].CodePointer(), frames[number-1]
	if target := in.direct[ra]; target != 0 {
		return target
	}
	if target, known := in.targets[callee]; known {
		return target
	}
	target, direct := in.called(frames, number)
	switch {
	case direct:
		if in.direct == nil {
			in.direct = map[unwind.Address]unwind.Address{}
		}
		in.direct[ra] = target
	default:
		if in.witnesses > maxCalled { // the next question may trace it
			return target
		}
		if in.targets == nil {
			in.targets = map[*unwind.Frame]unwind.Address{}
		}
		in.targets[callee] = target
	}
	return target
}

// A callers knows where calls led to, for those who read variables.
type callers struct{ e *Engine }

// CalledAs implements where.Callers.
func (c callers) CalledAs(frames []*unwind.Frame, number int) unwind.Address {
	return (&question{Engine: c.e}).calledAs(frames, number)
}

// leftArguments adds the arguments to the entries of the functions that left by tail calls before the callee of
// a frame was entered.
func (in *naming) leftArguments(entries []report.Frame, frames []*unwind.Frame, callee int) {
	a, err := in.Variables.At(frames, callee)
	if err != nil {
		return
	}
	defer a.Close()
	left := a.Left()
	for _, b := range left {
		defer b.Close()
	}
	for _, b := range left {
		n := slices.IndexFunc(entries, func(e report.Frame) bool { return e.Tail }) + 1
		if n == 0 || uint64(entries[n-1].Entry) != b.Low {
			return // the report knows of other calls
		}
		in.read(entries[:n], b, false)
		entries = entries[n:]
	}
}

// throughMemory reports whether a call, the instruction code at addr, is of what is in memory outside of the frame: it
// may have changed since. That is how threads' functions are called, by a function that takes long to follow.
func (in *Engine) throughMemory(code []byte, addr uint64) bool {
	var inst disasm.Inst
	if disasm.DecodeInto(&inst, in.arch, code, addr) != nil || inst.Src != arch.NoReg {
		return false
	}
	m := inst.Mem()
	return m != nil && m.Base != in.arch.SP && m.Base != in.arch.FP
}

// maxCalled limits how many calls through values are traced back, in all threads. Each takes as long as the
// analysis of a function.
const maxCalled = 256

// called returns the address that the call in a frame led to, and whether the instruction names it; 0 if that is not
// certain.
func (in *question) called(frames []*unwind.Frame, number int) (target unwind.Address, direct bool) {
	f := frames[number]
	buf := in.mem.Bytes(f.RA()-disasm.MaxLen, disasm.MaxLen)
	site, ok := disasm.CallBefore(in.arch, buf, f.CodePointer())
	switch {
	case !ok:
		return 0, false
	case site.Direct:
		return site.Target, true
	case in.throughMemory(buf[len(buf)-site.Len:], f.CodePointer()-uint64(site.Len)):
		return 0, false
	}
	if name, err := frames[number-1].Name(); err == nil && name == "main" {
		return 0, false // what calls through a value there calls main
	}
	if in.witnesses++; in.witnesses > maxCalled || in.untraced[f.RA()] {
		return 0, false
	}
	w := in.witnessOf(frames, number, nil)
	if w == nil {
		return 0, false
	}
	defer w.close()
	if to, exact, ok := w.eval.Value(w.code.Operand(w.state.PC), 0); ok && exact {
		return to, false
	}
	// The code does not tell, or overwrites what would: that is so in the other threads, too.
	if in.untraced == nil {
		in.untraced = map[unwind.Address]bool{}
	}
	in.untraced[f.RA()] = true
	return 0, false
}
