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
		{[]uint8{foreign, aborts, nameless}, true},
		{[]uint8{foreign, aborts, nameless, leads, nameless}, true},
		{[]uint8{foreign, aborts, leads}, false},
		{[]uint8{foreign, aborts, foreign, nameless}, false},
		{[]uint8{foreign, aborts, own, nameless}, false},
		{[]uint8{foreign, aborts}, false},
	} {
		if got := endsAt(c.kinds); got != c.want {
			t.Errorf("%v: %v", c.kinds, got)
		}
	}
}

// TestOnStack: calls whose native frames are younger than the stack are left out, whatever is not known stays.
func TestOnStack(t *testing.T) {
	list := []pyFrame{{at: 1, stack: 0x100}, {at: 2, stack: 0x100}, {at: 3, stack: 0x200}, {at: 4}, {at: 5, stack: 0x80}}
	for sp, first := range map[uint64]uint64{0x80: 1, 0x100: 1, 0x101: 3, 0x201: 4} {
		if got := onStack(list, sp); len(got) == 0 || got[0].at != first {
			t.Errorf("above %#x: %+v, want the first to be %d", sp, got, first)
		}
	}
	if got := onStack(list[:3], 0x300); got != nil {
		t.Errorf("none is on the stack: %+v", got)
	}
}
