// Package disasm decodes single machine instructions for stack walking and for
// saying why a program died: lengths, what an instruction does to the stack,
// which general registers and which memory it touches, and its text.
//
// Each family of architectures is a group of files of its own behind the
// functions that take an *arch.Arch. Machines whose instructions are regular say
// what they do in the same terms as x86: a store of a register pair that moves
// the stack pointer is a Store with Src, Src2 and Writeback; adding a constant to
// a register is Lea, and SubSP, AddSP or LeaSP where the stack pointer is
// changed; an access relative to the program counter has RIPRelative set; moves
// from and to the link register are Mov. What can change no general register and
// no control flow may stay Other with its Reads and Writes. On x86 the package's own decoder is the authority for
// lengths and operands; golang.org/x/arch/x86/x86asm supplies mnemonics, and
// only where it agrees about the length.
//
// Everything here is a pure function of its arguments, and an Inst is a plain
// value: all of it may be used concurrently.
package disasm

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Why bytes could not be decoded. Every error from this package wraps one.
var (
	// ErrTruncated: the code ends before the instruction does.
	ErrTruncated = errors.New("instruction continues past the code at hand")
	// ErrUnknown: the bytes are no instruction of the architecture.
	ErrUnknown = errors.New("not an instruction")
	// ErrUnsupported: the package has no decoder for the architecture.
	ErrUnsupported = errors.New("no instruction decoder for the architecture")
)

// MaxLen is the length in bytes of the longest instruction of any architecture.
const MaxLen = 15

// An Inst is one decoded instruction.
type Inst struct {
	PC     uint64 // address of its first byte
	Target uint64 // of a direct call, jump or conditional jump
	// Imm is the immediate operand, sign-extended; of Ret, the bytes of
	// arguments it drops; of Enter, the bytes it allocates.
	Imm int64
	// Reads and Writes are the general registers whose value the instruction
	// uses (registers of addresses included) and changes. Flags, segment and
	// vector registers are not recorded. A write of 1 or 2 bytes keeps the rest
	// of the register, and is a write all the same.
	Reads, Writes arch.RegMask

	mems [2]MemOperand
	nmem uint8

	Len  int // bytes
	Kind Kind
	// Dst and Src are the general registers among the explicit operands; NoReg
	// for none. An operand that is only read (cmp, test, push) counts as Src
	// when it is alone, and the first of two as Dst.
	Dst, Src arch.Reg
	// Dst2 and Src2 are the second register of an instruction that loads or
	// stores a pair: the memory after the first one's. NoReg for none.
	Dst2, Src2 arch.Reg
	// List are the registers that a Load or Store of many transfers: the one with
	// the lowest number at the address of Mem, the others each RegSize bytes on,
	// in the order of their numbers.
	List arch.RegMask
	// Writeback is by how many bytes the access changes the base register of Mem
	// besides, whose Disp is relative to the value before.
	Writeback int64

	Size uint8 // operand size in bytes; 0 where it has no meaning
	// Conditional: the instruction takes effect only under a condition (A32's
	// condition codes, Thumb's IT blocks; not the jumps that are CondJump).
	Conditional bool
	// Predicates is how many of the instructions that follow are Conditional, though
	// their own code does not say so (T32's IT). One that is, and is a Jump, is what
	// elsewhere is a CondJump.
	Predicates uint8
	// Switches: Target is code of the architecture's other instruction set.
	Switches bool
	// Wide: an instruction of four bytes of a set that has shorter ones too.
	Wide bool
	// Delayed: the next instruction runs before this one takes effect.
	Delayed bool
	Lock    bool // has a lock prefix
	Rep     bool // a string instruction that repeats

	arch *arch.Arch
	code [MaxLen]byte
	x86  x86Opcode
}

// A MemOperand is one piece of memory that an instruction accesses, explicitly
// or (push, ret, movs) by its nature.
type MemOperand struct {
	// Disp is the displacement. Where RIPRelative is set it is the whole
	// address: the instruction's end is already added.
	Disp        int64
	Base, Index arch.Reg // NoReg for none
	// Segment is the register that holds the base to add (fs_base, gs_base);
	// NoReg for none.
	Segment arch.Reg
	// BitIndex is the register whose value, divided by 8, is added too: the bit
	// instructions with a register operand reach outside their operand.
	BitIndex arch.Reg
	Scale    uint8  // of Index: 1, 2, 4 or 8
	Size     uint16 // bytes accessed, at most; 0 when the instruction does not tell
	AddrSize uint8  // bytes of address computed: 4 cuts the sum to 32 bits

	// IndexBits is how many low bits of Index are used: 0 for all of them, 32 for
	// the low half, zero-extended, and -32 for it, sign-extended.
	IndexBits int8
	Opaque    bool // the address depends on Index in a way that these fields do not tell

	Read, Write bool // neither: only the address is used (lea, prefetch)
	RIPRelative bool
	Implicit    bool // not written in the instruction's text
	Vector      bool // one access per element of a vector index (gather, scatter)
	// Aligned says that an address that is not a multiple of Size faults.
	Aligned bool
}

// Bytes returns the instruction's encoding.
func (i *Inst) Bytes() []byte { return i.code[:i.Len] }

// Next is the address after the instruction.
func (i *Inst) Next() uint64 { return i.arch.Truncate(i.PC + uint64(i.Len)) }

// Mems returns the memory that the instruction accesses, the explicit operand
// first. The slice belongs to i.
func (i *Inst) Mems() []MemOperand { return i.mems[:i.nmem] }

// Mem returns the explicit memory operand, or nil.
func (i *Inst) Mem() *MemOperand {
	if i.nmem == 0 || i.mems[0].Implicit {
		return nil
	}
	return &i.mems[0]
}

// addMem records an access; an instruction has two at most.
func (i *Inst) addMem(m MemOperand) {
	if int(i.nmem) < len(i.mems) {
		i.mems[i.nmem] = m
		i.nmem++
	}
}

// Decode decodes the instruction at the start of code, which is the memory at
// pc. Where an architecture has two instruction sets (arch.Arch.Mode), pc is a
// code pointer: its lowest bit says which, and is no part of the address. Decode
// looks at MaxLen bytes at most. The error wraps ErrTruncated, ErrUnknown or
// ErrUnsupported. Decode does not allocate when it succeeds.
func Decode(a *arch.Arch, code []byte, pc uint64) (Inst, error) {
	var in Inst
	err := decodeInto(&in, a, code, pc)
	return in, err
}

// decodeInto is Decode without the copy of an Inst, for loops over code.
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

// familyOf is a's family; none for no architecture.
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
