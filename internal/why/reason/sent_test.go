package reason

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestSent: who sent a signal, and what that says.
func TestSent(t *testing.T) {
	const own, another = "sent by the program to itself", "sent by kill from process 9 of user 1000"
	by := func(number, code, pid, own int) Signal {
		return Signal{Number: number, Code: code, HasInfo: true, PID: pid, UID: 1000, OwnPID: own}
	}
	for _, c := range []struct {
		name       string
		s          Signal
		kind, text string
	}{
		{"abort", by(sigAbrt, siTKill, 7, 7), report.CrashAbort, "abort called by the program itself"},
		{"abort by the first process", by(sigAbrt, siTKill, 1, 1), report.CrashAbort, "abort called by the program itself"},
		{"abort by its own kill", by(sigAbrt, siUser, 7, 7), report.CrashSignal, "sent by the program to itself by kill, not by abort"},
		{"abort by its own sigqueue", by(sigAbrt, siQueue, 7, 7), report.CrashAbort, "abort called by the program itself"},
		{"abort by another", by(sigAbrt, siUser, 9, 7), report.CrashSignal, another},
		{"abort by the service manager", by(sigAbrt, siUser, 1, 7), report.CrashWatchdog, "sent by kill from process 1 of user 1000"},
		{"end by the service manager", by(15, siUser, 1, 7), report.CrashSignal, "sent by kill from process 1 of user 1000"},
		{"alarm by itself", by(sigAlrm, siTKill, 7, 7), report.CrashSignal, own},
		{"by nobody, no process known", by(10, siUser, 0, 0), report.CrashSignal, "sent by kill"},
		{"queued by itself", by(sigXCPU, siQueue, 7, 7), report.CrashSignal, own},
		{"quit by itself", by(sigQuit, siUser, 7, 7), report.CrashSignal, own},
		{"processor time", by(sigXCPU, siUser, 7, 7), report.CrashWatchdog, "CPU time limit reached"},
		{"processor time, code not known", Signal{Number: sigXCPU, Code: siQueue, PID: 9, OwnPID: 7}, report.CrashWatchdog, "CPU time limit reached"},
		{"quit, code not known", Signal{Number: sigQuit, Code: siKernel}, report.CrashWatchdog, ""},
		{"alarm", by(sigAlrm, siKernel, 0, 7), report.CrashWatchdog, "a timer of the program expired (alarm or setitimer)"},
		{"virtual alarm", by(sigVTAlrm, siKernel, 0, 7), report.CrashWatchdog, "a timer of the program expired (alarm or setitimer)"},
		{"profile", by(sigProf, siKernel, 0, 7), report.CrashWatchdog, "a timer of the program expired (alarm or setitimer)"},
		{"quit", by(sigQuit, siKernel, 0, 7), report.CrashWatchdog, "quit from the terminal"},
		{"pipe", by(sigPipe, siUser, 7, 7), report.CrashSignal, "write to a pipe or socket without a reader"},
		{"file size", by(sigXFSZ, siUser, 7, 7), report.CrashLimit, "file size limit reached"},
		{"file size, by another", by(sigXFSZ, siUser, 9, 7), report.CrashSignal, another},
		{"queued", by(10, siQueue, 9, 7), report.CrashSignal, "sent by sigqueue from process 9 of user 1000"},
		{"abort, code not known", Signal{Number: sigAbrt}, report.CrashAbort, "abort"},
		{"kill, code not known", Signal{Number: sigKill}, report.CrashSignal, "killed"},
		{"interrupt, code not known", Signal{Number: 2}, report.CrashSignal, ""},
		{"window, by the kernel", by(28, siKernel, 0, 7), report.CrashSignal, "sent by the kernel (SI_KERNEL)"},

		// A fault's signal that is none: there is no address.
		{"bad access, by a timer", by(sigSegv, siTimer, 0, 7), report.CrashSignal, "sent by a timer (SI_TIMER)"},
		{"arithmetic, by a message", by(sigFPE, siMesgQ, 0, 7), report.CrashSignal, "sent by a message queue (SI_MESGQ)"},
		{"trap, by a timer", by(sigTrap, siTimer, 0, 7), report.CrashSignal, "sent by a timer (SI_TIMER)"},
		{"illegal, unknown code", by(sigIll, -60, 0, 7), report.CrashSignal, "sent with code -60"},
		{"abort, unknown code", by(sigAbrt, -60, 0, 7), report.CrashAbort, "sent with code -60"},

		{"seccomp", Signal{Number: sigSys, Code: 1, HasInfo: true, Syscall: 59}, report.CrashSeccomp, "system call 59 (execve) forbidden by a seccomp filter"},
		{"seccomp, call not known", Signal{Number: sigSys, Code: 1, HasInfo: true, NoSyscall: true}, report.CrashSeccomp, "a system call forbidden by a seccomp filter"},
		{"seccomp, code not known", Signal{Number: sigSys, Code: 1, Syscall: 59}, report.CrashSyscall, ""},
		{"system call, unknown code", by(sigSys, 99, 0, 7), report.CrashSyscall, ""},
		{"file size, by a timer", by(sigXFSZ, siTimer, 0, 7), report.CrashLimit, "sent by a timer (SI_TIMER)"},
		{"last real-time signal, by a timer", by(64, siTimer, 0, 7), report.CrashSignal, "sent by a timer (SI_TIMER)"},
		{"no signal, by a timer", by(65, siTimer, 0, 7), report.CrashUnknown, "sent by a timer (SI_TIMER)"},
	} {
		r := Why(Input{Arch: arch.AMD64, Signal: c.s})
		if r.Kind != c.kind || r.Text != c.text || r.HasAddr || r.AtInst {
			t.Errorf("%s: %+v, want %s: %q", c.name, r, c.kind, c.text)
		}
		if managed := c.name == "abort by the service manager"; managed != (len(r.Causes) == 1) || managed && !strings.Contains(r.Causes[0].Text, "service") {
			t.Errorf("%s: %v", c.name, r.Causes)
		}
	}
}

