package steppers

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxEpilogue limits the instructions of an epilogue: one that frees the frame, a pop
// for each register, the return.
const maxEpilogue = 8

// epilogue finds the caller of a frame that was interrupted in an epilogue, by running
// the instructions up to the return. It returns false for other code, and then does not
// change out.
func (x *winStep) epilogue() bool {
	if !interrupted(x.in) {
		return false
	}
	e := epilogue{x: x, pc: x.in.RA(), sp: x.in.SP()}
	e.fp, _, e.hasFP = x.in.Reg(arch.EBP)
	for range maxEpilogue {
		in, ok := decodeAt(x.in.Walker().ProcessState(), e.pc)
		if !ok {
			return false
		}
		if in.Kind == disasm.Ret || in.Kind.EndsBlock() && e.pc != x.in.RA() {
			return e.leave()
		}
		if !e.run(&in) {
			return false
		}
		e.pc = in.Next()
	}
	return false
}

// An epilogue is the state of the registers while an epilogue runs.
type epilogue struct {
	x      *winStep
	pc, sp arch.Address
	fp     arch.Address
	hasFP  bool
	popped [8]struct {
		value, at uint64
		ok        bool
	} // by register
}

// run does what an instruction does to the stack; false for one that is not part of
// epilogues.
func (e *epilogue) run(in *disasm.Inst) bool {
	switch in.Kind {
	case disasm.AddSP:
		e.sp = arch.X86.Truncate(e.sp + uint64(in.Imm))
	case disasm.LeaSP:
		m := in.Mem()
		if m == nil || m.Index != arch.NoReg || m.Base != arch.EBP || !e.hasFP {
			return false
		}
		e.sp = arch.X86.Truncate(e.fp + uint64(m.Disp))
	case disasm.MovFPtoSP, disasm.Leave:
		if !e.hasFP {
			return false
		}
		e.sp = e.fp
		return in.Kind != disasm.Leave || e.pop(arch.EBP)
	case disasm.Pop:
		return in.Size == 4 && in.Dst != arch.ESP && e.pop(in.Dst)
	default:
		return false
	}
	return true
}

// pop pops a word from the stack into a register.
func (e *epilogue) pop(r arch.Reg) bool {
	v, err := e.x.read(e.sp)
	if err != nil || int(r) >= len(e.popped) {
		return false
	}
	p := &e.popped[r]
	p.value, p.at, p.ok = v, e.sp, true
	if r == arch.EBP {
		e.fp, e.hasFP = v, true
	}
	e.sp = arch.X86.Truncate(e.sp + 4)
	return true
}

// leave sets the frame that the return leads to, if it is one.
func (e *epilogue) leave() bool {
	ra, err := e.x.read(e.sp)
	if err != nil || e.sp < e.x.in.SP() || e.x.grade(ra) == noReturn {
		return false
	}
	out := e.x.out
	for r := range e.popped {
		if p := &e.popped[r]; p.ok && arch.X86.CalleeSaved.Has(arch.Reg(r)) {
			out.SetReg(arch.Reg(r), p.value, unwind.AtAddress(p.at))
		}
	}
	out.SetPC(ra, unwind.AtAddress(e.sp))
	out.SetSP(e.sp + 4)
	out.SetCalleeCFA(e.sp + 4)
	out.SetTrust(unwind.TrustAnalysis)
	note(out, "interrupted in the epilogue")
	return true
}
