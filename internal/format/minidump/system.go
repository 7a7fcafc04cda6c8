package minidump

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A CPU is a processor architecture, as SYSTEM_INFO numbers it
// (PROCESSOR_ARCHITECTURE_..., and those of Breakpad from 0x8000 on).
type CPU uint16

const (
	CPUX86       CPU = 0
	CPUMIPS      CPU = 1
	CPUPPC       CPU = 3
	CPUARM       CPU = 5
	CPUIA64      CPU = 6
	CPUAMD64     CPU = 9
	CPUX86Win64  CPU = 10 // 32-bit x86 on 64-bit Windows
	CPUARM64     CPU = 12
	CPUSPARC     CPU = 0x8001
	CPUPPC64     CPU = 0x8002
	CPUARM64Old  CPU = 0x8003
	CPUMIPS64    CPU = 0x8004
	CPURISCV     CPU = 0x8005
	CPURISCV64   CPU = 0x8006
	CPUUndefined CPU = 0xffff
)

var cpuNames = lazy.Value[map[CPU]string]{Make: func() map[CPU]string {
	return map[CPU]string{
		CPUX86: "i386", CPUMIPS: "mips", CPUPPC: "ppc", CPUARM: "arm", CPUIA64: "ia64", CPUAMD64: "x86-64", CPUX86Win64: "i386",
		CPUARM64: "aarch64", CPUSPARC: "sparc64", CPUPPC64: "ppc64", CPUARM64Old: "aarch64", CPUMIPS64: "mips64", CPURISCV: "riscv32", CPURISCV64: "riscv64",
		CPUUndefined: "unknown",
	}
}}

func (c CPU) String() string {
	if n, ok := cpuNames.Get()[c]; ok {
		return n
	}
	return fmt.Sprintf("processor %#x", uint16(c))
}

// Arch returns the architecture, or nil if its registers cannot be decoded.
func (c CPU) Arch(big bool) *arch.Arch {
	pick := func(le, be *arch.Arch) *arch.Arch {
		if big {
			return be
		}
		return le
	}
	switch c {
	case CPUX86, CPUX86Win64:
		return arch.X86
	case CPUAMD64:
		return arch.AMD64
	case CPUARM:
		return arch.ARM
	case CPUARM64, CPUARM64Old:
		return arch.ARM64
	case CPUPPC:
		return pick(nil, arch.PPC)
	case CPUPPC64:
		return pick(arch.PPC64LE, arch.PPC64)
	case CPUMIPS:
		return pick(arch.MIPSEL, arch.MIPS)
	case CPUMIPS64:
		return pick(arch.MIPS64EL, arch.MIPS64)
	case CPUSPARC:
		return pick(nil, arch.SPARC64)
	case CPURISCV64:
		return pick(arch.RISCV64, nil)
	}
	return nil
}

// A Platform is an operating system, as SYSTEM_INFO numbers it (VER_PLATFORM_...,
// and those of Breakpad from 0x8000 on).
type Platform uint32

const (
	Win32s       Platform = 0
	Win32Windows Platform = 1
	Win32NT      Platform = 2
	Win32CE      Platform = 3
	Unix         Platform = 0x8000
	MacOS        Platform = 0x8101
	IOS          Platform = 0x8102
	LinuxOS      Platform = 0x8201
	Solaris      Platform = 0x8202
	Android      Platform = 0x8203
	PS3          Platform = 0x8204
	NaCl         Platform = 0x8205
	Fuchsia      Platform = 0x8206
	NoPlatform   Platform = 0xffffffff // unknown
)

// Windows reports whether p is any version of Windows.
func (p Platform) Windows() bool { return p <= Win32CE }

// Linux reports whether the dump's signals, maps and libraries are Linux's.
func (p Platform) Linux() bool { return p == LinuxOS || p == Android || p == NaCl || p == PS3 }

// Apple reports whether p is macOS or iOS.
func (p Platform) Apple() bool { return p == MacOS || p == IOS }

func (p Platform) String() string {
	switch p {
	case Unix:
		return "Unix"
	case MacOS:
		return "macOS"
	case IOS:
		return "iOS"
	case LinuxOS:
		return "Linux"
	case Solaris:
		return "Solaris"
	case Android:
		return "Android"
	case PS3:
		return "PS3"
	case NaCl:
		return "NaCl"
	case Fuchsia:
		return "Fuchsia"
	case NoPlatform:
		return "unknown"
	}
	if p.Windows() {
		return "Windows"
	}
	return fmt.Sprintf("platform %#x", uint32(p))
}

