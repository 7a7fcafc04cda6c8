package arch

import "encoding/binary"

// Registers of the S/390 architectures. R0 + n is register rn, F0 + n is fn. The
// floating-point registers are included because functions save general registers in them.
const (
	S390R0   Reg = 0
	S390R6   Reg = 6
	S390FP   Reg = 11
	S390R13  Reg = 13
	S390LR   Reg = 14
	S390SP   Reg = 15
	S390PSWM Reg = 16
	S390PC   Reg = 17
	S390Orig Reg = 18 // orig_gpr2
	S390F0   Reg = 19
	S390F8   Reg = 27
	S390F15  Reg = 34
	S390A0   Reg = 35 // access registers; a0 and a1 hold the thread pointer
	S390A1   Reg = 36
)

// S390X is 64-bit z/Architecture Linux.
var S390X = s390("s390x", 8)

// S390 is 31-bit S/390 Linux. The top bit of a code pointer is the addressing mode.
var S390 = s390("s390", 4)

// s390 describes one S/390 architecture. DWARF numbers: ELF Application Binary Interface
// s390x Supplement, table 1.20. Register block: s390_regs in the kernel's
// arch/s390/include/uapi/asm/ptrace.h; floating point: s390_fp_regs.
func s390(name string, word int) *Arch {
	saved := span(S390R6, S390R13) | Mask(S390A0, S390A1)
	codeMask, area := Address(0), Address(160)
	if word == 8 {
		saved |= span(S390F8, S390F15)
	} else {
		saved |= Mask(S390F0+4, S390F0+6)
		codeMask, area = 1<<31, 96
	}
	return &Arch{
		Name:      name,
		Family:    FamilyS390,
		WordSize:  word,
		RegSize:   word,
		ByteOrder: binary.BigEndian,
		PC:        S390PC, SP: S390SP, FP: S390FP, RA: S390LR, Mode: NoReg,
		CalleeSaved: saved,
		CodeMask:    codeMask,
		CFAOffset:   area,
		PCAlign:     2,
		gregSize:    19*word + 64,
		build:       func() tables { return s390Tables(word) },
	}
}

func s390Tables(word int) tables {
	block := words(word, append([]Reg{S390PSWM, S390PC}, regs(S390R0, S390SP)...)...)
	acrs := 18 * word
	return tables{
		names: append(append(append(numbered("r", 0, 15), "pswm", "pc", "orig_r2"), numbered("f", 0, 15)...), "a0", "a1"),
		dwarfOf: append(append(sequence(0, 15), 64, -1, -1),
			16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31, 48, 49),
		gregs:  append(block, gregField{S390A0, acrs, 4}, gregField{S390A1, acrs + 4, 4}, gregField{S390Orig, acrs + 64, word}),
		fpregs: strided(8, 8, 8, regs(S390F0, S390F15)...),
	}
}