// TestKindsOfSignals: the kind of each signal of which only the number is known, and of each that another process
// sent.
func TestKindsOfSignals(t *testing.T) {
	kinds := map[int]string{sigAbrt: report.CrashAbort, sigSys: report.CrashSyscall, sigXFSZ: report.CrashLimit, sigTrap: report.CrashBreakpoint,
		sigSegv: report.CrashBadAccess, sigBus: report.CrashBadAccess, sigFPE: report.CrashFloat, sigIll: report.CrashIllegalInstruction,
		0: report.CrashUnknown, 65: report.CrashUnknown, 70: report.CrashUnknown}
	watches := []int{sigXCPU, sigAlrm, sigVTAlrm, sigProf, sigQuit}
	for _, number := range watches {
		kinds[number] = report.CrashWatchdog
	}
	for number := range 71 {
		want := kinds[number]
		if want == "" && number < 65 {
			want = report.CrashSignal
		} else if want == "" {
			want = report.CrashUnknown
		}
		if got := Why(Input{Arch: arch.AMD64, Signal: Signal{Number: number}}).Kind; got != want {
			t.Errorf("signal %d: %s, want %s", number, got, want)
		}
		want = report.CrashSignal
		if slices.Contains(watches, number) {
			want = report.CrashWatchdog
		}
		if got := Why(Input{Arch: arch.AMD64, Signal: from(number, siUser, 99)}).Kind; got != want {
			t.Errorf("signal %d from another process: %s, want %s", number, got, want)
		}
	}
}

