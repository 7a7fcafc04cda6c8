package hotspot

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where interpreted and compiled code call each other there are instructions between the frame of the caller and that of the
// callee. What a thread that was stopped there has of them follows from the instructions that are yet to come.

// A between is the state of a thread between two frames.
type between struct {
	ra     uint64 // where the caller goes on, if raAt is 0
	raAt   uint64 // or where that is in memory
	raIn   arch.Reg
	fpAt   uint64 // where the caller's frame pointer is; 0 for in its register
	sp     uint64 // of the caller
	method uint64 // that begins; 0 if none does
}

const (
	maxCrossing = 600     // instructions that are looked at: an adapter saves all registers where it patches a call
	maxSlow     = 1 << 10 // bytes of such a way
	maxShift    = 1 << 16
)

// crossing finds out what a thread has that was stopped in code of the interpreter or of an adapter; false if there is a
// whole frame, or if the caller would be no Java code.
func (vm *VM) crossing(b *blob, f *unwind.Frame) (s between, ok bool) {
	if !interrupted(f) || b.kind != kindInterpreter && b.kind != kindTable {
		return s, false
	}
	if s, ok = vm.between(b, f); !ok {
		return s, false
	}
	ra := s.ra
	if s.raAt != 0 {
		ra = vm.Word(s.raAt)
	}
	return s, vm.blobAt(ra-1) != nil
}

func (vm *VM) between(b *blob, f *unwind.Frame) (s between, ok bool) {
	if b.kind == kindInterpreter {
		if s, ok := vm.building(f); ok {
			return s, true
		}
		if s, ok := vm.returning(f); ok {
			return s, true
		}
	}
	left := maxCrossing
	e, ok := vm.entering(f.RA(), entry{}, b.kind == kindTable, &left, map[uint64]bool{})
	if !ok {
		return s, false
	}
	sp := f.SP()
	s.raAt, s.sp = sp, sp+8
	if !e.pops && e.pushes {
		s.raAt, s.raIn, s.sp = 0, arch.RAX, sp
		if s.ra, _, ok = f.Reg(arch.RAX); !ok {
			return s, false
		}
	}
	if sender, _, ok := f.Reg(arch.R13); ok && !e.notes && sender >= sp && sender-sp <= maxShift {
		s.sp = sender
	}
	if b.kind == kindInterpreter {
		s.method, _, _ = f.Reg(arch.RBX)
	}
	return s, true
}

// An entry is what code between two frames is going to do.
type entry struct {
	pops   bool // takes the return address from the stack
	pushes bool // and puts it back, or would do so if it had
	notes  bool // the stack pointer of the caller
}

// entering follows code to where the callee's frame begins: the jump of an adapter, the interpreter's push of the frame pointer.
func (vm *VM) entering(pc uint64, e entry, adapter bool, left *int, seen map[uint64]bool) (entry, bool) {
	for ; *left > 0 && !seen[pc]; *left-- {
		seen[pc] = true
		i, ok := vm.instruction(pc)
		if !ok {
			return e, false
		}
		switch i.Kind {
		case disasm.Pop:
			if i.Dst != arch.RAX && adapter || e.pushes {
				return e, false
			}
			e.pops = e.pops || i.Dst == arch.RAX
		case disasm.Push:
			if i.Src == arch.RBP && !adapter {
				next, ok := vm.instruction(i.Next())
				return e, ok && next.Kind == disasm.MovSPtoFP
			}
			e.pushes = e.pushes || i.Src == arch.RAX
		case disasm.Load: // instead of a pop
			if m := i.Mem(); adapter && i.Dst == arch.RAX && m.Base == arch.RSP && m.Disp == 0 && !e.pushes {
				e.pops = true
			}
		case disasm.Store:
			if m := i.Mem(); adapter && i.Src == arch.RAX && m != nil && m.Base == arch.RSP && m.Disp == 0 {
				e.pushes = true
			}
		case disasm.Mov:
			e.notes = e.notes || i.Dst == arch.R13 && i.Src == arch.RSP
		case disasm.Lea:
			e.notes = e.notes || i.Dst == arch.R13 && i.Mem().Base == arch.RSP
		case disasm.JumpIndirect:
			return e, adapter
		case disasm.CondJump:
			if i.Target > pc && i.Target-pc < maxSlow {
				if e, ok := vm.entering(i.Next(), e, adapter, left, seen); ok {
					return e, true
				}
				pc = i.Target
				continue
			}
		case disasm.Ret, disasm.RetFar, disasm.Call, disasm.CallIndirect, disasm.Jump, disasm.Leave, disasm.Enter, disasm.Trap:
			return e, false
		}
		pc = i.Next()
	}
	return e, false
}

// instruction decodes one instruction.
func (vm *VM) instruction(pc uint64) (disasm.Inst, bool) {
	i, err := disasm.Decode(arch.AMD64, vm.Some(pc, disasm.MaxLen), pc)
	return i, err == nil
}

