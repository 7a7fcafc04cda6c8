package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A handled is a process at an instruction that a signal interrupted.
func (p at) handled(t *testing.T) Input {
	in := p.input(t)
	in.Signal = Signal{OwnPID: 7, TID: 8}
	return in
}

// memory puts bytes into the process.
func memory(in *Input, addr uint64, bytes string) {
	in.Bytes = func(at uint64, buf []byte) int {
		n := 0
		for i := range buf {
			off := at + uint64(i) - addr
			if off >= uint64(len(bytes)) {
				break
			}
			buf[i] = bytes[off]
			n++
		}
		return n
	}
}

func pageFault(addr uint64, write bool) steppers.Trap {
	return steppers.Trap{Kind: steppers.TrapAccess, Addr: addr, HasAddr: true, Write: write, Read: !write}
}

// TestDelivered: which signal a handler was called for, by what the signal frame and the interrupted code say.
func TestDelivered(t *testing.T) {
	load := func(addr uint64) at { return at{code: loadRAX, regs: regs{"rax": addr}} }
	asked := func(tr steppers.Trap, info Signal) Delivery { // into a frame where the kernel writes it only if asked
		return Delivery{Saved: steppers.SavedSignal{Number: info.Number, HasInfo: true, Trap: tr}, Info: info, Zeroed: true}
	}
	blocks := func(d Delivery, before, during uint64) Delivery {
		d.Saved.Blocked, d.Saved.HasBlocked, d.Blocked, d.HasBlocked = before, true, during, true
		return d
	}
	wrong := func(d Delivery) Delivery { d.Errno = 5; return d }
	stale := Signal{Number: sigFPE, Code: 8, HasInfo: true}
	zeroAt := func(addr uint64) Signal { s := sig(sigFPE, fpeIntDiv); s.Addr, s.HasAddr = addr, true; return s }
	divide := steppers.Trap{Kind: steppers.TrapDivide}
	sent := func(n int) Signal { return from(n, siTKill, 7) }
	raised := "\xb8\xea\x00\x00\x00" + strings.Repeat("\x90", 19) + "\x0f\x05"
	inRaise := at{code: nop, regs: regs{"rax": 0, "rdi": 7, "rsi": 8, "rdx": 10}}
	for _, c := range []struct {
		name  string
		in    at
		mem   string // before pc
		d     Delivery
		want  int
		sure  string
		code  int
		shape string // what the signal has: "code", "addr"
	}{
		// Faults by the exception, whatever lies where the siginfo is.
		{"read of null", load(0), "", asked(pageFault(0, false), stale), sigSegv, report.Certain, 0, "addr"},
		{"its siginfo", load(0), "", asked(pageFault(0, false), segv(1, 0)), sigSegv, report.Certain, 1, "code addr"},
		{"siginfo of another address", load(0), "", asked(pageFault(0, false), segv(1, 8)), sigSegv, report.Certain, 0, "addr"},
		// A frame that keeps nothing but that a page fault was handled: the instruction tells which.
		{"no address", load(0), "", Delivery{Saved: steppers.SavedSignal{Trap: steppers.Trap{Kind: steppers.TrapAccess}}}, sigSegv, report.Likely, 0, "addr"},
		{"no address, and nothing wrong", load(data), "", Delivery{Saved: steppers.SavedSignal{Trap: steppers.Trap{Kind: steppers.TrapAccess}}}, 0, "", 0, ""},
		{"no address, and no access", at{code: nop}, "", Delivery{Saved: steppers.SavedSignal{Trap: steppers.Trap{Kind: steppers.TrapAccess}}}, 0, "", 0, ""},
		{"no address, and more that could say so", load(0), "", blocks(Delivery{Saved: steppers.SavedSignal{Trap: steppers.Trap{Kind: steppers.TrapAccess}}}, 0, 0), 0, "", 0, ""},
		{"exception of earlier", load(data), "", asked(pageFault(0, false), stale), 0, "", 0, ""},
		{"exception and siginfo of earlier", load(data), "", asked(pageFault(0, false), segv(1, 0)), 0, "", 0, ""},
		{"no access", at{code: nop}, "", asked(pageFault(0, false), segv(1, 0)), 0, "", 0, ""},
		{"a fault's siginfo, the exception is another", at{code: nop}, "", asked(divide, segv(1, 0)), 0, "", 0, ""},
		{"a write, the instruction reads", load(0), "", asked(pageFault(0, true), stale), 0, "", 0, ""},
		{"a read, the instruction writes", at{code: storeRAX, regs: regs{"rax": 0}}, "", asked(pageFault(0, false), stale), 0, "", 0, ""},
		{"a write, the instruction does both", at{code: incRAX, regs: regs{"rax": 0}}, "", asked(pageFault(0, true), stale), sigSegv, report.Certain, 0, "addr"},
		{"the map allows it now", load(lowStack), "", asked(pageFault(lowStack, false), stale), 0, "", 0, ""},
		{"a page of a file", load(data), "", asked(pageFault(data, false), stale), sigBus, report.Likely, 0, "addr"},
		{"a page of a file, another signal is blocked", load(data), "", blocks(asked(pageFault(data, false), stale), 0, bit(12)|bit(13)), 0, "", 0, ""},
		{"a page of a file, among those blocked", load(data), "", blocks(asked(pageFault(data, false), stale), 0, bit(12)|bit(sigBus)), 0, "", 0, ""},
		{"a page of a file that is in the dump", at{code: loadRAX, regs: regs{"rax": text}}, "", asked(pageFault(text, false), stale), 0, "", 0, ""},
		{"a page of a file, written to, that forbids it", at{code: storeRAX, regs: regs{"rax": ro}}, "", asked(pageFault(ro, true), stale), sigSegv, report.Certain, 0, "addr"},
		{"a page of a file, no access to it", load(data), "", asked(pageFault(data+64, false), stale), 0, "", 0, ""},
		{"its siginfo says SIGBUS", load(data), "", asked(pageFault(data, false), bus(busNoPage, data)), sigBus, report.Certain, busNoPage, "code addr"},
		{"the map allows it now, and its siginfo", load(data), "", asked(pageFault(data, false), segv(1, data)), sigSegv, report.Certain, 1, "code addr"},
		{"SIGBUS, blocked", load(data), "", blocks(asked(pageFault(data, false), stale), 0, bit(sigBus)), sigBus, report.Likely, 0, "addr"},
		{"SIGBUS, blocked, a fault elsewhere", load(data), "", blocks(asked(pageFault(data+64, false), stale), 0, bit(sigBus)), sigBus, report.Likely, 0, ""},
		{"another signal blocked at an access", load(data), "", blocks(asked(pageFault(data, false), stale), 0, bit(sigIll)), sigIll, report.Likely, 0, ""},
		{"another signal is blocked", load(0), "", blocks(asked(pageFault(0, false), stale), 0, bit(14)), 14, report.Likely, 0, ""},
		{"it is blocked itself", load(0), "", blocks(asked(pageFault(0, false), stale), 0, bit(sigSegv)), sigSegv, report.Certain, 0, "addr"},
		{"the signal was unblocked", load(0), "", blocks(asked(pageFault(0, false), stale), bit(3), bit(3)), sigSegv, report.Certain, 0, "addr"},
		{"jump to null", at{regs: regs{"rip": 0}}, "", asked(pageFault(0, false), stale), sigSegv, report.Certain, 0, "addr"},
		{"not canonical", load(1 << 60), "", asked(steppers.Trap{Kind: steppers.TrapProtection}, stale), sigSegv, report.Certain, siKernel, "code"},
		{"protection of earlier", load(data), "", asked(steppers.Trap{Kind: steppers.TrapProtection}, stale), 0, "", 0, ""},
		{"division", at{code: idivECX, regs: regs{"rcx": 0}}, "", asked(divide, stale), sigFPE, report.Certain, 0, ""},
		{"division, its siginfo", at{code: idivECX, regs: regs{"rcx": 0}}, "", asked(divide, zeroAt(text)), sigFPE, report.Certain, fpeIntDiv, "code addr"},
		{"division, siginfo of another", at{code: idivECX, regs: regs{"rcx": 0}}, "", asked(divide, zeroAt(text+2)), sigFPE, report.Certain, 0, ""},
		{"no division", at{code: nop}, "", asked(divide, zeroAt(text)), 0, "", 0, ""},
		{"ud2", at{code: ud2}, "", asked(steppers.Trap{Kind: steppers.TrapInstruction}, stale), sigIll, report.Certain, 0, ""},
		{"illegal of earlier", at{code: nop}, "", asked(steppers.Trap{Kind: steppers.TrapInstruction}, stale), 0, "", 0, ""},
		{"illegal", at{}, "", blocks(asked(steppers.Trap{Kind: steppers.TrapInstruction}, stale), 0, bit(sigIll)|bit(2)), sigIll, report.Likely, 0, ""},
		{"illegal, perhaps", at{}, "", asked(steppers.Trap{Kind: steppers.TrapInstruction}, stale), 0, "", 0, ""},
		{"int3", at{code: nop}, "\xcc", asked(steppers.Trap{Kind: steppers.TrapBreakpoint}, stale), sigTrap, report.Certain, siKernel, "code"},
		{"int3, its siginfo", at{code: nop}, "\xcc", asked(steppers.Trap{Kind: steppers.TrapBreakpoint}, sig(sigTrap, siKernel)), sigTrap, report.Certain, siKernel, "code"},
		{"int3 of earlier", at{code: nop}, "\x90", asked(steppers.Trap{Kind: steppers.TrapBreakpoint}, stale), 0, "", 0, ""},
		{"SSE", at{code: nop}, "", blocks(asked(steppers.Trap{Kind: steppers.TrapFloat}, stale), 0, bit(sigFPE)|bit(2)), sigFPE, report.Likely, 0, ""},
		{"SSE, of earlier", at{code: nop}, "", asked(steppers.Trap{Kind: steppers.TrapFloat}, stale), 0, "", 0, ""},
		{"its siginfo, with an error", load(0), "", wrong(asked(pageFault(0, false), segv(1, 0))), sigSegv, report.Certain, 0, "addr"},
		{"the map allows it now, and its siginfo has an error", load(data), "", wrong(asked(pageFault(data, false), segv(1, data))), sigBus, report.Likely, 0, "addr"},
		{"another address, its siginfo says null", load(0x700000), "", asked(pageFault(0, false), segv(1, 0)), 0, "", 0, ""},
		{"null, the exception is another", load(0), "", asked(divide, segv(1, 0)), 0, "", 0, ""},
		{"a write", at{code: storeRAX, regs: regs{"rax": 0}}, "", asked(pageFault(0, true), stale), sigSegv, report.Certain, 0, "addr"},
		{"a read, the instruction does both", at{code: incRAX, regs: regs{"rax": 0}}, "", asked(pageFault(0, false), stale), sigSegv, report.Certain, 0, "addr"},
		{"division, another signal is blocked", at{code: idivECX, regs: regs{"rcx": 0}}, "", blocks(asked(divide, zeroAt(text)), 0, bit(14)), 14, report.Likely, 0, ""},
		{"no exception, 63 is blocked with another", at{code: nop}, "", blocks(Delivery{}, 0, bit(63)|bit(2)), 0, "", 0, ""},
		{"no exception, 64 is blocked with another", at{code: nop}, "", blocks(Delivery{}, 0, bit(64)|bit(2)), 0, "", 0, ""},
		{"a fault's siginfo of earlier, the signal is blocked", at{code: nop}, "", blocks(asked(divide, segv(1, 0)), 0, bit(sigSegv)), sigSegv, report.Likely, 0, ""},
		// Signals that were sent.
		{"argument, the least", at{code: nop}, "", Delivery{Argument: 1}, 1, report.Certain, 0, ""},
		{"argument, the greatest", at{code: nop}, "", Delivery{Argument: 64}, 64, report.Certain, 0, ""},
		{"siginfo, the greatest", at{code: nop}, "", asked(divide, sent(64)), 64, report.Likely, siTKill, "code"},
		{"siginfo, too great", at{code: nop}, "", asked(divide, sent(65)), 0, "", 0, ""},
		{"no siginfo", at{code: nop}, "", Delivery{Info: sent(10), Zeroed: true}, 0, "", 0, ""},
		{"siginfo with an error, its signal is blocked", at{code: nop}, "", wrong(blocks(asked(divide, sent(10)), 1, 1|bit(10))), 10, report.Likely, 0, ""},
		{"raise, only one mask is known", inRaise, raised, Delivery{Saved: steppers.SavedSignal{Blocked: bit(10)}}, 10, report.Likely, 0, ""},
		{"raise of the greatest", at{code: nop, regs: regs{"rax": 0, "rdi": 7, "rsi": 8, "rdx": 64}}, raised, Delivery{}, 64, report.Likely, 0, ""},
		{"raise, the result is not known", at{code: nop, regs: regs{"rdi": 7, "rsi": 8, "rdx": 10}}, raised, Delivery{}, 0, "", 0, ""},
		{"raise, the signal is not known", at{code: nop, regs: regs{"rax": 0, "rdi": 7, "rsi": 8}}, raised, Delivery{}, 0, "", 0, ""},
		{"raised for another process", at{code: nop, regs: regs{"rax": 0, "rdi": 9, "rsi": 8, "rdx": 10}}, raised, Delivery{}, 0, "", 0, ""},
		{"no system call", inRaise, strings.Replace(raised, "\x0f\x05", "\x90\x90", 1), Delivery{}, 0, "", 0, ""},
		{"argument", at{code: nop}, "", Delivery{Argument: 12, Saved: asked(divide, sent(10)).Saved, Info: sent(10)}, 12, report.Certain, 0, ""},
		{"argument too large", at{code: nop}, "", Delivery{Argument: 65, Saved: asked(divide, sent(10)).Saved}, 0, "", 0, ""},
		{"siginfo, and its signal is blocked", at{code: nop}, "", blocks(asked(divide, sent(10)), 1, 1|bit(10)), 10, report.Certain, siTKill, "code"},
		{"siginfo, among those blocked", at{code: nop}, "", blocks(asked(divide, sent(10)), 1, 1|bit(10)|bit(12)), 10, report.Likely, siTKill, "code"},
		{"siginfo, another is blocked", at{code: nop}, "", blocks(asked(divide, sent(10)), 1, 1|bit(12)), 12, report.Likely, 0, ""},
		{"siginfo, others are blocked", at{code: nop}, "", blocks(asked(divide, sent(10)), 1, 1|bit(12)|bit(13)), 0, "", 0, ""},
		{"siginfo alone", at{code: nop}, "", asked(divide, sent(10)), 10, report.Likely, siTKill, "code"},
		{"siginfo with an end", at{code: nop}, "", Delivery{Saved: asked(divide, sent(10)).Saved, Info: sent(10)}, 0, "", 0, ""},
		{"siginfo with an end, and its signal is blocked", at{code: nop}, "", blocks(Delivery{Saved: asked(divide, sent(10)).Saved, Info: sent(10)}, 1, 1|bit(10)), 10, report.Likely, 0, ""},
		{"siginfo of no signal", at{code: nop}, "", asked(divide, sent(0)), 0, "", 0, ""},
		{"siginfo without a sender", at{code: nop}, "", asked(divide, from(10, siUser, 0)), 0, "", 0, ""},
		{"siginfo with an error", at{code: nop}, "", Delivery{Saved: asked(divide, sent(10)).Saved, Info: sent(10), Zeroed: true, Errno: 1}, 0, "", 0, ""},
		{"siginfo with an unknown code", at{code: nop}, "", asked(divide, sig(10, 77)), 0, "", 0, ""},
		{"Go's handler", at{code: nop}, "", func() Delivery { d := asked(divide, sent(10)); d.Asked, d.Zeroed = true, false; return d }(), 10, report.Certain, siTKill, "code"},
		{"raise", inRaise, raised, blocks(asked(divide, stale), 1, 1|bit(10)|bit(12)), 10, report.Certain, 0, ""},
		{"raise, not blocked for it", inRaise, raised, blocks(asked(divide, stale), 1, 1|bit(12)), 10, report.Likely, 0, ""},
		{"raise, and it was blocked", inRaise, raised, blocks(asked(divide, stale), bit(10), bit(10)), 0, "", 0, ""},
		{"raise, the masks are not known", inRaise, raised, asked(divide, stale), 10, report.Likely, 0, ""},
		{"raise of no signal", at{code: nop, regs: regs{"rax": 0, "rdi": 7, "rsi": 8, "rdx": 65}}, raised, asked(divide, stale), 0, "", 0, ""},
		{"another call", inRaise, strings.Repeat("\x90", 24) + "\x0f\x05", asked(divide, stale), 0, "", 0, ""},
		{"raise failed", at{code: nop, regs: regs{"rax": 1, "rdi": 7, "rsi": 8, "rdx": 10}}, raised, asked(divide, stale), 0, "", 0, ""},
		{"raised for another thread", at{code: nop, regs: regs{"rax": 0, "rdi": 7, "rsi": 9, "rdx": 10}}, raised, asked(divide, stale), 0, "", 0, ""},
		// Frames that have the number in any case.
		{"sure", load(0), "", Delivery{Saved: steppers.SavedSignal{Number: sigSegv, Sure: true}}, sigSegv, report.Certain, 0, ""},
		{"sure, and the exception", load(0), "", Delivery{Saved: steppers.SavedSignal{Number: sigSegv, Sure: true, Trap: pageFault(0, false)}}, sigSegv, report.Certain, 0, "addr"},
		{"sure, and another's exception", load(0), "", Delivery{Saved: steppers.SavedSignal{Number: 14, Sure: true, Trap: pageFault(0, false)}}, 14, report.Certain, 0, ""},
		{"sure, with siginfo", load(0), "", Delivery{Saved: steppers.SavedSignal{Number: sigSegv, Sure: true, HasInfo: true}, Info: segv(2, 0)}, sigSegv, report.Certain, 2, "code addr"},
		{"sure, its siginfo cannot be one", load(0), "", Delivery{Saved: steppers.SavedSignal{Number: sigSegv, Sure: true, HasInfo: true}, Info: sig(sigSegv, 77)}, sigSegv, report.Certain, 0, ""},
		{"sure, the exception may be of earlier", load(data), "", Delivery{Saved: steppers.SavedSignal{Number: sigSegv, Sure: true, Trap: pageFault(data, false)}}, sigSegv, report.Certain, 0, ""},
		{"sure, SIGBUS at an access", load(data), "", Delivery{Saved: steppers.SavedSignal{Number: sigBus, Sure: true, Trap: pageFault(data, false)}}, sigBus, report.Certain, 0, "addr"},
		{"sure, siginfo of another", load(0), "", Delivery{Saved: steppers.SavedSignal{Number: sigSegv, Sure: true, HasInfo: true}, Info: sent(10)}, sigSegv, report.Certain, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.in.handled(t)
			pc, _ := in.Regs.Get(arch.RIP)
			memory(&in, pc-uint64(len(c.mem)), c.mem+"\x06")
			s, sure := Delivered(in, c.d)
			shape := ""
			if s.HasInfo {
				shape += " code"
			}
			if s.HasAddr {
				shape += " addr"
			}
			if s.Number != 0 && (s.OwnPID != 7 || s.TID != 8) {
				t.Errorf("of process %d, thread %d", s.OwnPID, s.TID)
			}
			if s.Number != c.want || sure != c.sure || s.Code != c.code || strings.TrimSpace(shape) != c.shape {
				t.Errorf("signal %d [%s], code %d, has%s", s.Number, sure, s.Code, shape)
			}
		})
	}
}

