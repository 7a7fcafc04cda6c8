package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestWindowsNames: the names of winnt.h and ntstatus.h, and which words a code has.
func TestWindowsNames(t *testing.T) {
	for code, want := range map[uint32][2]string{
		0x80000001: {"EXCEPTION_GUARD_PAGE", "guard page"}, 0x80000002: {"EXCEPTION_DATATYPE_MISALIGNMENT", "misaligned"},
		0x80000003: {"EXCEPTION_BREAKPOINT", "breakpoint"}, 0x80000004: {"EXCEPTION_SINGLE_STEP", "single step"},
		0x8000000d: {"STATUS_PARTIAL_COPY", "partial copy (0x8000000d)"}, 0x40000015: {"STATUS_FATAL_APP_EXIT", "ended itself"},
		0x40010005: {"DBG_CONTROL_C", "Ctrl+C"}, 0x40010006: {"DBG_PRINTEXCEPTION_C", "debug output"},
		0x40080201: {"EXCEPTION_RO_ORIGINATEERROR", "WinRT"}, 0x40080202: {"EXCEPTION_RO_TRANSFORMERROR", "WinRT"},
		0x4001000a: {"DBG_PRINTEXCEPTION_WIDE_C", "debug output"}, 0x406d1388: {"MS_VC_EXCEPTION", "thread name"},
		0xc0000005: {"EXCEPTION_ACCESS_VIOLATION", "access violation"}, 0xc0000006: {"EXCEPTION_IN_PAGE_ERROR", "a page could not be loaded"},
		0xc0000008: {"EXCEPTION_INVALID_HANDLE", "invalid handle"}, 0xc000000d: {"STATUS_INVALID_PARAMETER", "invalid parameter"},
		0xc0000017: {"STATUS_NO_MEMORY", "out of memory"}, 0xc000001d: {"EXCEPTION_ILLEGAL_INSTRUCTION", "illegal instruction"},
		0xc0000025: {"EXCEPTION_NONCONTINUABLE_EXCEPTION", "noncontinuable"}, 0xc0000026: {"EXCEPTION_INVALID_DISPOSITION", "invalid disposition"},
		0xc000008c: {"EXCEPTION_ARRAY_BOUNDS_EXCEEDED", "subscript"}, 0xc000008d: {"EXCEPTION_FLT_DENORMAL_OPERAND", "denormal"},
		0xc000008e: {"EXCEPTION_FLT_DIVIDE_BY_ZERO", "floating-point division by zero"}, 0xc000008f: {"EXCEPTION_FLT_INEXACT_RESULT", "inexact"},
		0xc0000090: {"EXCEPTION_FLT_INVALID_OPERATION", "invalid floating-point"}, 0xc0000091: {"EXCEPTION_FLT_OVERFLOW", "floating-point overflow"},
		0xc0000092: {"EXCEPTION_FLT_STACK_CHECK", "floating-point stack"}, 0xc0000093: {"EXCEPTION_FLT_UNDERFLOW", "underflow"},
		0xc0000094: {"EXCEPTION_INT_DIVIDE_BY_ZERO", "integer division by zero"}, 0xc0000095: {"EXCEPTION_INT_OVERFLOW", "integer overflow"},
		0xc0000096: {"EXCEPTION_PRIV_INSTRUCTION", "privileged"}, 0xc00000fd: {"EXCEPTION_STACK_OVERFLOW", "stack overflow"},
		0xc0000135: {"STATUS_DLL_NOT_FOUND", "a DLL was not found"}, 0xc0000138: {"STATUS_ORDINAL_NOT_FOUND", "by ordinal"},
		0xc0000139: {"STATUS_ENTRYPOINT_NOT_FOUND", "by name"}, 0xc000013a: {"STATUS_CONTROL_C_EXIT", "Ctrl+C"},
		0xc0000142: {"STATUS_DLL_INIT_FAILED", "initialise"}, 0xc0000194: {"EXCEPTION_POSSIBLE_DEADLOCK", "deadlock"},
		0xc00002c9: {"STATUS_REG_NAT_CONSUMPTION", "NaT"}, 0xc0000374: {"STATUS_HEAP_CORRUPTION", "corrupted heap"},
		0xc0000409: {"EXCEPTION_STACK_BUFFER_OVERRUN", "fast fail"}, 0xc0000417: {"STATUS_INVALID_CRUNTIME_PARAMETER", "C library"},
		0xc000041d: {"STATUS_FATAL_USER_CALLBACK_EXCEPTION", "callback"}, 0xc0000420: {"STATUS_ASSERTION_FAILURE", "assertion"},
		0xc0000602: {"STATUS_FAIL_FAST_EXCEPTION", "fast fail"}, 0xc06d007e: {"VCPP_EXCEPTION_MODULE_NOT_FOUND", "delay-loaded DLL was not found"},
		0xc06d007f: {"VCPP_EXCEPTION_PROCEDURE_NOT_FOUND", "lacks a function"}, 0xe06d7363: {"Unhandled C++ Exception", "uncaught C++"},
	} {
		if got := win(code).Name(nil); got != want[0] {
			t.Errorf("%#08x is %s, want %s", code, got, want[0])
		}
		if got := WhyException(Input{}, win(code)).Text; !strings.Contains(got, want[1]) {
			t.Errorf("%#08x: %q, want %q", code, got, want[1])
		}
	}
	for code, want := range map[uint64]string{0: "stack buffer overrun", 1: "virtual function table", 2: "the cookie", 3: "linked list", 4: "stack pointer",
		5: "C library function", 7: "abort", 8: "subscript", 10: "not a function (control flow guard)", 13: "thread context", 18: "longjmp buffer",
		21: "exception handler chain", 50: "corrupted heap", 57: "shadow stack", 64: "a function of this type", 65: "derived class", 71: "address sanitizer",
		6: "gs cookie init", 9: "unsafe registry access"} {
		if got := fastFail(win(winFastFail, code)).Text; !strings.Contains(got, want) {
			t.Errorf("fast fail %d: %q, want %q", code, got, want)
		}
	}
	if got := win(winInPageError, 1, 0x5000).Name(nil); got != "EXCEPTION_IN_PAGE_ERROR_WRITE" {
		t.Errorf("in-page error without a status: %s", got)
	}
	if got := win(winAccessViolation, 1, 0x5000, 7).Name(nil); got != "EXCEPTION_ACCESS_VIOLATION_WRITE" {
		t.Errorf("access violation with a third parameter: %s", got)
	}
}

