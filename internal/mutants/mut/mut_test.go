package mut

import "testing"

// with runs f with a mutant on, or tracing, and returns which mutants f marked.
func with(t *testing.T, id int, f func()) []byte {
	t.Helper()
	on, trace = id, make([]byte, 8)
	defer func() { on, trace = 0, nil }()
	f()
	return trace
}

// TestSwitches: a mutant that is on changes the outcome, and no other does.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      func() bool
		plain  bool
		mutant int // that changes it; 0 for none
	}{
		{"true", func() bool { return Cond(1, 2, false) }, false, 1},
		{"false", func() bool { return Cond(1, 2, true) }, true, 2},
		{"no mutant", func() bool { return Cond(0, 2, false) }, false, 0},
		{"< equal", func() bool { return Less(3, 5, 5) }, false, 3},
		{"< less", func() bool { return Less(3, 4, 5) }, true, 0},
		{"< more", func() bool { return Less(3, 6, 5) }, false, 0},
		{"<= equal", func() bool { return LessEqual(3, 5, 5) }, true, 3},
		{"<= less", func() bool { return LessEqual(3, 4, 5) }, true, 0},
		{"<= more", func() bool { return LessEqual(3, 6, 5) }, false, 0},
		{"> equal", func() bool { return Greater(3, "a", "a") }, false, 3},
		{"> more", func() bool { return Greater(3, "b", "a") }, true, 0},
		{"> less", func() bool { return Greater(3, "a", "b") }, false, 0},
		{">= equal", func() bool { return GreaterEqual(3, 5.0, 5.0) }, true, 3},
		{">= more", func() bool { return GreaterEqual(3, 6.0, 5.0) }, true, 0},
		{">= less", func() bool { return GreaterEqual(3, 4.0, 5.0) }, false, 0},
		{"number", func() bool { return Number[uint8](4, 255) == 255 }, true, 4},
		{"statement", func() bool { return Keep(5) }, true, 5},
	} {
		if got := c.f(); got != c.plain {
			t.Errorf("%s: %v without a mutant", c.name, got)
		}
		for id := 1; id < 8; id++ {
			with(t, id, func() {
				if got := c.f(); got != (c.plain != (id == c.mutant)) {
					t.Errorf("%s: %v with mutant %d", c.name, got, id)
				}
			})
		}
		marks := with(t, tracing, func() {
			if got := c.f(); got != c.plain {
				t.Errorf("%s: %v while tracing", c.name, got)
			}
		})
		for id, mark := range marks {
			if mark != 0 != (id == c.mutant && id != 0) {
				t.Errorf("%s: mutant %d marked: %d", c.name, id, mark)
			}
		}
	}
}
