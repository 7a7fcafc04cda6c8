package python

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// TestShown: a value is written once for all variables that have it, with the same limits; what the budget cut short is not kept.
func TestShown(t *testing.T) {
	r, m := over(make([]byte, 4096), newest)
	m.left = 0
	if s := r.textOf(base+64, tasks.Limits{}); s != "..." {
		t.Fatalf("without a budget: %q", s)
	}
	m.left = 1000
	want := r.textOf(base+64, tasks.Limits{})
	if want == "..." {
		t.Fatal("what was cut short is kept")
	}
	left := m.left
	if s := r.textOf(base+64, tasks.Limits{}); s != want || m.left != left {
		t.Errorf("the second time: %q, %d units of work", s, left-m.left)
	}
	if r.textOf(base+64, tasks.Limits{Depth: 1}); m.left == left {
		t.Error("other limits: not written again")
	}
	m.left = 1 << 20
	for i := range uint64(2 * maxShown) {
		r.textOf(base+i, tasks.Limits{})
	}
	if len(r.shown) != maxShown {
		t.Errorf("%d values are kept, not %d", len(r.shown), maxShown)
	}
}
