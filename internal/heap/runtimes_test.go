package heap_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
)

type ownHeap struct{ heap.Allocator }

// TestOwnHeap: a heap is looked for once, and one that there is none of is no Allocator.
func TestOwnHeap(t *testing.T) {
	for _, c := range []struct {
		heap    *ownHeap
		err     error
		unknown string
	}{{heap: new(ownHeap)}, {}, {err: errors.New("why"), unknown: "Toy's: why"}} {
		n := 0
		o := heap.OwnHeap[*ownHeap]{Find: func() (*ownHeap, error) { n++; return c.heap, c.err }}
		if got := o.Allocator(); (got != nil) != (c.heap != nil) {
			t.Errorf("%v", got)
		}
		if got := o.Unknown("Toy"); got != c.unknown || o.Known() != c.heap || n != 1 {
			t.Errorf("%q, want %q; looked for %d times", got, c.unknown, n)
		}
	}
}