// TestSentAgain: a handler raises the signal of a fault again; then the process is still at the instruction that
// failed.
func TestSentAgain(t *testing.T) {
	null := regs{"rax": 0}
	const again, own = "; a signal handler raised the signal again", "sent by the program to itself"
	blind := at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}, blind: true}
	for _, c := range []struct {
		name   string
		p      at
		s      Signal
		kind   string
		text   string
		atInst bool
	}{
		{"bad access", at{a: arch.AMD64, code: storeRAX, regs: null}, from(sigSegv, siTKill, 7), report.CrashNullWrite, "write of 4 bytes at null" + again, true},
		{"bus error", at{a: arch.AMD64, code: storeRAX, regs: null}, from(sigBus, siTKill, 7), report.CrashNullWrite, "write of 4 bytes at null" + again, true},
		{"trap", at{a: arch.AMD64, code: ud2}, from(sigIll, siTKill, 7), report.CrashTrap, "trap instruction (ud2), placed where code must not be reached" + again, true},
		{"trap of arm64", at{a: arch.ARM64, code: "207d20d4"}, from(sigTrap, siTKill, 7), report.CrashTrap, "trap instruction (brk #0x3e9), placed where code must not be reached" + again, true},
		{"division", at{a: arch.AMD64, code: idivECX, regs: regs{"rcx": 0}}, from(sigFPE, siTKill, 7), report.CrashDivZero, "integer division by zero" + again, true},
		{"division that overflows", at{a: arch.AMD64, code: idivECX, regs: regs{"rcx": 3}}, from(sigFPE, siTKill, 7), report.CrashDivOverflow, "integer division overflow: the quotient does not fit" + again, true},
		{"a division of floating-point numbers", at{a: arch.AMD64, code: "f30f5ec1"}, from(sigFPE, siTKill, 7), report.CrashFloat, "floating-point exception" + again, true},
		{"one of AVX", at{a: arch.AMD64, code: "c5fb5ec1"}, from(sigFPE, siTKill, 7), report.CrashFloat, "floating-point exception" + again, true},
		{"a conversion", at{a: arch.AMD64, code: "f20f2dc1"}, from(sigFPE, siTKill, 7), report.CrashFloat, "floating-point exception" + again, true},
		{"x87", at{a: arch.X86, code: "d8f9"}, from(sigFPE, siTKill, 7), report.CrashFloat, "floating-point exception" + again, true},
		{"jump to data", at{a: arch.AMD64, code: nop, regs: regs{"rip": data}}, from(sigSegv, siTKill, 7), report.CrashExecNoExec, fmt.Sprintf("jump to %#x, which is not executable (/bin/prog)", data) + again, false},
		{"breakpoint of arm64", at{a: arch.ARM64, code: "00003ed4"}, from(sigTrap, siTKill, 7), report.CrashBreakpoint, "breakpoint instruction (brk #0xf000)" + again, true},

		{"a move of a floating-point number", at{a: arch.AMD64, code: "f30f10c1"}, from(sigFPE, siTKill, 7), report.CrashSignal, own, false},
		{"an addition of integers", at{a: arch.AMD64, code: "01c8"}, from(sigFPE, siTKill, 7), report.CrashSignal, own, false},
		{"a floating-point number and another signal", at{a: arch.AMD64, code: "f30f5ec1"}, from(sigTrap, siTKill, 7), report.CrashSignal, own, false},
		{"an access that may be allowed", blind, from(sigSegv, siTKill, 7), report.CrashSignal, own, false},
		{"a floating-point number in memory that may be read", at{a: arch.AMD64, code: "f30f5e00", regs: regs{"rax": data}}, from(sigSegv, siTKill, 7), report.CrashSignal, own, false},
		{"breakpoint of arm64, illegal", at{a: arch.ARM64, code: "00003ed4"}, from(sigIll, siTKill, 7), report.CrashSignal, own, false},
		{"no instruction", at{a: arch.AMD64}, from(sigSegv, siTKill, 7), report.CrashSignal, own, false},
		{"no instruction, illegal", at{a: arch.AMD64}, from(sigIll, siTKill, 7), report.CrashSignal, own, false},
		{"no code", at{a: arch.AMD64, code: nop, regs: regs{"rip": data}}, from(sigBus, siTKill, 7), report.CrashSignal, own, false},
		{"no trap", at{a: arch.AMD64, code: nop}, from(sigIll, siTKill, 7), report.CrashSignal, own, false},
		{"trap of another signal", at{a: arch.AMD64, code: ud2}, from(sigTrap, siTKill, 7), report.CrashSignal, own, false},
		{"breakpoint, the signal is another", at{a: arch.ARM64, code: "00003ed4"}, from(sigSegv, siTKill, 7), report.CrashSignal, own, false},
		{"breakpoint of x86 that did not run", at{a: arch.AMD64, code: "cc"}, from(sigTrap, siTKill, 7), report.CrashSignal, own, false},
		{"no division", at{a: arch.AMD64, code: nop}, from(sigFPE, siTKill, 7), report.CrashSignal, own, false},
		{"division of another signal", at{a: arch.ARM64, code: "80003ed4"}, from(sigTrap, siTKill, 7), report.CrashSignal, own, false}, // brk #0xf004
		{"by another", at{a: arch.AMD64, code: storeRAX, regs: null}, from(sigSegv, siTKill, 9), report.CrashSignal, "sent by tgkill from process 9 of user 1000", false},
		{"by nobody, no process known", at{a: arch.AMD64, code: storeRAX, regs: null}, Signal{Number: sigSegv, Code: siTKill, HasInfo: true}, report.CrashSignal, "sent by tgkill", false},
		{"by the first process", at{a: arch.AMD64, code: storeRAX, regs: null}, Signal{Number: sigSegv, Code: siTKill, HasInfo: true, PID: 1, OwnPID: 1}, report.CrashNullWrite, "write of 4 bytes at null" + again, true},
	} {
		in := c.p.input(t)
		in.Signal = c.s
		if r := Why(in); r.Kind != c.kind || r.Text != c.text || r.AtInst != c.atInst {
			t.Errorf("%s: %s: %q, at the instruction: %v; want %s: %q", c.name, r.Kind, r.Text, r.AtInst, c.kind, c.text)
		}
	}
}