// TestDeliveredElsewhere: the numbers are those of the dump's system, and other processors keep the call's number.
func TestDeliveredElsewhere(t *testing.T) {
	in := at{code: loadRAX, regs: regs{"rax": 0}}.handled(t)
	in.Signal.Numbers = FreeBSDSignals
	if s, sure := Delivered(in, Delivery{Saved: steppers.SavedSignal{Sure: true, Trap: pageFault(0, false)}}); s.Name() != "SIGSEGV" || s.Numbers != FreeBSDSignals || sure != report.Certain {
		t.Errorf("%+v, %s", s, sure)
	}
	if n := FreeBSDSignals.from(sigBus); n != 10 {
		t.Errorf("SIGBUS is %d", n)
	}
	if n := FreeBSDSignals.from(1); n != 1 {
		t.Errorf("SIGHUP is %d", n)
	}
	for _, linux := range []int{-1, 0, len(signalNames)} {
		if n := LinuxSignals.from(linux); n != -1 {
			t.Errorf("%d, which is no signal, is %d", linux, n)
		}
	}
	if n := FreeBSDSignals.from(16); n > 0 {
		t.Errorf("SIGSTKFLT is %d", n)
	}
	for _, c := range []struct {
		a    *arch.Arch
		code string
		regs regs
	}{
		{arch.ARM64, "\x01\x00\x00\xd4", regs{"x0": 0, "x1": 8, "x2": 10, "x8": 131}},
		{arch.ARM, "\x00\x00\x00\xef", regs{"r0": 0, "r1": 8, "r2": 10, "r7": 268}},
	} {
		in := at{a: c.a, regs: c.regs}.handled(t)
		memory(&in, text-4, c.code)
		if s, sure := Delivered(in, Delivery{Saved: steppers.SavedSignal{}}); s.Number != 10 || sure != report.Likely {
			t.Errorf("%s: %+v, %s", c.a.Name, s, sure)
		}
		for r := range c.regs {
			other := regs{}
			for k, v := range c.regs {
				other[k] = v
			}
			other[r] = 99
			in := at{a: c.a, regs: other}.handled(t)
			memory(&in, text-4, c.code)
			if s, _ := Delivered(in, Delivery{}); s.Number != 0 {
				t.Errorf("%s: with another %s: %+v", c.a.Name, r, s)
			}
		}
		memory(&in, text-4, "\x00\x00\x00\x00")
		if s, _ := Delivered(in, Delivery{}); s.Number != 0 {
			t.Errorf("%s: behind another instruction: %+v", c.a.Name, s)
		}
	}
}

