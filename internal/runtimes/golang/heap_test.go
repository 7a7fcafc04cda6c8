package golang_test

import (
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// heapOf is the heap of a process; nil if it is not found.
func heapOf(t *testing.T, p *tasks.Process) heap.Allocator {
	t.Helper()
	r, err := golang.Find(p)
	if err != nil || r == nil {
		return nil
	}
	return r.(heap.Owner).Heap()
}

// walk tests that blocks come by address, apart from one another, and counts them.
func walk(t *testing.T, h heap.Allocator) (used, free int) {
	t.Helper()
	past := uint64(0)
	h.Blocks(func(b heap.Block) bool {
		if b.Start < past || b.End() < b.Start || b.Size == 0 {
			t.Fatalf("%+v after %#x", b, past)
		}
		if past = b.End(); b.Free {
			free++
		} else {
			used++
		}
		return used+free < 1<<22
	})
	return used, free
}

// TestHeap: the heap of a stripped program is found, and what damage makes of it is still one whose blocks are apart.
func TestHeap(t *testing.T) {
	open(t, func(p *tasks.Process) {
		h := heapOf(t, p)
		if h == nil {
			t.Fatal("no heap")
		}
		used, free := walk(t, h)
		t.Logf("%d blocks in use, %d free", used, free)
		if used < 100 || used > 10_000 || free < 100 {
			t.Errorf("%d blocks in use, %d free", used, free)
		}
		n := 0
		h.Blocks(func(b heap.Block) bool {
			if got, ok := h.BlockAt(b.Start + b.Size/2); !ok || got != b {
				t.Errorf("%+v at the middle of %+v, %v", got, b, ok)
			}
			n++
			return n < 500
		})
		for seed := range uint64(60) {
			q := with(p, &damaged{ProcessState: p.State, flip: func(at unwind.Address, b []byte) {
				rng := rand.New(rand.NewPCG(seed, at>>6)) // the same bytes whenever they are read
				for i := range b {
					if rng.IntN(400) == 0 {
						b[i] = byte(rng.Uint32())
					}
				}
			}})
			if h := heapOf(t, q); h != nil {
				walk(t, h)
			}
		}
	})
}
