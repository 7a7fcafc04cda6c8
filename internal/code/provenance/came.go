package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Came reports whether control may have come to the frame's instruction through the instruction at way, one of those
// that Leading returns: whether the jump there went this way, with what the registers and the frame still hold. It
// returns false, false if that is not certain. Nothing that the condition needs was computed again since the jump: from
// there on, the code is straight.
func (e *Evaluator) Came(way uint64) (came, ok bool) {
	f := e.f
	i, found := f.index(way)
	at, known := f.index(e.s.PC)
	if !found || !known || f.opaque {
		return false, false
	}
	next := -1 // on the way, after i
	for n := 0; !f.branches(int32(i)); n++ {
		if n == len(f.steps) || i == f.entry || len(f.preds[i]) != 1 {
			return false, false
		}
		next, i = i, int(f.preds[i][0])
	}
	in := f.inst(i)
	if in == nil {
		return false, false
	}
	jump := *in
	leads := func(addr uint64) bool {
		to, ok := f.index(addr)
		return ok && (to == next || next < 0 && f.straight(to, at))
	}
	taken := leads(jump.Target)
	if taken == leads(jump.Next()) {
		return false, false // both do, or neither
	}
	jumps, ok := e.jumps(&jump, i)
	return ok && jumps == taken, ok
}

// straight reports whether control that is at instruction i gets to instruction to, whatever the conditions.
func (f *Func) straight(i, to int) bool {
	for range f.steps {
		if i == to {
			return true
		}
		s := &f.steps[i]
		in := f.inst(i)
		if f.branches(int32(i)) || in == nil || in.Kind.IsCall() {
			return false
		}
		next := in.Next()
		if !s.Next {
			if len(s.To) == 0 {
				return false
			}
			next = s.To[0]
		}
		var ok bool
		if i, ok = f.index(next); !ok {
			break
		}
	}
	return false
}

// jumps computes whether the conditional jump, instruction i, jumped when it last ran; false, false for other instructions.
func (e *Evaluator) jumps(jump *disasm.Inst, i int) (jumps, ok bool) {
	f := e.f
	for range f.steps {
		if i == f.entry || len(f.preds[i]) != 1 {
			break
		}
		i = int(f.preds[i][0])
		in := f.inst(i)
		if in == nil {
			break
		}
		if c, ok := in.Compare(); ok {
			size := in.Size
			a, known := e.compared(i, c.A, c.MemA, 0)
			b, also := e.compared(i, c.B, c.MemB, c.Imm)
			if !known || !also {
				break
			}
			return jump.JumpsAfter(&c, size, a, b)
		}
		if !in.KeepsFlags() {
			break
		}
	}
	return false, false
}

// compared returns an operand of the comparison that is instruction i; false if it may have been another value.
func (e *Evaluator) compared(i int, r arch.Reg, mem bool, imm int64) (uint64, bool) {
	if !mem && r == arch.NoReg {
		return uint64(imm), true
	}
	var v *Value
	if mem {
		v = e.f.memory(i)
	} else {
		v = e.f.Before(e.f.steps[i].Addr, Reg(r))
	}
	val, exact, ok := e.Value(v, 0)
	return val, ok && exact
}
