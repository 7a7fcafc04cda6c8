package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/wincodes"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestWindowsCodes: the kind of every exception that has a name, and of what is beside
// them. Codes: winnt.h and ntstatus.h of the Windows SDK, eh.h of the C++ library,
// corexcep.h of .NET, unwind-seh.c of libgcc.
func TestWindowsCodes(t *testing.T) {
	known := map[string][]uint32{
		report.CrashNone:               {0, 0x0517a7ed, 0x40010006, 0x4001000a, 0x40080201, 0x40080202, 0x406d1388},
		report.CrashBadAccess:          {0xc0000005},
		report.CrashBusError:           {0xc0000006},
		report.CrashNoAccess:           {0x80000001},
		report.CrashStackOverflow:      {0xc00000fd},
		report.CrashMisaligned:         {0x80000002},
		report.CrashBreakpoint:         {0x80000003, 0x80000004},
		report.CrashIllegalInstruction: {0xc000001d},
		report.CrashPrivileged:         {0xc0000096},
		report.CrashBounds:             {0xc000008c},
		report.CrashFloat:              {0xc000008d, 0xc000008e, 0xc000008f, 0xc0000090, 0xc0000091, 0xc0000092, 0xc0000093},
		report.CrashDivZero:            {0xc0000094},
		report.CrashIntOverflow:        {0xc0000095},
		report.CrashOutOfMemory:        {0xc0000017, 0xe0000008},
		report.CrashHeapCorruption:     {0xc0000374},
		report.CrashLoad:               {0xc0000135, 0xc0000138, 0xc0000139, 0xc0000142, 0xc06d007e, 0xc06d007f},
		report.CrashInvalidArgument:    {0xc0000008, 0xc000000d, 0xc0000417},
		report.CrashAssertion:          {0xc0000420},
		report.CrashAbort:              {0x40000015, 0xc0000602, 0x80131623},
		report.CrashSignal:             {0x40010005, 0xc000013a},
		report.CrashWatchdog:           {0xc0000194},
		report.CrashException: {0xe06d7363, 0xe0434352, 0xe0434f4d, 0x20474343, 0x0eedfade, 0x0eefface, 0xe0465043, 0xe0440001, 0xc0000025, 0xc0000026, 0xc000041d,
			0xe0000001, 0x20000000, 0xe0464645}, // bit 29: raised by a program
		report.CrashUnknown: {0x8000000d, 0xc00002c9, 0x80131506, 1, 0xc0000001, 0xdf000000},
	}
	atInst := []uint32{0x80000002, 0x80000003, 0xc000001d, 0xc0000096, 0xc000008c, 0xc000008d, 0xc000008e, 0xc000008f, 0xc0000090,
		0xc0000091, 0xc0000092, 0xc0000093, 0xc0000094, 0xc0000095}
	kinds, at := map[uint32]string{}, map[uint32]bool{}
	for kind, codes := range known {
		for _, code := range codes {
			kinds[code] = kind
		}
	}
	for _, code := range atInst {
		at[code] = true
	}
	for code := range kinds {
		for _, c := range []uint32{code - 1, code, code + 1} {
			want := kinds[c]
			if want == "" {
				if want = report.CrashUnknown; c>>29&1 != 0 {
					want = report.CrashException
				}
				if _, named := winExceptions.Get()[c]; named && c != 0xc0000409 {
					t.Errorf("%#08x has a name, but no kind", c)
				}
			}
			if got := windowsKind(c); got != want {
				t.Errorf("%#08x is %s, want %s", c, got, want)
			}
			if got := atInstruction(c); got != at[c] {
				t.Errorf("%#08x is of the instruction: %v", c, got)
			}
		}
	}
	for code, want := range map[uint32]string{
		0x8000000d: "partial copy (0x8000000d)", 0xc000027b: "stowed exception (0xc000027b)", 0x80131623: "Environment.FailFast",
		0x887a0005: "DXGI_ERROR_DEVICE_REMOVED (0x887a0005)", 0x80070002: "file not found (0x80070002)", 0x80070005: "E_ACCESSDENIED (0x80070005)", 0xd0000017: "no memory (0xd0000017)", 0x6ba: "RPC_S_SERVER_UNAVAILABLE (0x000006ba)",
		0xe0000005: "raised by the program itself", 0x8007ffff: "exception 0x8007ffff (facility 0x7, code 0xffff)", 0xc000013a: "ended by Ctrl+C", 0: "dump without an exception", 0xe0000001: "exception 0xe0000001, raised by the program itself",
		0xc0de0012: "exception 0xc0de0012 (facility 0xde, code 0x12)", 0x00120345: "exception 0x00120345 (facility 0x12, code 0x345)",
	} {
		if got := WhyException(Input{Arch: arch.AMD64}, win(code)).Text; !strings.Contains(got, want) {
			t.Errorf("%#08x: %q, want %q", code, got, want)
		}
	}
}

