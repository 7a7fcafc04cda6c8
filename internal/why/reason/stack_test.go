package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestBelowStack: an address is below the stack if it is near the stack pointer, not
// writable, and an almost full stack is directly above it.
func TestBelowStack(t *testing.T) {
	const bottom = 0x10000000
	stack := area(bottom, bottom+0x100000, rw)
	guard := area(bottom-0x1000, bottom, 0)
	code := area(bottom-0x1000, bottom, rx)
	other := area(bottom-0x1000, bottom, rw)
	high := area(bottom+0x200000, bottom+0x300000, rw)
	for _, c := range []struct {
		name     string
		a        *arch.Arch
		sp, addr uint64
		areas    []libstate.Mapping
		want     bool
	}{
		{"below", arch.AMD64, bottom, bottom - 8, []libstate.Mapping{stack}, true},
		{"in the guard", arch.AMD64, bottom, bottom - 8, []libstate.Mapping{stack, guard}, true},
		{"in code", arch.AMD64, bottom, bottom - 8, []libstate.Mapping{stack, code}, false},
		{"in the stack", arch.AMD64, bottom + 0x100, bottom + 0x80, []libstate.Mapping{stack}, false},
		{"above is read only", arch.AMD64, bottom, bottom - 8, []libstate.Mapping{area(bottom, bottom+0x1000, rd)}, false},
		{"nothing above", arch.AMD64, bottom, bottom - 8, nil, false},
		{"other writable memory", arch.AMD64, bottom, bottom - 8, []libstate.Mapping{stack, other}, false},
		{"much of the stack is left", arch.AMD64, bottom + stackMargin, bottom - 8, []libstate.Mapping{stack}, false},
		{"little of the stack is left", arch.AMD64, bottom + stackMargin - 1, bottom - 8, []libstate.Mapping{stack}, true},
		{"far above", arch.AMD64, bottom + 0x200000 - stackReach - 9, bottom + 0x200000 - 8, []libstate.Mapping{high}, false},
		{"as far above as may be", arch.AMD64, bottom + 0x200000 - stackReach - 8, bottom + 0x200000 - 8, []libstate.Mapping{high}, true},
		{"as far below as may be", arch.AMD64, bottom + 0x800, bottom + 0x800 - stackReach, []libstate.Mapping{stack}, true},
		{"far below", arch.AMD64, bottom + 0x801, bottom + 0x800 - stackReach, []libstate.Mapping{stack}, false},
		{"grows up", arch.HPPA, bottom, bottom - 8, []libstate.Mapping{stack}, false},
	} {
		in := over(c.a, nil, c.areas...)
		in.Regs.Set(c.a.SP, c.sp)
		m, _ := in.mapping(c.addr)
		if got := in.belowStack(c.addr, m); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	// A large array reaches beyond the stack into code.
	run := area(bottom-0x1000, bottom, rx)
	in := over(arch.AMD64, regs{"rsp": bottom - 0x2000, "rbp": bottom + 0x100}, stack, run)
	if !in.belowStack(bottom-8, run) {
		t.Error("array larger than the stack")
	}
	in = over(arch.AMD64, nil, stack)
	if in.belowStack(bottom-8, libstate.Mapping{}) {
		t.Error("stack pointer not known")
	}
	if in = over(arch.AMD64, nil, area(0, 0x1000, rw)); in.belowStack(0, area(0, 0x1000, 0)) {
		t.Error("stack pointer not known, near 0")
	}
	in = over(arch.AMD64, nil, stack)
	in.Regs.Set(arch.RSP, bottom)
	in.Arch = nil
	if in.belowStack(bottom-8, libstate.Mapping{}) {
		t.Error("no architecture")
	}
	in.Arch, in.Mapping = arch.AMD64, nil
	if in.belowStack(bottom-8, libstate.Mapping{}) {
		t.Error("no mappings")
	}
}

// TestOutgrew: the stack pointer has left the stack that the frame pointer is in.
func TestOutgrew(t *testing.T) {
	const sp = 0x100000000
	frame := func(perm libstate.Perm) []libstate.Mapping {
		return []libstate.Mapping{area(sp+0x1000, sp+largestFrame+0x2000, perm)}
	}
	for _, c := range []struct {
		name  string
		fp    uint64
		areas []libstate.Mapping
		want  bool
	}{
		{"in the stack", sp + 0x2000, frame(rw), true},
		{"the largest frame", sp + largestFrame, frame(rw), true},
		{"too large a frame", sp + largestFrame + 1, frame(rw), false},
		{"below", sp - 0x1000, []libstate.Mapping{area(sp-0x2000, sp, rw)}, false},
		{"the same", sp, frame(rw), false},
		{"in code", sp + 0x2000, frame(rx), false},
		{"in writable code", sp + 0x2000, frame(all), false},
		{"read only", sp + 0x2000, frame(rd), false},
		{"nowhere", sp + 0x2000, nil, false},
		{"stack pointer is mapped", sp + 0x2000, append(frame(rw), area(sp, sp+0x1000, rd)), false},
	} {
		if got := over(arch.AMD64, regs{"rbp": c.fp}, c.areas...).outgrew(sp); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if over(arch.AMD64, nil, area(0, 0x1000, rw)).outgrew(1<<64 - 0x1000) {
		t.Error("frame pointer not known")
	}
}

func TestFirstAbove(t *testing.T) {
	const page = 0x10001000
	for _, c := range []struct {
		name     string
		addr     uint64
		area     libstate.Mapping
		start    uint64
		writable bool
	}{
		{"here", page + 0x80, area(page, page+0x1000, rw), page, true},
		{"read only", page + 0x80, area(page, page+0x1000, rd), page, false},
		{"executable", page + 0x80, area(page, page+0x1000, rx), page, false},
		{"the farthest page", page + 0x80, area(page+stackReach, page+stackReach+0x1000, rw), page + stackReach, true},
		{"a page farther", page, area(page+stackReach, page+stackReach+0x1000, rw), 0, false},
		{"reserved", page, area(page, page+0x10000, 0), 0, false},
	} {
		if start, writable := over(arch.AMD64, nil, c.area).firstAbove(c.addr); start != c.start || writable != c.writable {
			t.Errorf("%s: %#x, %v; want %#x, %v", c.name, start, writable, c.start, c.writable)
		}
	}
}

// TestCrowded: other memory below the stack is why it cannot grow; the stack's own guard is not.
func TestCrowded(t *testing.T) {
	const page = 0x10001000
	for _, c := range []struct {
		name string
		addr uint64
		area libstate.Mapping
		want string
	}{
		{"nothing", page + 0x80, area(0, 0x1000, rw), ""},
		{"the lowest page", 0x5000, area(0x1000, 0x2000, rw), ""},
		{"the page above it", 0x5000, area(0x2000, 0x3000, rw), "0x3000"},
		{"near", page + 0x80, area(page-0x1000, page, rd), "0x10001000"},
		{"as far as may be", page + 0x80, area(page-stackReach+0x1000, page-stackReach+0x2000, rd), "0xff03000"},
		{"farther", page + 0x80, area(page-stackReach, page-stackReach+0x1000, rd), ""},
		{"farther, from the start of a page", page, area(page-stackReach, page-stackReach+0x1000, rd), ""},
		{"in it", page + 0x80, area(page, page+0x1000, rd), "0x10002000"},
		{"guard", page + 0x80, area(page, page+0x1000, 0), ""},
		{"reserved, below", page, area(page-0x1000, page, 0), "0x10001000"},
	} {
		got := over(arch.AMD64, nil, c.area).crowded(c.addr)
		if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestProtectionFault: faults for which the processor reports no address.
func TestProtectionFault(t *testing.T) {
	if r := (&Input{}).protectionFault(); r.Kind != report.CrashBadAccess || r.Text != "general protection fault" {
		t.Errorf("no architecture: %+v", r)
	}
	in := at{a: arch.AMD64, code: ret, words: map[uint64]uint64{lowStack + 0x8000: text}}.input(t)
	if r := in.protectionFault(); r.Text != "general protection fault" || !r.AtInst || r.HasAddr {
		t.Errorf("return to a possible address: %+v", r)
	}
	in = at{a: arch.ARM64, code: "ff0b5fd6", regs: regs{"x30": 0x005a000000401234}}.input(t)
	if r := in.protectionFault(); r.Text != "general protection fault" || !r.AtInst || r.HasAddr {
		t.Errorf("return to a signed address: %+v", r)
	}
	const callMem = "ff10" // call [rax]
	for _, c := range []struct {
		name string
		p    at
		want uint64
		ok   bool
	}{
		{"call through memory", at{a: arch.AMD64, code: callMem, regs: regs{"rax": data}, words: map[uint64]uint64{data: 0x1234, lowStack + 0x7ff8: 0x5678}}, 0x1234, true},
		{"call through a register", at{a: arch.AMD64, code: callRAX, regs: regs{"rax": data}, words: map[uint64]uint64{data: 0x1234, lowStack + 0x7ff8: 0x5678}}, data, true},
		{"call through a register that is not known", at{a: arch.AMD64, code: callRAX, words: map[uint64]uint64{lowStack + 0x7ff8: 0x5678}}, 0, false},
		{"return, arm64", at{a: arch.ARM64, code: "c0035fd6", regs: regs{"x30": 0x1234}}, 0x1234, true},
		{"return through another register, arm64", at{a: arch.ARM64, code: "20025fd6", regs: regs{"x17": 0x1234}}, 0x1234, true},
		{"return to a signed address, arm64", at{a: arch.ARM64, code: "ff0b5fd6", regs: regs{"x30": 0x1234}}, 0x1234, false},
		{"register not known", at{a: arch.AMD64, code: jmpMem, words: map[uint64]uint64{0: 0x1234}}, 0, false},
		{"memory not known", at{a: arch.AMD64, code: jmpMem, regs: regs{"rax": data}}, 0, false},
		{"return", at{a: arch.AMD64, code: ret, words: map[uint64]uint64{lowStack + 0x8000: 0x1234}}, 0x1234, true},
		{"no access", at{a: arch.AMD64, code: nop}, 0, false},
	} {
		in := c.p.input(t)
		if got, ok := in.target(); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %#x, %v; want %#x, %v", c.name, got, ok, c.want, c.ok)
		}
		in.Word = nil
		if got, ok := in.target(); ok && in.Inst.Src == arch.NoReg {
			t.Errorf("%s, without memory: %#x, %v", c.name, got, ok)
		}
	}
}

func TestControlFlow(t *testing.T) {
	const hidden, known = "return to an address that differs from the shadow stack's", "return to 0x401234, which differs from the address on the shadow stack"
	for _, c := range []struct {
		name string
		p    at
		want string
	}{
		{"no code", at{a: arch.AMD64}, "control-flow protection fault"},
		{"return", at{a: arch.AMD64, code: ret, words: map[uint64]uint64{lowStack + 0x8000: 0x401234}}, known},
		{"return, memory not known", at{a: arch.AMD64, code: ret}, hidden},
		{"return, arm64", at{a: arch.ARM64, code: "c0035fd6", regs: regs{"x30": 0x401234}}, known},
		{"return, arm64, register not known", at{a: arch.ARM64, code: "c0035fd6"}, hidden},
		{"return to a signed address, arm64", at{a: arch.ARM64, code: "ff0b5fd6", regs: regs{"x30": 0x5a000000401234}}, hidden},
		{"endbr64", at{a: arch.AMD64, code: "f30f1efa"}, "control-flow protection fault"},
		{"other", at{a: arch.AMD64, code: nop}, "branch to an invalid target, or invalid use of the shadow stack"},
	} {
		in := c.p.input(t)
		in.Signal = segv(10, text)
		if r := Why(in); r.Kind != report.CrashControlFlow || r.Text != c.want || r.AtInst != (c.p.code != "") {
			t.Errorf("%s: %+v, want %q", c.name, r, c.want)
		}
	}
	in := at{a: arch.AMD64}.input(t)
	in.Inst = &disasm.Inst{}
	if got := in.instText(); strings.Contains(got, "((") {
		t.Errorf("an instruction without text: %q", got)
	}
}

// TestNoRoom: without an address the fault is the stack's overflow only if the instruction reaches below an almost full
// stack, and only if the kernel sent the signal.
func TestNoRoom(t *testing.T) {
	const bottom = 0x10000000
	stack := area(bottom, bottom+0x100000, rw)
	for _, c := range []struct {
		name string
		sp   uint64
		s    Signal
		want bool
	}{
		{"full", bottom + 4, sig(sigSegv, siKernel), true},
		{"room", bottom + 0x8000, sig(sigSegv, siKernel), false},
		{"with an address", bottom + 4, sig(sigSegv, 1), false},
		{"a segment's end", bottom + 4, sig(sigBus, siKernel), false},
	} {
		in := over(arch.AMD64, regs{"rsp": c.sp}, stack)
		in.Signal = c.s
		if inst, err := disasm.Decode(arch.AMD64, []byte{0x55}, 0); err == nil {
			in.Inst = &inst
		}
		if r, ok := in.noRoom(); ok != c.want || ok && r.Kind != report.CrashStackOverflow {
			t.Errorf("%s: %v, %s", c.name, ok, r.Text)
		}
	}
}
