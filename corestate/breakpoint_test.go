package corestate

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// bytesAt is memory of a few bytes.
type bytesAt struct {
	at   uint64
	data string
}

func (m bytesAt) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < m.at || addr >= m.at+uint64(len(m.data)) {
		return 0, arch.ErrUnmapped
	}
	return copy(buf, m.data[addr-m.at:]), nil
}

func (m bytesAt) ReadWord(arch.Address) (uint64, error) { return 0, arch.ErrUnmapped }

func TestBehindBreakpoint(t *testing.T) {
	var regs arch.RegSet
	regs.Set(arch.RIP, 0x1001)
	int3, nop := bytesAt{0x1000, "\xcc\x90"}, bytesAt{0x1000, "\x90\xcc"}
	full := func(code int) SignalInfo { return SignalInfo{Source: FullSigInfo, Signo: 5, Code: code} }
	for _, tt := range []struct {
		name string
		a    *arch.Arch
		s    SignalInfo
		mem  arch.Memory
		want bool
	}{
		{"int3 on Linux", arch.AMD64, full(siKernel), int3, true},
		{"int3 on FreeBSD", arch.AMD64, full(1), int3, true},
		{"the number alone", arch.AMD64, SignalInfo{Source: CurSig, Signo: 5}, int3, true},
		{"the pc on an int3", arch.AMD64, full(siKernel), nop, false},
		{"unreadable code", arch.AMD64, full(siKernel), bytesAt{}, false},
		{"a single step", arch.AMD64, full(2), int3, false},
		{"a hardware breakpoint", arch.AMD64, full(4), int3, false},
		{"sent", arch.AMD64, SignalInfo{Source: FullSigInfo, Signo: 5, HasSender: true}, int3, false},
		{"another signal", arch.AMD64, SignalInfo{Source: FullSigInfo, Signo: 11, Code: siKernel}, int3, false},
		{"another architecture", arch.ARM64, full(1), int3, false},
	} {
		if got := BehindBreakpoint(tt.a, tt.s, regs, tt.mem); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestBehindSuppressed: s390's pc is after an instruction of 2, 4 or 6 bytes that was suppressed.
func TestBehindSuppressed(t *testing.T) {
	at := func(signo int, addr uint64) SignalInfo {
		return SignalInfo{Source: FullSigInfo, Signo: signo, Code: 1, HasAddr: true, Addr: addr}
	}
	const pc = 0x1000
	for _, tt := range []struct {
		name string
		a    *arch.Arch
		s    SignalInfo
		want bool
	}{
		{"illegal, 2 bytes", arch.S390X, at(4, pc-2), true},
		{"division, 4 bytes", arch.S390X, at(8, pc-4), true},
		{"breakpoint, 2 bytes", arch.S390X, at(5, pc-2), true},
		{"6 bytes, 31 bits", arch.S390, at(8, pc-6), true},
		{"too far", arch.S390X, at(8, pc-7), false},
		{"at the instruction", arch.S390X, at(8, pc), false},
		{"before it", arch.S390X, at(8, pc+4), false},
		{"bad access", arch.S390X, at(11, pc-4), false},
		{"bus error", arch.S390X, at(7, pc-4), false},
		{"no address", arch.S390X, SignalInfo{Source: FullSigInfo, Signo: 8, Addr: pc - 4}, false},
		{"another architecture", arch.PPC64, at(8, pc-4), false},
		{"x86", arch.AMD64, at(4, pc-2), false},
		{"no architecture", nil, at(8, pc-4), false},
	} {
		var regs arch.RegSet
		if tt.a != nil {
			regs.Set(tt.a.PC, pc)
		}
		if got := BehindBreakpoint(tt.a, tt.s, regs, bytesAt{}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if BehindBreakpoint(arch.S390X, at(8, ^uint64(3)), arch.RegSet{}, bytesAt{}) {
		t.Error("program counter not known")
	}
}

func TestMinidumpBehindTrap(t *testing.T) {
	const pc = 0x140001235
	dump := func(os uint32, code, flags uint32, addr uint64) *Minidump {
		d := dumpbuild.New(false)
		d.System(onAMD64, os, 10, 0, 19045, "")
		ctx := d.Blob(d.AMD64(0x10001f, pc, 0x8000, 0))
		d.Threads(false, dumpbuild.Thread{ID: 10, Context: ctx}, dumpbuild.Thread{ID: 20, Context: ctx})
		d.Exception(dumpbuild.Exception{Thread: 20, Code: code, Flags: flags, Address: addr, Context: ctx})
		d.MemoryList(dumpbuild.Memory{Start: pc - 1, Data: []byte{int3Code, 0x90}})
		return openMade(t, d)
	}
	for _, tt := range []struct {
		name string
		m    *Minidump
		want bool
	}{
		{"as a debugger read it", dump(windowsNT, winBreakpoint, 0, pc-1), true},
		{"as a handler gets it", dump(windowsNT, winBreakpoint, 0, pc), false},
		{"of 32 bits", dump(windowsNT, wowBreakpoint, 0, pc-1), true},
		{"an access violation", dump(windowsNT, 0xc0000005, 0, pc-1), false},
		{"macOS", dump(macOSNum, machBreakpnt, 2, pc), true},
		{"macOS, a step", dump(macOSNum, machBreakpnt, machStep, pc), false},
		{"Linux", dump(linuxOS, 5, siKernel, 0), true},
		{"Linux, a fault", dump(linuxOS, 11, 1, 0), false},
	} {
		if got := tt.m.BehindTrap(20); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if tt.m.BehindTrap(10) || tt.m.BehindTrap(unwind.ThreadID(99)) {
			t.Errorf("%s: of another thread", tt.name)
		}
	}
}
