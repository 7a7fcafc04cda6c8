package arch

import "encoding/binary"

// Registers of ARM. R0 + n is register Rn.
const (
	ARMR0     Reg = 0
	ARMR7     Reg = 7 // Thumb's frame pointer
	ARMFP     Reg = 11
	ARMIP     Reg = 12
	ARMSP     Reg = 13
	ARMLR     Reg = 14
	ARMPC     Reg = 15
	ARMCPSR   Reg = 16
	ARMOrigR0 Reg = 17
	ARMThumb  Reg = 18 // not a processor register: 1 in Thumb code, 0 in A32 code
	ARMD8     Reg = 19
	ARMD15    Reg = 26
)

// ARM is 32-bit ARM, little-endian, with the EABI.
//
// DWARF numbers: DWARF for the Arm Architecture (AADWARF32). Register block:
// struct pt_regs of the kernel's arch/arm/include/uapi/asm/ptrace.h; floating
// point: struct user_vfp (NT_ARM_VFP).
var ARM = &Arch{
	Name:      "arm",
	Family:    FamilyARM,
	WordSize:  4,
	RegSize:   4,
	ByteOrder: binary.LittleEndian,
	PC:        ARMPC, SP: ARMSP, FP: ARMFP, RA: ARMLR, Mode: ARMThumb, ModeFrom: ARMCPSR, ModeBit: 5,
	CalleeSaved: span(4, ARMFP) | span(ARMD8, ARMD15),
	PCAlign:     2,
	CodeMask:    1,
	gregSize:    18 * 4,
	build: func() tables {
		return tables{
			names:   append(append(numbered("r", 0, 12), "sp", "lr", "pc", "cpsr", "orig_r0", "thumb"), numbered("d", 8, 15)...),
			dwarfOf: append(append(sequence(0, 15), -1, -1, -1), sequence(264, 271)...),
			gregs:   words(4, regs(ARMR0, ARMOrigR0)...),
			fpregs:  strided(8*8, 8, 8, regs(ARMD8, ARMD15)...),
		}
	},
}
