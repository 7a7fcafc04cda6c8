package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestExceptionNames(t *testing.T) {
	mach := func(code, flags uint32) Exception { return Exception{Of: MachExceptions, Code: code, Flags: flags} }
	for _, tt := range []struct {
		e    Exception
		a    *arch.Arch
		want string
	}{
		{win(0xc0000005, 0, 0x41414141), nil, "EXCEPTION_ACCESS_VIOLATION_READ"},
		{win(0xc0000005, 1, 0x45), nil, "EXCEPTION_ACCESS_VIOLATION_WRITE"},
		{win(0xc0000005, 8, 0x3df944), nil, "EXCEPTION_ACCESS_VIOLATION_EXEC"},
		{win(0xc0000005), nil, "EXCEPTION_ACCESS_VIOLATION"},
		{win(0xc0000005, 77, 0), nil, "EXCEPTION_ACCESS_VIOLATION"},
		{win(0xc0000006, 0, 0x1000, 0xc0000185), nil, "EXCEPTION_IN_PAGE_ERROR_READ / STATUS_IO_DEVICE_ERROR"},
		{win(0xc00000fd, 0, 0x102000), nil, "EXCEPTION_STACK_OVERFLOW"},
		{win(0x80000003, 0), nil, "EXCEPTION_BREAKPOINT"},
		{win(0xc0000409, 7), nil, "EXCEPTION_STACK_BUFFER_OVERRUN / FAST_FAIL_FATAL_APP_EXIT"},
		{win(0xc0000409, 15), nil, "EXCEPTION_STACK_BUFFER_OVERRUN"},
		{win(0xc0000409), nil, "EXCEPTION_STACK_BUFFER_OVERRUN"},
		{win(0xe06d7363, 0x19930520), nil, "Unhandled C++ Exception"},
		{win(0x12345), nil, "0x00012345"},
		{mach(1, 1), arch.ARM64, "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS"},
		{mach(1, 0x105), arch.ARM64, "EXC_BAD_ACCESS / EXC_ARM_PAC_FAIL"},
		{mach(1, 13), arch.AMD64, "EXC_BAD_ACCESS / EXC_I386_GPFLT"},
		{mach(2, 1), arch.AMD64, "EXC_BAD_INSTRUCTION / EXC_I386_INVOP"},
		{mach(2, 1), arch.ARM64, "EXC_BAD_INSTRUCTION / EXC_ARM_UNDEFINED"},
		{mach(3, 1), arch.X86, "EXC_ARITHMETIC / EXC_I386_DIV"},
		{mach(5, 0x10002), arch.AMD64, "EXC_SOFTWARE / EXC_UNIX_ABORT"},
		{mach(6, 2), arch.AMD64, "EXC_BREAKPOINT / EXC_I386_BPT"},
		{mach(11, 1<<29), arch.ARM64, "EXC_RESOURCE / RESOURCE_TYPE_CPU"},
		{mach(12, 2<<29), arch.ARM64, "EXC_GUARD / GUARD_TYPE_FD"},
		{mach(6, 99), arch.AMD64, "EXC_BREAKPOINT / 0x00000063"},
		{mach(99, 1), arch.AMD64, "0x00000063 / 0x00000001"},
		{mach(0x43507378, 0), arch.AMD64, "Simulated Exception"},
		{Exception{Of: MachExceptions, Params: []uint64{10, 0x6000000, 0}}, arch.AMD64, "EXC_CRASH / SIGABRT"},
	} {
		if got := tt.e.Name(tt.a); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.e, got, tt.want)
		}
	}
}

