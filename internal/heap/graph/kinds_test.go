package graph

import "testing"

// TestHeads: pointers to the head of an object do not count, nor does what an object points at that was given back.
func TestHeads(t *testing.T) {
	const base = 0x10000
	m := &memory{base, make([]byte, 1<<12)}
	g := build(m, [][2]uint64{{base, base + 0x1000}}, []block{{base + 0x100, 64}, {base + 0x200, 64}, {base + 0x300, 64}, {base + 0x400, 64}}, 1<<30)
	m.put(base+0x100, base+0x200)    // to the head of one, as lists of a collector do
	m.put(base+0x108, base+0x310)    // past the head of another
	m.put(base+0x308, base+0x400+16) // which was given back
	m.put(base+0x400, base+0x200+16)
	g.Kinds[1], g.Kinds[2], g.Kinds[3] = 1, 1, 2
	g.Heads, g.Blind = []uint8{0, 16}, []bool{false, false, true}
	for range 2 { // without edges, then with them
		for from, want := range map[Node]Node{0: 2, 1: None, 2: 3, 3: None} {
			got := None
			g.Out(from, func(to Node) bool {
				got = to
				return true
			})
			words := None
			g.Words(from, func(_ uint64, to Node) bool {
				words = to
				return true
			})
			if got != want || words != want {
				t.Errorf("%d points at %d and %d, want %d", from, got, words, want)
			}
		}
		if err := g.Edges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := g.Pointer(3, 1); ok {
		t.Error("what was given back points at an object")
	}
	g.AddRoot(1, base+0x200+15, 0)
	g.AddRoots(base+0x100, base+0x108, 0)
	if len(g.Roots) != 0 {
		t.Errorf("roots lead to a head: %+v", g.Roots)
	}
	g.AddRoot(1, base+0x200+16, 0)
	g.AddRoot(2, base+0x400, 0)
	if len(g.Roots) != 2 {
		t.Errorf("%+v", g.Roots)
	}
}

// TestSkips: of an object some words may not count, however the object is read.
func TestSkips(t *testing.T) {
	const base, last = 0x10000, 0x10000 + 0x1000
	m := &memory{base, make([]byte, 1<<13)}
	size := uint64(0x100)
	g := build(m, [][2]uint64{{base, base + 0x2000}}, []block{{base, size}, {last, 64}, {last + 0x40, 64}}, 1<<30)
	m.put(base, last)
	m.put(base+48, last)
	m.put(base+8, last+0x40)
	m.put(last+0x40, last)
	g.Kinds[0] = 1
	g.Skips = []uint64{0, 1 | 1<<6}
	for range 2 { // without edges, then with them
		for from, want := range map[Node]Node{0: 2, 2: 1} {
			g.Out(from, func(to Node) bool {
				if to != want {
					t.Errorf("%d points at %d", from, to)
				}
				return true
			})
			g.Words(from, func(off uint64, to Node) bool {
				if to != want {
					t.Errorf("%d points at %d at %d", from, to, off)
				}
				return true
			})
		}
		if err := g.Edges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.put(base+64*8, last) // words past those that have a number count
	if _, ok := g.Pointer(0, 1); ok {
		t.Error("a word past the object")
	}
	if off, ok := g.Pointer(0, 2); !ok || off != 8 {
		t.Errorf("%d, %t", off, ok)
	}
}
