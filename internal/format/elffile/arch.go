package elffile

import "github.com/corewalk/corewalk/unwind/arch"

// efMIPSABI2 marks programs of the n32 ABI in e_flags.
const efMIPSABI2 = 0x20

// Arch returns the architecture of processes that run the file, or nil if package arch
// does not have it.
func (f *File) Arch() *arch.Arch {
	type kind struct {
		machine uint16
		class   int
		big     bool
	}
	switch (kind{f.Machine, int(f.Class), f.Big()}) {
	case kind{EM_X86_64, 64, false}:
		return arch.AMD64
	case kind{EM_X86_64, 32, false}:
		return arch.X32
	case kind{EM_386, 32, false}:
		return arch.X86
	case kind{EM_AARCH64, 64, false}:
		return arch.ARM64
	case kind{EM_ARM, 32, false}:
		return arch.ARM
	case kind{EM_PPC64, 64, false}:
		return arch.PPC64LE
	case kind{EM_PPC64, 64, true}:
		return arch.PPC64
	case kind{EM_PPC, 32, true}:
		return arch.PPC
	case kind{EM_RISCV, 64, false}:
		return arch.RISCV64
	case kind{EM_S390, 64, true}:
		return arch.S390X
	case kind{EM_S390, 32, true}:
		return arch.S390
	case kind{EM_MIPS, 32, true}:
		return mipsOf(f, arch.MIPS, arch.MIPSN32)
	case kind{EM_MIPS, 32, false}:
		return mipsOf(f, arch.MIPSEL, arch.MIPSN32EL)
	case kind{EM_MIPS, 64, true}:
		return arch.MIPS64
	case kind{EM_MIPS, 64, false}:
		return arch.MIPS64EL
	case kind{EM_LOONGARCH, 64, false}:
		return arch.Loong64
	case kind{EM_SPARCV9, 64, true}:
		return arch.SPARC64
	case kind{EM_68K, 32, true}:
		return arch.M68K
	case kind{EM_ALPHA, 64, false}:
		return arch.Alpha
	case kind{EM_PARISC, 32, true}:
		return arch.HPPA
	}
	return nil
}

// mipsOf tells o32 from n32.
func mipsOf(f *File, o32, n32 *arch.Arch) *arch.Arch {
	if f.Flags&efMIPSABI2 != 0 {
		return n32
	}
	return o32
}
