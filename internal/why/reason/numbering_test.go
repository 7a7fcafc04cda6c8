package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestSignalNamesOfSystems: each system's own signals, and the numbers around them.
func TestSignalNamesOfSystems(t *testing.T) {
	names := func(list string, more map[int]string) map[int]string {
		for i, name := range strings.Fields(list) {
			more[i+1] = "SIG" + name
		}
		return more
	}
	const (
		linux = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ " +
			"VTALRM PROF WINCH IO PWR SYS"
		mips = "HUP INT QUIT ILL TRAP ABRT EMT FPE KILL BUS SEGV SYS PIPE ALRM TERM USR1 USR2 CHLD PWR WINCH URG IO STOP TSTP CONT TTIN TTOU " +
			"VTALRM PROF XCPU XFSZ"
		hppa = "HUP INT QUIT ILL TRAP ABRT STKFLT FPE KILL BUS SEGV XCPU PIPE ALRM TERM USR1 USR2 CHLD PWR VTALRM PROF IO WINCH STOP TSTP CONT " +
			"TTIN TTOU URG XFSZ SYS"
		bsd   = "HUP INT QUIT ILL TRAP ABRT EMT FPE KILL BUS SEGV SYS PIPE ALRM TERM URG STOP TSTP CONT CHLD TTIN TTOU IO XCPU XFSZ VTALRM PROF WINCH "
		sparc = bsd + "PWR USR1 USR2"
		bsds  = bsd + "INFO USR1 USR2"
	)
	for _, c := range []struct {
		system string
		arch   *arch.Arch
		names  map[int]string
		last   int
	}{
		{"Linux", arch.AMD64, names(linux, map[int]string{32: "SIG32", 33: "SIG33", 34: "SIGRTMIN", 35: "SIGRTMIN+1", 36: "SIGRTMIN+2", 64: "SIGRTMIN+30"}), 64},
		{"", nil, names(linux, map[int]string{64: "SIGRTMIN+30"}), 64},
		{"Linux", arch.M68K, names(linux, map[int]string{64: "SIGRTMIN+30"}), 64},
		{"Linux", arch.MIPS64EL, names(mips, map[int]string{32: "SIG32", 33: "SIG33", 34: "SIGRTMIN", 35: "SIGRTMIN+1", 127: "SIGRTMIN+93"}), 127},
		{"Linux", arch.SPARC64, names(sparc, map[int]string{33: "SIG33", 34: "SIGRTMIN", 64: "SIGRTMIN+30"}), 64},
		{"Linux", arch.Alpha, names(sparc, map[int]string{33: "SIG33", 34: "SIGRTMIN", 64: "SIGRTMIN+30"}), 64},
		{"Linux", arch.HPPA, names(hppa, map[int]string{33: "SIG33", 34: "SIGRTMIN", 64: "SIGRTMIN+30"}), 64},
		{"NetBSD", arch.AMD64, names(bsds, map[int]string{32: "SIGPWR", 33: "SIGRTMIN", 34: "SIGRTMIN+1", 63: "SIGRTMIN+30"}), 63},
		{"OpenBSD", arch.MIPS, names(bsds, map[int]string{32: "SIGTHR"}), 32},
		{"FreeBSD", arch.AMD64, names(bsds, map[int]string{32: "SIGTHR", 33: "SIGLIBRT", 64: "SIG64", 65: "SIGRTMIN", 66: "SIGRTMIN+1", 126: "SIGRTMIN+61"}), 126},
	} {
		n := NumberingOf(c.system, c.arch)
		for _, number := range []int{-1 << 31, -1, 0, c.last + 1, 200, 1<<31 - 1} {
			c.names[number] = ""
		}
		for number, want := range c.names {
			if got := n.Name(number); got != want {
				t.Errorf("%d of %s on %v: %q; want %q", number, c.system, c.arch, got, want)
			}
			same := want != "" && LinuxSignals.Name(n.linux(number)) == want
			if known := strings.Contains(" "+linux+" ", " "+strings.TrimPrefix(want, "SIG")+" "); known && !same || !known && n != LinuxSignals && number < 32 && LinuxSignals.Name(n.linux(number)) != "" {
				t.Errorf("%d of %s on %v, %s, is %d of Linux", number, c.system, c.arch, want, n.linux(number))
			}
		}
	}
	if got := MacSignals.Name(31) + MacSignals.Name(32); got != "SIGUSR2" {
		t.Errorf("the last signal of macOS: %q", got)
	}
}

