package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Types of Mach exceptions (mach/exception_types.h).
const (
	machBadAccess      = 1
	machBadInstruction = 2
	machArithmetic     = 3
	machSoftware       = 5
	machBreakpoint     = 6
	machCrash          = 10
	machResource       = 11
	machGuard          = 12
	machSimulated      = 0x43507378 // Crashpad's, for a dump without a crash ("CPsx")
	machNSException    = 0x43506e78 // Crashpad's, when nothing catches an Objective-C exception ("CPnx")
)

var machKinds = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{
		machBadAccess: {"EXC_BAD_ACCESS", "invalid memory access"}, machBadInstruction: {"EXC_BAD_INSTRUCTION", "illegal instruction"},
		machArithmetic: {"EXC_ARITHMETIC", "arithmetic error"}, 4: {"EXC_EMULATION", "emulated instruction"},
		machSoftware: {"EXC_SOFTWARE", "software exception"}, machBreakpoint: {"EXC_BREAKPOINT", "breakpoint"},
		7: {"EXC_SYSCALL", "system call"}, 8: {"EXC_MACH_SYSCALL", "Mach system call"}, 9: {"EXC_RPC_ALERT", "RPC alert"},
		machCrash: {"EXC_CRASH", "abnormal termination"}, machResource: {"EXC_RESOURCE", "resource limit reached"},
		machGuard: {"EXC_GUARD", "guard violation"}, machSimulated: {"Simulated Exception", "dump without a crash"},
		machNSException: {"Uncaught NSException", "uncaught Objective-C exception"},
	}
}}

// Codes of EXC_BAD_ACCESS: kern_return_t (mach/kern_return.h), then those of the processors.
var machAccessCodes = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{
		1: {"KERN_INVALID_ADDRESS", "which is not mapped"}, 2: {"KERN_PROTECTION_FAILURE", "which does not permit it"},
		5: {"KERN_FAILURE", "which failed"}, 8: {"KERN_NO_ACCESS", "to which there is no access"},
		9: {"KERN_MEMORY_FAILURE", "which has been destroyed"}, 10: {"KERN_MEMORY_ERROR", "which could not be loaded"},
		50: {"KERN_CODESIGN_ERROR", "whose code signature is invalid"},
	}
}}

var machARMAccessCodes = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{
		0x101: {"EXC_ARM_DA_ALIGN", "which is misaligned"}, 0x102: {"EXC_ARM_DA_DEBUG", "which is watched"},
		0x103: {"EXC_ARM_SP_ALIGN", "with a misaligned stack pointer"}, 0x104: {"EXC_ARM_SWP", "by swp"},
		0x105: {"EXC_ARM_PAC_FAIL", "whose signature is wrong"},
	}
}}

const machGPFault = 13 // EXC_I386_GPFLT

var machX86Codes = lazy.Value[map[uint32]map[uint32]named]{Make: func() map[uint32]map[uint32]named {
	return map[uint32]map[uint32]named{
		machBadInstruction: {1: {"EXC_I386_INVOP", "illegal instruction"}, 10: {"EXC_I386_INVTSSFLT", "invalid task state"},
			11: {"EXC_I386_SEGNPFLT", "segment not present"}, 12: {"EXC_I386_STKFLT", "stack fault"}, machGPFault: {"EXC_I386_GPFLT", "general protection fault"},
			17: {"EXC_I386_ALIGNFLT", "misaligned access"}},
		machArithmetic: {1: {"EXC_I386_DIV", "integer division by zero"}, 2: {"EXC_I386_INTO", "integer overflow"}, 3: {"EXC_I386_NOEXT", "no floating-point unit"},
			4: {"EXC_I386_EXTOVR", "floating-point overrun"}, 5: {"EXC_I386_EXTERR", "floating-point error"}, 6: {"EXC_I386_EMERR", "emulation error"},
			7: {"EXC_I386_BOUND", "subscript out of range"}, 8: {"EXC_I386_SSEEXTERR", "floating-point error"}},
		machBreakpoint: {1: {"EXC_I386_SGL", "single step"}, 2: {"EXC_I386_BPT", "breakpoint instruction (int3)"}},
	}
}}

