package arch

import "testing"

func TestVsyscall(t *testing.T) {
	for _, c := range []struct {
		arch *Arch
		addr Address
		name string
		ok   bool
	}{
		{AMD64, 0xffffffffff600000, "gettimeofday", true}, {AMD64, 0xffffffffff600400, "time", true}, {AMD64, 0xffffffffff600800, "getcpu", true},
		{AMD64, 0xffffffffff600c00, "", true}, {AMD64, 0xffffffffff600001, "", true}, {AMD64, 0xffffffffff600fff, "", true},
		{AMD64, 0xffffffffff601000, "", false}, {AMD64, 0xffffffffff5fffff, "", false}, {AMD64, 0, "", false},
		{ARM64, 0xffffffffff600000, "", false},
	} {
		if name, ok := c.arch.Vsyscall(c.addr); name != c.name || ok != c.ok {
			t.Errorf("%s %#x: %q %v, want %q %v", c.arch.Name, c.addr, name, ok, c.name, c.ok)
		}
	}
}
