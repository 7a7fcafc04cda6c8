package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestVsyscall(t *testing.T) {
	const page, good, bad, readable = 0xffffffffff600000, 0x7ffd00001000, 0x7ffd0000, 0x400000
	for _, c := range []struct {
		name         string
		arch         *arch.Arch
		pc, rdi, rsi uint64
		kind, text   string // of another reason: ""
	}{
		{"the first argument", arch.AMD64, page, 0x10, 0, report.CrashNullWrite, "bad pointer 0x10 given to the call gettimeofday"},
		{"the second", arch.AMD64, page, good, bad, report.CrashWildWrite, "bad pointer 0x7ffd0000 given to the call gettimeofday"},
		{"one that may not be written", arch.AMD64, page + 0x400, readable, 0, report.CrashWildWrite, "bad pointer 0x400000 given to the call time"},
		{"the greatest that null and an offset make", arch.AMD64, page + 0x400, nullZone - 1, 0, report.CrashNullWrite, "bad pointer 0xffff given"},
		{"the least beyond", arch.AMD64, page + 0x400, nullZone, 0, report.CrashWildWrite, "bad pointer 0x10000 given"},
		{"time has one argument", arch.AMD64, page + 0x400, good, bad, report.CrashBadCall, "call time of the page [vsyscall], which the kernel did not carry out"},
		{"null is allowed", arch.AMD64, page + 0x800, 0, 0, report.CrashBadCall, "call getcpu of the page"},
		{"between calls", arch.AMD64, page + 0x10, 0x10, 0, report.CrashBadCall, "where no call begins"},
		{"a fourth", arch.AMD64, page + 0xc00, 0x10, 0, report.CrashBadCall, "where no call begins"},
		{"before the page", arch.AMD64, page - 1, 0x10, 0, "", ""},
		{"behind it", arch.AMD64, page + 0x1000, 0x10, 0, "", ""},
		{"another machine", arch.ARM64, page, 0x10, 0, "", ""},
	} {
		mapping := mapped([]libstate.Mapping{area(good, good+1, rw), area(readable, readable+1, rd)})
		in := Input{Arch: c.arch, Signal: Signal{Number: sigSegv, Code: siKernel, HasInfo: true}, Mapping: mapping}
		in.Regs.Set(c.arch.PC, c.pc)
		if c.arch == arch.AMD64 {
			in.Regs.Set(arch.RDI, c.rdi)
			in.Regs.Set(arch.RSI, c.rsi)
		}
		if r, ok := (&Input{Arch: c.arch, Regs: in.Regs}).vsyscall(c.pc); ok {
			t.Errorf("%s, without a signal: %q", c.name, r.Text)
		}
		r, ok := in.vsyscall(c.pc)
		if ok != (c.kind != "") || r.Kind != c.kind || !strings.Contains(r.Text, c.text) || r.AtInst || r.HasAddr != ok {
			t.Errorf("%s: %v %s %q", c.name, ok, r.Kind, r.Text)
		}
		in.Mapping = nil
		if r, ok := in.vsyscall(c.pc); ok != (c.kind != "") || ok && r.Kind != report.CrashBadCall {
			t.Errorf("%s, without a map: %s %q", c.name, r.Kind, r.Text)
		}
		in.Mapping = mapping
		if c.kind != "" {
			if got := Why(in); got.Text != r.Text {
				t.Errorf("%s: why: %q", c.name, got.Text)
			}
		}
	}
}