// TestFastFails: the codes of __fastfail, winnt.h FAST_FAIL_...
func TestFastFails(t *testing.T) {
	kinds := map[uint64]string{0: report.CrashStackOverrun, 2: report.CrashStackOverrun, 5: report.CrashInvalidArgument, 8: report.CrashBounds}
	for _, code := range []uint64{3, 29, 35, 50} {
		kinds[code] = report.CrashHeapCorruption
	}
	for _, code := range []uint64{1, 10, 11, 31, 37, 38, 44, 46, 47, 57, 64, 65, 67, 73} {
		kinds[code] = report.CrashControlFlow
	}
	names := map[uint64]string{0: "LEGACY_GS_VIOLATION", 14: "INVALID_REFERENCE_COUNT", 15: "", 17: "", 18: "INVALID_JUMP_BUFFER", 50: "HEAP_METADATA_CORRUPTION",
		71: "ASAN_ERROR", 73: "POINTER_AUTH_INVALID_RETURN_ADDRESS", 74: "", 1 << 40: ""}
	for code := range uint64(80) {
		want := kinds[code]
		if want == "" {
			want = report.CrashAbort
		}
		r := fastFail(win(winFastFail, code))
		if r.Kind != want || r.Text == "" {
			t.Errorf("%d is %s: %q, want %s", code, r.Kind, r.Text, want)
		}
	}
	for code, name := range names {
		if name != "" {
			name = "FAST_FAIL_" + name
		}
		if got := FastFailName(code); got != name {
			t.Errorf("%d is %q, want %q", code, got, name)
		}
	}
	if r := fastFail(win(winFastFail)); r.Kind != report.CrashAbort {
		t.Errorf("without a code: %s", r.Kind)
	}
	if r := fastFail(win(winFastFail, 1234)); !strings.Contains(r.Text, "with code 1234") {
		t.Errorf("an unknown code: %q", r.Text)
	}
}