// TestSentAgainLeft: the exception in the frame of a handler that has returned tells which access it was, if the instruction makes that access.
func TestSentAgainLeft(t *testing.T) {
	access := func(addr uint64) steppers.Trap {
		return steppers.Trap{Kind: steppers.TrapAccess, Addr: addr, HasAddr: true, Read: true}
	}
	for _, c := range []struct {
		name string
		code string
		s    Signal
		left steppers.Trap
		told bool
	}{
		{"a page that the file has not", loadRAX, from(sigBus, siTKill, 7), access(data), true},
		{"of a mapping that allows it", loadRAX, from(sigSegv, siTKill, 7), access(data), true},
		{"elsewhere", loadRAX, from(sigBus, siTKill, 7), access(data + 64), false},
		{"no access", loadRAX, from(sigBus, siTKill, 7), steppers.Trap{Kind: steppers.TrapDivide}, false},
		{"nothing", loadRAX, from(sigBus, siTKill, 7), steppers.Trap{}, false},
		{"an instruction without one", nop, from(sigBus, siTKill, 7), access(data), false},
		{"another signal", loadRAX, from(sigFPE, siTKill, 7), access(data), false},
		{"sent by another", loadRAX, from(sigBus, siTKill, 9), access(data), false},
	} {
		in := at{a: arch.AMD64, code: c.code, regs: regs{"rax": data}}.input(t)
		in.Signal, in.Left = c.s, c.left
		if r := Why(in); r.AtInst != c.told || c.told && (r.Addr != data || !strings.HasPrefix(r.Text, "read of ") || !strings.HasSuffix(r.Text, "raised the signal again")) {
			t.Errorf("%s: %s: %q, at the instruction: %v", c.name, r.Kind, r.Text, r.AtInst)
		}
	}
	in := at{a: arch.AMD64, code: nop, regs: regs{"rip": data}}.input(t)
	in.Signal, in.Left = from(sigBus, siTKill, 7), access(data)
	if r := Why(in); r.Kind != report.CrashSignal {
		t.Errorf("a jump is told of SIGBUS: %q", r.Text)
	}
	d := Delivery{Info: from(sigBus, siTKill, 9)}
	byKernel, wrong := d, d
	byKernel.Info.Code, wrong.Errno = 2, 5
	if !d.ByProcess() || byKernel.ByProcess() || wrong.ByProcess() || new(Delivery).ByProcess() {
		t.Error("who sent a signal")
	}
}

// TestSentAgainBehind: an int3 has ended when a handler is called.
func TestSentAgainBehind(t *testing.T) {
	for _, c := range []struct {
		name   string
		a      *arch.Arch
		before string
		s      Signal
		kind   string
	}{
		{"int3", arch.AMD64, "\xcc", from(sigTrap, siTKill, 7), report.CrashBreakpoint},
		{"32 bits", arch.X86, "\xcc", from(sigTrap, siTKill, 7), report.CrashBreakpoint},
		{"another signal", arch.AMD64, "\xcc", from(sigIll, siTKill, 7), report.CrashSignal},
		{"another instruction", arch.AMD64, "\x90", from(sigTrap, siTKill, 7), report.CrashSignal},
		{"another processor", arch.ARM64, "\xcc", from(sigTrap, siTKill, 7), report.CrashSignal},
		{"sent by another", arch.AMD64, "\xcc", from(sigTrap, siTKill, 9), report.CrashSignal},
	} {
		in := at{a: c.a}.input(t)
		memory(&in, text-1, c.before)
		in.Signal = c.s
		if r := Why(in); r.Kind != c.kind || strings.Contains(r.Text, "int3") != (c.kind == report.CrashBreakpoint) {
			t.Errorf("%s: %s: %q, want %s", c.name, r.Kind, r.Text, c.kind)
		}
	}
}

