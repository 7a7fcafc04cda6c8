// Package disasm decodes single machine instructions for stack walking and for explaining
// crashes: length, effect on the stack, general registers and memory accessed, and text.
//
// Each family of architectures has its own files behind the functions that take an
// *arch.Arch. RISC instructions are described in the same terms as those of x86: a store of
// a register pair that moves the stack pointer is a Store with Src, Src2 and Writeback;
// adding a constant to a register is Lea, or SubSP, AddSP or LeaSP if it changes the stack
// pointer; an access relative to the program counter has RIPRelative set; moves from and to
// the link register are Mov. An instruction that cannot change a general register or the
// control flow may remain Other, with its Reads and Writes.
//
// The decoders are written by hand. The packages of golang.org/x/arch (v0.32.0) supply
// mnemonics for Text (for POWER and z/Architecture tables in package words do, since x/arch
// builds its own at each start of a program), but an Inst cannot be made from what they
// return: they list the operands in the manual's order and do not say which of them the
// instruction reads and which it writes, nor what it changes implicitly (stack pointer, link
// register, the base of an access with writeback). They also allocate for each instruction,
// and except for x86asm, their Decode writes a global variable without a lock. What else
// they lack is said where each family's decoder begins. They have no package for MIPS,
// SPARC, Alpha and M68000.
//
// All functions are pure, and an Inst is a plain value: everything is safe for concurrent
// use.
package disasm

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Reasons why bytes cannot be decoded. Every error of this package wraps one.
var (
	// ErrTruncated: the code ends inside the instruction.
	ErrTruncated = errors.New("instruction continues past the end of the code")
	// ErrUnknown: the bytes are not an instruction of the architecture.
	ErrUnknown = errors.New("not an instruction")
	// ErrUnsupported: there is no decoder for the architecture.
	ErrUnsupported = errors.New("no instruction decoder for the architecture")
)

// MaxLen is the maximum length of an instruction of any architecture, in bytes.
const MaxLen = 15

// An Inst is one decoded instruction.
type Inst struct {
	PC     uint64 // address of its first byte
	Target uint64 // of a direct call, jump or conditional jump
	// Imm is the immediate operand, sign-extended. For Ret it is the number of argument
	// bytes that it pops, for Enter the number of bytes that it allocates.
	Imm int64
	// Reads and Writes are the general registers that the instruction reads (also to
	// compute addresses) and changes. Flags, segment and vector registers are not included.
	// A write of 1 or 2 bytes keeps the rest of the register but still counts as a write.
	Reads, Writes arch.RegMask

	mems [2]MemOperand
	nmem uint8

	Len  int // in bytes
	Kind Kind
	// Dst and Src are the general registers among the explicit operands, or NoReg. An
	// operand that is only read (cmp, test, push) is Src if it is alone; the first of two
	// is Dst.
	Dst, Src arch.Reg
	// Dst2 and Src2 are the second register of an instruction that loads or stores a pair;
	// its memory follows the first one's. NoReg if none.
	Dst2, Src2 arch.Reg
	// List is the set of registers of a Load or Store of several: the lowest-numbered one
	// is at the address of Mem, each next one RegSize bytes higher.
	List arch.RegMask
	// Writeback is the number of bytes by which the access also changes the base register
	// of Mem. Disp of Mem is relative to the value before the change.
	Writeback int64

	Size uint8 // operand size in bytes; 0 if meaningless
	// Conditional: the instruction takes effect only under a condition (A32's condition
	// codes, Thumb's IT blocks; not CondJump).
	Conditional bool
	// Predicates is the number of following instructions that are Conditional although
	// their own code does not say so (T32's IT). A Jump among them is a CondJump in the
	// terms of other architectures.
	Predicates uint8
	// Switches: Target is code of the architecture's other instruction set.
	Switches bool
	// Wide: a four-byte instruction of a set that also has shorter ones.
	Wide bool
	// Delayed: the next instruction executes before this one takes effect.
	Delayed bool
	Lock    bool // has a lock prefix
	Rep     bool // a string instruction that repeats

	arch *arch.Arch
	code [MaxLen]byte
	x86  x86Opcode
}

