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
		{"exception of earlier", load(data), "", asked(pageFault(0, false), stale), 0, "", 0, ""},
		{"exception and siginfo of earlier", load(data), "", asked(pageFault(0, false), segv(1, 0)), 0, "", 0, ""},
		{"no access", at{code: nop}, "", asked(pageFault(0, false), segv(1, 0)), 0, "", 0, ""},
		{"a fault's siginfo, the exception is another", at{code: nop}, "", asked(divide, segv(1, 0)), 0, "", 0, ""},
		{"a write, the instruction reads", load(0), "", asked(pageFault(0, true), stale), 0, "", 0, ""},
		{"a read, the instruction writes", at{code: storeRAX, regs: regs{"rax": 0}}, "", asked(pageFault(0, false), stale), 0, "", 0, ""},
		{"a write, the instruction does both", at{code: incRAX, regs: regs{"rax": 0}}, "", asked(pageFault(0, true), stale), sigSegv, report.Certain, 0, "addr"},
		{"the map allows it now", load(data), "", asked(pageFault(data, false), stale), 0, "", 0, ""},
		{"its siginfo says SIGBUS", load(data), "", asked(pageFault(data, false), bus(busNoPage, data)), sigBus, report.Certain, busNoPage, "code addr"},
		{"the map allows it now, and its siginfo", load(data), "", asked(pageFault(data, false), segv(1, data)), sigSegv, report.Certain, 1, "code addr"},
		{"SIGBUS, blocked", load(data), "", blocks(asked(pageFault(data, false), stale), 0, bit(sigBus)), sigBus, report.Likely, 0, ""},
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
		{"int3", at{code: nop}, "\xcc", asked(steppers.Trap{Kind: steppers.TrapBreakpoint}, stale), sigTrap, report.Certain, 0, ""},
		{"int3, its siginfo", at{code: nop}, "\xcc", asked(steppers.Trap{Kind: steppers.TrapBreakpoint}, sig(sigTrap, siKernel)), sigTrap, report.Certain, siKernel, "code"},
		{"int3 of earlier", at{code: nop}, "\x90", asked(steppers.Trap{Kind: steppers.TrapBreakpoint}, stale), 0, "", 0, ""},
		{"SSE", at{code: nop}, "", blocks(asked(steppers.Trap{Kind: steppers.TrapFloat}, stale), 0, bit(sigFPE)|bit(2)), sigFPE, report.Likely, 0, ""},
		{"SSE, of earlier", at{code: nop}, "", asked(steppers.Trap{Kind: steppers.TrapFloat}, stale), 0, "", 0, ""},
		// Signals that were sent.
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