// TestCodesOfSystems: the codes that differ from Linux's (sys/signal.h of FreeBSD, arch/mips/include/uapi/asm/siginfo.h).
func TestCodesOfSystems(t *testing.T) {
	for _, c := range []struct {
		n            Numbering
		number, code int
		want         string
	}{
		{FreeBSDSignals, 30, 0, ""}, {FreeBSDSignals, 30, 0x10001, "SI_USER"}, {FreeBSDSignals, 30, 0x10002, "SI_QUEUE"}, {FreeBSDSignals, 30, 0x10003, "SI_TIMER"},
		{FreeBSDSignals, 30, 0x10004, "SI_ASYNCIO"}, {FreeBSDSignals, 30, 0x10005, "SI_MESGQ"}, {FreeBSDSignals, 30, 0x10006, "SI_KERNEL"},
		{FreeBSDSignals, 30, 0x10007, "SI_TKILL"}, {FreeBSDSignals, 30, 0x10008, "65544"},
		{FreeBSDSignals, 8, 1, "FPE_INTOVF"}, {FreeBSDSignals, 8, 2, "FPE_INTDIV"}, {FreeBSDSignals, 8, 3, "FPE_FLTDIV"}, {FreeBSDSignals, 8, 7, "FPE_FLTINV"},
		{FreeBSDSignals, 11, 1, "SEGV_MAPERR"}, {FreeBSDSignals, 11, 2, "SEGV_ACCERR"}, {FreeBSDSignals, 10, 2, "BUS_ADRERR"},
		{LinuxMIPSSignals, 16, -2, "SI_ASYNCIO"}, {LinuxMIPSSignals, 16, -3, "SI_TIMER"}, {LinuxMIPSSignals, 16, -4, "SI_MESGQ"}, {LinuxMIPSSignals, 16, -5, "SI_SIGIO"},
		{LinuxMIPSSignals, 8, 1, "FPE_INTDIV"},
		{LinuxSignals, 10, -2, "SI_TIMER"}, {LinuxSignals, 10, -3, "SI_MESGQ"}, {LinuxSignals, 10, -4, "SI_ASYNCIO"}, {LinuxSignals, 10, -5, "SI_SIGIO"},
		{NetBSDSignals, 8, 2, "FPE_INTOVF"}, {NetBSDSignals, 11, 1, "SEGV_MAPERR"}, {OpenBSDSignals, 10, 1, "BUS_ADRALN"},
	} {
		s := Signal{Number: c.number, Code: c.code, Numbers: c.n, HasInfo: true}
		if got, words := s.CodeName(); got != c.want || (words == "") != (c.want == "" || c.want == "65544") {
			t.Errorf("code %d of signal %d of %d: %q, %q; want %q", c.code, c.number, c.n, got, words, c.want)
		}
		if got := s.linux(); got != got.linux() {
			t.Errorf("code %d of signal %d of %d: %+v is not Linux's", c.code, c.number, c.n, got)
		}
	}
}

// The same death has the same reason, however a system numbers its signals.
func TestReasonsOfSystems(t *testing.T) {
	for _, tc := range []struct {
		name   string
		system string
		arch   *arch.Arch
		signal Signal
		code   string
		reason string
	}{
		{"bus error of MIPS", "Linux", arch.MIPS, Signal{Number: 10, Code: 1, Addr: 0x12345, HasAddr: true, HasInfo: true}, "BUS_ADRALN", "access at 0x12345, which is misaligned"},
		{"bus error of SPARC", "Linux", arch.SPARC64, Signal{Number: 10, Code: 1, Addr: 0x12345, HasAddr: true, HasInfo: true}, "BUS_ADRALN", "access at 0x12345, which is misaligned"},
		{"seccomp of Alpha", "Linux", arch.Alpha, Signal{Number: 12, Code: 1, Syscall: 7, HasInfo: true}, "SYS_SECCOMP", "system call 7 forbidden by a seccomp filter"},
		{"USR1 of MIPS is no bus error", "Linux", arch.MIPS, Signal{Number: 16, Code: 0, PID: 3, UID: 4, HasInfo: true}, "SI_USER", "sent by kill from process 3 of user 4"},
		{"timer of MIPS", "Linux", arch.MIPS, Signal{Number: 14, Code: -3, HasInfo: true}, "SI_TIMER", "sent by a timer (SI_TIMER)"},
		{"segfault of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 11, Code: 1, Addr: 0x12345, HasAddr: true, HasInfo: true}, "SEGV_MAPERR", "access at 0x12345"},
		{"division of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 8, Code: 2, HasInfo: true}, "FPE_INTDIV", "integer division by zero, or its quotient does not fit"},
		{"kill of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 15, Code: 0x10001, PID: 3, UID: 4, HasInfo: true}, "SI_USER", "sent by kill from process 3 of user 4"},
		{"abort of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 6, Code: 0x10007, PID: 3, OwnPID: 3, HasInfo: true}, "SI_TKILL", "abort called by the program itself"},
		{"no information of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 15, HasInfo: true}, "", ""},
		{"unknown code of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 11, Code: 0x10099, HasInfo: true, HasAddr: true, Addr: 0x9999999}, "65689", "access at 0x9999999"},
		{"bus error of OpenBSD", "OpenBSD", arch.AMD64, Signal{Number: 10}, "", "invalid memory access"},
		{"EMT is not Linux's", "NetBSD", arch.AMD64, Signal{Number: 7}, "", ""},
	} {
		tc.signal.Numbers = NumberingOf(tc.system, tc.arch)
		code, _ := tc.signal.CodeName()
		why := Why(Input{Arch: tc.arch, Signal: tc.signal})
		if code != tc.code || why.Text != tc.reason {
			t.Errorf("%s: code %q, reason %q; want %q, %q", tc.name, code, why.Text, tc.code, tc.reason)
		}
	}
}