// TestMachCodes: the names and kinds of Mach's exceptions and of their codes. Numbers:
// mach/exception_types.h, mach/kern_return.h, mach/i386/exception.h, mach/arm/exception.h,
// kern/exc_resource.h, kern/exc_guard.h of Darwin.
func TestMachCodes(t *testing.T) {
	for _, c := range []struct {
		arch        *arch.Arch
		code, flags uint32
		name, kind  string
	}{
		{arch.AMD64, 4, 0, "EXC_EMULATION", report.CrashUnknown},
		{arch.AMD64, 7, 0, "EXC_SYSCALL", report.CrashUnknown}, {arch.AMD64, 8, 0, "EXC_MACH_SYSCALL", report.CrashUnknown}, {arch.AMD64, 9, 0, "EXC_RPC_ALERT", report.CrashUnknown},
		{arch.AMD64, 10, 0, "EXC_CRASH", report.CrashUnknown}, {arch.AMD64, 0x43507378, 0, "Simulated Exception", report.CrashNone},
		{arch.ARM64, 0x43506e78, 0, "Uncaught NSException", report.CrashException},
		{arch.AMD64, 1, 2, "EXC_BAD_ACCESS / KERN_PROTECTION_FAILURE", ""}, {arch.AMD64, 1, 5, "EXC_BAD_ACCESS / KERN_FAILURE", ""},
		{arch.AMD64, 1, 8, "EXC_BAD_ACCESS / KERN_NO_ACCESS", ""}, {arch.AMD64, 1, 9, "EXC_BAD_ACCESS / KERN_MEMORY_FAILURE", report.CrashHardware},
		{arch.AMD64, 1, 10, "EXC_BAD_ACCESS / KERN_MEMORY_ERROR", report.CrashBusError}, {arch.AMD64, 1, 50, "EXC_BAD_ACCESS / KERN_CODESIGN_ERROR", ""},
		{arch.ARM64, 1, 0x101, "EXC_BAD_ACCESS / EXC_ARM_DA_ALIGN", report.CrashMisaligned}, {arch.ARM64, 1, 0x102, "EXC_BAD_ACCESS / EXC_ARM_DA_DEBUG", ""},
		{arch.ARM64, 1, 0x103, "EXC_BAD_ACCESS / EXC_ARM_SP_ALIGN", report.CrashMisaligned}, {arch.ARM, 1, 0x104, "EXC_BAD_ACCESS / EXC_ARM_SWP", ""},
		{arch.ARM64, 1, 0x105, "EXC_BAD_ACCESS / EXC_ARM_PAC_FAIL", report.CrashControlFlow}, {arch.AMD64, 1, 0x105, "EXC_BAD_ACCESS / 0x00000105", ""},
		{arch.AMD64, 2, 10, "EXC_BAD_INSTRUCTION / EXC_I386_INVTSSFLT", report.CrashIllegalInstruction},
		{arch.AMD64, 2, 11, "EXC_BAD_INSTRUCTION / EXC_I386_SEGNPFLT", report.CrashIllegalInstruction},
		{arch.AMD64, 2, 12, "EXC_BAD_INSTRUCTION / EXC_I386_STKFLT", report.CrashIllegalInstruction},
		{arch.X86, 2, 17, "EXC_BAD_INSTRUCTION / EXC_I386_ALIGNFLT", report.CrashIllegalInstruction},
		{arch.ARM64, 2, 1, "EXC_BAD_INSTRUCTION / EXC_ARM_UNDEFINED", report.CrashIllegalInstruction},
		{arch.AMD64, 3, 1, "EXC_ARITHMETIC / EXC_I386_DIV", report.CrashDivZero}, {arch.AMD64, 3, 2, "EXC_ARITHMETIC / EXC_I386_INTO", report.CrashIntOverflow},
		{arch.AMD64, 3, 3, "EXC_ARITHMETIC / EXC_I386_NOEXT", report.CrashFloat}, {arch.AMD64, 3, 4, "EXC_ARITHMETIC / EXC_I386_EXTOVR", report.CrashFloat},
		{arch.AMD64, 3, 5, "EXC_ARITHMETIC / EXC_I386_EXTERR", report.CrashFloat}, {arch.AMD64, 3, 6, "EXC_ARITHMETIC / EXC_I386_EMERR", report.CrashFloat},
		{arch.AMD64, 3, 7, "EXC_ARITHMETIC / EXC_I386_BOUND", report.CrashBounds}, {arch.AMD64, 3, 8, "EXC_ARITHMETIC / EXC_I386_SSEEXTERR", report.CrashFloat},
		{arch.ARM64, 3, 0, "EXC_ARITHMETIC / EXC_ARM_FP_UNDEFINED", report.CrashFloat}, {arch.ARM64, 3, 1, "EXC_ARITHMETIC / EXC_ARM_FP_IO", report.CrashFloat},
		{arch.ARM64, 3, 2, "EXC_ARITHMETIC / EXC_ARM_FP_DZ", report.CrashFloat}, {arch.ARM64, 3, 3, "EXC_ARITHMETIC / EXC_ARM_FP_OF", report.CrashFloat},
		{arch.ARM64, 3, 4, "EXC_ARITHMETIC / EXC_ARM_FP_UF", report.CrashFloat}, {arch.ARM64, 3, 5, "EXC_ARITHMETIC / EXC_ARM_FP_IX", report.CrashFloat},
		{arch.ARM64, 3, 6, "EXC_ARITHMETIC / EXC_ARM_FP_ID", report.CrashFloat}, {arch.ARM64, 3, 7, "EXC_ARITHMETIC / 0x00000007", report.CrashFloat},
		{arch.AMD64, 5, 0x10000, "EXC_SOFTWARE / EXC_UNIX_BAD_SYSCALL", report.CrashSyscall}, {arch.AMD64, 5, 0x10001, "EXC_SOFTWARE / EXC_UNIX_BAD_PIPE", report.CrashSignal},
		{arch.AMD64, 5, 0x10002, "EXC_SOFTWARE / EXC_UNIX_ABORT", report.CrashAbort}, {arch.AMD64, 5, 0x10003, "EXC_SOFTWARE / EXC_SOFT_SIGNAL", report.CrashSignal},
		{arch.AMD64, 5, 0xdead0001, "EXC_SOFTWARE / Uncaught NSException", report.CrashException}, {arch.AMD64, 5, 7, "EXC_SOFTWARE / 0x00000007", report.CrashUnknown},
		{arch.AMD64, 6, 1, "EXC_BREAKPOINT / EXC_I386_SGL", report.CrashBreakpoint}, {arch.AMD64, 6, 2, "EXC_BREAKPOINT / EXC_I386_BPT", report.CrashBreakpoint},
		{arch.ARM64, 6, 1, "EXC_BREAKPOINT / EXC_ARM_BREAKPOINT", report.CrashBreakpoint},
		{arch.ARM64, 11, 1 << 29, "EXC_RESOURCE / RESOURCE_TYPE_CPU", report.CrashLimit}, {arch.ARM64, 11, 2 << 29, "EXC_RESOURCE / RESOURCE_TYPE_WAKEUPS", report.CrashLimit},
		{arch.ARM64, 11, 3 << 29, "EXC_RESOURCE / RESOURCE_TYPE_MEMORY", report.CrashOutOfMemory}, {arch.ARM64, 11, 4 << 29, "EXC_RESOURCE / RESOURCE_TYPE_IO", report.CrashLimit},
		{arch.ARM64, 11, 5 << 29, "EXC_RESOURCE / RESOURCE_TYPE_THREADS", report.CrashLimit}, {arch.ARM64, 11, 6 << 29, "EXC_RESOURCE / RESOURCE_TYPE_PORTS", report.CrashLimit},
		{arch.ARM64, 12, 1 << 29, "EXC_GUARD / GUARD_TYPE_MACH_PORT", report.CrashGuard}, {arch.ARM64, 12, 2 << 29, "EXC_GUARD / GUARD_TYPE_FD", report.CrashGuard},
		{arch.ARM64, 12, 3 << 29, "EXC_GUARD / GUARD_TYPE_USER", report.CrashGuard}, {arch.ARM64, 12, 4 << 29, "EXC_GUARD / GUARD_TYPE_VN", report.CrashGuard},
		{arch.ARM64, 12, 5 << 29, "EXC_GUARD / GUARD_TYPE_VIRT_MEMORY", report.CrashGuard}, {arch.ARM64, 12, 6 << 29, "EXC_GUARD / GUARD_TYPE_REJECTED_SC", report.CrashGuard},
	} {
		e := Exception{Of: MachExceptions, Code: c.code, Flags: c.flags, Addr: 0x1234560}
		name := e.Name(c.arch)
		if !strings.HasPrefix(name, c.name) {
			t.Errorf("%d, %#x of %s is %q, want %q", c.code, c.flags, c.arch.Name, name, c.name)
		}
		if got := WhyException(Input{Arch: c.arch}, e).Kind; c.kind != "" && got != c.kind {
			t.Errorf("%s of %s is of kind %s, want %s", name, c.arch.Name, got, c.kind)
		}
	}
}