var machARMCodes = lazy.Value[map[uint32]map[uint32]named]{Make: func() map[uint32]map[uint32]named {
	return map[uint32]map[uint32]named{
		machBadInstruction: {1: {"EXC_ARM_UNDEFINED", "illegal instruction"}},
		machArithmetic: {0: {"EXC_ARM_FP_UNDEFINED", "floating-point error"}, 1: {"EXC_ARM_FP_IO", "invalid floating-point operation"},
			2: {"EXC_ARM_FP_DZ", "floating-point division by zero"}, 3: {"EXC_ARM_FP_OF", "floating-point overflow"},
			4: {"EXC_ARM_FP_UF", "floating-point underflow"}, 5: {"EXC_ARM_FP_IX", "inexact floating-point result"}, 6: {"EXC_ARM_FP_ID", "denormal floating-point operand"}},
		machBreakpoint: {1: {"EXC_ARM_BREAKPOINT", "breakpoint instruction"}},
	}
}}

var machSoftwareCodes = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{
		0x10000: {"EXC_UNIX_BAD_SYSCALL", "invalid system call"}, 0x10001: {"EXC_UNIX_BAD_PIPE", "write to a pipe without a reader"},
		0x10002: {"EXC_UNIX_ABORT", "abort called by the program itself (SIGABRT)"}, 0x10003: {"EXC_SOFT_SIGNAL", "signal"},
		0xdead0001: {"Uncaught NSException", "uncaught Objective-C exception"},
	}
}}

var machResources = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{1: {"RESOURCE_TYPE_CPU", "processor time"}, 2: {"RESOURCE_TYPE_WAKEUPS", "wakeups"}, 3: {"RESOURCE_TYPE_MEMORY", "memory"},
		4: {"RESOURCE_TYPE_IO", "input and output"}, 5: {"RESOURCE_TYPE_THREADS", "threads"}, 6: {"RESOURCE_TYPE_PORTS", "ports"}}
}}

var machGuards = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{1: {"GUARD_TYPE_MACH_PORT", "a port"}, 2: {"GUARD_TYPE_FD", "a file descriptor"}, 3: {"GUARD_TYPE_USER", "the program's own"},
		4: {"GUARD_TYPE_VN", "a file"}, 5: {"GUARD_TYPE_VIRT_MEMORY", "memory"}, 6: {"GUARD_TYPE_REJECTED_SC", "a system call"}}
}}

// machCode returns the first code of an exception, if it has a name.
func (e Exception) machCode(a *arch.Arch) (named, bool) {
	var n named
	var ok bool
	arm := a != nil && (a.Family == arch.FamilyARM64 || a.Family == arch.FamilyARM)
	switch e.Code {
	case machBadAccess:
		if n, ok = machAccessCodes.Get()[e.Flags]; ok {
			break
		}
		if arm || a == nil {
			n, ok = machARMAccessCodes.Get()[e.Flags]
		}
		if !arm && e.Flags == machGPFault {
			n, ok = machX86Codes.Get()[machBadInstruction][machGPFault]
		}
	case machSoftware:
		n, ok = machSoftwareCodes.Get()[e.Flags]
	case machResource:
		n, ok = machResources.Get()[e.Flags>>29]
	case machGuard:
		n, ok = machGuards.Get()[e.Flags>>29]
	default:
		if arm {
			n, ok = machARMCodes.Get()[e.Code][e.Flags]
		} else {
			n, ok = machX86Codes.Get()[e.Code][e.Flags]
		}
	}
	return n, ok
}

func (e Exception) machName(a *arch.Arch) string {
	if sig := e.crashSignal(); e.Code == 0 && sig != 0 {
		return "EXC_CRASH / " + macSignal(sig)
	}
	kind, known := machKinds.Get()[e.Code]
	if !known {
		return fmt.Sprintf("%#08x / %#08x", e.Code, e.Flags)
	}
	if e.Code == machSimulated || e.Code == machNSException {
		return kind.name
	}
	if code, ok := e.machCode(a); ok {
		return kind.name + " / " + code.name
	}
	return fmt.Sprintf("%s / %#08x", kind.name, e.Flags)
}

// crashSignal returns the signal of an EXC_CRASH (kernel, bsd/kern/kern_exit.c), 0 if there is none. The signal
// is in the top 8 of the low 32 bits of the code. Crashpad writes the type and the codes that it got as the
// exception's parameters.
func (e Exception) crashSignal() int {
	if len(e.Params) >= 2 && e.Params[0] == machCrash {
		return int(e.Params[1] >> 24 & 0xff)
	}
	return 0
}

