package analysis

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
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

// A narrow is an arena whose references of 32 bits are one number, which leads to its beginning.
type narrow struct {
	arena
	ref uint32
}

func (n narrow) Ranges() [][2]uint64 { return [][2]uint64{{uint64(n.m.Start), uint64(n.m.End)}} }
func (narrow) References(_, _ uint64, _ []byte, out []graph.Ref) []graph.Ref {
	return out
}

func (n narrow) Widened(v uint32) uint64 {
	if v == n.ref {
		return uint64(n.m.Start)
	}
	return 0
}

// TestNarrowRoots: what leads into a heap with references of 32 bits is looked for in halves of words, on stacks that are in use and in registers.
func TestNarrowRoots(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	frames := o.crash(t, false, false).stack
	sp, regs := uint64(frames[0].SP()), frames[0].Registers()
	var m, stack libstate.Mapping
	for _, x := range o.s.Mappings() {
		switch {
		case x.Perm&libstate.Write == 0:
		case uint64(x.Start) <= sp && sp < uint64(x.End):
			stack = x
		case m.End == 0 && x.Path == "":
			m = x
		}
	}
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	// A half of a word that no other place has.
	data := make([]byte, uint64(stack.End)-sp)
	if n, err := o.s.ReadMem(sp, data); err != nil || n != len(data) {
		t.Fatal(n, err)
	}
	count := map[uint32]int{}
	for i := 0; i+4 <= len(data); i += 4 {
		count[binary.LittleEndian.Uint32(data[i:])]++
	}
	at := 4
	for count[binary.LittleEndian.Uint32(data[at:])] != 1 {
		at += 8
	}
	held, ok := regs.Get(arch.RSI)
	if !ok || held == 0 {
		t.Fatal("rsi has nothing")
	}
	for _, c := range []struct {
		name string
		ref  uint32
		root uint64 // on the stack; 0 for a register
		want int    // roots
	}{
		{"the higher half of a word of a stack", binary.LittleEndian.Uint32(data[at:]), sp + uint64(at) - 4, 1},
		{"a register", uint32(held), 0, 1},
		{"nothing", 0xfeedbeef, 0, 0},
	} {
		heapFinders = append(known[:len(known):len(known)], func(heap.Process, heapBounds) heap.Allocator { return narrow{arena{m}, c.ref} })
		_, h, err := o.crash(t, false, false).Memory(t.Context(), MemoryOptions{})
		if err != nil || h == nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range h.Graph.Roots {
			if h.Graph.Start(r.To) == uint64(m.Start) && (r.At == c.root || c.root == 0 && r.Rank == rankRegister) {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: %+v", c.name, h.Graph.Roots)
		}
	}
}
