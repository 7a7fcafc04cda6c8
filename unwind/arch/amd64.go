package arch

import "encoding/binary"

// Registers of AMD64. The first seventeen have their DWARF numbers.
const (
	RAX Reg = iota
	RDX
	RCX
	RBX
	RSI
	RDI
	RBP
	RSP
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	RIP
	EFLAGS
	ES
	CS
	SS
	DS
	FS
	GS
	FSBase
	GSBase
	OrigRAX // the number of the system call in progress, or -1
)

// AMD64 is x86-64 with 64-bit pointers.
//
// DWARF numbers: System V ABI, AMD64 supplement, figure 3.36
// (https://gitlab.com/x86-psABIs/x86-64-ABI). Register block: struct
// user_regs_struct of the kernel's arch/x86/include/asm/user_64.h.
var AMD64 = amd64("x86-64", 8)

// X32 is x86-64 with 32-bit pointers. Its registers and stack slots are those of AMD64.
var X32 = amd64("x32", 4)

func amd64(name string, pointer int) *Arch {
	return &Arch{
		Name:      name,
		Family:    FamilyX86,
		WordSize:  pointer,
		RegSize:   8,
		ByteOrder: binary.LittleEndian,
		PC:        RIP, SP: RSP, FP: RBP, RA: NoReg, Mode: NoReg,
		CalleeSaved: Mask(RBX, RBP, R12, R13, R14, R15),
		RedZone:     128,
		PCAlign:     1,
		gregSize:    27 * 8,
		build: func() tables {
			return tables{
				names: []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
					"rip", "eflags", "es", "cs", "ss", "ds", "fs", "gs", "fs_base", "gs_base", "orig_rax"},
				dwarfOf: []int16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 49, 50, 51, 52, 53, 54, 55, 58, 59, -1},
				gregs: words(8, R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI, OrigRAX, RIP, CS, EFLAGS, RSP, SS,
					FSBase, GSBase, DS, ES, FS, GS),
			}
		},
	}
}
