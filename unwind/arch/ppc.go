package arch

import "encoding/binary"

// Registers of the PowerPC architectures. R0 + n is register Rn.
const (
	PPCR0   Reg = 0
	PPCSP   Reg = 1
	PPCTOC  Reg = 2 // ppc64: the table of contents pointer; ppc: the thread pointer
	PPCR13  Reg = 13
	PPCR14  Reg = 14
	PPCFP   Reg = 31
	PPCNIP  Reg = 32
	PPCMSR  Reg = 33
	PPCOrig Reg = 34 // orig_gpr3
	PPCCTR  Reg = 35
	PPCLR   Reg = 36
	PPCXER  Reg = 37
	PPCCCR  Reg = 38
	PPCF14  Reg = 39
	PPCF31  Reg = 56
)

// PPC64LE is 64-bit PowerPC, little-endian, with the ELFv2 ABI.
var PPC64LE = ppc("ppc64le", 8, binary.LittleEndian)

// PPC64 is 64-bit PowerPC, big-endian. Function pointers of the ELFv1 ABI point to
// descriptors.
var PPC64 = ppc("ppc64", 8, binary.BigEndian)

// PPC is 32-bit PowerPC, big-endian.
var PPC = ppc("ppc", 4, binary.BigEndian)

// ppcOthers are DWARF numbers that not all producers agree on: .eh_frame uses 70 for the
// condition register; gcc's .debug_frame without assembler directives uses 108 for LR and
// 109 for CTR; and the kernel's call frame information of signal frames numbers the program
// counter 67 (99 on some machines), after a register that no longer exists.
var ppcOthers = []dwarfReg{{67, PPCNIP}, {68, PPCCCR}, {70, PPCCCR}, {99, PPCNIP}, {108, PPCLR}, {109, PPCCTR}}

// ppc describes one PowerPC architecture. DWARF numbers: 64-Bit ELF V2 ABI, table 2.26, and
// Power Architecture 32-bit ABI supplement; gcc uses 65 for LR in both. Register block:
// struct pt_regs in the kernel's arch/powerpc/include/uapi/asm/ptrace.h.
func ppc(name string, word int, order binary.ByteOrder) *Arch {
	block := append(regs(PPCR0, PPCFP), PPCNIP, PPCMSR, PPCOrig, PPCCTR, PPCLR, PPCXER, PPCCCR)
	saved := span(PPCR14, PPCFP) | Mask(PPCR13) | span(PPCF14, PPCF31)
	redZone := 0
	if word == 8 {
		redZone = 288
	} else {
		saved |= Mask(PPCTOC) // each library has its own table of contents
	}
	return &Arch{
		Name:      name,
		Family:    FamilyPPC,
		WordSize:  word,
		RegSize:   word,
		ByteOrder: order,
		PC:        PPCNIP, SP: PPCSP, FP: PPCFP, RA: PPCLR, Mode: NoReg,
		CalleeSaved: saved,
		RedZone:     redZone,
		PCAlign:     4,
		gregSize:    48 * word,
		build: func() tables {
			return tables{
				names:   append(append(numbered("r", 0, 31), "nip", "msr", "orig_r3", "ctr", "lr", "xer", "cr"), numbered("f", 14, 31)...),
				dwarfOf: append(append(sequence(0, 31), -1, -1, -1, 66, 65, 76, 64), sequence(46, 63)...),
				gregs:   words(word, block...),
				others:  ppcOthers,
				fpregs:  strided(14*8, 8, 8, regs(PPCF14, PPCF31)...),
			}
		},
	}
}