func TestWhyException(t *testing.T) {
	const (
		load = "488b11" // mov rdx, [rcx]
	)
	withAssertion := win(0xc000000d)
	withAssertion.Assertion = "format != nullptr"
	for _, tt := range []struct {
		name, code   string
		e            Exception
		want, access string
		addr         uint64
		atInst       bool
	}{
		{"write", storeRAX, win(0xc0000005, 1, 0x45), "write of 4 bytes at null+0x45", "write", 0x45, true},
		{"write without code", "", win(0xc0000005, 1, 0x45), "write at null+0x45", "write", 0x45, false},
		{"read elsewhere", storeRAX, win(0xc0000005, 0, 0x41414141), "read at 0x41414141, which is not mapped", "read", 0x41414141, true},
		{"write to code", "", win(0xc0000005, 1, 0x401800), `write at 0x401800, which is not writable`, "write", 0x401800, false},
		{"execute", "", win(0xc0000005, 8, 0x404010), "jump to 0x404010, which is not executable", "execute", 0x404010, false},
		{"not canonical", load, win(0xc0000005, 0, ^uint64(0)), "read of 8 bytes at 0x1122334455667788, which no process can map (not canonical)", "read", 0x1122334455667788, true},
		{"overflow", "", win(0xc00000fd, 1, 0x7f000), "stack overflow: write at 0x7f000", "write", 0x7f000, false},
		{"in page", "", win(0xc0000006, 0, 0x5000, 0xc0000185), "read at 0x5000: the page could not be loaded (STATUS_IO_DEVICE_ERROR)", "read", 0x5000, false},
		{"cookie", "", win(0xc0000409, 2), "stack buffer overrun: the cookie", "", 0, false},
		{"abort", "", win(0xc0000409, 7), "the program ended itself (abort)", "", 0, false},
		{"named", "", win(0xc0000409, 18+1), "(fast fail): mrdata modified", "", 0, false},
		{"unnamed", "", win(0xc0000409, 15), "with code 15", "", 0, false},
		{"C++", "", win(0xe06d7363), "uncaught C++ exception", "", 0, false},
		{"memory", "", win(0xe0000008, 1<<20), "out of memory: 1048576 bytes requested", "", 0, false},
		{"division", "", win(0xc0000094), "integer division by zero", "", 0, false},
		{"breakpoint", "cc", win(0x80000003), "breakpoint", "", 0, true},
		{"assertion", "", withAssertion, "assertion failed: format != nullptr", "", 0, false},
		{"own", "", win(0xe1234567), "exception 0xe1234567, raised by the program itself", "", 0, false},
		{"unknown", "", win(0xc0aa0001), "facility 0xaa, code 0x1", "", 0, false},
		{"mac", storeRAX, Exception{Of: MachExceptions, Code: 1, Flags: 1, Addr: 0x45}, "write of 4 bytes at null+0x45", "write", 0x45, true},
		{"mac, jump", "", Exception{Of: MachExceptions, Code: 1, Flags: 2, Addr: 0x404010}, "access at 0x404010", "", 0x404010, false},
		{"mac, signed", load, Exception{Of: MachExceptions, Code: 1, Flags: 13}, "read of 8 bytes at 0x1122334455667788, which no process can map", "read", 0x1122334455667788, true},
		{"mac, abort", "", Exception{Of: MachExceptions, Code: 5, Flags: 0x10002}, "abort called", "", 0, false},
		{"mac, crash", "", Exception{Of: MachExceptions, Params: []uint64{10, 0x6000000}}, "abort called by the program itself", "", 0, false},
		{"mac, other signal", "", Exception{Of: MachExceptions, Params: []uint64{10, 0xb000000}}, "ended by SIGSEGV", "", 0, false},
		{"mac, none", "", Exception{Of: MachExceptions}, "dump without an exception", "", 0, false},
		{"mac, resource", "", Exception{Of: MachExceptions, Code: 11, Flags: 3 << 29}, "resource limit reached: memory", "", 0, false},
	} {
		r := WhyException(at{code: tt.code, regs: regs{"rax": 0x45, "rcx": 0x1122334455667788}}.input(t), tt.e)
		if !strings.Contains(r.Text, tt.want) || r.Access != tt.access || r.HasAddr != (tt.access != "" || tt.addr != 0) || r.Addr != tt.addr || r.AtInst != tt.atInst {
			t.Errorf("%s: %+v, want %q %s %#x at the instruction: %v", tt.name, r, tt.want, tt.access, tt.addr, tt.atInst)
		}
	}
}

// TestExceptionNumbers: as they are usually written.
func TestExceptionNumbers(t *testing.T) {
	for want, e := range map[string]Exception{
		"0xc0000005": win(0xc0000005), "0x00000017": win(0x17), "10": {Of: MachExceptions, Code: 10}, "1129345912": {Of: MachExceptions, Code: 0x43507378},
	} {
		if got := e.Number(); got != want {
			t.Errorf("%+v: %s, want %s", e, got, want)
		}
	}
}

// Without an architecture, or without the program counter, there is still a text.
func TestWhyExceptionUnknownArch(t *testing.T) {
	in := at{}.input(t)
	in.Regs.Clear(arch.RIP)
	if r := WhyException(in, Exception{Of: MachExceptions, Code: 1, Flags: 1}); r.Text != "access at null" {
		t.Errorf("program counter not known: %+v", r)
	}
	if r := WhyException(Input{}, Exception{Of: MachExceptions, Code: 3, Flags: 1}); r.Text != "integer division by zero" {
		t.Errorf("%+v", r)
	}
	if r := WhyException(Input{}, win(0xc0000005, 1, 0x45)); r.Text != "write at 0x45" || r.Access != "write" {
		t.Errorf("%+v", r)
	}
	if r := WhyException(Input{}, Exception{Of: MachExceptions, Code: 1, Flags: 2, Addr: 5}); r.Text != "access at 0x5" {
		t.Errorf("%+v", r)
	}
}

// 32-bit addresses may be sign-extended.
func TestWhyException32(t *testing.T) {
	in := at{a: arch.X86, blind: true}.input(t)
	if r := WhyException(in, win(0xc0000005, 0, 0xffffffff80001234)); r.Addr != 0x80001234 || r.Text != "read at 0x80001234" {
		t.Errorf("%+v", r)
	}
}