// A System describes the machine.
type System struct {
	Known bool // there is a SystemInfo stream, or line O of a microdump
	CPU   CPU
	// Level is the processor's family, Revision its model and stepping.
	Level, Revision     uint16
	Processors          int
	ProductType         uint8 // Windows: 1 workstation, 2 domain controller, 3 server
	Major, Minor, Build uint32
	Platform            Platform
	// ServicePack is the CSD string: the service pack of Windows, the build of macOS, or
	// uname's output on Linux.
	ServicePack string
	Suite       uint16
	Vendor      string // of an x86 processor: "GenuineIntel"
	CPUID       uint32 // ARM: MIDR
	HWCaps      uint32 // ARM
	// Features are the processor's two feature words; not on x86.
	Features [2]uint64
}

// readSystem decodes MINIDUMP_SYSTEM_INFO (56 bytes).
func (f *File) readSystem(s []byte) {
	c := f.cursor(s)
	i := &f.System
	i.CPU, i.Level, i.Revision = CPU(c.U16()), c.U16(), c.U16()
	i.Processors, i.ProductType = int(c.U8()), c.U8()
	i.Major, i.Minor, i.Build, i.Platform = c.U32(), c.U32(), c.U32(), Platform(c.U32())
	csd := uint64(c.U32())
	if c.Error != nil {
		f.warnf("stream SystemInfo: truncated after %d bytes", len(s))
		*i = System{CPU: CPUUndefined, Platform: NoPlatform}
		return
	}
	i.Known = true
	i.ServicePack, _ = f.stringAt(csd)
	i.Suite = c.U16()
	c.Skip(2)
	switch {
	case c.Len() < 12:
	case i.CPU == CPUX86 || i.CPU == CPUX86Win64:
		i.Vendor = cstring(c.Bytes(12))
	case i.CPU == CPUARM:
		i.CPUID, i.HWCaps = c.U32(), c.U32()
	default:
		i.Features = [2]uint64{c.U64(), c.U64()}
	}
}

// settleSystem completes SystemInfo from other streams.
func (f *File) settleSystem() {
	i := &f.System
	if !i.Known {
		i.CPU, i.Platform = CPUUndefined, NoPlatform
		f.warnf("no SystemInfo stream: processor and operating system are unknown")
		return
	}
	if i.Platform.Linux() && i.Major == 0 && i.Minor == 0 && i.Build == 0 {
		// uname's output: "Linux 5.4.0-26-generic #30-Ubuntu SMP ..."
		if words := strings.Fields(i.ServicePack); len(words) > 1 {
			fmt.Sscanf(words[1], "%d.%d.%d", &i.Major, &i.Minor, &i.Build)
		}
	}
}

// Version returns the operating system's version, or "" if unknown.
func (s *System) Version() string {
	if !s.Known {
		return ""
	}
	if words := strings.Fields(s.ServicePack); s.Platform.Linux() && len(words) > 3 && words[0] == "Linux" {
		// uname's output: name, release, version (several words), machine.
		if words[len(words)-1] == "GNU/Linux" {
			words = words[:len(words)-1]
		}
		return strings.Join(words[1:len(words)-1], " ")
	}
	v := fmt.Sprintf("%d.%d.%d", s.Major, s.Minor, s.Build)
	if s.Major == 0 && s.Minor == 0 && s.Build == 0 {
		v = ""
	}
	return strings.TrimSpace(v + " " + s.ServicePack)
}

// Processor returns a description of the processor.
func (s *System) Processor() string {
	switch s.CPU {
	case CPUX86, CPUX86Win64, CPUAMD64:
		if s.Level == 0 && s.Revision == 0 {
			break
		}
		text := fmt.Sprintf("family %d model %d stepping %d", s.Level, s.Revision>>8, s.Revision&0xff)
		return strings.TrimSpace(s.Vendor + " " + text)
	}
	return s.CPU.String()
}

// PCBits is the width of the architecture's addresses in bits: 32 or 64; 64 if unknown.
func (f *File) PCBits() int {
	switch f.System.CPU {
	case CPUX86, CPUX86Win64, CPUARM, CPUMIPS, CPUPPC, CPURISCV:
		return 32
	}
	return 64
}

// Arch returns the architecture of the dump, or nil if its registers cannot be decoded.
func (f *File) Arch() *arch.Arch {
	if !f.System.Known {
		return nil
	}
	return f.System.CPU.Arch(f.Big)
}
