// Package arch holds what the rest of corewalk must know of a processor
// architecture, and the small vocabulary (addresses, registers, memory) that all
// rooms share.
//
// An Arch is an immutable description: share it freely between goroutines. Each
// architecture is one file here.
package arch

import (
	"encoding/binary"
	"slices"
	"sync"
)

// An Address is an address in the analysed process, or of an ELF or PE file's
// own address space where a comment says so. It is wide enough for every
// architecture; a 32-bit process uses the low half.
type Address = uint64

// A Reg names a register of one Arch: an index into its register file, below
// MaxRegs. The numbers are meaningless without the Arch.
type Reg uint8

// MaxRegs bounds the registers of every Arch, so that a set of registers is a
// 64-bit map.
const MaxRegs = 64

// NoReg stands for "this architecture has no such register".
const NoReg Reg = 0xff

// An Arch describes an architecture as seen by an unwinder.
type Arch struct {
	Name      string // as reports print it: "x86-64"
	Family    Family
	WordSize  int              // bytes in a pointer: 4 or 8
	RegSize   int              // bytes of a general register and of its slot on the stack: WordSize or more
	ByteOrder binary.ByteOrder // of memory and of registers in dumps

	PC, SP, FP Reg
	RA         Reg // link register; NoReg where calls push the return address
	// Mode is the register that says which of its instruction sets the processor
	// runs, as the lowest bit of code pointers does too: 1 for Thumb. NoReg where
	// there is one instruction set.
	Mode Reg
	// ModeFrom is the register of a dump that holds Mode in its bit ModeBit.
	ModeFrom Reg
	ModeBit  uint8

	// CalleeSaved are the general registers that a called function leaves as it
	// found them, by the platform's ABI. SP and PC are not among them.
	CalleeSaved RegMask
	// RedZone is the number of bytes below SP that a leaf function may use.
	RedZone int
	// PCAlign is the alignment of instructions, in bytes.
	PCAlign int
	// CodeMask, when not zero, clears from a code pointer the bits that are no
	// part of the address (pointer authentication, Thumb). A dump may bring a
	// better one.
	CodeMask Address
	// StackBias is what SP is below the stack it stands for, in bytes: 2047 on
	// 64-bit SPARC.
	StackBias Address
	// CFAOffset is what the CFA, as the platform's call frame information counts,
	// is above the caller's stack pointer, in bytes: the register save area of
	// S/390, which belongs to the called function.
	CFAOffset Address
	// StackGrowsUp: calls move SP to higher addresses (HP PA-RISC).
	StackGrowsUp bool
	// ReturnOffset is what a call leaves to be added to get the address it returns
	// to, in bytes: 8 on SPARC.
	ReturnOffset Address
	// DelaySlots: the instruction after a call runs before the call's target
	// does, and calls return behind it.
	DelaySlots bool

	gregSize int // of the general register block of Linux, in bytes

	// The tables are made when they are first asked for: a dump needs those of
	// one architecture.
	make func() tables
	once sync.Once
	lazy tables
}

// The tables of an Arch.
type tables struct {
	names   []string    // by Reg
	dwarf   []Reg       // DWARF register number to Reg; NoReg for none
	dwarfOf []int16     // Reg to DWARF number; -1 for none
	others  []dwarfReg  // further numbers of registers
	gregs   []gregField // layout of the general register block of Linux
	fpregs  []gregField // of the registers of ours in its floating-point block
	wide    RegMask     // those
}

// A dwarfReg is a DWARF register number that stands for reg too.
type dwarfReg struct {
	num int16
	reg Reg
}

// A gregField says where one register lies in a register block.
type gregField struct {
	reg  Reg
	off  int // bytes
	size int // bytes
}

// tables returns a's tables; without any for an Arch that somebody else made.
func (a *Arch) tables() *tables {
	a.once.Do(func() {
		if a.make != nil {
			a.lazy = a.make()
			a.lazy.indexDWARF()
		}
	})
	return &a.lazy
}

// NumRegs is the number of registers of a; every valid Reg is below it.
func (a *Arch) NumRegs() int { return len(a.tables().names) }

// RegName returns r's name in lower case, or "?" for a Reg a does not have.
func (a *Arch) RegName(r Reg) string {
	names := a.tables().names
	if int(r) >= len(names) {
		return "?"
	}
	return names[r]
}

// RegByName is the opposite of RegName. It is a linear search.
func (a *Arch) RegByName(name string) (Reg, bool) {
	if i := slices.Index(a.tables().names, name); i >= 0 {
		return Reg(i), true
	}
	return NoReg, false
}

// FromDWARF maps a DWARF register number, as the architecture's ABI assigns
// them, to a Reg. It answers false for a register outside the general file
// (vector and floating-point registers, mostly).
func (a *Arch) FromDWARF(n uint64) (Reg, bool) {
	dwarf := a.tables().dwarf
	if n >= uint64(len(dwarf)) || dwarf[n] == NoReg {
		return NoReg, false
	}
	return dwarf[n], true
}

// DWARF is the opposite of FromDWARF; -1 where r has no DWARF number.
func (a *Arch) DWARF(r Reg) int {
	dwarfOf := a.tables().dwarfOf
	if int(r) >= len(dwarfOf) {
		return -1
	}
	return int(dwarfOf[r])
}

// Big reports whether a is big-endian.
func (a *Arch) Big() bool { return a.ByteOrder == binary.ByteOrder(binary.BigEndian) }

// Truncate cuts v to a's word.
func (a *Arch) Truncate(v uint64) uint64 {
	if a.WordSize == 4 {
		return v & 0xffffffff
	}
	return v
}

// CodeAddress strips from a code pointer what is no part of the address.
func (a *Arch) CodeAddress(v Address) Address {
	v = a.Truncate(v)
	if a.CodeMask != 0 {
		v &^= a.CodeMask
	}
	return v
}

// Word decodes a's word from the start of b, which must hold WordSize bytes.
func (a *Arch) Word(b []byte) uint64 {
	if a.WordSize == 4 {
		return uint64(a.ByteOrder.Uint32(b))
	}
	return a.ByteOrder.Uint64(b)
}

// indexDWARF makes the table from DWARF register numbers from its opposite.
func (t *tables) indexDWARF() {
	top := slices.Max(t.dwarfOf)
	for _, o := range t.others {
		top = max(top, o.num)
	}
	t.dwarf = make([]Reg, top+1)
	for i := range t.dwarf {
		t.dwarf[i] = NoReg
	}
	for r, d := range t.dwarfOf {
		if d >= 0 {
			t.dwarf[d] = Reg(r)
		}
	}
	for _, o := range t.others {
		t.dwarf[o.num] = o.reg
	}
	for _, f := range t.fpregs {
		t.wide |= Mask(f.reg)
	}
}
