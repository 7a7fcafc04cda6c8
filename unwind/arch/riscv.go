package arch

import "encoding/binary"

// Registers of RISCV64. X0 + n is register xn; the names are the ABI's.
const (
	RISCVX0  Reg = 0 // always zero
	RISCVRA  Reg = 1
	RISCVSP  Reg = 2
	RISCVTP  Reg = 4
	RISCVT0  Reg = 5
	RISCVFP  Reg = 8 // s0
	RISCVA0  Reg = 10
	RISCVA7  Reg = 17
	RISCVPC  Reg = 32
	RISCVFS0 Reg = 33 // f8, f9 and f18 to f27, which calls preserve
	RISCVFSB Reg = 44
)

// RISCV64 is 64-bit RISC-V.
//
// DWARF numbers: RISC-V ABIs Specification, "DWARF Register Numbers". Register block:
// struct user_regs_struct in the kernel's arch/riscv/include/uapi/asm/ptrace.h, which has
// pc in place of x0.
var RISCV64 = &Arch{
	Name:      "riscv64",
	Family:    FamilyRISCV,
	WordSize:  8,
	RegSize:   8,
	ByteOrder: binary.LittleEndian,
	PC:        RISCVPC, SP: RISCVSP, FP: RISCVFP, RA: RISCVRA, Mode: NoReg,
	CalleeSaved: Mask(3, RISCVTP, 8, 9) | span(18, 27) | span(RISCVFS0, RISCVFSB),
	PCAlign:     2,
	gregSize:    32 * 8,
	build: func() tables {
		return tables{
			names: []string{"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
				"s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6", "pc",
				"fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11"},
			dwarfOf: append(append(sequence(0, 31), -1, 40, 41), sequence(50, 59)...),
			gregs:   words(8, append([]Reg{RISCVPC}, regs(RISCVRA, 31)...)...),
			fpregs: append(strided(8*8, 8, 8, RISCVFS0, RISCVFS0+1),
				strided(18*8, 8, 8, regs(RISCVFS0+2, RISCVFSB)...)...),
		}
	},
}
