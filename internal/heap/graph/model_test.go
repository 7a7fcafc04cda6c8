package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind/arch"
)

// of is memory of a program of some architecture.
type of struct {
	*memory
	arch *arch.Arch
}

func (o of) Arch() *arch.Arch { return o.arch }

func (o of) ReadWord(addr uint64) (uint64, error) {
	var b [8]byte
	if n, err := o.ReadMem(addr, b[:o.arch.WordSize]); n < o.arch.WordSize {
		return 0, err
	}
	return o.arch.Word(b[:o.arch.WordSize]), nil
}

func (o of) put(at, v uint64) {
	b := o.data[at-o.base:]
	if o.arch.WordSize == 8 {
		o.arch.ByteOrder.PutUint64(b, v)
	} else {
		o.arch.ByteOrder.PutUint32(b, uint32(v))
	}
}

// A model is what a graph is compared with: blocks in several ranges, small and larger than what is read at once, whose words point at beginnings, into
// the middle, just past ends and at nothing.
type model struct {
	m      of
	ranges [][2]uint64
	blocks []block
	data   [2]uint64 // outside of them
}

func newModel(rng *rand.Rand, a *arch.Arch, nodes int) *model {
	const base = 0x40000000
	x := &model{m: of{&memory{base, make([]byte, 8<<20)}, a}}
	at := uint64(base) + 4096
	x.data = [2]uint64{base, base + 4096}
	for r := 0; len(x.blocks) < nodes; r++ {
		start := at
		for range min(nodes/3+1, nodes-len(x.blocks)) {
			if rng.IntN(3) == 0 {
				at += 8 * uint64(rng.IntN(40)) // nothing is there
			}
			size := 8 * uint64(1+rng.IntN(12))
			if rng.IntN(nodes) == 0 {
				size = windowSize + 8*uint64(rng.IntN(1000))
			}
			if rng.IntN(100) == 0 {
				at += 4096
			}
			x.blocks = append(x.blocks, block{at, size})
			at += size
		}
		x.ranges = append(x.ranges, [2]uint64{start, at})
		at += 8192
	}
	word := uint64(a.WordSize)
	fill := func(start, end uint64, some int) {
		for w := start; w+word <= end; w += word {
			if rng.IntN(some) != 0 {
				continue
			}
			b := x.blocks[rng.IntN(nodes)]
			v := b.start
			switch rng.IntN(5) {
			case 0:
				v += uint64(rng.Int64N(int64(b.size)))
			case 1:
				v += b.size
			case 2:
				v = uint64(rng.IntN(1 << 20))
			case 3:
				v = x.ranges[0][0] + uint64(rng.Int64N(int64(at-x.ranges[0][0])))
			}
			x.m.put(w, v)
		}
	}
	for _, b := range x.blocks {
		some := 3
		if b.size > windowSize {
			some = 500
		}
		fill(b.start, b.start+b.size, some)
	}
	fill(x.data[0], x.data[1], 30)
	return x
}

func (x *model) graph(limit int) *Graph {
	b := NewBuilder(procmem.Of(x.m), limit)
	for _, r := range x.ranges {
		b.Range(r[0], r[1])
	}
	for again := true; again; again = b.Counted() {
		for _, o := range x.blocks {
			b.Add(o.start, o.size)
		}
	}
	return b.Graph()
}

// at is the block that has an address; -1 if none has.
func (x *model) at(addr uint64) int {
	i, found := slices.BinarySearchFunc(x.blocks, addr, func(b block, a uint64) int { return int(int64(b.start - a)) })
	if !found {
		i--
	}
	if i < 0 || addr-x.blocks[i].start >= x.blocks[i].size {
		return -1
	}
	return i
}

// A pointer is a word that leads to a block.
type pointer struct {
	off uint64
	to  Node
}

func (x *model) pointers(start, size uint64) (all []pointer) {
	word := uint64(x.m.arch.WordSize)
	for off := uint64(0); off+word <= size; off += word {
		if v, _ := x.m.ReadWord(start + off); v != 0 {
			if to := x.at(v); to >= 0 {
				all = append(all, pointer{off, Node(to)})
			}
		}
	}
	return all
}

