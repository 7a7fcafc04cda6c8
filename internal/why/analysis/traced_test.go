package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/report"
)

// A digging heap reads much to find who allocated a block.
type digging struct {
	heap.Allocator
	reads *someReads
	asked int
}

func (d *digging) Beside(uint64) (heap.Block, bool) { return heap.Block{}, false }

func (d *digging) History(heap.Block) (heap.History, bool) {
	d.asked++
	d.reads.left -= 300
	return heap.History{}, false
}

// TestPastReadsBesides: to find who allocated a block uses nothing of what else may be read of the heap, and has a limit.
func TestPastReadsBesides(t *testing.T) {
	reads := &someReads{left: 50}
	d := &digging{reads: reads}
	p := &partlyRead{d, reads, 500}
	var e Engine
	for range 4 {
		e.history(p, heap.Block{}, &report.Block{})
	}
	if reads.left != 50 || p.past != 500-4*300 || d.asked != 4 {
		t.Errorf("%d left, %d for who allocated, asked %d times", reads.left, p.past, d.asked)
	}
	reads.left = 0
	e.history(p, heap.Block{}, &report.Block{})
	if d.asked != 4 {
		t.Error("what was read in part is asked")
	}
}
