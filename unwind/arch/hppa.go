package arch

import "encoding/binary"

// Registers of HPPA. R0 + n is register %rn; the number of r0, which is always zero, is
// used for the processor status word.
const (
	HPPAPSW Reg = 0
	HPPARP  Reg = 2
	HPPAFP  Reg = 3
	HPPADP  Reg = 27
	HPPASP  Reg = 30
	HPPAPC  Reg = 32 // the front of the instruction address queue
	HPPAPC2 Reg = 33 // its back
	HPPASAR Reg = 34
	HPPAIIR Reg = 35
	HPPAISR Reg = 36
	HPPAIOR Reg = 37 // the address that caused a fault
	HPPATP  Reg = 38 // cr27: the thread pointer
)

// HPPA is 32-bit HP PA-RISC. Its stack grows up, and the low two bits of a code pointer are
// its privilege level.
//
// DWARF numbers: gcc's. Register block: elf_gregset_t in the kernel's
// arch/parisc/include/asm/elf.h.
var HPPA = &Arch{
	Name:      "hppa",
	Family:    FamilyHPPA,
	WordSize:  4,
	RegSize:   4,
	ByteOrder: binary.BigEndian,
	PC:        HPPAPC, SP: HPPASP, FP: HPPAFP, RA: HPPARP, Mode: NoReg,
	CalleeSaved:  span(HPPAFP, 18) | Mask(HPPADP, HPPATP),
	PCAlign:      4,
	CodeMask:     3,
	StackGrowsUp: true,
	DelaySlots:   true,
	gregSize:     80 * 4,
	build: func() tables {
		return tables{
			names:   append(append([]string{"psw"}, numbered("r", 1, 31)...), "pc", "pc2", "sar", "iir", "isr", "ior", "cr27"),
			dwarfOf: append(append([]int16{-1}, sequence(1, 31)...), -1, -1, -1, -1, -1, -1, -1),
			// gr0..31, sr0..7, iaoq, iasq, sar, iir, isr, ior, cr22, 0, 24..31, 8..13.
			gregs: append(words(4, regs(HPPAPSW, 31)...),
				gregField{HPPAPC, 40 * 4, 4}, gregField{HPPAPC2, 41 * 4, 4}, gregField{HPPASAR, 44 * 4, 4},
				gregField{HPPAIIR, 45 * 4, 4}, gregField{HPPAISR, 46 * 4, 4}, gregField{HPPAIOR, 47 * 4, 4},
				gregField{HPPATP, 53 * 4, 4}),
		}
	},
}
