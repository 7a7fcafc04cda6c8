package analysis

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// An arena is an allocator of the test's own: all of one mapping is one block.
type arena struct{ m libstate.Mapping }

func (a arena) Name() string { return "arena" }

func (a arena) BlockAt(addr uint64) (b heap.Block, ok bool) {
	a.Blocks(func(it heap.Block) bool {
		b, ok = it, it.Contains(addr)
		return false
	})
	return b, ok
}

func (a arena) Blocks(yield func(heap.Block) bool) {
	yield(heap.Block{Start: uint64(a.m.Start), Size: uint64(a.m.End - a.m.Start)})
}
func (arena) Records() [][2]uint64   { return nil }
func (arena) Damages() []heap.Damage { return nil }

// TestAddedAllocator: an allocator is one file, and one line in the list of those that are tried. What is said of addresses and of memory has it then.
func TestAddedAllocator(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	var m libstate.Mapping
	for _, m = range o.s.Mappings() {
		if m.Perm&libstate.Write != 0 && m.Path == "" {
			break
		}
	}
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	heapFinders = append(known[:len(known):len(known)], func(heap.Process, heapBounds) heap.Allocator { return arena{m} })
	c := o.crash(t, false, false)
	p := c.At(t.Context(), m.Start+8)
	if p.Block == nil || p.Block.Allocator != "arena" || p.Block.Size != uint64(m.End-m.Start) {
		t.Errorf("%+v", p)
	}
	memory, _, err := c.Memory(t.Context(), MemoryOptions{})
	if err != nil || !slices.ContainsFunc(memory.Allocators, func(a report.MemoryAllocator) bool { return a.Name == "arena" && a.Used.Count == 1 }) {
		t.Errorf("%+v, %v", memory, err)
	}
}
