package graph

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// rings are objects of 32 bytes, each of which points at the next one, at one far away, and at itself.
func rings(n int, limit int) *Graph {
	const base = 0x100000
	m := &memory{base, make([]byte, 32*n)}
	var blocks []block
	for i := range n {
		at := base + 32*uint64(i)
		blocks = append(blocks, block{at, 32})
		m.put(at, base+32*uint64((i+1)%n))
		m.put(at+8, at)
		m.put(at+16, base+32*uint64(i*7919%n)+8)
		m.put(at+24, base+32*uint64(i*7919%n)) // the same once more
	}
	return build(m, [][2]uint64{{base, base + 32*uint64(n)}}, blocks, limit)
}

// TestEdgesOfMany: what many read at once is as what one reads.
func TestEdgesOfMany(t *testing.T) {
	const n = 9*perShare + 17
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		g := rings(n, 1<<28)
		err := g.Edges(t.Context())
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			var got []Node
			g.Out(Node(i), func(to Node) bool { got = append(got, to); return true })
			want := []Node{Node((i + 1) % n), Node(i * 7919 % n)}
			if want[1] == Node(i) {
				want = want[:1]
			}
			if len(got) != len(want) || got[0] != want[0] || len(got) > 1 && got[1] != want[1] {
				t.Fatalf("%d at once: object %d points at %d, want %d", procs, i, got, want)
			}
		}
	}
}

// TestEdgesWithin: of more pointers than fit none are kept, and who is called off says so.
func TestEdgesWithin(t *testing.T) {
	const n = 5*perShare + 17
	g := rings(n, 1<<28)
	g.limit = g.bytes() + 4*n + 4*n // room for one of the two of each
	if err := g.Edges(t.Context()); !errors.Is(err, ErrLarge) || g.outAt != nil {
		t.Errorf("%v", err)
	}
	g.limit += 4*n - 8
	if err := g.Edges(t.Context()); !errors.Is(err, ErrLarge) || g.outAt != nil {
		t.Errorf("all but few: %v", err)
	}
	g.limit += 8
	if err := g.Edges(t.Context()); err != nil {
		t.Errorf("all: %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	g.outAt, g.out = nil, edges{}
	if err := g.Edges(ctx); err != why || g.outAt != nil {
		t.Errorf("called off: %v", err)
	}
}

// TestEdgesOfLarge: an object may point at more than one reader keeps in one piece.
func TestEdgesOfLarge(t *testing.T) {
	const base, n, words = 0x100000, 4, 3*perFull + 5
	m := &memory{base, make([]byte, 32*n+8*words)}
	blocks := []block{{base, 8 * words}}
	for i := range uint64(n) {
		blocks = append(blocks, block{base + 8*words + 32*i, 32})
	}
	for i := range uint64(words) {
		m.put(base+8*i, base+8*words+32*(i%n))
	}
	m.put(base+8*words+32, base)
	g := build(m, [][2]uint64{{base, base + uint64(len(m.data))}}, blocks, 1<<28)
	if err := g.Edges(t.Context()); err != nil {
		t.Fatal(err)
	}
	i := 0
	g.Out(0, func(to Node) bool {
		if want := Node(1 + i%n); to != want {
			t.Fatalf("word %d leads to object %d, want %d", i, to, want)
		}
		i++
		return true
	})
	if i != words {
		t.Errorf("%d of %d", i, words)
	}
	g.Out(2, func(to Node) bool { i++; return to == 0 })
	if i != words+1 {
		t.Error("what the object behind it points at is lost")
	}
}
