package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Functions that left by tail calls. The call in the caller's frame led to the first of them. DWARF often says to
// which, and otherwise the instruction does, or the value that it called through: main is called that way.

// tailCalls returns the functions that ran between a frame and its callee and left by a tail call. Only a frame
// that made a call can have them.
func (in *inspection) tailCalls(frames []*unwind.Frame, number int) []unwind.Call {
	lookup, ok := in.Walker.SymbolLookup().(unwind.TailCallLookup)
	if !ok || number == 0 || frames[number].NonCall() || frames[number-1].IsTrampoline() {
		return nil
	}
	callee, target := frames[number-1], in.called(frames, number)
	if target != 0 && in.Variables != nil {
		where.ProcessOf(in.Variables).Called(callee, target)
	}
	return lookup.LookupTailCalls(frames[number].RA(), target, callee.LookupAddr(), nil)
}

// leftArguments adds the arguments to the entries of the functions that left by tail calls before the callee of
// a frame was entered.
func (in *inspection) leftArguments(entries []report.Frame, frames []*unwind.Frame, callee int) {
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

// maxCalled limits how many calls through values are traced back, in all threads. Each takes as long as the
// analysis of a function.
const maxCalled = 256

// called returns the address that the call in a frame led to; 0 if that is not certain.
func (in *inspection) called(frames []*unwind.Frame, number int) unwind.Address {
	f := frames[number]
	buf := make([]byte, disasm.MaxLen)
	n, _ := in.Proc.ReadMem(f.RA()-disasm.MaxLen, buf)
	if n < len(buf) {
		return 0
	}
	site, ok := disasm.CallBefore(in.arch, buf, f.CodePointer())
	switch {
	case !ok:
		return 0
	case site.Direct:
		return site.Target
	}
	if name, err := frames[number-1].Name(); err == nil && name == "main" {
		return 0 // what calls through a value there calls main
	}
	if in.witnesses++; in.witnesses > maxCalled || in.untraced[f.RA()] {
		return 0
	}
	w := in.witnessOf(frames, number, nil)
	if w == nil {
		return 0
	}
	defer w.close()
	if to, exact, ok := w.eval.Value(w.code.Operand(w.state.PC), 0); ok && exact {
		return to
	}
	// The code does not tell, or overwrites what would: that is so in the other threads, too.
	if in.untraced == nil {
		in.untraced = map[unwind.Address]bool{}
	}
	in.untraced[f.RA()] = true
	return 0
}
