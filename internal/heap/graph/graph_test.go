package graph

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind/arch"
)

// memory is a process's from base on.
type memory struct {
	base uint64
	data []byte
}

func (m *memory) ReadMem(addr uint64, b []byte) (int, error) {
	if addr < m.base || addr-m.base >= uint64(len(m.data)) {
		return 0, arch.ErrUnreadable
	}
	return copy(b, m.data[addr-m.base:]), nil
}

func (m *memory) ReadWord(addr uint64) (uint64, error) {
	if addr < m.base || addr-m.base+8 > uint64(len(m.data)) {
		return 0, arch.ErrUnreadable
	}
	return binary.LittleEndian.Uint64(m.data[addr-m.base:]), nil
}

func (m *memory) Arch() *arch.Arch { return arch.AMD64 }

func (m *memory) put(at, v uint64) { binary.LittleEndian.PutUint64(m.data[at-m.base:], v) }

// block is an object of a test.
type block struct{ start, size uint64 }

func build(m *memory, ranges [][2]uint64, blocks []block, limit int) *Graph {
	b := NewBuilder(procmem.Of(m), limit)
	for _, r := range ranges {
		b.Range(r[0], r[1])
	}
	for again := true; again; again = b.Counted() {
		for _, x := range blocks {
			b.Add(x.start, x.size)
		}
	}
	return b.Graph()
}

// TestIndex: each object is found by each of its addresses, and by no other.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const base = 0x10000
	m := &memory{base, make([]byte, 1<<20)}
	ranges := [][2]uint64{{base + 0x40000, base + 0x100000}, {base, base + 0x30008}}
	var blocks []block
	for _, r := range ranges {
		for at := r[0] + 8*uint64(rng.IntN(4)); ; {
			size := 8 * (1 + uint64(rng.IntN(40)))
			if rng.IntN(50) == 0 {
				size = 8 * uint64(rng.IntN(4000)+1)
			}
			if at+size > r[1] {
				break
			}
			blocks = append(blocks, block{at, size - uint64(rng.IntN(8))})
			at += size + 8*uint64(rng.IntN(3))*uint64(rng.IntN(300))
		}
	}
	g := build(m, ranges, blocks, 1<<30)
	slices.SortFunc(blocks, func(a, b block) int { return int(int64(a.start - b.start)) })
	if g.Len() != len(blocks) {
		t.Fatalf("%d objects of %d", g.Len(), len(blocks))
	}
	k := 0
	for addr := uint64(base - 16); addr < base+uint64(len(m.data))+16; addr++ {
		for k < len(blocks) && addr >= blocks[k].start+blocks[k].size {
			k++
		}
		n, off, ok := g.Find(addr)
		in := k < len(blocks) && addr >= blocks[k].start
		if ok != in || ok && (n != Node(k) || off != addr-blocks[k].start) {
			t.Fatalf("%#x: object %d+%d, %v; want %d, %v", addr, n, off, ok, k, in)
		}
	}
	for i, b := range blocks {
		if n, ok := g.Exact(b.start); !ok || n != Node(i) || g.Start(n) != b.start || g.Size(n) != b.size {
			t.Fatalf("%d: %+v is %d at %#x of %d", i, b, n, g.Start(n), g.Size(n))
		}
		if _, ok := g.Exact(b.start + 1); ok {
			t.Fatal("an object begins inside of another")
		}
	}
}

// TestIndexOfEveryLength: each object is where it was added, however many words of bits its range has.
func TestIndexOfEveryLength(t *testing.T) {
	const base = 0x10000
	for words := 1; words <= 3*perRank; words++ {
		m := &memory{base, nil}
		var blocks []block
		for i := range words*perWord - 1 {
			if i%3 > 0 {
				blocks = append(blocks, block{base + uint64(i)*granule, granule})
			}
		}
		g := build(m, [][2]uint64{{base, base + uint64(words*perWord-1)*granule}}, blocks, 1<<30)
		for i, b := range blocks {
			if at := g.Start(Node(i)); at != b.start {
				t.Fatalf("%d words: object %d is at %#x, want %#x", words, i, at, b.start)
			}
		}
	}
}

