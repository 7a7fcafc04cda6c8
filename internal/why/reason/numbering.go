package reason

import (
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Numbering is how an operating system numbers its signals and their codes on some architecture. The zero
// value is Linux's on most architectures.
type Numbering uint8

const (
	LinuxSignals      Numbering = iota
	LinuxMIPSSignals            // kernel, arch/mips/include/uapi/asm/signal.h
	LinuxSPARCSignals           // arch/{sparc,alpha}/include/uapi/asm/signal.h
	LinuxHPPASignals            // arch/parisc/include/uapi/asm/signal.h
	NetBSDSignals               // sys/signal.h, as the next ones
	OpenBSDSignals
	FreeBSDSignals
	MacSignals
)

// NumberingOf returns the numbering of an operating system, named as in corestate.ELFCore.OS, on an
// architecture, which may be nil.
func NumberingOf(system string, a *arch.Arch) Numbering {
	switch system {
	case "FreeBSD":
		return FreeBSDSignals
	case "NetBSD":
		return NetBSDSignals
	case "OpenBSD":
		return OpenBSDSignals
	}
	if a == nil {
		return LinuxSignals
	}
	switch a.Family {
	case arch.FamilyMIPS:
		return LinuxMIPSSignals
	case arch.FamilySPARC, arch.FamilyAlpha:
		return LinuxSPARCSignals
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
	// From 4.4BSD.
	bsdSignals = []string{"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGEMT", "SIGFPE", "SIGKILL", "SIGBUS",
		"SIGSEGV", "SIGSYS", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGURG", "SIGSTOP", "SIGTSTP", "SIGCONT", "SIGCHLD", "SIGTTIN", "SIGTTOU",
		"SIGIO", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGINFO", "SIGUSR1", "SIGUSR2"}
)

// A numberingTable describes a Numbering.
type numberingTable struct {
	names       []string // of the numbers from 1 on
	first, last int      // the real-time signals that programs may use; if there are none, last is the last number
	senders     map[int]int
}

var numberings = lazy.Value[[]numberingTable]{Make: func() []numberingTable {
	return []numberingTable{
		LinuxSignals:      {names: signalNames[1:], first: 34, last: 64},
		LinuxMIPSSignals:  {names: mipsSignals, first: 34, last: 127, senders: mipsSenders.Get()},
		LinuxSPARCSignals: {names: slices.Concat(bsdSignals[:28], []string{"SIGPWR"}, bsdSignals[29:]), first: 34, last: 64},
		LinuxHPPASignals:  {names: hppaSignals, first: 34, last: 64},
		NetBSDSignals:     {names: slices.Concat(bsdSignals, []string{"SIGPWR"}), first: 33, last: 63},
		OpenBSDSignals:    {names: slices.Concat(bsdSignals, []string{"SIGTHR"}), last: 32},
		FreeBSDSignals:    {names: slices.Concat(bsdSignals, []string{"SIGTHR", "SIGLIBRT"}), first: 65, last: 126, senders: freeBSDSenders.Get()},
		MacSignals:        {names: bsdSignals, last: 31},
	}
}}

// The codes that LinuxSignals has for those that tell who sent a signal, where they differ.
var (
	freeBSDSenders = lazy.Value[map[int]int]{Make: func() map[int]int {
		return map[int]int{0x10001: siUser, 0x10002: siQueue, 0x10003: siTimer, 0x10004: siAsync, 0x10005: siMesgQ,
			0x10006: siKernel, 0x10007: siTKill}
	}}
	mipsSenders = lazy.Value[map[int]int]{Make: func() map[int]int {
		return map[int]int{-2: siAsync, -3: siTimer, -4: siMesgQ}
	}}
)

// Name returns the name of a signal: "SIGSEGV", "SIGRTMIN+2" for real-time signals, "" for a number that is not
// a signal.
func (n Numbering) Name(number int) string {
	s := &numberings.Get()[n]
	switch {
	case number <= 0 || number > s.last:
		return ""
	case number <= len(s.names):
		return s.names[number-1]
	case number < s.first: // the C library uses them itself
		return "SIG" + strconv.Itoa(number)
	case number == s.first:
		return "SIGRTMIN"
	}
	return "SIGRTMIN+" + strconv.Itoa(number-s.first)
}

// linux returns the number that LinuxSignals has for a signal; -1 if Linux has no such signal.
func (n Numbering) linux(number int) int {
	if names := numberings.Get()[n].names; number > 0 && number <= len(names) {
		return slices.Index(signalNames[:], names[number-1])
	}
	return number
}

// linuxCode returns the code that LinuxSignals has for the code c of a signal, whose number is already Linux's.
func (n Numbering) linuxCode(number, c int) int {
	if to, ok := numberings.Get()[n].senders[c]; ok {
		return to
	}
	if n == FreeBSDSignals && number == sigFPE && (c == 1 || c == 2) { // FPE_INTOVF, FPE_INTDIV
		return 3 - c
	}
	return c
}

// linux returns the signal in the numbers of LinuxSignals. Its Code is 0 if it is not known.
func (s Signal) linux() Signal {
	n := s.Numbers
	if n == FreeBSDSignals && s.Code == 0 { // SI_NOINFO
		s.HasInfo = false
	}
	if !s.HasInfo {
		s.Code = 0
	}
	s.Number, s.Numbers = n.linux(s.Number), LinuxSignals
	s.Code = n.linuxCode(s.Number, s.Code)
	return s
}

// Name returns the name of the signal; "" for a number that is not a signal.
func (s Signal) Name() string { return s.Numbers.Name(s.Number) }

// CodeName returns the name of the signal's code in siginfo.h, and its meaning in words. An unknown code is its
// number, without words; a missing one has no name.
func (s Signal) CodeName() (name, words string) {
	if s = s.linux(); !s.HasInfo {
		return "", ""
	}
	return CodeName(s.Number, s.Code)
}
