package reason

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestIllegal: what the code says, and what the instruction adds to it.
func TestIllegal(t *testing.T) {
	const (
		unreached = ", placed where code must not be reached"
		forged    = "pointer authentication failed: the signature of a return address or pointer is wrong"
		autiasp   = "bf2303d5"
	)
	for _, c := range []struct {
		p          at
		code       int
		kind, text string
	}{
		{at{a: arch.AMD64}, 0, report.CrashIllegalInstruction, "illegal instruction"},
		{at{a: arch.AMD64}, 1, report.CrashIllegalInstruction, "illegal opcode"},
		{at{a: arch.AMD64}, 4, report.CrashIllegalInstruction, "illegal trap"},
		{at{a: arch.AMD64}, 5, report.CrashPrivileged, "privileged opcode"},
		{at{a: arch.AMD64}, 6, report.CrashPrivileged, "privileged register"},
		{at{a: arch.AMD64}, 7, report.CrashIllegalInstruction, "coprocessor error"},
		{at{a: arch.AMD64}, 99, report.CrashIllegalInstruction, "illegal instruction"},
		{at{a: arch.AMD64, code: ud2}, 0, report.CrashTrap, "trap instruction (ud2)" + unreached},
		{at{a: arch.AMD64, code: ud2}, 5, report.CrashTrap, "trap instruction (ud2)" + unreached},
		{at{a: arch.AMD64, code: "cc"}, 2, report.CrashIllegalInstruction, "illegal operand"},
		{at{a: arch.ARM64, code: autiasp}, 2, report.CrashControlFlow, forged},
		{at{a: arch.ARM64, code: autiasp}, 1, report.CrashIllegalInstruction, "illegal opcode"},
		{at{a: arch.ARM64, code: autiasp}, 0, report.CrashIllegalInstruction, "illegal instruction"},
		{at{a: arch.ARM64, code: "ff0b5fd6"}, 2, report.CrashControlFlow, forged},                   // retaa
		{at{a: arch.ARM64, code: "110a1fd7"}, 2, report.CrashControlFlow, forged},                   // braa x16, x17
		{at{a: arch.ARM64, code: "110a3fd7"}, 2, report.CrashControlFlow, forged},                   // blraa x16, x17
		{at{a: arch.ARM64, code: "200420f8"}, 2, report.CrashControlFlow, forged},                   // ldraa x0, [x1]
		{at{a: arch.ARM64, code: "2010c1da"}, 2, report.CrashControlFlow, forged},                   // autia x0, x1
		{at{a: arch.ARM64, code: "2000c1da"}, 2, report.CrashIllegalInstruction, "illegal operand"}, // pacia x0, x1
		{at{a: arch.ARM64, code: "1f2003d5"}, 2, report.CrashIllegalInstruction, "illegal operand"},
		{at{a: arch.ARM64}, 2, report.CrashIllegalInstruction, "illegal operand"},
		{at{a: arch.S390X, code: "c0e500000000"}, 2, report.CrashIllegalInstruction, "illegal operand"}, // brasl %r14, 0
	} {
		in := c.p.input(t)
		in.Signal = sig(sigIll, c.code)
		if c.code == 0 {
			in.Signal = Signal{Number: sigIll, Code: 5} // which means nothing
		}
		in.Signal.Addr, in.Signal.HasAddr = text, true
		if r := Why(in); r.Kind != c.kind || r.Text != c.text || r.AtInst != (in.Inst != nil) {
			t.Errorf("%s, code %d, at %q: %s: %q; want %s: %q", c.p.a.Name, c.code, c.p.code, r.Kind, r.Text, c.kind, c.text)
		}
	}
}

// TestTrapped: pc is at the instruction that trapped, or behind it.
func TestTrapped(t *testing.T) {
	const unreached = ", placed where code must not be reached"
	x64, a64 := arch.AMD64, arch.ARM64
	for _, c := range []struct {
		p          at
		code       int
		kind, text string
		atInst     bool
	}{
		{at{a: x64, code: nop}, 0, report.CrashBreakpoint, "breakpoint or single step", false},
		{at{a: x64, code: nop}, 1, report.CrashBreakpoint, "breakpoint (TRAP_BRKPT)", false},
		{at{a: x64, code: nop}, 2, report.CrashBreakpoint, "single step (TRAP_TRACE)", false},
		{at{a: x64, code: ud2}, 2, report.CrashBreakpoint, "single step (TRAP_TRACE)", false},
		{at{a: x64, code: ud2}, 3, report.CrashTrap, "trap instruction (ud2)" + unreached, true},
		{at{a: x64, code: ud2}, 4, report.CrashBreakpoint, "hardware breakpoint (TRAP_HWBKPT)", false},
		{at{a: x64, code: ud2}, 5, report.CrashTrap, "trap instruction (ud2)" + unreached, true},
		{at{a: x64, code: "cc"}, 0, report.CrashBreakpoint, "breakpoint instruction (int3)", true},
		{at{a: x64, code: nop}, 99, report.CrashBreakpoint, "breakpoint or single step", false},
		{at{a: x64, code: nop}, siKernel, report.CrashBreakpoint, "breakpoint instruction (int3)", false},
		{at{a: x64}, siKernel, report.CrashBreakpoint, "breakpoint instruction (int3)", false},
		{at{a: a64, code: "1f2003d5"}, siKernel, report.CrashBreakpoint, "sent by the kernel (SI_KERNEL)", false},
	} {
		in := c.p.input(t)
		in.Signal = sig(sigTrap, c.code)
		if c.code == 0 {
			in.Signal = Signal{Number: sigTrap, Code: siKernel} // which means nothing
		}
		if r := Why(in); r.Kind != c.kind || r.Text != c.text || r.AtInst != c.atInst {
			t.Errorf("%s, code %d, at %q: %s: %q, at the instruction: %v; want %s: %q", c.p.a.Name, c.code, c.p.code, r.Kind, r.Text, r.AtInst, c.kind, c.text)
		}
	}
}