// far is how many steps each block is away from a root; -1 where none leads.
func (x *model) far() (steps []int) {
	steps = make([]int, len(x.blocks))
	for i := range steps {
		steps[i] = -1
	}
	var level []Node
	for _, p := range x.pointers(x.data[0], x.data[1]-x.data[0]) {
		level = append(level, p.to)
	}
	for step := 0; len(level) > 0; step++ {
		var next []Node
		for _, n := range level {
			if steps[n] >= 0 {
				continue
			}
			steps[n] = step
			for _, p := range x.pointers(x.blocks[n].start, x.blocks[n].size) {
				next = append(next, p.to)
			}
		}
		level = next
	}
	return steps
}

// TestModel compares graphs of programs of 64 and 32 bits and both orders of bytes with their memory as it is read word by word.
func TestModel(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.S390X, arch.PPC} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", a.Name, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				x := newModel(rng, a, 800)
				checkModel(t, x, rng, seed%2 == 0)
			})
		}
	}
}

func checkModel(t *testing.T, x *model, rng *rand.Rand, edges bool) {
	g := x.graph(1 << 28)
	if g.Len() != len(x.blocks) {
		t.Fatalf("%d objects of %d", g.Len(), len(x.blocks))
	}
	if edges {
		if err := g.Edges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	g.AddRoots(x.data[0], x.data[1], 0)
	if err := g.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := Node(0)
	g.Each(64, func(got Node, start uint64, b []byte) bool {
		if o := x.blocks[n]; got != n || start != o.start || uint64(len(b)) != min(o.size, 64) || g.Start(n) != o.start || g.Size(n) != o.size {
			t.Fatalf("object %d at %#x, %d bytes; want %d of %+v", got, start, len(b), n, o)
		}
		n++
		return true
	})
	far := x.far()
	for i, o := range x.blocks {
		n := Node(i)
		want := x.pointers(o.start, o.size)
		var to, out []Node
		var words []pointer
		last := None
		for _, p := range want {
			if p.to == n {
				last = n
				continue
			}
			words = append(words, p)
			if !edges || p.to != last {
				to = append(to, p.to)
			}
			last = p.to
		}
		g.Out(n, func(to Node) bool { out = append(out, to); return true })
		var got []pointer
		g.Words(n, func(off uint64, to Node) bool { got = append(got, pointer{off, to}); return true })
		if !slices.Equal(out, to) || !slices.Equal(got, words) {
			t.Fatalf("%d of %+v leads to %d by %v, want %d by %v", n, o, out, got, to, words)
		}
		if len(words) > 0 {
			p := words[rng.IntN(len(words))]
			first := slices.IndexFunc(words, func(q pointer) bool { return q.to == p.to })
			if off, ok := g.Pointer(n, p.to); !ok || off != words[first].off {
				t.Fatalf("%d leads to %d at %d, %v; want %d", n, p.to, off, ok, words[first].off)
			}
		}
		if to := Node(rng.IntN(len(x.blocks))); !slices.ContainsFunc(want, func(p pointer) bool { return p.to == to }) {
			if _, ok := g.Pointer(n, to); ok {
				t.Fatalf("%d leads to %d", n, to)
			}
		}
		if g.Reached(n) != (far[i] >= 0) {
			t.Fatalf("%d is reached: %v, want %v", n, g.Reached(n), far[i] >= 0)
		}
		if far[i] < 0 {
			if _, ok := g.RootOf(n); ok {
				t.Fatalf("%d has a root", n)
			}
			continue
		}
		root, path, ok := g.Path(n, len(x.blocks))
		number, has := g.RootOf(n)
		if !ok || !has || g.Roots[number] != root || path[len(path)-1] != n || path[0] != root.To {
			t.Fatalf("%d: path %v from %+v, number %d", n, path, root, number)
		}
		if v, _ := x.m.ReadWord(root.At); x.at(v) != int(root.To) || root.Inside != (v != x.blocks[root.To].start) {
			t.Fatalf("root %+v is %#x", root, v)
		}
		for k, p := range path[1:] {
			if !slices.ContainsFunc(x.pointers(x.blocks[path[k]].start, x.blocks[path[k]].size), func(q pointer) bool { return q.to == p }) {
				t.Fatalf("%d: path %v", n, path)
			}
		}
		if len(path)-1 < far[i] {
			t.Fatalf("%d: path %v, and no way is shorter than %d", n, path, far[i])
		}
	}
	if !edges {
		return
	}
	bytes, by, err := g.Retained(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]Node, g.Len())
	for i := range out {
		g.Out(Node(i), func(to Node) bool { out[i] = append(out[i], to); return true })
	}
	var roots []Node
	for _, r := range g.Roots {
		roots = append(roots, r.To)
	}
	all := reach(out, roots, None)
	for range 30 {
		n := Node(rng.IntN(g.Len()))
		want := g.Size(n)
		if all[n] {
			want = 0
			for i, still := range reach(out, roots, n) {
				if all[i] && !still {
					want += g.Size(Node(i))
				}
			}
		}
		if bytes[n] != want {
			t.Fatalf("%d keeps %d bytes, want %d", n, bytes[n], want)
		}
		if d := by[n]; d != None && reach(out, roots, d)[n] {
			t.Fatalf("%d does not dominate %d", d, n)
		}
	}
}

