package corestate

import "strings"

type noteType struct {
	typ  uint32
	name string
}

// coreNotes and linuxNotes are names for the note types of the kernel's
// include/uapi/linux/elf.h.
var coreNotes = [...]noteType{
	{ntPRStatus, "NT_PRSTATUS"}, {ntFPRegSet, "NT_FPREGSET"}, {ntPRPSInfo, "NT_PRPSINFO"},
	{ntTaskStruct, "NT_TASKSTRUCT"}, {ntAuxv, "NT_AUXV"}, {ntFile, "NT_FILE"}, {ntSigInfo, "NT_SIGINFO"},
}

var linuxNotes = [...]noteType{
	{ntPRXFPReg, "NT_PRXFPREG"},
	{0x100, "NT_PPC_VMX"}, {0x101, "NT_PPC_SPE"}, {0x102, "NT_PPC_VSX"}, {0x103, "NT_PPC_TAR"},
	{0x104, "NT_PPC_PPR"}, {0x105, "NT_PPC_DSCR"}, {0x106, "NT_PPC_EBB"}, {0x107, "NT_PPC_PMU"},
	{0x108, "NT_PPC_TM_CGPR"}, {0x109, "NT_PPC_TM_CFPR"}, {0x10a, "NT_PPC_TM_CVMX"}, {0x10b, "NT_PPC_TM_CVSX"},
	{0x10c, "NT_PPC_TM_SPR"}, {0x10d, "NT_PPC_TM_CTAR"}, {0x10e, "NT_PPC_TM_CPPR"}, {0x10f, "NT_PPC_TM_CDSCR"},
	{0x110, "NT_PPC_PKEY"}, {0x111, "NT_PPC_DEXCR"}, {0x112, "NT_PPC_HASHKEYR"},
	{nt386TLS, "NT_386_TLS"}, {nt386IOPerm, "NT_386_IOPERM"}, {ntX86XState, "NT_X86_XSTATE"},
	{ntX86SHStk, "NT_X86_SHSTK"}, {ntX86XSaveL, "NT_X86_XSAVE_LAYOUT"},
	{0x300, "NT_S390_HIGH_GPRS"}, {0x301, "NT_S390_TIMER"}, {0x302, "NT_S390_TODCMP"}, {0x303, "NT_S390_TODPREG"},
	{0x304, "NT_S390_CTRS"}, {0x305, "NT_S390_PREFIX"}, {0x306, "NT_S390_LAST_BREAK"}, {0x307, "NT_S390_SYSTEM_CALL"},
	{0x308, "NT_S390_TDB"}, {0x309, "NT_S390_VXRS_LOW"}, {0x30a, "NT_S390_VXRS_HIGH"}, {0x30b, "NT_S390_GS_CB"},
	{0x30c, "NT_S390_GS_BC"}, {0x30d, "NT_S390_RI_CB"}, {0x30e, "NT_S390_PV_CPU_DATA"},
	{ntARMVFP, "NT_ARM_VFP"}, {0x401, "NT_ARM_TLS"}, {0x402, "NT_ARM_HW_BREAK"}, {0x403, "NT_ARM_HW_WATCH"},
	{0x404, "NT_ARM_SYSTEM_CALL"}, {0x405, "NT_ARM_SVE"}, {ntARMPACMask, "NT_ARM_PAC_MASK"}, {0x407, "NT_ARM_PACA_KEYS"},
	{0x408, "NT_ARM_PACG_KEYS"}, {0x409, "NT_ARM_TAGGED_ADDR_CTRL"}, {0x40a, "NT_ARM_PAC_ENABLED_KEYS"},
	{0x40b, "NT_ARM_SSVE"}, {0x40c, "NT_ARM_ZA"}, {0x40d, "NT_ARM_ZT"}, {0x40e, "NT_ARM_FPMR"},
	{0x40f, "NT_ARM_POE"}, {0x410, "NT_ARM_GCS"},
	{0x600, "NT_ARC_V2"},
	{0x700, "NT_VMCOREDD"},
	{0x800, "NT_MIPS_DSP"}, {0x801, "NT_MIPS_FP_MODE"}, {0x802, "NT_MIPS_MSA"},
	{0x900, "NT_RISCV_CSR"}, {0x901, "NT_RISCV_VECTOR"}, {ntRISCVTags, "NT_RISCV_TAGGED_ADDR_CTRL"},
	{0xa00, "NT_LOONGARCH_CPUCFG"}, {0xa01, "NT_LOONGARCH_CSR"}, {0xa02, "NT_LOONGARCH_LSX"},
	{0xa03, "NT_LOONGARCH_LASX"}, {0xa04, "NT_LOONGARCH_LBT"}, {0xa05, "NT_LOONGARCH_HW_BREAK"},
	{0xa06, "NT_LOONGARCH_HW_WATCH"},
}

var freeBSDNotes = [...]noteType{
	{ntPRStatus, "NT_PRSTATUS"}, {ntFPRegSet, "NT_FPREGSET"}, {ntPRPSInfo, "NT_PRPSINFO"}, {freeBSDThrMisc, "NT_THRMISC"},
	{freeBSDProc, "NT_PROCSTAT_PROC"}, {9, "NT_PROCSTAT_FILES"}, {freeBSDVMMap, "NT_PROCSTAT_VMMAP"}, {11, "NT_PROCSTAT_GROUPS"},
	{12, "NT_PROCSTAT_UMASK"}, {13, "NT_PROCSTAT_RLIMIT"}, {14, "NT_PROCSTAT_OSREL"}, {15, "NT_PROCSTAT_PSSTRINGS"},
	{freeBSDAuxv, "NT_PROCSTAT_AUXV"}, {freeBSDLWPInfo, "NT_PTLWPINFO"}, {freeBSDSegBases, "NT_X86_SEGBASES"},
	{ntX86XState, "NT_X86_XSTATE"}, {ntARMVFP, "NT_ARM_VFP"}, {0x401, "NT_ARM_TLS"}, {ntARMPACMask, "NT_ARM_ADDR_MASK"},
}

var openBSDNotes = [...]noteType{
	{openBSDProcNote, "NT_OPENBSD_PROCINFO"}, {openBSDAuxv, "NT_OPENBSD_AUXV"}, {openBSDRegs, "NT_OPENBSD_REGS"},
	{openBSDFPRegs, "NT_OPENBSD_FPREGS"}, {22, "NT_OPENBSD_XFPREGS"}, {23, "NT_OPENBSD_WCOOKIE"}, {openBSDPACMask, "NT_OPENBSD_PACMASK"},
}

var netBSDNotes = [...]noteType{{1, "NT_NETBSDCORE_PROCINFO"}, {2, "NT_NETBSDCORE_AUXV"}, {24, "NT_NETBSDCORE_LWPSTATUS"}}

// noteName returns the name of a note's type, or "".
func noteName(owner string, typ uint32) string {
	switch {
	case owner == "CORE":
		return nameIn(coreNotes[:], typ)
	case owner == "LINUX":
		return nameIn(linuxNotes[:], typ)
	case owner == "GDB" && typ == ntGDBTDesc:
		return "NT_GDB_TDESC"
	case owner == osFreeBSD:
		return nameIn(freeBSDNotes[:], typ)
	case strings.HasPrefix(owner, osOpenBSD):
		return nameIn(openBSDNotes[:], typ)
	case strings.HasPrefix(owner, netBSDOwner):
		return nameIn(netBSDNotes[:], typ)
	}
	return ""
}

func nameIn(list []noteType, typ uint32) string {
	for i := range list {
		if list[i].typ == typ {
			return list[i].name
		}
	}
	return ""
}
