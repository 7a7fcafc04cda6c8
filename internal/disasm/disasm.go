// Package disasm decodes single machine instructions for stack walking and for
// saying why a program died: lengths, what an instruction does to the stack,
// which general registers and which memory it touches, and its text.
//
// Each architecture is a group of files of its own behind the functions that
// take an *arch.Arch. On x86 the package's own decoder is the authority for
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
	Size     uint8 // operand size in bytes; 0 where it has no meaning
	Lock     bool  // has a lock prefix
	Rep      bool  // a string instruction that repeats

	arch *arch.Arch
	code [MaxLen]byte
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
// pc. It looks at MaxLen bytes at most. The error wraps ErrTruncated,
// ErrUnknown or ErrUnsupported. Decode does not allocate when it succeeds.
func Decode(a *arch.Arch, code []byte, pc uint64) (Inst, error) {
	m := x86ModeOf(a)
	if m == nil {
		return Inst{}, unsupported(a)
	}
	var in Inst
	err := m.decode(&in, a, code, pc)
	return in, err
}

// decodeInto is Decode without the copy of an Inst, for loops over code.
func decodeInto(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	m := x86ModeOf(a)
	if m == nil {
		return unsupported(a)
	}
	*in = Inst{}
	return m.decode(in, a, code, pc)
}

func unsupported(a *arch.Arch) error {
	name := "no architecture"
	if a != nil {
		name = a.Name
	}
	return fmt.Errorf("%s: %w", name, ErrUnsupported)
}
