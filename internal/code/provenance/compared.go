package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Operand is one of two that were compared.
type Operand struct {
	Value *Value
	Reg   arch.Reg // that held it; NoReg for memory and constants
	At    uint64   // the instruction that compared it
}

// Compared returns the operands of the comparison that led control to the instruction at addr: the one that must have been at least as large, both
// taken as unsigned numbers, and the other. It is false where that is no such comparison, and where ways meet.
func (f *Func) Compared(addr uint64) (larger, smaller Operand, ok bool) {
	i, ok := f.index(addr)
	if !ok || f.opaque {
		return larger, smaller, false
	}
	for range maxGuards {
		if i == f.entry || len(f.preds[i]) != 1 {
			break
		}
		to := f.steps[i].Addr
		i = int(f.preds[i][0])
		in := f.inst(i)
		if in == nil || in.Kind.IsCall() {
			break
		}
		if in.Kind == disasm.CondJump {
			jump := *in
			if taken := jump.Target == to; taken != (jump.Next() == to) {
				return f.compared(jump, i, taken)
			}
			break
		}
	}
	return larger, smaller, false
}

// compared is Compared for a conditional jump, instruction i.
func (f *Func) compared(jump disasm.Inst, i int, taken bool) (larger, smaller Operand, ok bool) {
	i, in, c, ok := f.flagsFrom(i)
	if !ok {
		return larger, smaller, false
	}
	const high = ^uint64(0) // larger than 1 only as an unsigned number
	more, _ := jump.JumpsAfter(&c, in.Size, high, 1)
	less, _ := jump.JumpsAfter(&c, in.Size, 1, high)
	if as, _ := jump.JumpsAfter(&c, in.Size, 2, 1); more == less || as != more { // also for test, and for conditions that are not told
		return larger, smaller, false
	}
	operand := func(r arch.Reg, mem bool) Operand {
		o := Operand{Reg: r, At: f.steps[i].Addr}
		switch {
		case mem:
			o.Value = f.memory(i).resolve()
		case r != arch.NoReg:
			o.Value = f.Before(o.At, Reg(r))
		default:
			o.Value = newValue(o.At)
			o.Value.Kind, o.Value.K = Const, c.Imm
		}
		return o
	}
	a, b := operand(c.A, c.MemA), operand(c.B, c.MemB)
	if more == taken {
		return a, b, true
	}
	return b, a, true
}
