package graph

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
)

// TestTold: of objects whose references somebody knows, nothing else counts, and what leads into the middle of one leads nowhere.
func TestTold(t *testing.T) {
	const base = 0x10000
	m := &memory{base, make([]byte, 1<<12)}
	blocks := []block{{base + 0x100, 64}, {base + 0x200, 64}, {base + 0x300, 64}, {base + 0x800, 64}}
	b := NewBuilder(procmem.Of(m), 1<<30)
	b.Range(base, base+0x1000)
	b.Tell(base+0x100, base+0x400, 0, func(start, off uint64, p []byte, out []Ref) []Ref {
		for i := 0; i+4 <= len(p); i += 4 { // a byte, in words of 32 bits, is where an object begins
			if p[i] == 0xee {
				out = append(out, Ref{Off: off + uint64(i), To: base + uint64(p[i+1])<<4})
			}
		}
		return out
	})
	for again := true; again; again = b.Counted() {
		for _, x := range blocks {
			b.Add(x.start, x.size)
		}
	}
	g := b.Graph()
	m.put(base+0x100, base+0x200) // is no reference
	m.put(base+0x108, 0x30ee<<32) // one to the third, in the second half of a word
	m.put(base+0x200, 0x31ee)     // into the middle of it
	m.put(base+0x300, 0x80ee)     // to what nobody tells of
	m.put(base+0x800, base+0x208) // into the middle of what is told
	m.put(base+0x808, base+0x100) // to its beginning
	want := map[Node]Node{0: 2, 1: None, 2: 3, 3: 0}
	offs := map[Node]uint64{0: 12, 2: 0, 3: 8}
	for range 2 { // without edges, then with them
		for from, to := range want {
			got := None
			g.Out(from, func(to Node) bool {
				got = to
				return true
			})
			off, ok := g.Pointer(from, to)
			if got != to || to != None && (!ok || off != offs[from]) {
				t.Errorf("%d points at %d by %d, %v", from, got, off, ok)
			}
		}
		if err := g.Edges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.put(base+0x900, 0x0500_0000_0000_0000) // half of it is
	widen := func(v uint32) uint64 { return base + uint64(v>>24)<<8 - 0x300 }
	g.AddNarrow(base+0x901, base+0x909, 1, widen)
	if len(g.Roots) != 1 || g.Roots[0] != (Root{At: base + 0x900, To: 1, Rank: 1}) {
		t.Errorf("%+v", g.Roots)
	}
	g.AddNarrow(0, 0x8000, 1, widen) // nothing is there
	if len(g.Roots) != 1 {
		t.Errorf("%+v", g.Roots)
	}
}

// TestTags: where references are addresses with a tag, only words with it lead to an object, and lead to its beginning. Memory that is told may be in
// many pieces, in any order.
func TestTags(t *testing.T) {
	const base = 0x10000
	m := &memory{base, make([]byte, 1<<12)}
	blocks := []block{{base + 0x100, 64}, {base + 0x200, 64}, {base + 0x300, 64}, {base + 0x800, 64}}
	b := NewBuilder(procmem.Of(m), 1<<30)
	b.Range(base, base+0x1000)
	for _, start := range []uint64{0x300, 0x100, 0x200} {
		b.Tell(base+start, base+start+0x100, 1, func(_, _ uint64, _ []byte, out []Ref) []Ref { return append(out, Ref{Off: 8, To: base + 0x301}) })
	}
	for again := true; again; again = b.Counted() {
		for _, x := range blocks {
			b.Add(x.start, x.size)
		}
	}
	g := b.Graph()
	m.put(base+0x800, base+0x200) // without the tag
	m.put(base+0x808, base+0x101)
	var out []Node
	for n := range Node(4) {
		g.Out(n, func(to Node) bool { out = append(out, to); return true })
	}
	if !slices.Equal(out, []Node{2, 2, 0}) { // the third at itself
		t.Errorf("they point at %v", out)
	}
	g.AddRoot(1, base+0x201, 1)
	g.AddRoot(2, base+0x300, 1)
	if len(g.Roots) != 1 || g.Roots[0] != (Root{At: 1, To: 1, Rank: 1}) {
		t.Errorf("%+v", g.Roots)
	}
}

// TestPieces: a large object is read in pieces, and all of them count.
func TestPieces(t *testing.T) {
	const base, large = 0x10000, 2*scanPiece + 64
	m := &memory{base, make([]byte, large+0x1000)}
	blocks := []block{{base, large}}
	for i := range uint64(5) {
		blocks = append(blocks, block{base + large + 0x100*(i+1), 0x100})
	}
	offs := []uint64{8, scanPiece - 8, scanPiece, 2*scanPiece - 8, large - 8}
	for i, off := range offs {
		m.put(base+off, blocks[i+1].start)
	}
	g := build(m, [][2]uint64{{base, base + large + 0x1000}}, blocks, 1<<30)
	for range 2 { // without edges, then with them
		var out []Node
		g.Out(0, func(to Node) bool { out = append(out, to); return true })
		if !slices.Equal(out, []Node{1, 2, 3, 4, 5}) {
			t.Errorf("it points at %v", out)
		}
		var words []uint64
		g.Words(0, func(off uint64, _ Node) bool { words = append(words, off); return true })
		if !slices.Equal(words, offs) {
			t.Errorf("by %v", words)
		}
		for i, off := range offs {
			if got, ok := g.Pointer(0, Node(i+1)); !ok || got != off {
				t.Errorf("at %d by %d, %v", i+1, got, ok)
			}
		}
		n := 0
		if g.Words(0, func(uint64, Node) bool { n++; return n < 3 }); n != 3 {
			t.Errorf("%d after the third", n)
		}
		if err := g.Edges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
