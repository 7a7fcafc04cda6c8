package reason

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestSignalNamesOfSystems(t *testing.T) {
	for _, tc := range []struct {
		system string
		arch   *arch.Arch
		number int
		name   string
	}{
		{"Linux", arch.AMD64, 7, "SIGBUS"}, {"Linux", arch.AMD64, 31, "SIGSYS"}, {"Linux", arch.AMD64, 36, "SIGRTMIN+2"},
		{"Linux", arch.M68K, 10, "SIGUSR1"}, {"", nil, 11, "SIGSEGV"},
		{"Linux", arch.MIPS, 10, "SIGBUS"}, {"Linux", arch.MIPS64EL, 16, "SIGUSR1"}, {"Linux", arch.MIPSN32, 18, "SIGCHLD"},
		{"Linux", arch.MIPS, 30, "SIGXCPU"}, {"Linux", arch.MIPS, 127, "SIGRTMIN+93"}, {"Linux", arch.MIPS, 32, "SIG32"},
		{"Linux", arch.SPARC64, 10, "SIGBUS"}, {"Linux", arch.SPARC64, 20, "SIGCHLD"}, {"Linux", arch.SPARC64, 29, "SIGPWR"},
		{"Linux", arch.Alpha, 12, "SIGSYS"}, {"Linux", arch.Alpha, 31, "SIGUSR2"}, {"Linux", arch.Alpha, 32, "SIG32"},
		{"Linux", arch.HPPA, 12, "SIGXCPU"}, {"Linux", arch.HPPA, 31, "SIGSYS"}, {"Linux", arch.HPPA, 24, "SIGSTOP"},
		{"NetBSD", arch.AMD64, 10, "SIGBUS"}, {"OpenBSD", arch.X86, 29, "SIGINFO"}, {"OpenBSD", arch.ARM64, 30, "SIGUSR1"},
		{"FreeBSD", arch.AMD64, 12, "SIGSYS"}, {"FreeBSD", arch.AMD64, 32, "SIGTHR"}, {"FreeBSD", arch.AMD64, 66, "SIGRTMIN+1"},
		{"FreeBSD", arch.AMD64, 127, ""}, {"Linux", arch.MIPS, 128, ""}, {"FreeBSD", arch.AMD64, 0, ""},
	} {
		if got := NumberingOf(tc.system, tc.arch).Name(tc.number); got != tc.name {
			t.Errorf("%d of %s on %v: %q; want %q", tc.number, tc.system, tc.arch, got, tc.name)
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
		{"unknown code of FreeBSD", "FreeBSD", arch.AMD64, Signal{Number: 11, Code: 0x10099, HasInfo: true, HasAddr: true, Addr: 0x9999999}, "65689", "access at 0x9999999"},
		{"bus error of OpenBSD", "OpenBSD", arch.AMD64, Signal{Number: 10}, "SI_USER", "invalid memory access"},
		{"EMT is not Linux's", "NetBSD", arch.AMD64, Signal{Number: 7}, "SI_USER", ""},
	} {
		tc.signal.Numbers = NumberingOf(tc.system, tc.arch)
		code, _ := tc.signal.CodeName()
		why := Why(Input{Arch: tc.arch, Signal: tc.signal})
		if code != tc.code || why.Text != tc.reason {
			t.Errorf("%s: code %q, reason %q; want %q, %q", tc.name, code, why.Text, tc.code, tc.reason)
		}
	}
}