// TestDeliveredUnread: of a file there may be nothing in the dump because there is no memory in it at all.
func TestDeliveredUnread(t *testing.T) {
	in := at{code: loadRAX, regs: regs{"rax": data}}.handled(t)
	in.Bytes = nil
	if s, sure := Delivered(in, Delivery{Saved: steppers.SavedSignal{HasInfo: true, Trap: pageFault(data, false)}}); s.Number != sigBus || sure != report.Likely {
		t.Errorf("%+v %s", s, sure)
	}
	in.Mapping = nil // an access that nothing explains
	if s, sure := Delivered(in, Delivery{Saved: steppers.SavedSignal{Trap: steppers.Trap{Kind: steppers.TrapAccess}}}); s.Number != 0 || sure != "" {
		t.Errorf("without a map: %+v %s", s, sure)
	}
}

// Without the process's own number, a call that sends a signal is not known to be to itself.
func TestDeliveredByNobody(t *testing.T) {
	const raised = "\xb8\xea\x00\x00\x00" + "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90" + "\x0f\x05"
	for pid, want := range map[int]int{0: 0, 7: 10} {
		in := at{code: nop, regs: regs{"rax": 0, "rdi": uint64(pid), "rsi": 8, "rdx": 10}}.handled(t)
		in.Signal.OwnPID = pid
		pc, _ := in.Regs.Get(arch.RIP)
		memory(&in, pc-uint64(len(raised)), raised+"\x06")
		if s, _ := Delivered(in, Delivery{}); s.Number != want {
			t.Errorf("of process %d: signal %d, want %d", pid, s.Number, want)
		}
	}
}

