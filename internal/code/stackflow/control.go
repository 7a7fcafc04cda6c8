package stackflow

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Step is one instruction of a function, and where control goes from it within the
// function.
type Step struct {
	Addr uint64
	Next bool     // to the instruction behind it
	To   []uint64 // elsewhere; do not write to it
	// Opaque: to where is not known, and it may be within the function.
	Opaque bool
}

// Follow is Analyze, and tells the control flow as well: the instructions by rising
// address. Those that control was not seen to get to, which an exception or an
// indirect jump that is not understood may lead to, are among them. On architectures
// with delay slots there are no steps.
func Follow(a *arch.Arch, code Code, start, end uint64) (*Func, []Step) {
	x := pool.Get().(*analysis)
	defer x.release()
	x.reset(a, code, start, end)
	if !x.run() {
		return nil, nil
	}
	f := x.finish()
	if f == nil || a.DelaySlots {
		return f, nil
	}
	return f, x.steps(f)
}

func (a *analysis) steps(f *Func) []Step {
	steps := make([]Step, 0, len(a.ops))
	direct := make([]uint64, 0, len(a.ops))
	var rows []*Row
	for i := range a.ops {
		o := &a.ops[i]
		s := Step{Addr: o.addr, Next: o.fallsThrough()}
		switch o.flow {
		case flowJump, flowCond:
			direct = append(direct, o.target)
			s.To = direct[len(direct)-1:]
		case flowIndirect:
			t := a.jumps[int32(i)]
			s.To = t.to
			if len(t.to) == 0 || t.guessed && len(t.to) == maxGuess {
				rows, _ = f.Rows(rows[:0], o.addr)
				s.Opaque = !a.leavesFrame(rows)
			}
		}
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(x, y Step) int { return cmp.Compare(x.Addr, y.Addr) })
	return steps
}

// leavesFrame reports whether the stack pointer is where it was at the function's
// entry: an indirect jump there that goes by no table is a tail call.
func (a *analysis) leavesFrame(rows []*Row) bool {
	return len(rows) == 1 && rows[0].CFA == CFARule{Reg: a.machine.arch.SP, Off: a.machine.cfa}
}