// TestTrapNumbers: the numbers that compilers put into trap instructions.
func TestTrapNumbers(t *testing.T) {
	const (
		unreached = "trap instruction (%), placed where code must not be reached"
		undefined = "undefined behaviour found: "
		forged    = "pointer authentication failed: the signature of a pointer is wrong (%)"
	)
	brk := func(n uint32) string {
		return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, 0xd4200000|n<<5))
	}
	for _, c := range []struct {
		a          *arch.Arch
		code       string
		kind, text string // % is the instruction
	}{
		{arch.AMD64, "670fb900", report.CrashTrap, undefined + "integer overflow in an addition (%)"},
		{arch.AMD64, "670fb94001", report.CrashTrap, undefined + "unreachable code reached (%)"},
		{arch.X86, "670fb94018", report.CrashTrap, undefined + "variable-length array whose length is not positive (%)"},
		{arch.AMD64, "670fb94019", report.CrashTrap, undefined + "check 25 (%)"},
		{arch.AMD64, "0fb900", report.CrashTrap, unreached},
		{arch.AMD64, "670fb901", report.CrashTrap, unreached},
		{arch.AMD64, "670fb94101", report.CrashTrap, unreached},
		{arch.ARM64, brk(0), report.CrashBreakpoint, "breakpoint instruction (%)"},
		{arch.ARM64, brk(1), report.CrashTrap, unreached},
		{arch.ARM64, brk(0x54ff), report.CrashTrap, unreached},
		{arch.ARM64, brk(0x5500), report.CrashTrap, undefined + "integer overflow in an addition (%)"},
		{arch.ARM64, brk(0x5518), report.CrashTrap, undefined + "variable-length array whose length is not positive (%)"},
		{arch.ARM64, brk(0x5519), report.CrashTrap, undefined + "check 25 (%)"},
		{arch.ARM64, brk(0x55ff), report.CrashTrap, undefined + "check 255 (%)"},
		{arch.ARM64, brk(0x5600), report.CrashTrap, unreached},
		{arch.ARM64, brk(0xc46f), report.CrashTrap, unreached},
		{arch.ARM64, brk(0xc470), report.CrashControlFlow, forged},
		{arch.ARM64, brk(0xc473), report.CrashControlFlow, forged},
		{arch.ARM64, brk(0xc474), report.CrashTrap, unreached},
		{arch.ARM64, brk(0xf000), report.CrashBreakpoint, "breakpoint instruction (%)"},
		{arch.ARM64, brk(0xf001), report.CrashTrap, unreached},
		{arch.ARM64, brk(0xf003), report.CrashAbort, "the program ended itself (fast fail) (%)"},
		{arch.ARM64, brk(0xf004), report.CrashDivZero, "integer division by zero (%)"},
		{arch.ARM64, brk(0xf005), report.CrashTrap, unreached},
		{arch.ARM64, "01550000", report.CrashTrap, unreached}, // udf #0x5501
		{arch.ARM, "f000f0e7", report.CrashTrap, unreached},
		{arch.S390X, "a7f40001", report.CrashTrap, unreached}, // j .+2
		{arch.S390X, "0001", report.CrashTrap, unreached},
		{arch.RISCV64, "670fb900", "", ""}, // jalr
		{arch.AMD64, nop, "", ""},
	} {
		in := at{a: c.a, code: c.code}.input(t)
		want := strings.Replace(c.text, " (%)", in.instText(), 1)
		if kind, text := in.trap(); kind != c.kind || text != want {
			t.Errorf("%s, %s: %s: %q; want %s: %q", c.a.Name, c.code, kind, text, c.kind, want)
		}
	}
	in := at{a: arch.AMD64}.input(t)
	if kind, text := in.trap(); kind != "" || text != "" {
		t.Errorf("no instruction: %s: %q", kind, text)
	}
}

// TestPassed: s390's pc is behind an instruction that it suppressed; the signal's address is that of the instruction.
func TestPassed(t *testing.T) {
	for _, c := range []struct {
		a      *arch.Arch
		code   string
		number int
		addr   uint64 // 0 if not known
		atInst bool
	}{
		{arch.S390X, "b90d0024", sigFPE, text, true}, {arch.S390X, "b90d0024", sigFPE, text - 4, false}, {arch.S390X, "b90d0024", sigFPE, 0, false},
		{arch.S390X, "b90d0024", sigIll, text, true}, {arch.S390X, "b90d0024", sigIll, text - 4, false},
		{arch.S390X, "b90d0024", sigSegv, text - 4, true},
		{arch.AMD64, nop, sigIll, text - 4, true}, {arch.AMD64, "", sigIll, text, false},
		{arch.S390X, "a7f40001", sigTrap, text, true}, {arch.S390X, "a7f40001", sigTrap, text - 4, false}, // j .+2
	} {
		in := at{a: c.a, code: c.code}.input(t)
		in.Signal = Signal{Number: c.number, Code: 1, HasInfo: true, Addr: c.addr, HasAddr: c.addr != 0}
		if r := Why(in); r.AtInst != c.atInst {
			t.Errorf("%s, signal %d at %#x: %s: at the instruction: %v", c.a.Name, c.number, c.addr, r.Text, r.AtInst)
		}
	}
	for number, want := range map[int]string{sigIll: "illegal opcode", sigFPE: "integer division by zero"} {
		if r := Why(Input{Signal: sig(number, 1)}); r.Text != want {
			t.Errorf("no architecture: %+v", r)
		}
	}
}