// TestPlausible: which siginfo_t the kernel fills in so. Only for SIGSYS it sets si_errno, to the data of the filter.
func TestPlausible(t *testing.T) {
	for _, c := range []struct {
		s     Signal
		errno int
		want  bool
	}{
		{Signal{Number: 10, PID: 7}, 0, false}, // its code is not known
		{from(1, siUser, 7), 0, true},
		{from(15, siUser, 1), 0, true}, // from the first process
		{from(15, siUser, 7), 5, false},
		{segv(1, 8), 0, true},
		{segv(1, 8), 5, false},
		{sig(sigSys, 1), 0, true},
		{sig(sigSys, 1), 5, true},
	} {
		if got := c.s.plausible(c.errno); got != c.want {
			t.Errorf("%+v, errno %d: %v", c.s, c.errno, got)
		}
	}
}

// TestFaultOf tells the siginfo_t of faults from those of signals that were sent.
func TestFaultOf(t *testing.T) {
	noAddr := sig(sigSegv, 1)
	killed := from(sigSegv, siUser, 7)
	killed.HasAddr = true
	divided := sig(sigFPE, fpeIntDiv)
	divided.Addr, divided.HasAddr = 8, true
	for _, c := range []struct {
		s               Signal
		faults, faultAt bool // at 8
	}{
		{segv(1, 8), true, true},
		{bus(busNoPage, 8), true, true},
		{segv(1, 9), true, false},
		{noAddr, true, false},
		{killed, false, false},
		{from(sigSegv, siTKill, 7), false, false},
		{divided, true, false},
		{sig(sigSys, 1), false, false},
	} {
		if got := c.s.faults(); got != c.faults {
			t.Errorf("%+v is that of a fault: %v", c.s, got)
		}
		if got := c.s.faultAt(8); got != c.faultAt {
			t.Errorf("%+v is that of a fault at 8: %v", c.s, got)
		}
	}
	noAddr.Addr, killed.Addr = 8, 8
	if noAddr.faultAt(8) || killed.faultAt(8) {
		t.Error("a fault without an address, or none, is at 8")
	}
}

