package reason

import (
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestAccessThatTouches: the access to blame is the one that touches the address. An instruction's only access
// is to blame if its address is not known, and never if it is known to touch something else.
func TestAccessThatTouches(t *testing.T) {
	two := at{a: arch.AMD64, code: movsb, regs: regs{"rsi": 0x1000, "rdi": 0x2000}}
	one := at{a: arch.AMD64, code: loadRAX8, regs: regs{"rax": 0x1000}} // at rax + 8
	tagged := at{a: arch.ARM64, code: "000040f9", regs: regs{"x0": 0xb400007100000000}}
	unknown := at{a: arch.AMD64, code: loadRAX8}
	for _, c := range []struct {
		name string
		p    at
		addr uint64
		have bool
		want string // the access; "" if there is none
	}{
		{"the source", two, 0x1000, true, report.AccessRead},
		{"the destination", two, 0x2000, true, report.AccessWrite},
		{"behind the source", two, 0x1001, true, ""},
		{"before the source", two, 0xfff, true, ""},
		{"one of two, address unknown", two, 0x1000, false, ""},
		{"the only one", one, 0x1008, true, report.AccessRead},
		{"its last byte", one, 0x100b, true, report.AccessRead},
		{"behind its last byte", one, 0x100c, true, ""},
		{"before its first byte", one, 0x1007, true, ""},
		{"the only one, address unknown", one, 0, false, report.AccessRead},
		{"the only one, register unknown", unknown, 8, true, report.AccessRead},
		{"one of two, registers unknown", at{a: arch.AMD64, code: movsb}, 0, true, ""},
		{"a tagged pointer, a tagged address", tagged, 0xb400007100000004, true, report.AccessRead},
		{"a tagged pointer, an address without the tag", tagged, 0x7100000004, true, report.AccessRead},
		{"no code", at{a: arch.AMD64}, 0x1000, true, ""},
	} {
		in := c.p.input(t)
		acc := in.only()
		if c.have {
			acc = in.access(c.addr)
		}
		if got := direction(acc); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
