package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCheckedFor: what follows a check of a pointer that uses the register is what it was checked for. An operand of nop is none.
func TestCheckedFor(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	const check, nop, member, compare, ret = "\x84\x00", "\x0f\x1f\x40\x00", "\x48\x8b\x48\x18", "\x48\x83\xfb\x0a", "\xc3"
	for name, c := range map[string]struct {
		code string
		disp int64
		ok   bool
	}{
		"a member":             {member, 0x18, true},
		"nothing":              {compare, 0, false},
		"padding":              {nop + compare, 0, false},
		"padding and a member": {nop + member, 0x18, true},
	} {
		p := newPair()
		died, _ := p.crash(t, o)
		code := machine(check + c.code + ret)
		w := &witness{in: died.question, code: provenance.New(arch.AMD64, provenance.ABIOf(arch.AMD64, false), code, machineStart, machineStart+uint64(len(code)))}
		inst, ok := w.code.Inst(machineStart)
		if !ok || !nilCheck(&inst, arch.AMD64) {
			t.Fatalf("%s: %v is no check", name, inst)
		}
		m, ok := w.checkedFor(&inst)
		if ok != c.ok || m.Disp != c.disp {
			t.Errorf("%s: %+v, %v", name, m, ok)
		}
	}
}