// TestAgrees compares exceptions with siginfo_t: SI_KERNEL is for those without an address, and others have that of the
// instruction.
func TestAgrees(t *testing.T) {
	in := at{code: nop}.handled(t)
	access := Signal{Number: sigSegv, Addr: 8, HasAddr: true}
	with := func(number, code int, addr uint64) Signal {
		s := sig(number, code)
		s.Addr, s.HasAddr = addr, true
		return s
	}
	without := func(s Signal) Signal { s.HasAddr = false; return s }
	for _, c := range []struct {
		fault, info Signal
		kind        steppers.TrapKind
		want        bool
	}{
		{access, segv(1, 8), steppers.TrapAccess, true},
		{access, segv(1, 9), steppers.TrapAccess, false},
		{access, without(segv(1, 8)), steppers.TrapAccess, false},
		{access, bus(busNoPage, 8), steppers.TrapAccess, false},
		{access, with(sigSegv, siUser, 8), steppers.TrapAccess, false},
		{Signal{Number: sigSegv}, sig(sigSegv, siKernel), steppers.TrapProtection, true},
		{Signal{Number: sigTrap}, sig(sigTrap, siKernel), steppers.TrapBreakpoint, true},
		{Signal{Number: sigIll}, sig(sigIll, siKernel), steppers.TrapInstruction, false},
		{Signal{Number: sigFPE}, sig(sigFPE, siKernel), steppers.TrapDivide, false},
		{Signal{Number: sigFPE}, with(sigFPE, fpeIntDiv, text), steppers.TrapDivide, true},
		{Signal{Number: sigFPE}, without(with(sigFPE, fpeIntDiv, text)), steppers.TrapDivide, false},
		{Signal{Number: sigFPE}, with(sigFPE, fpeIntDiv, text+1), steppers.TrapDivide, false},
		{Signal{Number: sigFPE}, with(sigFPE, 3, text), steppers.TrapDivide, false}, // of floating point
		{Signal{Number: sigFPE}, with(sigFPE, 3, text), steppers.TrapFloat, true},
	} {
		if got := in.agrees(c.fault, c.info, c.kind); got != c.want {
			t.Errorf("%+v and %+v: %v", c.fault, c.info, got)
		}
	}
}