// TestMany: where more objects are next than a list has, all of them are looked at, each once, and ways are as short.
func TestMany(t *testing.T) {
	const base, n = 0x40000000, 3 * listed / 2
	m := of{&memory{base, make([]byte, 4<<20)}, arch.AMD64}
	table := block{base, 8 * n}
	x := &model{m: m, blocks: []block{table}, data: [2]uint64{base + 4<<20 - 4096, base + 4<<20}}
	at := table.start + table.size
	for i := range uint64(n) { // each leads to the one before: nothing is nearer through it
		x.blocks = append(x.blocks, block{at, 16})
		m.put(table.start+8*((i*7919)%n), at)
		m.put(at, x.blocks[max(int(i), 1)].start)
		at += 16
	}
	x.ranges = [][2]uint64{{base, at}}
	m.put(x.data[0], base)
	for _, edges := range []bool{true, false} {
		g := x.graph(1 << 28)
		if edges {
			if err := g.Edges(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		g.AddRoots(x.data[0], x.data[1], 0)
		if err := g.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range Node(g.Len()) {
			if parent, _, ok := g.Parent(i); !ok || i > 0 && parent != 0 || i == 0 && parent != None {
				t.Fatalf("%d: parent %d, %v", i, parent, ok)
			}
		}
	}
	var f, from Frontier
	g := x.graph(1 << 28)
	for range 2 { // what was taken is empty, and takes more
		for i := range Node(g.Len()) {
			f.Add(g, i)
		}
		if f.Len() != g.Len() {
			t.Fatalf("%d are in the frontier", f.Len())
		}
		next := Node(0)
		for got, start := range from.Take(g, &f) {
			if got != next || start != x.blocks[got].start {
				t.Fatalf("%d at %#x, want %d", got, start, next)
			}
			next++
		}
		if int(next) != g.Len() || f.Len() != 0 {
			t.Fatalf("%d were taken, %d are left", next, f.Len())
		}
	}
}

// TestRange: memory is added once; ranges may touch.
func TestRange(t *testing.T) {
	b := NewBuilder(procmem.Of(of{&memory{0, nil}, arch.AMD64}), 1<<20)
	for _, r := range []struct {
		start, end uint64
		want       bool
	}{
		{0x2000, 0x3000, true},
		{0x2000, 0x3000, false},
		{0x2800, 0x3800, false}, // its beginning is in another
		{0x1800, 0x2001, false}, // its end
		{0x1000, 0x4000, false}, // all of another
		{0x2400, 0x2800, false},
		{0x5000, 0x5000, false},
		{0x6000, 0x5000, false},
		{0x3000, 0x4000, true},
		{0x1000, 0x2000, true},
		{0x0ff0, 0x1000, true},
	} {
		if got := b.Range(r.start, r.end); got != r.want {
			t.Errorf("%+v: %v", r, got)
		}
	}
	for _, at := range []uint64{0xff0, 0x1000, 0x1ff8, 0x2000, 0x3ff8} {
		b.Add(at, 8)
	}
	b.Add(0x4000, 8) // behind all
	if b.Counted(); b.Graph().Len() != 5 {
		t.Errorf("%d objects", b.Graph().Len())
	}
}
