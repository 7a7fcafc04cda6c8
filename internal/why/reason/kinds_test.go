package reason

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Each kind, on each architecture where the instruction distinguishes it.
func TestKinds(t *testing.T) {
	x64, x86, a64, a32 := arch.AMD64, arch.X86, arch.ARM64, arch.ARM
	for _, c := range []struct {
		name string
		p    at
		sig  Signal
		kind string
		text string
	}{
		// Null, plus or minus an offset.
		{"x86-64", at{a: x64, code: loadRAX8, regs: regs{"rax": 0}}, segv(1, 8), report.CrashNullRead, "null+0x8"},
		{"x86-64, far index", at{a: x64, code: "8b0490", regs: regs{"rax": 0, "rdx": 0x100000}}, segv(1, 0x400000), report.CrashNullRead, "null+0x400000"},
		{"x86-64, below", at{a: x64, code: "8b40f8", regs: regs{"rax": 0}}, segv(1, ^uint64(7)), report.CrashNullRead, "null-0x8"},
		{"x86-64, below, absolute", at{a: x64, code: "8b0425f8ffffff"}, segv(1, ^uint64(7)), report.CrashNullRead, "null-0x8"},
		{"x86-64, either may be null", at{a: x64, code: "8b0410", regs: regs{"rax": 0, "rdx": 0x10000000}}, segv(1, 0x10000000), report.CrashWildRead, "0x10000000"},
		{"i386", at{a: x86, code: "895004", regs: regs{"eax": 0}}, segv(1, 4), report.CrashNullWrite, "write of 4 bytes at null+0x4"},
		{"i386, below", at{a: x86, code: "8b40fc", regs: regs{"eax": 0}}, segv(1, 0xfffffffc), report.CrashNullRead, "null-0x4"},
		{"arm64", at{a: a64, code: "000c40f9", regs: regs{"x0": 0}}, segv(1, 0x18), report.CrashNullRead, "read of 8 bytes at null+0x18"},
		{"arm64, pair", at{a: a64, code: "000401a9", regs: regs{"x0": 0}}, segv(1, 0x10), report.CrashNullWrite, "write of 16 bytes at null+0x10"},
		{"arm64, far index", at{a: a64, code: "027821f8", regs: regs{"x0": 0, "x1": 0x123456}}, segv(1, 0x91a2b0), report.CrashNullWrite, "null+0x91a2b0"},
		{"arm", at{a: a32, code: "180083e5", regs: regs{"r3": 0}}, segv(1, 0x18), report.CrashNullWrite, "write of 4 bytes at null+0x18"},
		{"Thumb", at{a: a32, code: "9861", regs: regs{"pc": text | 1, "r3": 0}}, segv(1, 0x18), report.CrashNullWrite, "null+0x18"},
		{"no code", at{a: x64}, segv(1, 8), report.CrashNullAccess, "access at null+0x8"},

		// Not mapped, or not for this kind of access.
		{"x86-64", at{a: x64, code: storeRAX, regs: regs{"rax": 0x5000000}}, segv(1, 0x5000000), report.CrashWildWrite, "not mapped"},
		{"behind memory", at{a: x64, code: "f3aa", regs: regs{"rdi": lowStack + 0x10000, "rcx": 9}}, segv(1, lowStack+0x10000), report.CrashWildWrite, "not mapped, just past the end of mapped memory"},
		{"no code", at{a: x64}, segv(1, 0x5000000), report.CrashWildAccess, "not mapped"},
		{"kernel", at{a: x64, code: loadRAX, regs: regs{"rax": 0xffff888000000000}}, segv(1, 0xffff888000000000), report.CrashWildRead, "belongs to the kernel"},
		{"arm", at{a: a32, code: "000093e5", regs: regs{"r3": 0x5000000}}, segv(1, 0x5000000), report.CrashWildRead, "not mapped"},
		{"not canonical", at{a: x64, code: storeRAX, regs: regs{"rax": 1 << 60}}, segv(siKernel, 0), report.CrashNonCanonicalWrite, "0x1000000000000000"},
		{"arm64, not canonical", at{a: a64, code: "000040f9", regs: regs{"x0": 0x0041414141414141}}, segv(1, 0x0041414141414141), report.CrashNonCanonicalRead, "not canonical"},
		{"arm64, tagged", at{a: a64, code: "000040f9", regs: regs{"x0": 0xb400007100000000}}, segv(1, 0x7100000000), report.CrashWildRead, "read of 8 bytes at 0x7100000000, which is not mapped"},
		{"read only", at{a: x86, code: "8910", regs: regs{"eax": ro}}, segv(2, ro), report.CrashWriteReadOnly, "not writable"},
		{"code is read only", at{a: a64, code: "000000f9", regs: regs{"x0": text}}, segv(2, text+0), report.CrashWriteReadOnly, "not writable"},
		{"guard page", at{a: a32, code: "000093e5", regs: regs{"r3": none}}, segv(2, none), report.CrashNoAccessRead, "guard page"},

		// Calls and jumps.
		{"call of null", at{a: x64, regs: regs{"rip": 0}}, segv(1, 0), report.CrashNullCall, "jump to null"},
		{"arm64", at{a: a64, regs: regs{"pc": 0}}, segv(1, 0), report.CrashNullCall, "null"},
		{"nowhere", at{a: a32, regs: regs{"pc": 0x5000000}}, segv(1, 0x5000000), report.CrashWildCall, "not mapped"},
		{"data", at{a: x86, regs: regs{"eip": data}}, segv(2, data), report.CrashExecNoExec, "not executable"},
		{"not canonical", at{a: x64, code: callRAX, regs: regs{"rax": 1 << 50}}, segv(siKernel, 0), report.CrashNonCanonicalCall, "call to 0x4000000000000"},
		{"into the next page", at{a: x64, regs: regs{"rip": text + 0xffd}}, segv(1, text+0x1000), report.CrashWildCall, "ran into 0x402000"},

		// The stack.
		{"x86-64", at{a: x64, code: pushRBP, regs: regs{"rsp": lowStack}}, segv(1, lowStack-8), report.CrashStackOverflow, "write of 8 bytes"},
		{"i386", at{a: x86, code: pushRBP, regs: regs{"esp": lowStack}}, segv(1, lowStack-4), report.CrashStackOverflow, "write of 4 bytes"},
		{"arm64", at{a: a64, code: "fd7bbea9", regs: regs{"sp": lowStack + 16}}, segv(1, lowStack-16), report.CrashStackOverflow, "write of 16 bytes"},
		{"arm", at{a: a32, code: "00482de9", regs: regs{"sp": lowStack}}, segv(1, lowStack-8), report.CrashStackOverflow, "write of 8 bytes"},
		{"no stack for the handler of a signal", at{a: x64, code: movEBPEAX, words: map[uint64]uint64{text - 8: 0x050f_00c0_8948_d089}}, segv(siKernel, 0), report.CrashStackOverflow, "no room on the stack for the handler of a signal"},
		{"with a handler, but no stack for it", at{a: x64, code: pushRBP, regs: regs{"rsp": lowStack}}, segv(siKernel, 0), report.CrashStackOverflow, "below the stack, which left no room for the signal's handler"},
		{"large array", at{a: x64, code: "48830c2400", regs: regs{"rsp": lowStack - 0x4000000, "rbp": lowStack + 0x8000}}, segv(1, lowStack-0x4000000), report.CrashStackOverflow, "below the stack"},
		{"stack pointer lost", at{a: x64, code: "48830c2400", regs: regs{"rsp": lowStack - 0x4000000, "rbp": 7}}, segv(1, lowStack-0x4000000), report.CrashWildWrite, "not mapped"},
		{"array below its beginning", at{a: x64, code: storeRAX, regs: regs{"rax": lowStack - 0x100}}, segv(1, lowStack-0x100), report.CrashWildWrite, "not mapped"},

		// Alignment.
		{"movaps", at{a: x64, code: movaps, regs: regs{"rax": data + 4}}, segv(siKernel, 0), report.CrashMisaligned, "not aligned to 16"},
		{"i386 movaps", at{a: x86, code: movaps, regs: regs{"eax": data + 4}}, segv(siKernel, 0), report.CrashMisaligned, "not aligned to 16"},
		{"arm64", at{a: a64, code: "000040f9", regs: regs{"x0": data + 1}}, bus(1, data+1), report.CrashMisaligned, "not aligned to 8"},
		{"arm", at{a: a32, code: "0c0091e8", regs: regs{"r1": data + 1}}, bus(1, data+1), report.CrashMisaligned, "not aligned to 4"},

		// Memory that is not available.
		{"file", at{a: x64, code: loadRAX, regs: regs{"rax": data}}, bus(2, data), report.CrashBusTruncated, "past the end"},
		{"anonymous", at{a: x64, code: loadRAX, regs: regs{"rax": lowStack}}, bus(2, lowStack), report.CrashBusError, "no memory behind"},
		{"broken", at{a: x64, code: loadRAX, regs: regs{"rax": data}}, bus(4, data), report.CrashHardware, "memory failure"},
		{"key", at{a: x64, code: loadRAX, regs: regs{"rax": data}}, segv(4, data), report.CrashProtectionKey, "protection key"},
		{"bounds", at{a: x64, code: loadRAX, regs: regs{"rax": data}}, segv(3, data), report.CrashBounds, "bounds"},
		{"tag", at{a: a64, code: "000040f9", regs: regs{"x0": 0x0a00000000404000}}, segv(9, data), report.CrashMemoryTag, "differs from the pointer's (0xa)"},
		{"tag, late", at{a: a64}, segv(8, 0), report.CrashMemoryTag, "reported late"},
		{"shadow stack", at{a: x64, code: ret, words: map[uint64]uint64{lowStack + 0x8000: 0x401234}}, segv(10, 0), report.CrashControlFlow, "return to 0x401234"},

		// Arithmetic and instructions.
		{"zero", at{a: x64, code: idivECX, regs: regs{"rcx": 0}}, sig(sigFPE, 1), report.CrashDivZero, "by zero"},
		{"i386, least", at{a: x86, code: idivECX, regs: regs{"eax": 1 << 31, "edx": 0xffffffff, "ecx": 0xffffffff}}, sig(sigFPE, 1), report.CrashDivOverflow, "most negative"},
		{"quotient", at{a: x86, code: "f7f1", regs: regs{"eax": 0, "ecx": 3}}, sig(sigFPE, 1), report.CrashDivOverflow, "does not fit"},
		{"overflow", at{a: a32}, sig(sigFPE, 2), report.CrashIntOverflow, "integer overflow"},
		{"float", at{a: a64}, sig(sigFPE, 3), report.CrashFloat, "floating-point division by zero"},
		{"ud2", at{a: x86, code: ud2}, sig(sigIll, 2), report.CrashTrap, "must not be reached"},
		{"undefined behaviour", at{a: x64, code: "670fb94012"}, sig(sigIll, 2), report.CrashTrap, "subscript out of bounds"},
		{"undefined behaviour, first", at{a: x86, code: "670fb900"}, sig(sigIll, 2), report.CrashTrap, "overflow in an addition"},
		{"arm64 brk", at{a: a64, code: "207d20d4"}, sig(sigTrap, 1), report.CrashTrap, "brk #0x3e9"},
		{"arm64, undefined behaviour", at{a: a64, code: "40a22ad4"}, sig(sigTrap, 1), report.CrashTrap, "subscript out of bounds"},
		{"arm64, no signature", at{a: a64, code: "408e38d4"}, sig(sigTrap, 1), report.CrashControlFlow, "authentication"},
		{"arm64, breakpoint", at{a: a64, code: "000020d4"}, sig(sigTrap, 1), report.CrashBreakpoint, "breakpoint instruction"},
		{"arm64, autiasp", at{a: a64, code: "bf2303d5"}, sig(sigIll, 2), report.CrashControlFlow, "authentication"},
		{"arm udf", at{a: a32, code: "f000f0e7"}, sig(sigIll, 1), report.CrashTrap, "udf #0"},
		{"Thumb udf", at{a: a32, code: "ffde", regs: regs{"pc": text | 1}}, sig(sigIll, 1), report.CrashTrap, "udf #255"},
		{"illegal", at{a: a32}, sig(sigIll, 1), report.CrashIllegalInstruction, "illegal opcode"},
		{"privileged", at{a: a64}, sig(sigIll, 5), report.CrashPrivileged, "privileged"},
		{"hlt", at{a: x86, code: hlt}, segv(siKernel, 0), report.CrashPrivileged, "(hlt)"},
		{"int", at{a: x64, code: "cd29"}, segv(siKernel, 0), report.CrashPrivileged, "software interrupt"},
		{"int3", at{a: x64, code: nop}, sig(sigTrap, siKernel), report.CrashBreakpoint, "int3"},
		{"step", at{a: x64, code: nop}, sig(sigTrap, 2), report.CrashBreakpoint, "single step"},

		// Sent.
		{"abort", at{a: x64}, from(sigAbrt, siTKill, 7), report.CrashAbort, "by the program itself"},
		{"abort by another", at{a: x64}, from(sigAbrt, siUser, 99), report.CrashSignal, "from process 99"},
		{"service manager", at{a: x64}, from(sigAbrt, siUser, 1), report.CrashWatchdog, "from process 1"},
		{"quit", at{a: x64}, from(sigQuit, siUser, 99), report.CrashWatchdog, "from process 99"},
		{"alarm", at{a: x64}, sig(sigAlrm, siKernel), report.CrashWatchdog, "timer of the program"},
		{"processor time", at{a: x64}, sig(sigXCPU, siKernel), report.CrashWatchdog, "CPU time"},
		{"file size", at{a: x64}, sig(sigXFSZ, siKernel), report.CrashLimit, "file size"},
		{"term", at{a: x64}, from(15, siUser, 99), report.CrashSignal, "from process 99"},
		{"sent again", at{a: x64, code: storeRAX, regs: regs{"rax": 0}}, from(sigSegv, siTKill, 7), report.CrashNullWrite, "write of 4 bytes at null; a signal handler raised the signal again"},
		{"sent again, ud2", at{a: x86, code: ud2}, from(sigIll, siTKill, 7), report.CrashTrap, "raised the signal again"},
		{"sent again, division", at{a: x64, code: idivECX, regs: regs{"rcx": 0}}, from(sigFPE, siTKill, 7), report.CrashDivZero, "raised the signal again"},
		{"sent at an access that is allowed", at{a: x64, code: loadRAX, regs: regs{"rax": data}}, from(sigSegv, siTKill, 7), report.CrashSignal, "sent by the program to itself"},
		{"sent at no access", at{a: a64, code: "1f2003d5"}, from(sigSegv, siTKill, 7), report.CrashSignal, "sent by the program to itself"},
		{"sent at another instruction", at{a: x64, code: storeRAX, regs: regs{"rax": 0}}, from(sigFPE, siTKill, 7), report.CrashSignal, "sent by the program to itself"},
		{"sent by another", at{a: x64, code: storeRAX, regs: regs{"rax": 0}}, from(sigSegv, siUser, 99), report.CrashSignal, "from process 99"},
		{"seccomp", at{a: a64}, Signal{Number: sigSys, Code: 1, HasInfo: true, Syscall: 221}, report.CrashSeccomp, "221 (execve)"},
		{"seccomp, i386", at{a: x86}, Signal{Number: sigSys, Code: 1, HasInfo: true, Syscall: 11}, report.CrashSeccomp, "11 (execve)"},
		{"no such call", at{a: x64}, sig(sigSys, 2), report.CrashSyscall, "dispatched"},
		{"no signal", at{a: x64}, sig(0, 0), report.CrashUnknown, ""},
	} {
		t.Run(c.kind+"/"+c.name, func(t *testing.T) {
			in := c.p.input(t)
			in.Signal = c.sig
			if in.Signal.OwnPID == 0 {
				in.Signal.OwnPID = 7
			}
			r := Why(in)
			if r.Kind != c.kind && !(c.kind == report.CrashUnknown && r.Kind == report.CrashSignal) || !strings.Contains(r.Text, c.text) {
				t.Errorf("%s: %s; want %s, %q", r.Kind, r.Text, c.kind, c.text)
			}
			if len(r.Inconsistencies) > 0 {
				t.Errorf("%s: contradicts itself: %v", r.Text, r.Inconsistencies)
			}
		})
	}
}

