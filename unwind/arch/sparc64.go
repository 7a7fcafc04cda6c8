package arch

import "encoding/binary"

// Registers of SPARC64: the current window, then the state registers.
const (
	SPARCG0  Reg = 0
	SPARCG7  Reg = 7 // the thread pointer
	SPARCO0  Reg = 8
	SPARCSP  Reg = 14 // o6
	SPARCO7  Reg = 15 // the address of the last call instruction
	SPARCL0  Reg = 16
	SPARCI0  Reg = 24
	SPARCFP  Reg = 30 // i6
	SPARCI7  Reg = 31
	SPARCTSt Reg = 32
	SPARCPC  Reg = 33
	SPARCNPC Reg = 34
	SPARCY   Reg = 35
)

// SPARC64 is 64-bit SPARC V9.
//
// DWARF numbers: System V ABI, SPARC Version 9 supplement. Register block: elf_gregset_t as
// the kernel's arch/sparc/kernel/ptrace_64.c fills it in. A call leaves its own address in
// o7 and returns 8 bytes after it.
var SPARC64 = &Arch{
	Name:      "sparc64",
	Family:    FamilySPARC,
	WordSize:  8,
	RegSize:   8,
	ByteOrder: binary.BigEndian,
	PC:        SPARCPC, SP: SPARCSP, FP: SPARCFP, RA: SPARCO7, Mode: NoReg,
	CalleeSaved:  span(SPARCL0, SPARCI7) | Mask(6, SPARCG7), // g6 and g7 are the system's; calls change g1 to g5
	PCAlign:      4,
	StackBias:    2047,
	ReturnOffset: 8,
	DelaySlots:   true,
	gregSize:     36 * 8,
	build: func() tables {
		return tables{
			names: append(append(append(append(numbered("g", 0, 7), "o0", "o1", "o2", "o3", "o4", "o5", "sp", "o7"), numbered("l", 0, 7)...),
				"i0", "i1", "i2", "i3", "i4", "i5", "fp", "i7"), "tstate", "pc", "npc", "y"),
			dwarfOf: append(sequence(0, 31), -1, -1, -1, -1),
			gregs:   words(8, regs(SPARCG0, SPARCY)...),
		}
	},
}