// What programs raise, and what functions leave for GetLastError, has its name in Windows' headers: but not what
// reports success, and not what programs define, which have the customer bit.
func TestStatusNames(t *testing.T) {
	for code, want := range map[uint32]string{
		0xc000027b: "STATUS_STOWED_EXCEPTION", 0xc0000139: "STATUS_ENTRYPOINT_NOT_FOUND", 0x8001010d: "RPC_E_CANTCALLOUT_ININPUTSYNCCALL",
		0x80070005: "E_ACCESSDENIED", 0x80070002: "HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND)", 0xd0000017: "HRESULT_FROM_NT(STATUS_NO_MEMORY)",
		0x6ba: "RPC_S_SERVER_UNAVAILABLE", 0x80131506: "COR_E_EXECUTIONENGINE",
		0xe0000005: "0xe0000005", 0x102: "0x00000102", 0x8007ffff: "0x8007ffff", 0xa0070005: "0xa0070005",
	} {
		if got := win(code).Name(arch.AMD64); got != want {
			t.Errorf("exception %#08x is %s, want %s", code, got, want)
		}
	}
	for code, want := range map[uint32]string{0xc0000034: "STATUS_OBJECT_NAME_NOT_FOUND", 0x80070002: "HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND)", 5: "ERROR_ACCESS_DENIED",
		1722: "RPC_S_SERVER_UNAVAILABLE", 0xe0000005: "0xe0000005"} {
		if got := WinErrorName(code); got != want {
			t.Errorf("error %#08x is %s, want %s", code, got, want)
		}
	}
}

// The names in our list are those of the headers, but for what winnt.h calls EXCEPTION_.
func TestOwnNamesAreTheHeaders(t *testing.T) {
	for code, n := range winExceptions.Get() {
		if is := wincodes.Status(code); strings.HasPrefix(n.name, "STATUS_") && is != n.name {
			t.Errorf("%#08x is %s, and %s in ntstatus.h", code, n.name, is)
		}
	}
}