// The documentation's table of kinds is complete.
func TestKindsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/reference/kinds.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(doc)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, word := range strings.Fields(cells[1]) {
				listed = append(listed, strings.Trim(word, "`"))
			}
		}
	}
	for _, kind := range report.CrashKinds() {
		if !slices.Contains(listed, kind) {
			t.Errorf("%s is in no table", kind)
		}
	}
}

// Every reason has a kind, and every kind is listed.
func TestKindsAreListed(t *testing.T) {
	kinds := report.CrashKinds()
	for i, k := range kinds {
		if slices.Contains(kinds[:i], k) {
			t.Errorf("%s twice", k)
		}
	}
	check := func(r Reason) {
		t.Helper()
		if !slices.Contains(kinds, r.Kind) {
			t.Errorf("%q: kind %q", r.Text, r.Kind)
		}
	}
	for _, p := range []at{{a: arch.AMD64}, {a: arch.AMD64, code: loadRAX}, {a: arch.ARM64, code: "000040f9"}, {a: arch.S390X}} {
		for number := range 66 {
			for code := -7; code < 12; code++ {
				in := p.input(t)
				in.Signal = Signal{Number: number, Code: code, HasInfo: code != 11, Addr: 0x5000000, HasAddr: number == sigSegv || number == sigBus}
				check(Why(in))
			}
		}
		for code := range winExceptions.Get() {
			check(WhyException(p.input(t), win(code, 1, 0x5000000)))
			check(WhyException(p.input(t), win(code)))
		}
		for kind := range uint32(14) {
			for code := range uint32(15) {
				check(WhyException(p.input(t), Exception{Of: MachExceptions, Code: kind, Flags: code, Addr: 0x5000000}))
				check(WhyException(p.input(t), Exception{Of: MachExceptions, Code: kind, Flags: code << 29}))
			}
		}
	}
	for code := range uint64(80) {
		check(WhyException(Input{}, win(winFastFail, code)))
	}
}