// TestWords: an object's words are read as Out reads them, with their places; Parent is one step of Path.
func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	g, _, _ := random(rng, 200)
	if err := g.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.WordSize() != 8 {
		t.Errorf("words of %d bytes", g.WordSize())
	}
	reached := 0
	for i := range g.Len() {
		n := Node(i)
		var want, got []Node
		g.Out(n, func(to Node) bool {
			want = append(want, to)
			return true
		})
		g.Words(n, func(off uint64, to Node) bool {
			if v, _ := g.mem.LookupWord(g.Start(n) + off); v < g.Start(to) || v >= g.Start(to)+g.Size(to) {
				t.Errorf("%d+%d is %#x", n, off, v)
			}
			got = append(got, to)
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
		r, path, ok := g.Path(n, g.Len())
		parent, root, has := g.Parent(n)
		if ok != has {
			t.Errorf("%d: a path %v, a parent %v", n, ok, has)
		}
		switch {
		case !ok:
		case len(path) == 1 && (parent != None || root != r), len(path) > 1 && parent != path[len(path)-2]:
			t.Errorf("%d: parent %d, root %v; path %d from %v", n, parent, root, path, r)
		default:
			reached++
		}
	}
	if reached < 20 {
		t.Errorf("%d objects are reached", reached)
	}
}

// TestLarge: a size of more than 32 bits, and an object that is added again, or lies nowhere.
func TestLarge(t *testing.T) {
	m := &memory{0x1000, make([]byte, 64)}
	g := build(m, [][2]uint64{{0x1000, 0x1000 + 6<<30}}, []block{{0x1000, 5 << 30}, {0x1000, 8}, {0x1000 + 5<<30, 16}, {8 << 30, 8}, {0x1004, 4}}, 1<<30)
	if g.Len() != 2 || g.Size(0) != 5<<30 || g.Size(1) != 16 || g.Total() != 5<<30+16 {
		t.Errorf("%d objects, sizes %d, %d", g.Len(), g.Size(0), g.Size(1))
	}
	if n, off, ok := g.Find(0x1000 + 4<<30); !ok || n != 0 || off != 4<<30 {
		t.Errorf("%d+%d, %v", n, off, ok)
	}
}

// random makes a graph of objects that point at one another; edges are those it has.
func random(rng *rand.Rand, nodes int) (g *Graph, edges [][]Node, roots []Node) {
	const base = 0x7f0000000000
	words := 1 + rng.IntN(5)
	size := uint64(8 * words)
	m := &memory{base, make([]byte, nodes*int(size)+4096)}
	var blocks []block
	edges = make([][]Node, nodes)
	for i := range nodes {
		at := base + uint64(i)*size
		blocks = append(blocks, block{at, size})
		for w := range words {
			if to := rng.IntN(nodes); rng.IntN(3) > 0 {
				m.put(at+uint64(8*w), base+uint64(to)*size+uint64(rng.IntN(int(size))))
				if to != i {
					edges[i] = append(edges[i], Node(to))
				}
			}
		}
	}
	data := base + uint64(nodes)*size
	for w := range 1 + rng.IntN(4) {
		to := rng.IntN(nodes)
		m.put(data+uint64(8*w), base+uint64(to)*size)
		roots = append(roots, Node(to))
	}
	g = build(m, [][2]uint64{{base, data}}, blocks, 1<<30)
	g.AddRoots(data, data+4096, 0)
	return g, edges, roots
}

func reach(edges [][]Node, roots []Node, without Node) []bool {
	seen := make([]bool, len(edges))
	todo := slices.Clone(roots)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] || n == without {
			continue
		}
		seen[n] = true
		todo = append(todo, edges[n]...)
	}
	return seen
}

