package corestate

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Machines of cores of which only the name is known (gABI, e_machine).
const (
	emSPARC      = 2
	emSPARC32P   = 18
	emSH         = 42
	emIA64       = 50
	emMIPSRS3    = 10
	emXtensa     = 94
	emOpenRISC   = 92
	emMicroBlaze = 189
	emARCv2      = 195
	emCSKY       = 252
)

// n32Status is the size of an NT_PRSTATUS of the n32 ABI, whose registers have eight
// bytes; that of o32 is 256.
const n32Status = 440

// tellMIPSABIs corrects o32 to n32 by the size of the register notes: qemu leaves
// e_flags of cores zero.
func (c *ELFCore) tellMIPSABIs() {
	if len(c.threads) == 0 || len(c.threads[0].status) != n32Status {
		return
	}
	switch c.arch {
	case arch.MIPS:
		c.arch = arch.MIPSN32
	case arch.MIPSEL:
		c.arch = arch.MIPSN32EL
	}
}

// machineName returns the name of a core's architecture.
func machineName(f *elffile.File) string {
	bits := func(name32, name64 string) string {
		if f.Class == 64 {
			return name64
		}
		return name32
	}
	switch f.Machine {
	case elffile.EM_X86_64:
		return bits("x32", "x86-64")
	case elffile.EM_386:
		return "i386"
	case elffile.EM_AARCH64:
		return bits("aarch64 (ILP32)", "aarch64")
	case elffile.EM_ARM:
		return "arm"
	case elffile.EM_PPC:
		return "ppc"
	case elffile.EM_PPC64:
		if f.Big() {
			return "ppc64"
		}
		return "ppc64le"
	case elffile.EM_S390:
		return bits("s390", "s390x")
	case elffile.EM_RISCV:
		return bits("riscv32", "riscv64")
	case elffile.EM_LOONGARCH:
		return bits("loongarch32", "loongarch64")
	}
	return otherMachine(f, bits)
}

func otherMachine(f *elffile.File, bits func(string, string) string) string {
	switch f.Machine {
	case elffile.EM_MIPS, emMIPSRS3:
		return bits("mips", "mips64")
	case elffile.EM_68K:
		return "m68k"
	case emSPARC, emSPARC32P:
		return "sparc"
	case elffile.EM_SPARCV9:
		return "sparc64"
	case elffile.EM_PARISC:
		return bits("hppa", "hppa64")
	case emSH:
		return "sh"
	case emIA64:
		return "ia64"
	case emXtensa:
		return "xtensa"
	case emOpenRISC:
		return "openrisc"
	case emMicroBlaze:
		return "microblaze"
	case emARCv2:
		return "arc"
	case emCSKY:
		return "csky"
	case elffile.EM_ALPHA:
		return "alpha"
	}
	return fmt.Sprintf("machine %#x", f.Machine)
}

// wordOnly describes an unsupported architecture just enough to read its memory.
func wordOnly(f *elffile.File) *arch.Arch {
	return &arch.Arch{
		Name: machineName(f), WordSize: f.PtrSize(), ByteOrder: f.Order,
		PC: arch.NoReg, SP: arch.NoReg, FP: arch.NoReg, RA: arch.NoReg,
	}
}