// TestPerhapsBus: whether a file had a page, no map says.
func TestPerhapsBus(t *testing.T) {
	load := func(addr uint64) at { return at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": addr}} }
	for _, c := range []struct {
		name string
		p    at
		s    Signal
		want bool
	}{
		{"a mapped file", load(data), from(sigBus, siTKill, 7), true},
		{"memory of no file", load(lowStack), from(sigBus, siTKill, 7), false},
		{"another signal", load(data), from(sigSegv, siTKill, 7), false},
		{"from another", load(data), from(sigBus, siTKill, 9), false},
		{"no access", at{a: arch.AMD64, code: nop}, from(sigBus, siTKill, 7), false},
	} {
		in := c.p.input(t)
		in.Signal = c.s
		r := Why(in)
		if r.Kind != report.CrashSignal || (len(r.Causes) == 1 && r.Causes[0].Confidence == report.Likely && strings.HasPrefix(r.Causes[0].Text, "read of")) != c.want {
			t.Errorf("%s: %s, %+v", c.name, r.Kind, r.Causes)
		}
	}
}

// TestPerhapsBusUnknown: an access of which nobody knows the address is none at 0, even where there is a file.
func TestPerhapsBusUnknown(t *testing.T) {
	in := at{a: arch.AMD64, code: loadRAX}.input(t)
	in.Signal, in.Mapping = from(sigBus, siTKill, 7), mapped([]libstate.Mapping{{End: 0x1000, Perm: rw, Path: "/bin/prog"}})
	if c, ok := in.perhapsBus(); ok {
		t.Error(c.Text)
	}
}

// TestFloats: which instructions raise floating-point exceptions, of x86 only.
func TestFloats(t *testing.T) {
	for _, c := range []struct {
		a    *arch.Arch
		code string
		want bool
	}{
		{arch.AMD64, "", false},
		{arch.ARM64, "0028611e", false},  // fadd d0, d0, d1
		{arch.AMD64, "0f5fc1", true},     // maxps xmm0, xmm1
		{arch.AMD64, "f2480f2cc1", true}, // cvttsd2si rax, xmm1
		{arch.AMD64, "0f57c1", false},    // xorps xmm0, xmm1
	} {
		in := at{a: c.a, code: c.code}.input(t)
		if got := in.floats(); got != c.want {
			t.Errorf("%s %s: %v", c.a.Name, c.code, got)
		}
	}
}

// TestNoFetch: without the program counter or the memory map nobody knows where the processor did not go on.
func TestNoFetch(t *testing.T) {
	in := at{a: arch.AMD64, regs: regs{"rip": data}}.input(t)
	without := in
	without.Regs = over(arch.AMD64, nil).Regs
	blind := in
	blind.Mapping = nil
	for want, in := range map[string]*Input{"true false": &in, "false false": &without, "false  false": &blind} {
		if got := fmt.Sprint(in.noFetch(), " ", in.afterInt3()); got != strings.Replace(want, "  ", " ", 1) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	memory(&without, ^uint64(0), "\xcc")
	if without.afterInt3() {
		t.Error("an int3 before a pc that is not known")
	}
}

// TestFaults: the signals that processors raise, in each system's numbers.
func TestFaults(t *testing.T) {
	for n, faults := range map[Numbering][]int{
		LinuxSignals: {4, 5, 7, 8, 11}, LinuxMIPSSignals: {4, 5, 8, 10, 11}, LinuxSPARCSignals: {4, 5, 8, 10, 11}, LinuxHPPASignals: {4, 5, 8, 10, 11},
		NetBSDSignals: {4, 5, 8, 10, 11}, OpenBSDSignals: {4, 5, 8, 10, 11}, FreeBSDSignals: {4, 5, 8, 10, 11},
	} {
		for number := range 70 {
			if got := Faults(n, number); got != slices.Contains(faults, number) {
				t.Errorf("%s of %d: %v", n.Name(number), n, got)
			}
		}
	}
}

// TestUndelivered: the kernel cannot begin a handler only when a system call has ended, and says so only of ordinary instructions.
func TestUndelivered(t *testing.T) {
	const ended, returned, none = 0x050f_00c0_8948_d089, 0x050f_0000_000f_c0c7, 0x0510_00c0_8948_d089
	for _, c := range []struct {
		name   string
		p      at
		before uint64
		s      Signal
		want   bool
	}{
		{"after a system call", at{code: movEBPEAX}, ended, segv(siKernel, 0), true},
		{"after a handler's return", at{code: movEBPEAX}, returned, segv(siKernel, 0), false},
		{"after another instruction", at{code: movEBPEAX}, none, segv(siKernel, 0), false},
		{"an access", at{code: loadRAX}, ended, segv(siKernel, 0), false},
		{"an address", at{code: movEBPEAX}, ended, segv(1, 0), false},
		{"SIGBUS", at{code: movEBPEAX}, ended, bus(siKernel, 0), false},
		{"i386", at{a: arch.X86, code: movEBPEAX}, ended, segv(siKernel, 0), false},
	} {
		c.p.words = map[uint64]uint64{text - 8: c.before}
		in := c.p.input(t)
		in.Signal = c.s
		if r := Why(in); (r.Kind == report.CrashStackOverflow) != c.want || c.want && len(r.Inconsistencies) != 0 {
			t.Errorf("%s: %s: %s %v", c.name, r.Kind, r.Text, r.Inconsistencies)
		}
	}
}