// TestRetained compares with the definition: what an object keeps alive is what is reached no more without it.
func TestRetained(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		g, edges, roots := random(rng, 1+rng.IntN(60))
		if err := g.Edges(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		bytes, by, err := g.Retained(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := reach(edges, roots, None)
		for n := range Node(g.Len()) {
			if g.Reached(n) != all[n] {
				t.Fatalf("%d is reached: %v", n, g.Reached(n))
			}
			want := g.Size(n)
			if all[n] {
				without := reach(edges, roots, n)
				want = 0
				for i := range without {
					if all[i] && !without[i] {
						want += g.Size(Node(i))
					}
				}
			}
			if bytes[n] != want {
				t.Fatalf("%d keeps %d bytes, want %d: %v from %v", n, bytes[n], want, edges, roots)
			}
			if d := by[n]; d != None && reach(edges, roots, d)[n] {
				t.Fatalf("%d does not dominate %d", d, n)
			}
			g.Kinds[n] = Kind(n % 3)
		}
		byKind := make([]uint64, 3)
		for n := range Node(g.Len()) {
			outer := true
			for d := by[n]; d != None; d = by[d] {
				outer = outer && g.Kinds[d] != g.Kinds[n]
			}
			if outer {
				byKind[n%3] += bytes[n]
			}
		}
		if got := g.RetainedByKind(bytes, by, 3); !slices.Equal(got, byKind) {
			t.Fatalf("by kind %d, want %d", got, byKind)
		}
	}
}

// TestPath: the way to an object leads from a root over pointers, and is the shortest; with and without edges that are kept.
func TestPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 100 {
		g, edges, roots := random(rng, 1+rng.IntN(60))
		if i%2 == 0 {
			if err := g.Edges(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		far := make([]int, g.Len()) // by a search in breadth
		level := slices.Clone(roots)
		for step := 1; len(level) > 0; step++ {
			var next []Node
			for _, n := range level {
				if far[n] == 0 {
					far[n] = step
					next = append(next, edges[n]...)
				}
			}
			level = next
		}
		for n := range Node(g.Len()) {
			root, path, ok := g.Path(n, 1000)
			if ok != (far[n] > 0) || len(path) != far[n] {
				t.Fatalf("%d: %v, %v; %d steps", n, path, ok, far[n])
			}
			if !ok {
				continue
			}
			if i, ok := g.RootOf(n); !ok || g.Roots[i] != root {
				t.Fatalf("%d is reached from root %d, %v", n, i, ok)
			}
			if root.To != path[0] || !slices.Contains(roots, path[0]) || path[len(path)-1] != n {
				t.Fatalf("%d: %v from %v", n, path, root)
			}
			for i, to := range path[1:] {
				if !slices.Contains(edges[path[i]], to) {
					t.Fatalf("%d does not point at %d", path[i], to)
				}
				if off, ok := g.Pointer(path[i], to); !ok || off >= g.Size(path[i]) {
					t.Fatalf("no pointer from %d to %d", path[i], to)
				}
			}
		}
	}
}

// TestRanks: an object that a good and a bad root reach has its path from the good one, though that is longer.
func TestRanks(t *testing.T) {
	const base = 0x1000
	m := &memory{base, make([]byte, 4096)}
	m.put(base, base+32)        // object 0 points at 1
	m.put(base+1024, base)      // the good root
	m.put(base+2048, base+32+8) // the bad one points at 1
	g := build(m, [][2]uint64{{base, base + 64}}, []block{{base, 32}, {base + 32, 32}}, 1<<20)
	g.AddRoots(base+2048, base+2056, 2)
	g.AddRoots(base+1024, base+1032, 0)
	if err := g.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if root, path, ok := g.Path(1, 9); !ok || root.At != base+1024 || !slices.Equal(path, []Node{0, 1}) {
		t.Errorf("%v from %+v", path, root)
	}
}

// TestLimits: what does not fit is an error, and what is stopped ends.
func TestLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	g, _, _ := random(rng, 5000)
	g.limit = g.bytes() + 4096
	if err := g.Edges(t.Context()); !errors.Is(err, ErrLarge) {
		t.Errorf("edges: %v", err)
	}
	g.limit = 1 << 30
	if err := g.Edges(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.limit = g.bytes() + 4096
	if _, _, err := g.Retained(t.Context()); !errors.Is(err, ErrLarge) {
		t.Errorf("retained: %v", err)
	}
	g.limit = 1 << 30
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := g.Retained(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("retained: %v", err)
	}
	if err := g.Edges(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("edges: %v", err)
	}
}

// TestFar: an object that lies so far in a range that its place does not fit into the memory that may be used is left out.
func TestFar(t *testing.T) {
	m := &memory{0x1000, make([]byte, 64)}
	if g := build(m, [][2]uint64{{0x1000, 1 << 46}}, []block{{0x1000, 8}, {1 << 45, 8}}, 1<<16); g.Len() != 1 {
		t.Errorf("%d objects", g.Len())
	}
}

// TestOneRoot: of the words of one rank that point into an object the first is kept.
func TestOneRoot(t *testing.T) {
	const base = 0x1000
	m := &memory{base, make([]byte, 4096)}
	for i := range uint64(100) {
		m.put(base+1024+8*i, base+(i+1)%32)
	}
	g := build(m, [][2]uint64{{base, base + 64}}, []block{{base, 32}}, 1<<20)
	g.AddRoots(base+1024, base+2048, 1)
	g.AddRoots(base+1024+31*8, base+2048, 0)
	g.AddRoot(7, base, 1)
	g.AddRoot(8, base+4, 2)
	// Of a rank there is the first, and the first that points to the beginning.
	if want := []Root{{base + 1024, 0, 1, true}, {base + 1024 + 31*8, 0, 1, false}, {base + 1024 + 31*8, 0, 0, false}, {8, 0, 2, true}}; !slices.Equal(g.Roots, want) {
		t.Errorf("%+v, want %+v", g.Roots, want)
	}
}

// TestExactRootsFirst: of roots of one rank, one that points to an object's beginning names it.
func TestExactRootsFirst(t *testing.T) {
	const base = 0x1000
	m := &memory{base, make([]byte, 4096)}
	m.put(base+1024, base+8)
	m.put(base+1032, base)
	g := build(m, [][2]uint64{{base, base + 64}}, []block{{base, 32}}, 1<<20)
	g.AddRoots(base+1024, base+2048, 1)
	if err := g.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, _, ok := g.Path(0, 10); !ok || r.At != base+1032 {
		t.Errorf("%+v", r)
	}
}

func BenchmarkRetained(b *testing.B) {
	g, _, _ := random(rand.New(rand.NewPCG(1, 2)), 1_000_000)
	for b.Loop() {
		if err := errors.Join(g.Edges(b.Context()), g.Reach(b.Context())); err != nil {
			b.Fatal(err)
		}
		if _, _, err := g.Retained(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestShortOfRoom: of what does not fit the ways are left out first, then from which root an object is reached, then which ones of many.
func TestShortOfRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, tt := range []struct {
		perNode    int
		ways, from bool
	}{{8, true, true}, {7, true, true}, {6, true, true}, {5, false, true}, {2, false, true}, {1, false, false}} {
		g, edges, roots := random(rng, 4000)
		g.limit = g.bytes() + 8*len(g.seen) + g.nodes/4 + 8*((g.nodes+63)/64) + tt.perNode*g.nodes
		if err := g.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := reach(edges, roots, None)
		if g.Ways() != tt.ways {
			t.Errorf("%d bytes for each object: ways %v", tt.perNode, g.Ways())
		}
		for n := range Node(g.Len()) {
			r, ok := g.RootOf(n)
			if g.Reached(n) != all[n] || ok != (all[n] && tt.from) {
				t.Fatalf("%d bytes for each object: %d is reached %v, from %d %v; want %v", tt.perNode, n, g.Reached(n), r, ok, all[n])
			}
			root, way, has := g.Path(n, g.Len())
			if _, _, ok := g.Parent(n); has != (all[n] && tt.ways) || ok != has {
				t.Fatalf("%d bytes for each object: %d has a path %v, a parent %v", tt.perNode, n, has, ok)
			}
			if has && (g.Roots[r] != root || way[len(way)-1] != n) {
				t.Fatalf("%d is reached from %+v and %+v", n, g.Roots[r], root)
			}
		}
	}
}

// TestWaysBeforeEdges: edges are dropped where ways fit only without them.
func TestWaysBeforeEdges(t *testing.T) {
	g, edges, roots := random(rand.New(rand.NewPCG(13, 14)), 400_000)
	if err := g.Edges(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.limit = g.bytes() + 7*g.nodes
	if err := g.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !g.Ways() || g.outAt != nil || g.from == nil {
		t.Errorf("ways %v, edges %v", g.Ways(), g.outAt != nil)
	}
	all := reach(edges, roots, None)
	for n := range Node(g.Len()) {
		if g.Reached(n) != all[n] {
			t.Fatalf("%d is reached: %v", n, g.Reached(n))
		}
	}
}

// TestManyRoots: of more roots than have short numbers the rest reach objects without a name.
func TestManyRoots(t *testing.T) {
	const base, n = 0x1000, 1<<16 + 10
	m := &memory{base, make([]byte, 2*16*n)}
	var blocks []block
	for i := range uint64(n) {
		blocks = append(blocks, block{base + 16*i, 16})
		m.put(base+16*n+8*i, base+16*i)
	}
	g := build(m, [][2]uint64{{base, base + 16*n}}, blocks, 1<<30)
	g.AddRoots(base+16*n, base+24*n, 0)
	g.limit = g.bytes() + 3*g.nodes
	if err := g.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range Node(n) {
		if r, ok := g.RootOf(i); !g.Reached(i) || ok != (i < 1<<16-2) || ok && r != int(i) {
			t.Fatalf("%d is reached from root %d, %v", i, r, ok)
		}
	}
}

// TestWide: many objects that are reached in one step, which are looked at by address, are all reached, with the same ways whether edges are kept or not.
func TestWide(t *testing.T) {
	const base, n = 0x1000, 3 * listed
	m := &memory{base, make([]byte, 8*n+16*n+64)}
	blocks := []block{{base, 8 * n}}
	rng := rand.New(rand.NewPCG(11, 12))
	order := rng.Perm(n)
	where := make([]uint64, n)
	for i, k := range order {
		where[k] = base + 8*n + 16*uint64(i)
		blocks = append(blocks, block{where[k], 16})
	}
	for k := 0; k < n; k += 2 { // each second is behind another
		m.put(base+8*uint64(k), where[k]+uint64(k%16))
		m.put(where[k]+8, where[k+1])
	}
	m.put(base+24*n, base)
	for _, kept := range []bool{true, false} {
		g := build(m, [][2]uint64{{base, base + 24*n}}, blocks, 1<<30)
		g.AddRoots(base+24*n, base+24*n+8, 0)
		if kept {
			if err := g.Edges(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		for k := range n {
			i, _ := g.Exact(where[k])
			if _, way, ok := g.Path(i, 10); !ok || len(way) != 2+k%2 {
				t.Fatalf("%v: object %d is reached by %d, %v", kept, k, way, ok)
			}
		}
	}
}

// TestRefined: objects at multiples of eight among such at multiples of sixteen, however many came before the first of them.
func TestRefined(t *testing.T) {
	for _, before := range []int{0, 1, 63, 64, 65, 1000} {
		const base = 0x10010
		m := &memory{base, nil}
		var blocks []block
		for i := range before + 200 {
			b := block{base + 32*uint64(i), 8}
			if i >= before && i%3 == 0 {
				b.start += 8
			}
			blocks = append(blocks, b)
		}
		g := build(m, [][2]uint64{{base - 8, base + 32*uint64(before+200)}}, blocks, 1<<30)
		if g.Len() != len(blocks) {
			t.Fatalf("%d objects of %d", g.Len(), len(blocks))
		}
		for i, b := range blocks {
			n, ok := g.Exact(b.start)
			if !ok || n != Node(i) || g.Start(n) != b.start {
				t.Fatalf("%d before: object %d at %#x is %d, at %#x", before, i, b.start, n, g.Start(n))
			}
			if _, ok := g.Exact(b.start ^ 8); ok {
				t.Fatalf("%d before: an object is beside %d", before, i)
			}
		}
	}
}