func macSignal(number int) string {
	return orElse(MacSignals.Name(number), fmt.Sprintf("signal %d", number))
}

func (in *Input) whyMach(e Exception) Reason {
	code, hasCode := e.machCode(in.Arch)
	switch e.Code {
	case 0:
		switch sig := e.crashSignal(); sig {
		case 0:
			return Reason{Kind: report.CrashNone, Text: "dump without an exception"}
		case sigAbrt:
			return Reason{Kind: report.CrashAbort, Text: "abort called by the program itself"}
		default:
			return Reason{Kind: report.CrashSignal, Text: "ended by " + macSignal(sig)}
		}
	case machBadAccess:
		return in.machBadAccess(e, code, hasCode)
	case machResource:
		return Reason{Kind: machKind(e, in.isX86()), Text: "resource limit reached" + ofWhat(code)}
	case machGuard:
		return Reason{Kind: report.CrashGuard, Text: "guard violation" + ofWhat(code)}
	}
	r := Reason{Kind: machKind(e, in.isX86()), AtInst: e.Code == machBadInstruction || e.Code == machArithmetic || e.Code == machBreakpoint}
	kind, known := machKinds.Get()[e.Code]
	switch {
	case hasCode:
		r.Text = code.words
	case known:
		r.Text = kind.words
	default:
		r.Text = fmt.Sprintf("exception %d with code %#x", e.Code, e.Flags)
	}
	in.machInstruction(&r, e)
	return r
}

func (in *Input) machBadAccess(e Exception, code named, hasCode bool) Reason {
	if e.Flags == machGPFault && in.Arch == arch.AMD64 {
		return in.protectionFault()
	}
	r := in.faultAt("", e.Addr)
	if !hasCode || e.Flags == 1 || e.Flags == 2 {
		return r
	}
	r.Text = fmt.Sprintf("%s at %#x, %s", orElse(r.Access, "access"), r.Addr, code.words)
	switch e.Flags {
	case 9:
		r.Kind = report.CrashHardware
	case 10:
		r.Kind = report.CrashBusError
	case 0x101, 0x103:
		r.Kind = report.CrashMisaligned
	case 0x105:
		r.Kind = report.CrashControlFlow
	}
	return r
}

// machInstruction adds what the instruction itself shows about an exception.
func (in *Input) machInstruction(r *Reason, e Exception) {
	switch e.Code {
	case machArithmetic:
		if kind, text := in.division(); kind != "" && r.Kind == report.CrashDivZero {
			r.Kind, r.Text = kind, text
		}
	case machBadInstruction, machBreakpoint:
		if kind, text := in.trap(); kind != "" && kind != report.CrashBreakpoint {
			r.Kind, r.Text = kind, text
		}
		if e.Flags == machGPFault && e.Code == machBadInstruction && in.isX86() {
			*r = in.protectionFault()
		}
	}
}

// machKind returns the kind of an exception by its codes alone.
func machKind(e Exception, x86 bool) string {
	switch e.Code {
	case machBadInstruction:
		return report.CrashIllegalInstruction
	case machArithmetic:
		return arithmeticKind(e.Flags, x86)
	case machBreakpoint:
		return report.CrashBreakpoint
	case machSimulated:
		return report.CrashNone
	case machNSException:
		return report.CrashException
	case machResource:
		if e.Flags>>29 == 3 {
			return report.CrashOutOfMemory
		}
		return report.CrashLimit
	case machSoftware:
		switch e.Flags {
		case 0x10000:
			return report.CrashSyscall
		case 0x10001, 0x10003:
			return report.CrashSignal
		case 0x10002:
			return report.CrashAbort
		case 0xdead0001:
			return report.CrashException
		}
	}
	return report.CrashUnknown
}

// arithmeticKind returns the kind of an EXC_ARITHMETIC.
func arithmeticKind(code uint32, x86 bool) string {
	switch {
	case x86 && code == 1:
		return report.CrashDivZero
	case x86 && code == 2:
		return report.CrashIntOverflow
	case x86 && code == 7:
		return report.CrashBounds
	}
	return report.CrashFloat
}

func ofWhat(n named) string {
	if n.words == "" {
		return ""
	}
	return ": " + n.words
}