// building is the state while the interpreter pushes what its frame has.
func (vm *VM) building(f *unwind.Frame) (s between, ok bool) {
	sp, fp := f.SP(), f.FP()
	sender, _, hasSender := f.Reg(arch.R13)
	s.method, _, _ = f.Reg(arch.RBX)
	if i, ok := vm.instruction(f.RA()); ok && i.Kind == disasm.MovSPtoFP { // the frame pointer is saved
		s.raAt, s.fpAt, s.sp = sp+8, sp, sender
		return s, hasSender && sender >= sp+16 && sender-sp <= maxShift
	}
	if sp > fp || sp <= at(fp, interpretedMethod) {
		return s, false
	}
	s.raAt, s.fpAt, s.sp = fp+8, fp, sender
	if sp <= at(fp, interpretedSender) {
		s.sp = vm.Word(at(fp, interpretedSender))
	}
	return s, s.sp >= fp+16 && s.sp-fp <= maxFrame
}

// maxReturning is the most instructions between the end of an interpreted frame and its return.
const maxReturning = 12

// returning is the state while the interpreter returns by a jump, its frame gone.
func (vm *VM) returning(f *unwind.Frame) (s between, ok bool) {
	pc, sp := f.RA(), f.SP()
	popped, from := arch.NoReg, arch.NoReg
	for range maxReturning {
		i, ok := vm.instruction(pc)
		if !ok {
			return s, false
		}
		switch i.Kind {
		case disasm.Pop:
			if popped != arch.NoReg || from != arch.NoReg || i.Dst == arch.NoReg {
				return s, false
			}
			popped = i.Dst
		case disasm.Mov:
			if i.Dst == arch.RSP {
				if from != arch.NoReg {
					return s, false
				}
				from = i.Src
			}
		case disasm.JumpIndirect:
			to := i.Src
			if i.Mem() != nil || to == arch.NoReg || popped != arch.NoReg && popped != to || from == arch.NoReg && to != arch.R13 {
				return s, false
			}
			s.sp = sp
			if from != arch.NoReg {
				if s.sp, _, ok = f.Reg(from); !ok {
					return s, false
				}
			}
			if popped != arch.NoReg {
				s.raAt = sp
			} else if s.ra, _, ok = f.Reg(to); !ok {
				return s, false
			} else {
				s.raIn = to
			}
			return s, s.sp >= sp && s.sp-sp <= maxFrame
		case disasm.CondJump, disasm.Other, disasm.Store, disasm.Nop, disasm.MovImm, disasm.Load:
			if i.Writes.Has(arch.RSP) || i.Writes.Has(arch.RBP) {
				return s, false
			}
		default:
			return s, false
		}
		pc = i.Next()
	}
	return s, false
}

// crossed walks from between two frames to the caller.
func (vm *VM) crossed(s between, in, out *unwind.Frame) unwind.Status {
	if s.raAt != 0 {
		if s.fpAt == 0 {
			if fp, l, ok := in.Reg(arch.RBP); ok {
				out.SetReg(arch.RBP, fp, l)
			}
		}
		return vm.caller(out, s.raAt, s.fpAt, s.sp)
	}
	for _, r := range stubSaved {
		out.ForgetReg(r.reg)
	}
	if fp, l, ok := in.Reg(arch.RBP); ok {
		out.SetReg(arch.RBP, fp, l)
	}
	out.SetRA(s.ra)
	out.SetRALocation(unwind.InRegister(s.raIn))
	out.SetSP(s.sp)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

// inCallStub reports whether code calls the interpreter on behalf of a call in compiled code: it has no frame.
func (vm *VM) inCallStub(pc uint64) bool {
	i, ok := vm.instruction(pc)
	if ok && i.Kind == disasm.Jump {
		i, ok = vm.instruction(pc - callStubLoad)
		return ok && i.Kind == disasm.MovImm && i.Dst == arch.RBX && i.Len == callStubLoad
	}
	if !ok || i.Kind != disasm.MovImm || i.Dst != arch.RBX || i.Len != callStubLoad {
		return false
	}
	next, ok := vm.instruction(i.Next())
	return ok && next.Kind == disasm.Jump
}

// callStubLoad is the bytes of the instruction by which such code loads the method.
const callStubLoad = 10

// made is how far above the stack pointer the return address is in a stub that has made part of its frame, by the
// instructions from its beginning to pc; false where that does not follow from them.
func (vm *VM) made(b *blob, pc uint64) (depth uint64, ok bool) {
	for at := b.begin; ; {
		if at == pc {
			return depth, true
		}
		i, ok := vm.instruction(at)
		if !ok || at > pc {
			return 0, false
		}
		switch i.Kind {
		case disasm.Push:
			depth += 8
		case disasm.SubSP:
			depth += uint64(i.Imm)
		case disasm.Enter:
			depth += 8 + uint64(i.Imm)
		case disasm.Other, disasm.Store, disasm.Mov, disasm.MovSPtoFP, disasm.Lea, disasm.Load, disasm.Nop, disasm.MovImm, disasm.Endbr:
			if i.Writes.Has(arch.RSP) {
				return 0, false
			}
		default:
			return 0, false
		}
		if at = i.Next(); depth+8 > b.frameSize || at-b.begin > maxPrologue {
			return 0, false
		}
	}
}
