package arch

import "encoding/binary"

// Registers of M68K. Those up to the pc have their DWARF numbers.
const (
	M68KD0   Reg = 0
	M68KA0   Reg = 8
	M68KFP   Reg = 14 // a6
	M68KSP   Reg = 15 // a7
	M68KPC   Reg = 16
	M68KSR   Reg = 17
	M68KOrig Reg = 18 // orig_d0
)

// M68K is the Motorola 68000 family.
//
// DWARF numbers: gcc's. Register block: ELF_CORE_COPY_REGS in the kernel's
// arch/m68k/include/asm/elf.h.
var M68K = &Arch{
	Name:      "m68k",
	Family:    FamilyM68K,
	WordSize:  4,
	RegSize:   4,
	ByteOrder: binary.BigEndian,
	PC:        M68KPC, SP: M68KSP, FP: M68KFP, RA: NoReg, Mode: NoReg,
	CalleeSaved: span(2, 7) | span(10, M68KFP),
	PCAlign:     2,
	gregSize:    20 * 4,
	build: func() tables {
		return tables{
			names: []string{"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "a0", "a1", "a2", "a3", "a4", "a5", "fp", "sp",
				"pc", "sr", "orig_d0"},
			dwarfOf: append(sequence(0, 15), 24, -1, -1),
			gregs:   words(4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, M68KFP, M68KD0, M68KSP, M68KOrig, M68KSR, M68KPC),
		}
	},
}