// TestAccessed: whether the instruction made the access that raised SIGSEGV.
func TestAccessed(t *testing.T) {
	const unmapped = 0x700000
	load := func(code string, addr uint64) at { return at{code: code, regs: regs{"rax": addr}} }
	for _, c := range []struct {
		name string
		in   at
		trap steppers.Trap
		want string
	}{
		{"a load", load(loadRAX, unmapped), pageFault(unmapped, false), report.Certain},
		{"its last byte", load(loadRAX, unmapped), pageFault(unmapped+3, false), report.Certain},
		{"behind it", load(loadRAX, unmapped), pageFault(unmapped+4, false), ""},
		{"behind it, at null", load(loadRAX, ^uint64(3)), pageFault(0, false), ""},
		{"behind a byte, at null", load(byteRAX, ^uint64(0)), pageFault(0, false), ""},
		{"null, the load is elsewhere", load(loadRAX, unmapped), pageFault(0, false), ""},
		{"a store", load(storeRAX, unmapped), pageFault(unmapped, true), report.Certain},
		{"a store, the exception does not say which", load(storeRAX, unmapped), steppers.Trap{Kind: steppers.TrapAccess, Addr: unmapped, HasAddr: true}, report.Certain},
		{"the instruction is not known", at{}, pageFault(unmapped, true), report.Likely},
		{"the address is not known", at{code: loadRAX}, pageFault(unmapped, false), report.Likely},
		{"no access", at{code: nop}, pageFault(unmapped, false), ""},
		{"no address", at{code: nop}, steppers.Trap{Kind: steppers.TrapAccess}, ""},
	} {
		in := c.in.handled(t)
		if got := in.accessed(Signal{Number: sigSegv, Addr: c.trap.Addr, HasAddr: c.trap.HasAddr}, &c.trap); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNewly needs both masks.
func TestNewly(t *testing.T) {
	for _, c := range []struct {
		before, during bool
		want           uint64
	}{{true, true, 2}, {true, false, 0}, {false, true, 0}} {
		d := Delivery{Saved: steppers.SavedSignal{Blocked: 1, HasBlocked: c.before}, Blocked: 3, HasBlocked: c.during}
		if got := d.newly(); got != c.want {
			t.Errorf("before %v, during %v: %#x", c.before, c.during, got)
		}
	}
}

// TestRefusedHere: code that is there and no instruction was refused, of code that is not there nobody knows.
func TestRefusedHere(t *testing.T) {
	in := at{}.handled(t)
	if got := in.refusedHere(); got != "" {
		t.Errorf("without memory: %q", got)
	}
	memory(&in, text, "\x06")
	if got := in.refusedHere(); got != report.Likely {
		t.Errorf("no instruction: %q", got)
	}
	memory(&in, text+0x1000, "\x06")
	if got := in.refusedHere(); got != "" {
		t.Errorf("without code: %q", got)
	}
}

// TestCodeBefore: bytes that cannot be read are no code.
func TestCodeBefore(t *testing.T) {
	var in Input
	if in.codeBefore(text, []byte{0}) || in.codeNear(text, 4, []byte{0}) {
		t.Error("code without memory")
	}
	in.Bytes = func(_ uint64, buf []byte) int { return len(buf) - 1 }
	if in.codeBefore(text, []byte{0}) || in.codeNear(text, 4, []byte{0}) {
		t.Error("code that was not read")
	}
}

// TestWithoutPC: without the program counter, nothing is known of the code before it, even if there is some at the end of all
// addresses.
func TestWithoutPC(t *testing.T) {
	const raised = "\xb8\xea\x00\x00\x00" + "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90" + "\x0f\x05"
	in := over(arch.AMD64, regs{"rax": 0, "rdi": 1, "rsi": 1, "rdx": 10})
	in.Signal = Signal{OwnPID: 1, TID: 1}
	in.Bytes = func(at uint64, buf []byte) int { return copy(buf, raised[at+uint64(len(raised)):]) }
	if n := in.raised(); n != 0 {
		t.Errorf("it raised %d", n)
	}
	in.Bytes = func(_ uint64, buf []byte) int { buf[0] = 0xcc; return 1 }
	if _, sure := in.faulted(steppers.Trap{Kind: steppers.TrapBreakpoint}); sure != "" {
		t.Errorf("a breakpoint: %q", sure)
	}
	memory(in, text-uint64(len(raised)), raised)
	in.Regs.Set(arch.RIP, text)
	if n := in.raised(); n != 10 { // the first process of a container
		t.Errorf("it raised %d, want 10", n)
	}
	in.Regs.Set(arch.RSI, 0)
	if in.Signal.TID = 0; in.raised() != 0 {
		t.Error("no thread raised a signal")
	}
	in.Signal.TID, in.Arch = 1, nil
	if in.raised() != 0 {
		t.Error("a signal was raised on no processor")
	}
}
