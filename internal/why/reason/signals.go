// Package reason says why a process died, in words and as one of report's kinds: what the signal or the
// exception means, what memory access the faulting instruction made, and which clues point to a stack overflow,
// a freed object or faulty hardware.
package reason

import "github.com/corewalk/corewalk/internal/lazy"

import "strconv"

// Signal numbers of Linux on x86, ARM, POWER, RISC-V and s390
// (include/uapi/asm-generic/signal.h).
const (
	sigQuit   = 3
	sigPipe   = 13
	sigTrap   = 5
	sigAbrt   = 6
	sigBus    = 7
	sigFPE    = 8
	sigKill   = 9
	sigSegv   = 11
	sigIll    = 4
	sigSys    = 31
	sigAlrm   = 14
	sigXCPU   = 24
	sigVTAlrm = 26
	sigProf   = 27
	sigXFSZ   = 25
)

var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT", 17: "SIGCHLD",
	18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ",
	26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
}

// Codes that say who sent a signal, for every signal (siginfo.h).
const (
	siUser   = 0
	siQueue  = -1
	siTimer  = -2
	siMesgQ  = -3
	siAsync  = -4
	siSigIO  = -5
	siTKill  = -6
	siKernel = 0x80
)

// A code is the name of a signal code in siginfo.h, and its meaning.
type code struct{ name, words string }

var senders = lazy.Value[map[int]code]{Make: func() map[int]code {
	return map[int]code{
		siUser:   {"SI_USER", "sent by kill"},
		siQueue:  {"SI_QUEUE", "sent by sigqueue"},
		siTimer:  {"SI_TIMER", "sent by a timer"},
		siMesgQ:  {"SI_MESGQ", "sent by a message queue"},
		siAsync:  {"SI_ASYNCIO", "sent by asynchronous I/O"},
		siSigIO:  {"SI_SIGIO", "sent by queued SIGIO"},
		siTKill:  {"SI_TKILL", "sent by tgkill"},
		siKernel: {"SI_KERNEL", "sent by the kernel"},
	}
}}

// codesOf returns the codes of one signal, from 1 on.
func codesOf(signo int) []code {
	switch signo {
	case sigSegv:
		return []code{{"SEGV_MAPERR", "address not mapped"}, {"SEGV_ACCERR", "access not permitted"},
			{"SEGV_BNDERR", "bounds check failed"}, {"SEGV_PKUERR", "protection key forbids access"},
			{"SEGV_ACCADI", "memory tagging not enabled for the address"}, {"SEGV_ADIDERR", "memory tag mismatch, disrupting"},
			{"SEGV_ADIPERR", "memory tag mismatch, precise"}, {"SEGV_MTEAERR", "memory tag mismatch, asynchronous"},
			{"SEGV_MTESERR", "memory tag mismatch, synchronous"}, {"SEGV_CPERR", "control-flow protection fault"}}
	case sigBus:
		return []code{{"BUS_ADRALN", "misaligned address"}, {"BUS_ADRERR", "no memory behind the address"},
			{"BUS_OBJERR", "object-specific hardware error"}, {"BUS_MCEERR_AR", "memory failure, action required"},
			{"BUS_MCEERR_AO", "memory failure, action optional"}}
	case sigFPE:
		return []code{{"FPE_INTDIV", "integer division by zero"}, {"FPE_INTOVF", "integer overflow"},
			{"FPE_FLTDIV", "floating-point division by zero"}, {"FPE_FLTOVF", "floating-point overflow"},
			{"FPE_FLTUND", "floating-point underflow"}, {"FPE_FLTRES", "inexact floating-point result"},
			{"FPE_FLTINV", "invalid floating-point operation"}, {"FPE_FLTSUB", "subscript out of range"}}
	case sigIll:
		return []code{{"ILL_ILLOPC", "illegal opcode"}, {"ILL_ILLOPN", "illegal operand"}, {"ILL_ILLADR", "illegal addressing mode"},
			{"ILL_ILLTRP", "illegal trap"}, {"ILL_PRVOPC", "privileged opcode"}, {"ILL_PRVREG", "privileged register"},
			{"ILL_COPROC", "coprocessor error"}, {"ILL_BADSTK", "internal stack error"}}
	case sigTrap:
		return []code{{"TRAP_BRKPT", "breakpoint"}, {"TRAP_TRACE", "single step"}, {"TRAP_BRANCH", "branch trap"},
			{"TRAP_HWBKPT", "hardware breakpoint"}, {"TRAP_UNK", "undiagnosed trap"}, {"TRAP_PERF", "performance event"}}
	case sigSys:
		return []code{{"SYS_SECCOMP", "system call forbidden by a seccomp filter"}, {"SYS_USER_DISPATCH", "system call dispatched to the program"}}
	}
	return nil
}

// CodeName returns the name of a signal code in siginfo.h, and its meaning in words. An unknown code is its
// number, without words.
func CodeName(signo, c int) (name, words string) {
	if codes := codesOf(signo); c > 0 && c <= len(codes) {
		return codes[c-1].name, codes[c-1].words
	}
	if s, ok := senders.Get()[c]; ok {
		return s.name, s.words
	}
	return strconv.Itoa(c), ""
}

// fromProcess reports whether the code means that a process sent the signal.
func fromProcess(c int) bool { return c == siUser || c == siQueue || c == siTKill }
