package arch

import "encoding/binary"

// Registers of X86. The first ten have their DWARF numbers.
const (
	EAX Reg = iota
	ECX
	EDX
	EBX
	ESP
	EBP
	ESI
	EDI
	EIP
	X86EFLAGS
	X86ES
	X86CS
	X86SS
	X86DS
	X86FS
	X86GS
	OrigEAX // the number of the system call in progress, or -1
	// X86FSBase and X86GSBase are the base addresses of the segments selected by fs and gs.
	// They are not in any register block; a dump may provide them elsewhere.
	X86FSBase
	X86GSBase
)

// X86 is i386, the 32-bit mode of x86.
//
// DWARF numbers: System V ABI, Intel386 supplement, figure 2.14. Register block: struct
// user_regs_struct in the kernel's arch/x86/include/asm/user_32.h, which a 64-bit kernel
// also writes for 32-bit processes.
var X86 = &Arch{
	Name:      "i386",
	Family:    FamilyX86,
	WordSize:  4,
	RegSize:   4,
	ByteOrder: binary.LittleEndian,
	PC:        EIP, SP: ESP, FP: EBP, RA: NoReg, Mode: NoReg,
	CalleeSaved: Mask(EBX, EBP, ESI, EDI),
	PCAlign:     1,
	gregSize:    17 * 4,
	build: func() tables {
		return tables{
			names: []string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip", "eflags",
				"es", "cs", "ss", "ds", "fs", "gs", "orig_eax", "fs_base", "gs_base"},
			dwarfOf: []int16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41, 42, 43, 44, 45, -1, -1, -1},
			gregs: words(4, EBX, ECX, EDX, ESI, EDI, EBP, EAX, X86DS, X86ES, X86FS, X86GS, OrigEAX, EIP, X86CS, X86EFLAGS,
				ESP, X86SS),
		}
	},
}
