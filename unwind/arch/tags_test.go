package arch

import "testing"

func TestDataAddress(t *testing.T) {
	for _, c := range []struct {
		arch       *Arch
		addr, want Address
	}{
		{ARM64, 0xb400007ffd001000, 0x7ffd001000}, {ARM64, 0x7ffd001000, 0x7ffd001000}, {ARM64, 0x0100000000000010, 0x10},
		{ARM64, 0xffffff8000001000, 0xffffff8000001000}, {ARM64, 0x3cffff8000001000, 0xffffff8000001000},
		{AMD64, 0xb400007ffd001000, 0xb400007ffd001000}, {ARM, 0xb4001000, 0xb4001000}, {nil, 0xb400007ffd001000, 0xb400007ffd001000},
	} {
		if got := c.arch.DataAddress(c.addr); got != c.want {
			t.Errorf("%v: %#x: %#x, want %#x", c.arch, c.addr, got, c.want)
		}
	}
}
