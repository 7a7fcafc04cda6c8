package python

import "testing"

// TestEndsAt: a call has ended the process only if nothing but what leads from call to call is between.
func TestEndsAt(t *testing.T) {
	for _, c := range []struct {
		kinds []uint8
		want  bool
	}{
		{nil, false},
		{[]uint8{foreign, ends}, true},
		{[]uint8{foreign, ends, leads, leads}, true},
		{[]uint8{foreign, ends, foreign}, false},
		{[]uint8{foreign, ends, own, leads}, false},
		{[]uint8{leads, leads}, false},
	} {
		if got := endsAt(c.kinds); got != c.want {
			t.Errorf("%v: %v", c.kinds, got)
		}
	}
}
