package arch

import "encoding/binary"

// Registers of Alpha. R0 + n is register $n.
const (
	AlphaR0     Reg = 0
	AlphaS0     Reg = 9
	AlphaFP     Reg = 15
	AlphaRA     Reg = 26
	AlphaGP     Reg = 29
	AlphaSP     Reg = 30
	AlphaPC     Reg = 31 // takes the number of $31, which is always zero
	AlphaUnique Reg = 32 // the thread pointer
)

// Alpha is the DEC Alpha.
//
// DWARF numbers: gcc's. Register block: dump_elf_thread of the kernel's
// arch/alpha/kernel/process.c.
var Alpha = &Arch{
	Name:      "alpha",
	Family:    FamilyAlpha,
	WordSize:  8,
	RegSize:   8,
	ByteOrder: binary.LittleEndian,
	PC:        AlphaPC, SP: AlphaSP, FP: AlphaFP, RA: AlphaRA, Mode: NoReg,
	CalleeSaved: span(AlphaS0, AlphaFP),
	PCAlign:     4,
	gregSize:    33 * 8,
	build: func() tables {
		return tables{
			names: []string{"v0", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "s0", "s1", "s2", "s3", "s4", "s5", "fp",
				"a0", "a1", "a2", "a3", "a4", "a5", "t8", "t9", "t10", "t11", "ra", "t12", "at", "gp", "sp", "pc", "unique"},
			dwarfOf: append(sequence(0, 30), -1, -1),
			gregs:   words(8, regs(AlphaR0, AlphaUnique)...),
		}
	},
}
