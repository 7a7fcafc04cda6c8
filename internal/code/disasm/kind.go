package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// A Kind classifies an instruction by its effect on control flow and on the stack. The
// operands are in the Inst.
type Kind uint8

// The kinds. SP and FP are the architecture's stack and frame pointers.
const (
	Other        Kind = iota
	Nop               // does nothing: nop of any length, hints in the nop space
	Endbr             // marks a valid target of indirect branches: endbr64, endbr32
	Call              // direct: Target
	CallIndirect      // through Src or Mem; also far calls
	Ret               // pops Imm more bytes after the return address
	RetFar            // far return, or return from an interrupt
	Jump              // direct: Target
	JumpIndirect      // through Src or Mem
	CondJump          // to Target or to the next instruction
	Push              // of Src, Imm or Mem; Src is NoReg for flags and segment registers
	Pop               // into Dst or Mem
	Enter             // push FP; FP = SP; SP -= Imm
	Leave             // SP = FP; pop FP
	MovSPtoFP         // FP = SP
	MovFPtoSP         // SP = FP
	SubSP             // SP -= Imm
	AddSP             // SP += Imm
	AndSP             // SP &= Imm: aligns the stack
	LeaSP             // SP = address of Mem
	Mov               // Dst = Src; also writes of SP from registers other than FP
	MovImm            // Dst = Imm, including clearing by xor
	Load              // Dst = memory at Mem, possibly extended
	Store             // memory at Mem = Src or Imm
	Lea               // Dst = address of Mem
	Div               // divides by Src or Mem; faults on zero and on overflow
	Syscall           // enters the kernel
	Trap              // deliberately undefined: ud2, ud1, ud0
	Int3              // breakpoint
	Interrupt         // other software interrupts: int n, into, int1
	Halt              // privileged: faults in user mode
	numKinds
)

var kindNames = [numKinds]string{
	"other", "nop", "endbr", "call", "call-indirect", "ret", "ret-far", "jump", "jump-indirect", "cond-jump", "push", "pop",
	"enter", "leave", "mov-sp-to-fp", "mov-fp-to-sp", "sub-sp", "add-sp", "and-sp", "lea-sp", "mov", "mov-imm", "load", "store",
	"lea", "div", "syscall", "trap", "int3", "interrupt", "halt",
}

// String returns the kind in lower case.
func (k Kind) String() string {
	if k >= numKinds {
		return "?"
	}
	return kindNames[k]
}

// IsCall reports whether the instruction saves a return address.
func (k Kind) IsCall() bool { return k == Call || k == CallIndirect }

// EndsBlock reports whether control may continue elsewhere than with the next instruction
// in memory.
func (k Kind) EndsBlock() bool {
	switch k {
	case Ret, RetFar, Jump, JumpIndirect, CondJump, Trap, Halt:
		return true
	}
	return false
}

// StackDelta returns by how many bytes the instruction itself moves the stack pointer:
// negative for a push, -8 for an x86-64 call (the return address, which the callee's ret
// pops). It returns false if that depends on more than the instruction: leave, mov to the
// stack pointer, alignment.
func (i *Inst) StackDelta() (int64, bool) {
	word := int64(i.arch.RegSize)
	switch i.Kind {
	case Push:
		return -int64(i.Size), true
	case Pop:
		return int64(i.Size), i.Dst != i.arch.SP
	case Call, CallIndirect:
		if i.arch.RA != arch.NoReg { // the return address goes to a register
			return 0, !i.Writes.Has(i.arch.SP)
		}
		return -word, true
	case Ret:
		if i.arch.RA != arch.NoReg {
			return 0, !i.Writes.Has(i.arch.SP)
		}
		return word + i.Imm, true
	case Load, Store:
		if m := i.Mem(); m != nil && i.Writeback != 0 && m.Base == i.arch.SP && i.Dst != i.arch.SP && i.Dst2 != i.arch.SP {
			return i.Writeback, true
		}
	case SubSP:
		return -i.Imm, true
	case AddSP:
		return i.Imm, true
	case LeaSP:
		m := &i.mems[0]
		return m.Disp, m.Base == i.arch.SP && int(m.AddrSize) >= i.arch.WordSize && !m.RIPRelative && m.Index > 63
	}
	return 0, !i.Writes.Has(i.arch.SP)
}
