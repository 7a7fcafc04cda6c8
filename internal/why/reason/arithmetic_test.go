package reason

import (
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestArithmetic: what the code says, and what the division at pc adds to it.
func TestArithmetic(t *testing.T) {
	const (
		zero, fits = "integer division by zero", "integer division overflow: the quotient does not fit"
		least      = "integer division overflow: the most negative number divided by -1"
		either     = "integer division by zero, or its quotient does not fit"
		minus1     = ^uint64(0)

		idivRCX, idivCX, idivCL, divECX = "48f7f9", "66f7f9", "f6f9", "f7f1"
	)
	x64, x86 := arch.AMD64, arch.X86
	divide := func(code string, rdx, rax, rcx uint64) at {
		return at{a: x64, code: code, regs: regs{"rdx": rdx, "rax": rax, "rcx": rcx}}
	}
	blind := divide(idivMem, 0, data, 0)
	blind.noWords = true
	for _, c := range []struct {
		p          at
		code       int
		kind, text string
	}{
		{at{a: x64, code: nop}, 0, report.CrashFloat, "arithmetic error"},
		{at{a: x64}, 0, report.CrashFloat, "arithmetic error"},
		{at{a: x64}, 1, report.CrashDivZero, either},
		{at{a: x86}, 1, report.CrashDivZero, either},
		{at{a: arch.ARM64}, 1, report.CrashDivZero, zero},
		{at{a: x64, code: nop}, 1, report.CrashDivZero, zero},
		{at{a: x64, code: "89c8", regs: regs{"rcx": 3}}, 1, report.CrashDivZero, zero}, // mov eax, ecx
		{at{a: arch.S390X}, 1, report.CrashDivZero, either},
		{at{a: arch.S390X, code: "b90d0024", regs: regs{"r4": 3}}, 1, report.CrashDivOverflow, fits}, // dsgr %r2, %r4
		{at{a: arch.S390X, code: "b90d0024", regs: regs{"r4": minus1}}, 1, report.CrashDivOverflow, fits},
		{at{a: arch.S390X, code: "b90d0024", regs: regs{"r4": 0}}, 1, report.CrashDivZero, zero},
		{at{a: arch.S390X, code: "b91d0024", regs: regs{"r4": 3 << 32}}, 1, report.CrashDivZero, zero},                                               // dsgfr %r2, %r4
		{at{a: arch.S390X, code: "5d203000", regs: regs{"r3": data}, words: map[uint64]uint64{data: 3}}, 1, report.CrashDivZero, zero},               // d %r2, 0(%r3)
		{at{a: arch.S390X, code: "5d203000", regs: regs{"r3": data}, words: map[uint64]uint64{data: 3 << 32}}, 1, report.CrashDivOverflow, fits},     // d %r2, 0(%r3)
		{at{a: arch.S390X, code: "e3203000000d", regs: regs{"r3": data}, words: map[uint64]uint64{data: 3 << 32}}, 1, report.CrashDivOverflow, fits}, // dsg %r2, 0(%r3)
		{at{a: arch.S390X, code: "e3203000000d", regs: regs{"r3": data}, words: map[uint64]uint64{data: 0}}, 1, report.CrashDivZero, zero},           // dsg %r2, 0(%r3)
		{at{a: x64}, 2, report.CrashIntOverflow, "integer overflow"},
		{at{a: x64}, 3, report.CrashFloat, "floating-point division by zero"},
		{at{a: x64}, 8, report.CrashBounds, "subscript out of range"},
		{at{a: x64}, 9, report.CrashFloat, "arithmetic error"},
		{at{a: x64}, 99, report.CrashFloat, "arithmetic error"},
		{at{a: x64, code: idivECX, regs: regs{"rax": 1}}, 0, report.CrashFloat, "arithmetic error"}, // the divisor is not known
		{divide(idivECX, 0, 1, 0), 0, report.CrashDivZero, zero},
		{divide(idivECX, 0, 1, 0), 2, report.CrashIntOverflow, "integer overflow"},
		{divide(idivECX, 0, 1, 0), 3, report.CrashFloat, "floating-point division by zero"},
		{divide(idivECX, 0, 1, 0), 8, report.CrashBounds, "subscript out of range"},
		{divide(idivECX, 0, 1, 0), 99, report.CrashFloat, "arithmetic error"},

		{divide(idivECX, 0, 1, 7<<32), 1, report.CrashDivZero, zero},
		{divide(idivECX, 3, 1, 2), 1, report.CrashDivOverflow, fits},
		{at{a: x64, code: idivECX, regs: regs{"rax": 1}}, 1, report.CrashDivZero, zero}, // the divisor is not known
		{blind, 1, report.CrashDivZero, zero},
		{at{a: x64, code: idivMem, regs: regs{"rax": data}, words: map[uint64]uint64{data: 7 << 32}}, 1, report.CrashDivZero, zero},
		{at{a: x64, code: idivMem, regs: regs{"rax": data}, words: map[uint64]uint64{data: 7<<32 | 5}}, 1, report.CrashDivOverflow, fits},

		{divide(idivECX, minus1, 1<<31, 0xffffffff), 1, report.CrashDivOverflow, least},
		{divide(idivECX, 0xffffffff, 5<<32|1<<31, 6<<32|0xffffffff), 1, report.CrashDivOverflow, least},
		{divide(idivECX, minus1, 1<<31, 0xfffffffe), 1, report.CrashDivOverflow, fits},
		{divide(idivECX, minus1, 1<<31|1, 0xffffffff), 1, report.CrashDivOverflow, fits},
		{divide(idivECX, 5, 1<<31, 0xffffffff), 1, report.CrashDivOverflow, fits},
		{divide(divECX, minus1, 1<<31, 0xffffffff), 1, report.CrashDivOverflow, fits},
		{divide(idivRCX, minus1, 1<<63, minus1), 1, report.CrashDivOverflow, least},
		{divide(idivRCX, minus1, 1<<63, 0xffffffff), 1, report.CrashDivOverflow, fits},
		{divide(idivCX, 0xffff, 0x8000, 0xffff), 1, report.CrashDivOverflow, least},
		{divide(idivCX, 0, 0x8000, 0xffff), 1, report.CrashDivOverflow, fits},
		{divide(idivCL, 0, 0xff80, 0xff), 1, report.CrashDivOverflow, least},
		{divide(idivCL, minus1, 0x7f80, 0xff), 1, report.CrashDivOverflow, fits},
		{at{a: x64, code: idivECX, regs: regs{"rax": 1 << 31, "rcx": minus1}}, 1, report.CrashDivOverflow, fits}, // rdx is not known
		{at{a: x86, code: idivECX, regs: regs{"edx": 0xffffffff, "eax": 1 << 31, "ecx": 0xffffffff}}, 1, report.CrashDivOverflow, least},
		{at{a: arch.X32, code: idivECX, regs: regs{"rdx": 0xffffffff, "rax": 1 << 31, "rcx": 0xffffffff}}, 1, report.CrashDivOverflow, least},
	} {
		in := c.p.input(t)
		in.Signal = sig(sigFPE, c.code)
		if c.code == 0 {
			in.Signal = Signal{Number: sigFPE, Code: 3} // which means nothing
		}
		in.Signal.Addr, in.Signal.HasAddr = text, true
		r := Why(in)
		if r.Kind != c.kind || r.Text != c.text || r.AtInst != (in.Inst != nil) {
			t.Errorf("%s, code %d, at %q, %v: %s: %q; want %s: %q", c.p.a.Name, c.code, c.p.code, c.p.regs, r.Kind, r.Text, c.kind, c.text)
		}
	}
}
