package stackflow

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Step is one instruction of a function, with the instructions that may follow it in the
// function.
type Step struct {
	Addr uint64
	Len  uint8    // of the instruction in bytes
	Next bool     // continues with the next instruction in memory
	To   []uint64 // other successors; do not write to it
	// Opaque: the successors are unknown, and may be in the function.
	Opaque bool
}

// Follow is Analyze, and also returns the control flow: the function's instructions in
// ascending order. It includes instructions to which no path was found, but which an
// exception or an indirect jump that is not understood may reach. For architectures with
// delay slots there are no steps, nor for functions of more than most instructions.
func Follow(a *arch.Arch, code Code, start, end uint64, most int) (*Func, []Step) {
	x := pool.Get().(*analysis)
	defer x.release()
	x.reset(a, code, start, end)
	if !x.run() {
		return nil, nil
	}
	f := x.finish()
	if f == nil || a.DelaySlots || len(x.ops) > most {
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
		s := Step{Addr: o.addr, Len: o.len, Next: o.fallsThrough()}
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

// leavesFrame reports whether the stack pointer has its value from the function's entry. An
// indirect jump there, if not through a table, is a tail call.
func (a *analysis) leavesFrame(rows []*Row) bool {
	return len(rows) == 1 && rows[0].CFA == CFARule{Reg: a.machine.arch.SP, Off: a.machine.cfa}
}
