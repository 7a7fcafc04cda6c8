// Package arch describes processor architectures as far as corewalk needs to know them, and
// defines the terms that all packages share: addresses, registers, memory.
//
// An Arch is immutable and may be shared by goroutines. Each architecture has its own file.
package arch

import (
	"encoding/binary"
	"slices"
	"sync"
)

// An Address is an address in the analysed process, or, where a comment says so, in the
// address space of an ELF or PE file. It is wide enough for every architecture; a 32-bit
// process uses the low half.
type Address = uint64

// A Reg is a register of one Arch: an index into its register file, below MaxRegs. The
// numbers mean nothing without the Arch.
type Reg uint8

// MaxRegs limits the number of registers of an Arch, so that a set of registers fits a
// 64-bit mask.
const MaxRegs = 64

// NoReg means that the architecture has no such register.
const NoReg Reg = 0xff

// An Arch describes an architecture as seen by an unwinder.
type Arch struct {
	Name      string // as reports print it: "x86-64"
	Family    Family
	WordSize  int              // bytes in a pointer: 4 or 8
	RegSize   int              // bytes in a general register and in its stack slot: at least WordSize
	ByteOrder binary.ByteOrder // of memory, and of registers in dumps

	PC, SP, FP Reg
	RA         Reg // link register; NoReg where calls push the return address
	// Mode is the register that holds the processor's instruction set, as the lowest bit of
	// code pointers does: 1 for Thumb. It is NoReg if there is only one instruction set.
	Mode Reg
	// ModeFrom is the register in which a dump holds Mode, at bit ModeBit.
	ModeFrom Reg
	ModeBit  uint8

	// CalleeSaved is the set of general registers that the platform's ABI requires a called
	// function to preserve. SP and PC are not included.
	CalleeSaved RegMask
	// RedZone is the number of bytes below SP that a leaf function may use.
	RedZone int
	// PCAlign is the alignment of instructions, in bytes.
	PCAlign int
	// CodeMask has the bits of a code pointer that are not part of the
	// address (pointer authentication, Thumb). A dump may provide a more precise mask.
	CodeMask Address
	// StackBias is how far SP is below the stack's actual address, in bytes: 2047 on 64-bit
	// SPARC.
	StackBias Address
	// CFAOffset is how far the CFA, as the platform's call frame information defines it, is
	// above the caller's stack pointer, in bytes: on S/390 the size of the register save
	// area, which belongs to the called function.
	CFAOffset Address
	// StackGrowsUp says that calls move SP to higher addresses (HP PA-RISC).
	StackGrowsUp bool
	// ReturnOffset is what to add to the address that a call saves to get the address it
	// returns to, in bytes: 8 on SPARC.
	ReturnOffset Address
	// DelaySlots says that the instruction after a call runs before the call's target, and
	// that calls return to the instruction after that.
	DelaySlots bool

	gregSize int // size of Linux's general register block, in bytes

	// The tables are built on first use: a dump needs those of one architecture only.
	build func() tables
	once  sync.Once
	lazy  tables
}

// tables are the lookup tables of an Arch.
type tables struct {
	names   []string    // by Reg
	dwarf   []Reg       // DWARF register number to Reg; NoReg for none
	dwarfOf []int16     // Reg to DWARF number; -1 for none
	others  []dwarfReg  // further DWARF numbers of registers
	gregs   []gregField // layout of Linux's general register block
	fpregs  []gregField // layout of the floating-point block, as far as its registers are in ours
	wide    RegMask     // the registers of fpregs
}

// A dwarfReg is an additional DWARF number of reg.
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

// tables returns a's tables, which are empty for an Arch not defined in this package.
func (a *Arch) tables() *tables {
	a.once.Do(func() {
		if a.build != nil {
			a.lazy = a.build()
			a.lazy.indexDWARF()
		}
	})
	return &a.lazy
}

// NumRegs is the number of a's registers; every valid Reg is below it.
func (a *Arch) NumRegs() int { return len(a.tables().names) }

// RegName returns r's name in lower case, or "?" if a has no such register.
func (a *Arch) RegName(r Reg) string {
	names := a.tables().names
	if int(r) >= len(names) {
		return "?"
	}
	return names[r]
}

// RegByName is the inverse of RegName. It searches linearly.
func (a *Arch) RegByName(name string) (Reg, bool) {
	if i := slices.Index(a.tables().names, name); i >= 0 {
		return Reg(i), true
	}
	return NoReg, false
}

// FromDWARF maps a DWARF register number, as assigned by the architecture's ABI, to a Reg.
// It returns false for a register that a does not describe (mostly vector and
// floating-point registers).
func (a *Arch) FromDWARF(n uint64) (Reg, bool) {
	dwarf := a.tables().dwarf
	if n >= uint64(len(dwarf)) || dwarf[n] == NoReg {
		return NoReg, false
	}
	return dwarf[n], true
}

// DWARF is the inverse of FromDWARF. It returns -1 if r has no DWARF number.
func (a *Arch) DWARF(r Reg) int {
	dwarfOf := a.tables().dwarfOf
	if int(r) >= len(dwarfOf) {
		return -1
	}
	return int(dwarfOf[r])
}

// Big reports whether a is big-endian.
func (a *Arch) Big() bool { return a.ByteOrder == binary.ByteOrder(binary.BigEndian) }

// Truncate cuts v to a's word size.
func (a *Arch) Truncate(v uint64) uint64 {
	if a.WordSize == 4 {
		return v & 0xffffffff
	}
	return v
}

// CodeAddress strips from a code pointer the bits that are not part of the address.
func (a *Arch) CodeAddress(v Address) Address {
	return a.Truncate(v) &^ a.CodeMask
}

// Word decodes a's word from the start of b, which must hold WordSize bytes.
func (a *Arch) Word(b []byte) uint64 {
	if a.WordSize == 4 {
		return uint64(a.ByteOrder.Uint32(b))
	}
	return a.ByteOrder.Uint64(b)
}

// indexDWARF builds dwarf, the inverse of dwarfOf.
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
