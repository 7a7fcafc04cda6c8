package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
)

// TestOrders: objects have their own sizes in whichever order they are added, and are added twice where the order is none.
func TestOrders(t *testing.T) {
	const base, n = 0x10000, 3000
	var blocks []block
	for at := uint64(base); len(blocks) < n; {
		size := uint64(16 * (1 + len(blocks)%40))
		if len(blocks)%700 == 5 {
			size = 1<<20 + uint64(16*len(blocks))
		}
		blocks = append(blocks, block{at, size - 3})
		at += size
	}
	end := blocks[n-1].start + 1<<20
	join := func(parts ...[]block) []block { return slices.Concat(parts...) }
	evens, odds := []block{}, []block{}
	for i, b := range blocks {
		if i%2 == 0 {
			evens = append(evens, b)
		} else {
			odds = append(odds, b)
		}
	}
	shuffled := slices.Clone(blocks)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, c := range []struct {
		name   string
		blocks []block
		again  bool
	}{
		{"by address", blocks, false},
		{"in parts", join(blocks[2000:], blocks[:700], blocks[700:2000]), false},
		{"some twice", join(blocks, blocks[100:200], blocks[:10]), false},
		{"one more before the last of a part", join(blocks[:1000], blocks[1001:], blocks[1000:1001]), true},
		{"two parts within each other", join(evens, odds), true},
		{"none", shuffled, true},
	} {
		b := NewBuilder(procmem.Of(&memory{}), 1<<28)
		b.Range(base, end)
		add := func() {
			for _, x := range c.blocks {
				b.Add(x.start, x.size)
			}
		}
		add()
		again := b.Counted()
		if again != c.again {
			t.Errorf("%s: once more: %v", c.name, again)
		}
		if again {
			if add(); b.Counted() {
				t.Errorf("%s: a third time", c.name)
			}
		}
		g, total := b.Graph(), uint64(0)
		for i, x := range blocks {
			if total += x.size; g.Start(Node(i)) != x.start || g.Size(Node(i)) != x.size {
				t.Fatalf("%s: object %d is %#x of %d bytes, want %#x of %d", c.name, i, g.Start(Node(i)), g.Size(Node(i)), x.start, x.size)
			}
		}
		if g.Len() != n || g.Total() != total {
			t.Errorf("%s: %d objects of %d bytes, want %d of %d", c.name, g.Len(), g.Total(), n, total)
		}
	}
}

// TestManyRuns: objects that come in no order at all leave no list of where each begins.
func TestManyRuns(t *testing.T) {
	const base, n = 0x10000, maxRuns + 10
	b := NewBuilder(procmem.Of(&memory{}), 1<<28)
	b.Range(base, base+16*n)
	for i := range uint64(n) {
		b.Add(base+16*(n-1-i), 16)
	}
	if len(b.first.runs) > maxRuns+1 || b.first.pieces != nil {
		t.Errorf("%d runs and %d pieces are kept", len(b.first.runs), len(b.first.pieces))
	}
	if !b.Counted() {
		t.Error("not once more")
	}
}
