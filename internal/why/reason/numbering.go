package reason

import (
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Numbering is how an operating system numbers its signals and their codes on some architecture. The zero
// value is Linux's on most architectures.
type Numbering uint8

const (
	LinuxSignals      Numbering = iota
	LinuxMIPSSignals            // kernel, arch/mips/include/uapi/asm/signal.h
	LinuxSPARCSignals           // arch/sparc/include/uapi/asm/signal.h
	LinuxAlphaSignals           // arch/alpha/include/uapi/asm/signal.h
	LinuxHPPASignals            // arch/parisc/include/uapi/asm/signal.h
	BSDSignals                  // sys/signal.h of NetBSD and OpenBSD
	FreeBSDSignals              // sys/signal.h
)

// NumberingOf returns the numbering of an operating system, named as in corestate.ELFCore.OS, on an
// architecture, which may be nil.
func NumberingOf(system string, a *arch.Arch) Numbering {
	switch system {
	case "FreeBSD":
		return FreeBSDSignals
	case "NetBSD", "OpenBSD":
		return BSDSignals
	}
	if a == nil {
		return LinuxSignals
	}
	switch a.Family {
	case arch.FamilyMIPS:
		return LinuxMIPSSignals
	case arch.FamilySPARC:
		return LinuxSPARCSignals
	case arch.FamilyAlpha:
		return LinuxAlphaSignals
	case arch.FamilyHPPA:
		return LinuxHPPASignals
	}
	return LinuxSignals
}

// The names of the numbers from 1 on, up to the first real-time signal.
var (
	mipsSignals = []string{"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGEMT", "SIGFPE", "SIGKILL", "SIGBUS",
		"SIGSEGV", "SIGSYS", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPWR", "SIGWINCH", "SIGURG", "SIGIO",
		"SIGSTOP", "SIGTSTP", "SIGCONT", "SIGTTIN", "SIGTTOU", "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGXFSZ"}
	hppaSignals = []string{"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGSTKFLT", "SIGFPE", "SIGKILL", "SIGBUS",
		"SIGSEGV", "SIGXCPU", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPWR", "SIGVTALRM", "SIGPROF", "SIGIO",
		"SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGCONT", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXFSZ", "SIGSYS"}
	// From 4.4BSD. Linux on SPARC and Alpha has the same, except for 29.
	bsdSignals = []string{"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGEMT", "SIGFPE", "SIGKILL", "SIGBUS",
		"SIGSEGV", "SIGSYS", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGURG", "SIGSTOP", "SIGTSTP", "SIGCONT", "SIGCHLD", "SIGTTIN", "SIGTTOU",
		"SIGIO", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGINFO", "SIGUSR1", "SIGUSR2"}
)

// realTime returns the numbers of the first and the last real-time signal that programs may use.
func (n Numbering) realTime() (first, last int) {
	switch n {
	case LinuxMIPSSignals:
		return 34, 127
	case BSDSignals:
		return 33, 63
	case FreeBSDSignals:
		return 65, 126
	}
	return 34, 64
}

// names returns the names of the numbers from 1 on; nil for LinuxSignals.
func (n Numbering) names() []string {
	switch n {
	case LinuxMIPSSignals:
		return mipsSignals
	case LinuxHPPASignals:
		return hppaSignals
	case LinuxSPARCSignals, LinuxAlphaSignals, BSDSignals, FreeBSDSignals:
		return bsdSignals
	}
	return nil
}

// Name returns the name of a signal: "SIGSEGV", "SIGRTMIN+2" for real-time signals, "" for a number that is not
// a signal.
func (n Numbering) Name(number int) string {
	names := n.names()
	switch {
	case names == nil:
		return SignalName(number)
	case number == 29 && (n == LinuxSPARCSignals || n == LinuxAlphaSignals):
		return "SIGPWR"
	case number > 0 && number <= len(names):
		return names[number-1]
	}
	switch first, last := n.realTime(); {
	case number == first:
		return "SIGRTMIN"
	case number > first && number <= last:
		return "SIGRTMIN+" + strconv.Itoa(number-first)
	case number == 32 && n == FreeBSDSignals:
		return "SIGTHR"
	case number == 33 && n == FreeBSDSignals:
		return "SIGLIBRT"
	case number > len(names) && number < first: // the C library uses them itself
		return "SIG" + strconv.Itoa(number)
	}
	return ""
}

// linux returns the number that LinuxSignals has for a signal; if Linux has no such signal, a number that is no
// signal.
func (n Numbering) linux(number int) int {
	names := n.names()
	if names == nil || number <= 0 || number > len(names) {
		return number
	}
	if i := slices.Index(signalNames[:], n.Name(number)); i > 0 {
		return i
	}
	return maxLinuxSignal + number
}

const maxLinuxSignal = 64

// Codes of the BSD systems that tell who sent a signal, and codes of faults whose numbers differ from Linux's.
var (
	freeBSDSenders = map[int]int{0x10001: siUser, 0x10002: siQueue, 0x10003: siTimer, 0x10004: siAsync, 0x10005: siMesgQ,
		0x10006: siKernel, 0x10007: siTKill}
	bsdSenders = map[int]int{0: siUser, -1: siQueue, -2: siTimer, -3: siAsync, -4: siMesgQ, -5: siTKill}
	// MIPS numbers SI_ASYNCIO, SI_TIMER and SI_MESGQ in another order.
	mipsSenders = map[int]int{-2: siAsync, -3: siTimer, -4: siMesgQ}
)

// linuxCode returns the code that LinuxSignals has for the code c of a signal, whose number is already Linux's.
func (n Numbering) linuxCode(number, c int) int {
	switch n {
	case LinuxMIPSSignals:
		if to, ok := mipsSenders[c]; ok {
			return to
		}
	case FreeBSDSignals:
		if to, ok := freeBSDSenders[c]; ok {
			return to
		}
		if number == sigFPE && (c == 1 || c == 2) { // FPE_INTOVF, FPE_INTDIV
			return 3 - c
		}
	case BSDSignals:
		if to, ok := bsdSenders[c]; ok {
			return to
		}
	}
	return c
}

// linux returns the signal in the numbers of LinuxSignals.
func (s Signal) linux() Signal {
	number := s.Numbers.linux(s.Number)
	s.Number, s.Code, s.Numbers = number, s.Numbers.linuxCode(number, s.Code), LinuxSignals
	return s
}

// Name returns the name of the signal; "" for a number that is not a signal.
func (s Signal) Name() string { return s.Numbers.Name(s.Number) }

// CodeName returns the name of the signal's code in siginfo.h, and its meaning in words; for an unknown code
// its number, without words.
func (s Signal) CodeName() (name, words string) {
	l := s.linux()
	if name, words = CodeName(l.Number, l.Code); words == "" {
		name = strconv.Itoa(s.Code)
	}
	return name, words
}
