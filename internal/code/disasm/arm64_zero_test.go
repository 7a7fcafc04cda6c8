package disasm

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestTestsZero: a branch that compares a register with zero itself; no other branch does.
func TestTestsZero(t *testing.T) {
	for _, c := range []struct {
		text  string
		code  [4]byte
		reg   string
		size  uint8
		jumps bool
		ok    bool
	}{
		{"cbz x1", [4]byte{0x41, 0, 0, 0xb4}, "x1", 8, true, true},
		{"cbz w3", [4]byte{0x43, 0, 0, 0x34}, "x3", 4, true, true},
		{"cbnz x1", [4]byte{0x41, 0, 0, 0xb5}, "x1", 8, false, true},
		{"cbnz w1", [4]byte{0x41, 0, 0, 0x35}, "x1", 4, false, true},
		{"tbz x1, 0", [4]byte{0x41, 0, 0, 0x36}, "", 0, false, false},
		{"b.eq", [4]byte{0x40, 0, 0, 0x54}, "", 0, false, false},
		{"b", [4]byte{2, 0, 0, 0x14}, "", 0, false, false},
	} {
		in, err := Decode(arch.ARM64, c.code[:], 0x1000)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		r, size, jumps, ok := in.TestsZero()
		if ok != c.ok || size != c.size || jumps != c.jumps || ok && arch.ARM64.RegName(r) != c.reg {
			t.Errorf("%s: %v, %d bytes, jumps %v, %v", c.text, r, size, jumps, ok)
		}
	}
	in, err := Decode(arch.AMD64, []byte{0x74, 1}, 0)
	if _, _, _, ok := in.TestsZero(); ok || err != nil {
		t.Error("je compares nothing itself")
	}
}
