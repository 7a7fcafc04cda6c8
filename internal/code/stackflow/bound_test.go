package stackflow_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestBound: control does not come back from a call through a pointer at a fixed address to what does not return.
func TestBound(t *testing.T) {
	const base = 0x1000
	for name, c := range map[string]struct {
		code []byte
		ends bool
	}{
		"to what does not return":   {code("ff 15 02 00 00 00 c3 90", "05 20 00 00 00 00 00 00"), true},
		"to what may":               {code("ff 15 02 00 00 00 c3 90", "06 20 00 00 00 00 00 00"), false},
		"of which a byte is lost":   {code("ff 15 02 00 00 00 c3 90", "05 20 00 00 00 00 00"), false},
		"of which all is":           {code("ff 15 02 00 00 00 c3 90"), false},
		"of what a register has":    {code("ff 90 08 10 00 00 c3 90", "05 20 00 00 00 00 00 00"), false},
		"through a register":        {code("ff d3 c3 90 90 90 90 90", "05 20 00 00 00 00 00 00"), false},
		"in a table":                {code("ff 14 c5 08 10 00 00 c3", "05 20 00 00 00 00 00 00"), false},
		"not through one, directly": {code("e8 00 10 00 00 c3 90 90", "05 20 00 00 00 00 00 00"), true}, // to 0x2005
	} {
		if _, steps := stackflow.Follow(arch.AMD64, zeroEnds{bytesAt{base, c.code}}, base, base+8, 64); len(steps) == 0 || !steps[0].Next {
			t.Errorf("%s, as what begins at 0 does not return: %+v", name, steps)
		}
		_, steps := stackflow.Follow(arch.AMD64, bytesAt{base, c.code}, base, base+8, 64)
		if len(steps) == 0 || steps[0].Addr != base || steps[0].Next == c.ends {
			t.Errorf("%s: %+v", name, steps)
		}
	}
}

// A zeroEnds is code where nothing but a function at 0 does not return.
type zeroEnds struct{ bytesAt }

func (zeroEnds) NoReturn(addr uint64) bool { return addr == 0 }
