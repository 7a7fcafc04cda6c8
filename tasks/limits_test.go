package tasks

import "testing"

func TestLimitsAt(t *testing.T) {
	for _, c := range []struct {
		l           Limits
		outer, deep int
	}{{Limits{Elements: 9}, 9, 9}, {Limits{Elements: 9, Inner: 2}, 9, 2}, {Limits{Elements: 2, Inner: 9}, 2, 2}, {Limits{Elements: 3, Inner: -1}, 3, 3}} {
		if o, d := c.l.At(0), c.l.At(1); o != c.outer || d != c.deep {
			t.Errorf("%+v: %d, and %d within", c.l, o, d)
		}
	}
	if l := (Limits{Inner: 3}).Or(Limits{Elements: 5, Depth: 2}); l != (Limits{Elements: 5, Inner: 3, Depth: 2}) {
		t.Errorf("%+v", l)
	}
}