// TestMemoryFault: which exceptions have an access, and which parameters they need for it.
func TestMemoryFault(t *testing.T) {
	mach := win(winAccessViolation, 1, 0x45)
	mach.Of = MachExceptions
	for _, c := range []struct {
		e    Exception
		kind string
		addr uint64
		ok   bool
	}{
		{win(winAccessViolation, 0, 0x45), "read", 0x45, true}, {win(winInPageError, 1, 0x45), "write", 0x45, true},
		{win(winGuardPage, 8, 0x45), "execute", 0x45, true}, {win(winStackOverflow, 2, 0x45), "", 0x45, true},
		{win(winAccessViolation, 1), "", 0, false}, {win(winBreakpoint, 1, 0x45), "", 0, false}, {mach, "", 0, false},
	} {
		if kind, addr, ok := c.e.memoryFault(); kind != c.kind || addr != c.addr || ok != c.ok {
			t.Errorf("%+v: %q, %#x, %v", c.e, kind, addr, ok)
		}
	}
}

// TestWindowsReasons: what the parameters and the instruction add to the code.
func TestWindowsReasons(t *testing.T) {
	byteAtEnd := at{a: arch.AMD64, code: byteRAX, regs: regs{"rax": allOnes}}
	overflows := at{a: arch.X86, code: idivECX, regs: regs{"eax": 1 << 31, "edx": 0xffffffff, "ecx": 0xffffffff}}
	divides := at{a: arch.X86, code: idivECX, regs: regs{"eax": 1, "ecx": 0}}
	for _, c := range []struct {
		name       string
		p          at
		e          Exception
		kind, text string
	}{
		{"all ones, not canonical", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 1 << 60}}, win(winAccessViolation, 0, allOnes), report.CrashNonCanonicalRead, "read of 4 bytes at 0x1000000000000000, which no process can map (not canonical)"},
		{"all ones, the last byte", byteAtEnd, win(winAccessViolation, 0, allOnes), report.CrashWildRead, "read of 1 byte at 0xffffffffffffffff, which belongs to the kernel"},
		{"all ones, register not known", at{a: arch.AMD64, code: byteRAX}, win(winAccessViolation, 0, allOnes), report.CrashBadAccess, "general protection fault"},
		{"all ones, written", at{a: arch.AMD64}, win(winAccessViolation, 1, allOnes), report.CrashWildWrite, "write at 0xffffffffffffffff, which belongs to the kernel"},
		{"all ones, 32 bits", at{a: arch.X86}, win(winAccessViolation, 0, allOnes), report.CrashWildRead, "read at 0xffffffff, which is not mapped"},
		{"all ones, page error", at{a: arch.AMD64}, win(winInPageError, 0, allOnes), report.CrashBusError, "read at 0xffffffffffffffff: the page could not be loaded"},
		{"access violation without parameters", at{a: arch.AMD64}, win(winAccessViolation), report.CrashBadAccess, "access violation"},
		{"page error without parameters", at{a: arch.AMD64}, win(winInPageError), report.CrashBusError, "a page could not be loaded"},
		{"stack overflow without parameters", at{a: arch.AMD64}, win(winStackOverflow), report.CrashStackOverflow, "stack overflow"},
		{"guard page without parameters", at{a: arch.AMD64}, win(winGuardPage), report.CrashNoAccess, "access to a guard page"},
		{"guard page", at{a: arch.AMD64}, win(winGuardPage, 1, 0x5000000), report.CrashNoAccessWrite, "write at 0x5000000, in a guard page"},
		{"C++ with parameters", at{a: arch.AMD64}, win(winCppException, 0x19930520, 1, 2), report.CrashException, "uncaught C++ exception"},
		{"out of memory without a size", at{a: arch.AMD64}, win(winOutOfMemory), report.CrashOutOfMemory, "out of memory"},
		{"breakpoint", at{a: arch.ARM64, code: "000020d4"}, win(winBreakpoint), report.CrashBreakpoint, "breakpoint"},
		{"breakpoint at another instruction", at{a: arch.AMD64, code: nop}, win(winBreakpoint), report.CrashBreakpoint, "breakpoint"},
		{"breakpoint at a trap", at{a: arch.AMD64, code: ud2}, win(winBreakpoint), report.CrashTrap, "trap instruction (ud2), placed where code must not be reached"},
		{"privileged", at{a: arch.AMD64, code: hlt}, win(winPrivileged), report.CrashPrivileged, "privileged instruction (hlt)"},
		{"quotient too large", overflows, win(winIntOverflow), report.CrashDivOverflow, "integer division overflow: the most negative number divided by -1"},
		{"division by zero, as overflow", divides, win(winIntOverflow), report.CrashIntOverflow, "integer overflow"},
		{"overflow, as division by zero", overflows, win(winDivByZero), report.CrashDivZero, "integer division by zero"},
		{"illegal", at{a: arch.AMD64, code: ud2}, win(winIllegal), report.CrashTrap, "trap instruction (ud2), placed where code must not be reached"},
		{"illegal, a breakpoint", at{a: arch.AMD64, code: "cc"}, win(winIllegal), report.CrashIllegalInstruction, "illegal instruction"},
		{"read, in code that cannot run", at{a: arch.X86, regs: regs{"eip": 0}}, win(winAccessViolation, 0, 0), report.CrashNullCall, "jump to null"},
		{"read, in code that runs", at{a: arch.X86, code: nop}, win(winAccessViolation, 0, text), report.CrashBadRead, "read at 0x401000, which was not accessible (/bin/prog)"},
		{"read elsewhere, of code that cannot run", at{a: arch.X86, regs: regs{"eip": data}}, win(winAccessViolation, 0, 0x5000000), report.CrashWildRead, "read at 0x5000000, which is not mapped"},
		{"write, in code that cannot run", at{a: arch.X86, regs: regs{"eip": 0x5000000}}, win(winAccessViolation, 1, 0x5000000), report.CrashWildWrite, "write at 0x5000000, which is not mapped"},
		{"write, register not known", at{a: arch.X86, code: storeRAX}, win(winAccessViolation, 1, 0x5000000), report.CrashWildWrite, "write of 4 bytes at 0x5000000, which is not mapped"},
		{"page error at an instruction", at{a: arch.X86, code: loadRAX}, win(winInPageError, 0, 0xffffffff90000000), report.CrashBusError, "read at 0x90000000: the page could not be loaded"},
		{"division by zero at a trap", at{a: arch.AMD64, code: ud2}, win(winDivByZero), report.CrashDivZero, "integer division by zero"},
	} {
		in := c.p.input(t)
		in.Signal = bus(1, 0x123456789) // which means nothing
		if r := WhyException(in, c.e); r.Kind != c.kind || r.Text != c.text {
			t.Errorf("%s: %s: %q; want %s: %q", c.name, r.Kind, r.Text, c.kind, c.text)
		}
	}
	if r := WhyException(Input{}, win(winAccessViolation, 0, allOnes)); r.Text != "read at 0xffffffffffffffff" {
		t.Errorf("no architecture: %q", r.Text)
	}
	in := at{a: arch.AMD64, code: hlt}.input(t)
	if r := WhyException(in, win(winPrivileged)); !r.AtInst {
		t.Errorf("a privileged instruction is not what failed: %+v", r)
	}
	in = at{a: arch.AMD64, code: loadRAX}.input(t)
	if r := WhyException(in, win(winInPageError, 0, 0x5000000)); !r.AtInst {
		t.Errorf("the instruction that accessed the page is not what failed: %+v", r)
	}
}

