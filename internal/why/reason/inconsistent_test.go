package reason

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestInconsistencies(t *testing.T) {
	for _, c := range []struct {
		name string
		p    at
		s    Signal
		want []string
	}{
		{"division without one", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, sig(sigFPE, 1), []string{report.InconsistentDivision}},
		{"arm64 divides without a fault", at{a: arch.ARM64, code: "1f2003d5"}, sig(sigFPE, 1), nil},
		{"s390 divides, with pc behind it", at{a: arch.S390X, code: "0700"}, sig(sigFPE, 1), nil},
		{"a division that overflows", at{a: arch.AMD64, code: idivECX, regs: regs{"rax": 0, "rdx": 1, "rcx": 1}}, sig(sigFPE, 1), nil},
		{"floating point", at{a: arch.AMD64, code: nop}, sig(sigFPE, 3), nil},
		{"arm64, privileged", at{a: arch.ARM64, code: "1f2003d5"}, sig(sigIll, 5), nil},
		{"privileged", at{a: arch.AMD64, code: nop}, sig(sigIll, 5), []string{report.InconsistentPrivileged}},
		{"readable", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, segv(1, data), []string{report.InconsistentAllowed}},
		{"writable", at{a: arch.ARM, code: "180083e5", regs: regs{"r3": data}}, segv(1, data+0x18), []string{report.InconsistentAllowed}},
		{"not writable", at{a: arch.AMD64, code: storeRAX, regs: regs{"rax": ro}}, segv(2, ro), nil},
		{"readable, no map", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}, blind: true}, segv(1, data), nil},
		{"readable, the page may be missing", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, bus(99, data), nil},
		{"elsewhere, one byte", at{a: arch.AMD64, code: byteRAX, regs: regs{"rax": data}}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"elsewhere, arithmetic", at{a: arch.AMD64, code: incRAX, regs: regs{"rax": data}}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"elsewhere, no size", at{a: arch.AMD64, code: "0fae20", regs: regs{"rax": data}}, segv(1, 0x6000000), nil}, // xsave [rax]
		{"elsewhere, register not known", at{a: arch.AMD64, code: loadRAX}, segv(1, 0x6000000), nil},
		{"elsewhere, arm", at{a: arch.ARM, code: "000093e5", regs: regs{"r3": data}}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"elsewhere, RISC-V", at{a: arch.RISCV64, code: "03250500", regs: regs{"a0": data}}, segv(1, 0x6000000), nil},
		{"no access that is known of", at{a: arch.AMD64, code: "0fa2"}, segv(1, 0x6000000), nil}, // cpuid
		{"system call", at{a: arch.AMD64, code: "0f05"}, segv(1, 0x6000000), nil},
		{"the code itself", at{a: arch.AMD64, code: nop}, segv(1, text), nil},
		{"elsewhere", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"elsewhere, i386", at{a: arch.X86, code: storeRAX, regs: regs{"eax": data}}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"elsewhere, arm64", at{a: arch.ARM64, code: "000040f9", regs: regs{"x0": data}}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"no access at all", at{a: arch.AMD64, code: nop}, segv(1, 0x6000000), []string{report.InconsistentAccess}},
		{"the page after", at{a: arch.AMD64, code: "488b00", regs: regs{"rax": data + 0xffc}}, segv(2, data+0x1000), nil},
		{"string", at{a: arch.AMD64, code: "f3a4", regs: regs{"rsi": data, "rdi": data, "rcx": 9}}, segv(1, 0x6000000), nil},
		{"gather", at{a: arch.AMD64, code: "c4e26d900488", regs: regs{"rax": data}}, segv(1, 0x6000000), nil},
		{"possible address", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, segv(siKernel, 0), []string{report.InconsistentNonCanonical}},
		{"possible address, i386", at{a: arch.X86, code: loadRAX, regs: regs{"eax": data}}, segv(siKernel, 0), nil},
		{"address not known", at{a: arch.AMD64, code: loadRAX}, segv(siKernel, 0), nil},
		{"no address", at{a: arch.AMD64, code: nop}, segv(siKernel, 0), []string{report.InconsistentNonCanonical}},
		{"return", at{a: arch.AMD64, code: ret}, segv(siKernel, 0), nil},
		{"nothing to say of", at{a: arch.AMD64, code: "0f0100", regs: regs{"rax": data}}, segv(siKernel, 0), nil},
		{"bus", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, bus(2, data), nil},
		{"no code", at{a: arch.AMD64}, segv(1, 0x6000000), nil},
		{"no code of the signal", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, Signal{Number: sigSegv}, nil},
		{"no code of the signal, an address", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, Signal{Number: sigSegv, Addr: 0x6000000, HasAddr: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.p.input(t)
			in.Signal = c.s
			if r := Why(in); !slices.Equal(r.Inconsistencies, c.want) {
				t.Errorf("%s: %v, want %v", r.Text, r.Inconsistencies, c.want)
			}
		})
	}
}

// TestInconsistentExceptions: exceptions have no code of a signal.
func TestInconsistentExceptions(t *testing.T) {
	for _, c := range []struct {
		name string
		p    at
		e    Exception
		want []string
	}{
		{"division without one", at{a: arch.AMD64, code: nop}, win(winDivByZero), []string{report.InconsistentDivision}},
		{"Mach, division without one", at{a: arch.AMD64, code: nop}, Exception{Of: MachExceptions, Code: 3, Flags: 1}, []string{report.InconsistentDivision}},
		{"privileged", at{a: arch.AMD64, code: nop}, win(winPrivileged), []string{report.InconsistentPrivileged}},
		{"readable", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, win(winAccessViolation, 0, data), []string{report.InconsistentAllowed}},
		{"code runs", at{a: arch.AMD64, code: nop}, win(winAccessViolation, 8, text), []string{report.InconsistentAllowed}},
		{"data does not", at{a: arch.AMD64, code: nop}, win(winAccessViolation, 8, data), nil},
		{"no parameters", at{a: arch.AMD64, code: nop}, win(winAccessViolation), nil},
	} {
		if r := WhyException(c.p.input(t), c.e); !slices.Equal(r.Inconsistencies, c.want) {
			t.Errorf("%s: %s: %v, want %v", c.name, r.Text, r.Inconsistencies, c.want)
		}
	}
}

// TestPlainCode: which instructions a processor never refuses to a program, on x86.
func TestPlainCode(t *testing.T) {
	for code, want := range map[string]bool{
		"89c8": true, "b801000000": true, loadRAX: true, storeRAX: true, "8d5008": true, nop: true, "f30f1efa": true, pushRBP: true, "5d": true,
		"e800000000": true, ret: true, "eb00": true, "7400": true, idivECX: true, "4883c408": true, "4883ec08": true, "488d642408": true, "c9": true,
		hlt: false, "0f05": false, "cd29": false, "ec": false, "0f22c0": false, "0f30": false, "fa": false, "cb": false, "48cf": false, "ff18": false,
	} {
		in := at{a: arch.AMD64, code: code}.input(t)
		if got := plainCode(in.Inst.Kind); got != want {
			t.Errorf("%s (%v): %v", code, in.Inst.Kind, got)
		}
	}
}
