package arch

import "encoding/binary"

// Registers of LoongArch64. R0 + n is register $rn.
const (
	LoongR0   Reg = 0 // always zero
	LoongRA   Reg = 1
	LoongTP   Reg = 2
	LoongSP   Reg = 3
	LoongA0   Reg = 4
	LoongA7   Reg = 11
	LoongFP   Reg = 22
	LoongS0   Reg = 23
	LoongS8   Reg = 31
	LoongOrig Reg = 32 // orig_a0
	LoongPC   Reg = 33 // csr_era
	LoongBadV Reg = 34
	LoongFS0  Reg = 35 // f24, which is fs0; fs7 (f31) is the last
	LoongFS7  Reg = 42
)

// Loong64 is 64-bit LoongArch.
//
// DWARF numbers: ELF for the LoongArch Architecture. Register block: struct
// user_pt_regs of the kernel's arch/loongarch/include/uapi/asm/ptrace.h.
var Loong64 = &Arch{
	Name:      "loongarch64",
	Family:    FamilyLoongArch,
	WordSize:  8,
	RegSize:   8,
	ByteOrder: binary.LittleEndian,
	PC:        LoongPC, SP: LoongSP, FP: LoongFP, RA: LoongRA, Mode: NoReg,
	CalleeSaved: span(LoongFP, LoongS8) | Mask(LoongTP, 21) | span(LoongFS0, LoongFS7),
	PCAlign:     4,
	gregSize:    45 * 8,
	build: func() tables {
		return tables{
			names: []string{"zero", "ra", "tp", "sp", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5",
				"t6", "t7", "t8", "u0", "fp", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "orig_a0", "pc", "badvaddr",
				"fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7"},
			dwarfOf: append(append(sequence(0, 31), -1, -1, -1), sequence(56, 63)...),
			gregs:   words(8, regs(LoongR0, LoongBadV)...),
			fpregs:  strided(24*8, 8, 8, regs(LoongFS0, LoongFS7)...),
		}
	},
}