// TestMachReasons: what the codes and the instruction add to the type of a Mach exception.
func TestMachReasons(t *testing.T) {
	mach := func(code, flags uint32, params ...uint64) Exception {
		return Exception{Of: MachExceptions, Code: code, Flags: flags, Addr: 0x5000000, Params: params}
	}
	overflows := at{a: arch.X86, code: idivECX, regs: regs{"eax": 1 << 31, "edx": 0xffffffff, "ecx": 0xffffffff}}
	wild := at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 1 << 60}}
	wild32 := at{a: arch.X86, code: loadRAX, regs: regs{"eax": 0x5000000}}
	for _, c := range []struct {
		name       string
		p          at
		e          Exception
		atInst     bool
		kind, text string
	}{
		{"illegal", at{a: arch.AMD64, code: nop}, mach(2, 1), true, report.CrashIllegalInstruction, "illegal instruction"},
		{"illegal, unknown code", at{a: arch.AMD64, code: nop}, mach(2, 77), true, report.CrashIllegalInstruction, "illegal instruction"},
		{"illegal, a trap", at{a: arch.AMD64, code: ud2}, mach(2, 1), true, report.CrashTrap, "trap instruction (ud2), placed where code must not be reached"},
		{"illegal, a breakpoint", at{a: arch.AMD64, code: "cc"}, mach(2, 1), true, report.CrashIllegalInstruction, "illegal instruction"},
		{"protection fault", wild, mach(2, 13), true, report.CrashNonCanonicalRead, "read of 4 bytes at 0x1000000000000000, which no process can map (not canonical)"},
		{"protection fault, of an access", wild, mach(1, 13), true, report.CrashNonCanonicalRead, "read of 4 bytes at 0x1000000000000000, which no process can map (not canonical)"},
		{"no protection fault", wild, mach(2, 12), true, report.CrashIllegalInstruction, "stack fault"},
		{"no protection fault, a breakpoint", wild, mach(6, 13), true, report.CrashBreakpoint, "breakpoint"},
		{"no protection fault, arm64", at{a: arch.ARM64, code: "000040f9", regs: regs{"x0": 1 << 54}}, mach(2, 13), true, report.CrashIllegalInstruction, "illegal instruction"},
		{"protection fault, i386", wild32, mach(1, 13), true, report.CrashWildRead, "read at 0x5000000, general protection fault"},
		{"arithmetic", at{a: arch.AMD64, code: nop}, mach(3, 1), true, report.CrashDivZero, "integer division by zero"},
		{"arithmetic, overflow", overflows, mach(3, 1), true, report.CrashDivOverflow, "integer division overflow: the most negative number divided by -1"},
		{"floating-point error at a division", overflows, mach(3, 5), true, report.CrashFloat, "floating-point error"},
		{"breakpoint", at{a: arch.ARM64, code: "000020d4"}, mach(6, 1), true, report.CrashBreakpoint, "breakpoint instruction"},
		{"breakpoint, a trap", at{a: arch.ARM64, code: "207d20d4"}, mach(6, 1), true, report.CrashTrap, "trap instruction (brk #0x3e9), placed where code must not be reached"},
		{"software", at{a: arch.AMD64, code: nop}, mach(5, 0x10002), false, report.CrashAbort, "abort called by the program itself (SIGABRT)"},
		{"software, unknown code", at{a: arch.AMD64, code: ud2}, mach(5, 7), false, report.CrashUnknown, "software exception"},
		{"unknown type", at{a: arch.AMD64, code: nop}, mach(99, 1), false, report.CrashUnknown, "exception 99 with code 0x1"},
		{"access, unknown code", wild32, mach(1, 77), true, report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"jump", at{a: arch.AMD64, regs: regs{"rip": 0x5000000}}, mach(1, 1), false, report.CrashWildCall, "jump to 0x5000000, which is not mapped"},
		{"access of code that runs", at{a: arch.AMD64, code: nop, regs: regs{"rip": text}}, Exception{Of: MachExceptions, Code: 1, Flags: 1, Addr: text}, true, report.CrashBadAccess, "access at 0x401000, which was not accessible (/bin/prog)"},
		{"access, sign-extended", wild32, Exception{Of: MachExceptions, Code: 1, Flags: 5, Addr: 0xffffffff90000000}, true, report.CrashWildAccess, "access at 0x90000000, which failed"},
		{"access, failure", wild32, mach(1, 5), true, report.CrashWildRead, "read at 0x5000000, which failed"},
		{"resource, unknown type", at{a: arch.ARM64}, mach(11, 7<<29), false, report.CrashLimit, "resource limit reached"},
		{"guard, unknown type", at{a: arch.ARM64}, mach(12, 7<<29), false, report.CrashGuard, "guard violation"},
		{"guard", at{a: arch.ARM64}, mach(12, 2<<29), false, report.CrashGuard, "guard violation: a file descriptor"},
		{"crash by a signal", at{a: arch.ARM64}, mach(0, 0, 10, 1<<24), false, report.CrashSignal, "ended by SIGHUP"},
		{"crash by no signal", at{a: arch.ARM64}, mach(0, 0, 10, 99<<24), false, report.CrashSignal, "ended by signal 99"},
		{"crash by a signal behind the last", at{a: arch.ARM64}, mach(0, 0, 10, 32<<24), false, report.CrashSignal, "ended by signal 32"},
		{"parameters of another type", at{a: arch.ARM64}, mach(0, 0, 11, 1<<24), false, report.CrashNone, "dump without an exception"},
		{"one parameter", at{a: arch.ARM64}, mach(0, 0, 10), false, report.CrashNone, "dump without an exception"},
	} {
		if r := WhyException(c.p.input(t), c.e); r.Kind != c.kind || r.Text != c.text || r.AtInst != c.atInst {
			t.Errorf("%s: %s: %q, at the instruction: %v; want %s: %q", c.name, r.Kind, r.Text, r.AtInst, c.kind, c.text)
		}
	}
	for _, c := range []struct {
		e    Exception
		a    *arch.Arch
		want string
	}{
		{mach(1, 0x105), nil, "EXC_BAD_ACCESS / EXC_ARM_PAC_FAIL"}, {mach(1, 13), nil, "EXC_BAD_ACCESS / EXC_I386_GPFLT"},
		{mach(1, 13), arch.ARM64, "EXC_BAD_ACCESS / 0x0000000d"}, {mach(1, 1, 10, 6<<24), arch.AMD64, "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS"},
		{mach(0, 0, 10, 32<<24), arch.AMD64, "EXC_CRASH / signal 32"},
		{mach(0x43506e78, 7), arch.ARM64, "Uncaught NSException"},
		{mach(0, 7), arch.AMD64, "00000000 / 0x00000007"}, {mach(0, 0, 10, 1<<24), arch.AMD64, "EXC_CRASH / SIGHUP"},
	} {
		if got := c.e.Name(c.a); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.e, got, c.want)
		}
	}
}

// TestSyscallGaps: the numbers behind a gap in the kernel's tables.
func TestSyscallGaps(t *testing.T) {
	for _, c := range []struct {
		a      *arch.Arch
		number int
		want   string
	}{
		{arch.AMD64, 334, "rseq"}, {arch.AMD64, 335, ""}, {arch.AMD64, 423, ""}, {arch.AMD64, 424, "pidfd_send_signal"}, {arch.AMD64, 425, "io_uring_setup"},
		{arch.X86, 224, "gettid"}, {arch.X86, 252, "exit_group"}, {arch.ARM64, 259, ""}, {arch.ARM64, 260, "wait4"}, {arch.ARM64, 424, "pidfd_send_signal"},
	} {
		if got := SyscallName(c.a, c.number); got != c.want {
			t.Errorf("%s, %d: %q, want %q", c.a.Name, c.number, got, c.want)
		}
	}
}
