package dwarfvars

import (
	"maps"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestPackKept(t *testing.T) {
	for _, want := range []map[arch.Reg]arch.RegMask{nil, {0: 1}, {3: 1 << 63, 40: 0x123456789, 0: 0}} {
		b := packKept(want)
		if got := unpackKept(b); !maps.Equal(got, want) {
			t.Errorf("%v became %v", want, got)
		}
		for n := range b { // a bad answer is no panic
			unpackKept(b[:n])
		}
	}
}
