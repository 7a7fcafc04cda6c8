package arch

import "encoding/binary"

// Registers of ARM64. X0 + n is register Xn.
const (
	ARM64X0   Reg = 0
	ARM64X8   Reg = 8
	ARM64X16  Reg = 16
	ARM64X17  Reg = 17
	ARM64X18  Reg = 18
	ARM64X19  Reg = 19
	ARM64X28  Reg = 28
	ARM64FP   Reg = 29
	ARM64LR   Reg = 30
	ARM64SP   Reg = 31
	ARM64PC   Reg = 32
	ARM64CPSR Reg = 33
	ARM64D8   Reg = 34 // the low half of v8; d15 is the last that calls preserve
	ARM64D15  Reg = 41
)

// ARM64 is AArch64, little-endian, with 64-bit pointers.
//
// DWARF numbers: DWARF for the Arm 64-bit Architecture (AADWARF64). Register block: struct
// user_pt_regs, floating point: struct user_fpsimd_state, both in the kernel's
// arch/arm64/include/uapi/asm/ptrace.h. If a dump has no mask (NT_ARM_PAC_MASK), the bits
// above a 48-bit user address are taken to be a signature.
var ARM64 = &Arch{
	Name:      "aarch64",
	Family:    FamilyARM64,
	WordSize:  8,
	RegSize:   8,
	ByteOrder: binary.LittleEndian,
	PC:        ARM64PC, SP: ARM64SP, FP: ARM64FP, RA: ARM64LR, Mode: NoReg,
	CalleeSaved: span(ARM64X19, ARM64X28) | Mask(ARM64FP) | span(ARM64D8, ARM64D15),
	PCAlign:     4,
	CodeMask:    0xffff << 48,
	gregSize:    34 * 8,
	build: func() tables {
		return tables{
			names:   append(append(numbered("x", 0, 30), "sp", "pc", "cpsr"), numbered("d", 8, 15)...),
			dwarfOf: append(append(sequence(0, 32), -1), sequence(72, 79)...),
			gregs:   words(8, regs(ARM64X0, ARM64CPSR)...),
			fpregs:  strided(8*16, 16, 8, regs(ARM64D8, ARM64D15)...),
		}
	},
}
