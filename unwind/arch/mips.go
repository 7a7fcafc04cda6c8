package arch

import "encoding/binary"

// Registers of the MIPS architectures. R0 + n is register $n.
const (
	MIPSR0     Reg = 0
	MIPSA0     Reg = 4
	MIPSS0     Reg = 16
	MIPST9     Reg = 25 // in position-independent code, the address of the called function
	MIPSGP     Reg = 28
	MIPSSP     Reg = 29
	MIPSFP     Reg = 30
	MIPSRA     Reg = 31
	MIPSHI     Reg = 32
	MIPSLO     Reg = 33
	MIPSPC     Reg = 34 // cp0_epc
	MIPSBadV   Reg = 35
	MIPSStatus Reg = 36
	MIPSCause  Reg = 37
	MIPSF20    Reg = 38
	MIPSF31    Reg = 49
)

// The MIPS architectures: the o32, n32 and n64 ABIs in both byte orders.
var (
	MIPS      = mips("mips", 4, 4, binary.BigEndian)
	MIPSEL    = mips("mipsel", 4, 4, binary.LittleEndian)
	MIPSN32   = mips("mipsn32", 4, 8, binary.BigEndian)
	MIPSN32EL = mips("mipsn32el", 4, 8, binary.LittleEndian)
	MIPS64    = mips("mips64", 8, 8, binary.BigEndian)
	MIPS64EL  = mips("mips64el", 8, 8, binary.LittleEndian)
)

// mips describes one MIPS architecture. DWARF numbers: gcc's. Register block: elf_gregset_t
// in the kernel's arch/mips/include/asm/elf.h; the first six words of o32's are unused.
func mips(name string, word, reg int, order binary.ByteOrder) *Arch {
	saved := span(MIPSS0, MIPSS0+7) | Mask(MIPSGP, MIPSFP)
	switch {
	case word == 8:
		saved |= span(MIPSF20+4, MIPSF31)
	case reg == 8: // f20, f22, ...
		saved |= Mask(MIPSF20, MIPSF20+2, MIPSF20+4, MIPSF20+6, MIPSF20+8, MIPSF20+10)
	}
	return &Arch{
		Name:      name,
		Family:    FamilyMIPS,
		WordSize:  word,
		RegSize:   reg,
		ByteOrder: order,
		PC:        MIPSPC, SP: MIPSSP, FP: MIPSFP, RA: MIPSRA, Mode: NoReg,
		CalleeSaved: saved,
		PCAlign:     4,
		DelaySlots:  true,
		gregSize:    45 * reg,
		build:       func() tables { return mipsTables(reg) },
	}
}

func mipsTables(reg int) tables {
	t := tables{
		names: append([]string{"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7",
			"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp", "ra",
			"hi", "lo", "pc", "badvaddr", "status", "cause"}, numbered("f", 20, 31)...),
		dwarfOf: append(append(sequence(0, 31), 64, 65, -1, -1, -1, -1), sequence(52, 63)...),
	}
	skip := 0
	if reg == 4 {
		skip = 6 * reg
	} else {
		t.fpregs = strided(20*8, 8, 8, regs(MIPSF20, MIPSF31)...)
	}
	block := append(regs(MIPSR0, MIPSRA), MIPSLO, MIPSHI, MIPSPC, MIPSBadV, MIPSStatus, MIPSCause)
	t.gregs = strided(skip, reg, reg, block...)
	return t
}