// A MemOperand is a memory operand of an instruction, explicit or implicit (push, ret,
// movs).
type MemOperand struct {
	// Disp is the displacement. If RIPRelative is set it is the complete address: the
	// address of the next instruction has been added.
	Disp        int64
	Base, Index arch.Reg // NoReg if none
	// Segment is the register that contains the segment base to add (fs_base, gs_base), or
	// NoReg.
	Segment arch.Reg
	// BitIndex is the register whose value, divided by 8, is also added: bit instructions
	// with a register operand can access memory beyond their operand.
	BitIndex arch.Reg
	Scale    uint8  // of Index: 1, 2, 4 or 8
	Size     uint16 // maximum number of bytes accessed; 0 if the instruction does not give it
	AddrSize uint8  // size of the computed address in bytes: 4 truncates the sum to 32 bits

	// IndexBits is the number of low bits of Index that are used: 0 for all, 32 for the
	// zero-extended low half, -32 for the sign-extended low half.
	IndexBits int8
	Opaque    bool // the address depends on Index in a way that these fields do not describe

	Read, Write bool // if neither is set, only the address is used (lea, prefetch)
	RIPRelative bool
	Implicit    bool // not part of the instruction's text
	Vector      bool // one access per element of a vector index (gather, scatter)
	// Aligned says that an address that is not a multiple of Size faults.
	Aligned bool
}

// Bytes returns the instruction's encoding.
func (i *Inst) Bytes() []byte { return i.code[:i.Len] }

// Next is the address after the instruction.
func (i *Inst) Next() uint64 { return i.arch.Truncate(i.PC + uint64(i.Len)) }

// Mems returns the instruction's memory operands, the explicit one first. The slice belongs
// to i.
func (i *Inst) Mems() []MemOperand { return i.mems[:i.nmem] }

// Mem returns the explicit memory operand, or nil.
func (i *Inst) Mem() *MemOperand {
	if i.nmem == 0 || i.mems[0].Implicit {
		return nil
	}
	return &i.mems[0]
}

// addMem records a memory operand; an instruction has at most two.
func (i *Inst) addMem(m MemOperand) {
	if int(i.nmem) < len(i.mems) {
		i.mems[i.nmem] = m
		i.nmem++
	}
}

// Decode decodes the instruction at the start of code, which is the memory at pc. If an
// architecture has two instruction sets (arch.Arch.Mode), pc is a code pointer: its lowest
// bit selects the set and is not part of the address. Decode reads at most MaxLen bytes.
// The error wraps ErrTruncated, ErrUnknown or ErrUnsupported. Decode does not allocate if
// it succeeds.
func Decode(a *arch.Arch, code []byte, pc uint64) (Inst, error) {
	var in Inst
	err := decodeInto(&in, a, code, pc)
	return in, err
}

// decodeInto is Decode without copying an Inst, for loops over code.
func decodeInto(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	*in = Inst{}
	in.Dst, in.Src, in.Dst2, in.Src2 = arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg
	switch familyOf(a) {
	case arch.FamilyX86:
		if m := x86ModeOf(a); m != nil {
			return m.decode(in, a, code, pc)
		}
	case arch.FamilyS390:
		return s390Decode(in, a, code, pc)
	case arch.FamilyPPC:
		return ppcDecode(in, a, code, pc)
	case arch.FamilyARM64:
		return arm64Decode(in, a, code, pc)
	case arch.FamilyARM:
		return armDecode(in, a, code, pc)
	case arch.FamilyRISCV:
		return riscvDecode(in, a, code, pc)
	case arch.FamilyMIPS:
		return mipsDecode(in, a, code, pc)
	case arch.FamilyLoongArch:
		return loongDecode(in, a, code, pc)
	}
	return unsupported(a)
}

// familyOf returns a's family; NoFamily if a is nil.
func familyOf(a *arch.Arch) arch.Family {
	if a == nil {
		return arch.NoFamily
	}
	return a.Family
}

func unsupported(a *arch.Arch) error {
	name := "no architecture"
	if a != nil {
		name = a.Name
	}
	return fmt.Errorf("%s: %w", name, ErrUnsupported)
}
