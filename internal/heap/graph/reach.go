package graph

import (
	"context"
	"math"
	"math/bits"
	"runtime"
)

const (
	maxScan   = 1 << 30 // bytes of one object that are searched for pointers
	scanPiece = 1 << 20 // that are read at once
)

func trailing(w uint64) int { return bits.TrailingZeros64(w) }

// AddRoots searches memory for words that point into objects, and keeps the first of each rank for each object, and the first that points to its beginning. rank says how well the place names things: the lower, the better.
func (g *Graph) AddRoots(start, end uint64, rank uint8) {
	w := window{mem: g.mem}
	for start < end {
		b := w.read(start, int(min(end-start, windowSize)))
		if len(b) == 0 {
			start = g.mem.AbsentTo(start, end)
			continue
		}
		g.pointers(start, b, func(off int, to Node) bool {
			g.root(Root{At: start + uint64(off), To: to, Rank: rank}, g.mem.Arch.Word(b[off:]))
			return true
		})
		start += uint64(len(b))
	}
}

// AddNarrow is AddRoots for halves of words that are pointers after widen.
func (g *Graph) AddNarrow(start, end uint64, rank uint8, widen func(v uint32) uint64) {
	if g.mem.Arch == nil {
		return
	}
	w := window{mem: g.mem}
	for at := (start + 3) &^ 3; at+4 <= end; at += 4 {
		b := w.read(at, 4)
		if len(b) < 4 {
			const page = 4096
			at = at&^(page-1) + page - 4 // not in the dump
			continue
		}
		v := widen(g.mem.Arch.ByteOrder.Uint32(b))
		if to, ok := g.target(v); ok {
			g.root(Root{At: at &^ 7, To: to, Rank: rank}, v)
		}
	}
}

// root takes note of a root that is a pointer: the first of each rank for each object, and the first that is not Inside.
func (g *Graph) root(r Root, pointer uint64) {
	if g.rooted == nil {
		g.rooted = map[rootPage]*[perPage / 64]uint64{}
	}
	if t := g.toldAt(pointer); t != nil {
		pointer -= t.tag
	}
	r.Inside = pointer != g.Start(r.To)
	if r.Inside && g.isRooted(rootKind{r.Rank, false}, r.To) {
		return
	}
	kind := rootKind{r.Rank, r.Inside}
	if g.isRooted(kind, r.To) {
		return
	}
	key := rootPage{kind, r.To / perPage}
	page := g.rooted[key]
	if page == nil {
		page = new([perPage / 64]uint64)
		g.rooted[key] = page
	}
	page[r.To%perPage/64] |= 1 << (r.To % 64)
	g.Roots = append(g.Roots, r)
}

type rootKind struct {
	rank   uint8
	inside bool
}

// A rootPage are perPage objects, of which bits say which have a root of a kind.
type rootPage struct {
	rootKind
	n Node
}

const perPage = 1 << 12

func (g *Graph) isRooted(kind rootKind, n Node) bool {
	page := g.rooted[rootPage{kind, n / perPage}]
	return page != nil && page[n%perPage/64]&(1<<(n%64)) != 0
}

// AddRoot adds what points into an object without being memory: a register. name is a number by which the caller knows it.
func (g *Graph) AddRoot(name, value uint64, rank uint8) {
	if to, ok := g.target(value); ok {
		g.root(Root{At: name, To: to, Rank: rank}, value)
	}
}

// bytes is how much memory the graph takes.
func (g *Graph) bytes() int {
	n := 2*len(g.sizes) + 2*len(g.Kinds) + 4*len(g.outAt) + 4*len(g.out.pieces)<<pieceBits + 24*len(g.Roots) + 8*len(g.seen) + 4*len(g.parent) + 4*len(g.from) + 2*len(g.short) +
		perPage/8*len(g.rooted)
	for i := range g.spans {
		n += 8*len(g.spans[i].bits) + 4*len(g.spans[i].ranks)
	}
	return n
}

// Out calls yield for each object that one points at, in the order of its words; more than once for some. Without Edges it reads the object's memory.
func (g *Graph) Out(n Node, yield func(to Node) bool) {
	if g.outAt != nil {
		for i := g.outAt[n]; i < g.outAt[n+1]; i++ {
			if !yield(g.out.at(i)) {
				return
			}
		}
		return
	}
	g.scan(n, func(_ uint64, to Node) bool { return to == n || yield(to) })
}

// scan calls yield for each pointer in an object, until it returns false: how far in it the pointer is.
func (g *Graph) scan(n Node, yield func(off uint64, to Node) bool) {
	if g.blind(n) {
		return
	}
	start, skips := g.Start(n), g.skips(n)
	g.parts(n, start, func(at uint64, b []byte) bool {
		return g.within(start, at, b, counts(skips, at, func(o int, to Node) bool { return yield(at+uint64(o), to) }))
	})
}

// parts reads an object's memory in pieces, until yield returns false.
func (g *Graph) parts(n Node, start uint64, yield func(at uint64, b []byte) bool) {
	for at, size := uint64(0), min(g.Size(n), maxScan); at < size && yield(at, g.mem.Some(start+at, int(min(scanPiece, size-at)))); {
		at += scanPiece
	}
}

// Pointer finds the word of an object by which it points at another: how far in it that is.
func (g *Graph) Pointer(from, to Node) (off uint64, ok bool) {
	if int64(to) >= int64(g.nodes) {
		return 0, false
	}
	start, low, size := g.Start(from), g.Start(to), max(g.Size(to), 1)
	if g.toldAt(start) != nil || g.toldAt(low) != nil {
		g.scan(from, func(o uint64, t Node) bool {
			off, ok = o, t == to
			return !ok
		})
	} else if !g.blind(from) {
		if k := int(g.Kinds[to]); k < len(g.Heads) {
			head := min(uint64(g.Heads[k]), size)
			low, size = low+head, size-head
		}
		skips := g.skips(from)
		g.parts(from, start, func(at uint64, b []byte) bool {
			g.words(start+at, b, func(o int, v uint64) bool {
				off = at + uint64(o)
				ok = v-low < size && (off/8 >= 64 || skips&(1<<(off/8)) == 0)
				return !ok
			})
			return !ok
		})
	}
	if !ok {
		off = 0
	}
	return off, ok
}

// Words calls yield for each word of an object that points at another: how far in it the word is. It reads the object's memory.
func (g *Graph) Words(n Node, yield func(off uint64, to Node) bool) {
	g.scan(n, func(off uint64, to Node) bool { return to == n || yield(off, to) })
}

// WordSize is the number of bytes of a pointer of the program.
func (g *Graph) WordSize() int {
	if g.mem.Arch == nil {
		return 8
	}
	return g.mem.Arch.WordSize
}

// isRoot marks a parent that is a root, by its number.
const isRoot = 1 << 31

// Reach finds which objects are reached from the roots, on the shortest way from the best of them: call it when all roots are added. Objects that
// are added to later ways keep those they have. Of more objects than ways fit for only what is reached is known, and from which roots.
func (g *Graph) Reach(ctx context.Context) error {
	g.seen = make([]uint64, (g.nodes+63)/64)
	room := g.limit - g.bytes() - g.nodes/4
	if freed := 4*len(g.outAt) + 4*len(g.out.pieces)<<pieceBits; room < 8*g.nodes && room+freed >= 8*g.nodes {
		g.outAt, g.out, room = nil, edges{}, room+freed // ways are worth more, and to read objects again takes only time
		collect(freed)
	}
	g.ways(room)
	var now, next Frontier
	p := pairs{g: g, do: func(n, to Node) bool {
		if g.visit(to) {
			g.reached(to, n, g.rootNumber(n))
			next.Add(g, to)
		}
		return true
	}}
	ranks := uint8(0)
	for _, r := range g.Roots {
		ranks = max(ranks, r.Rank)
	}
	steps := 0
	for rank := uint8(0); ; rank++ {
		for _, inside := range []bool{false, true} {
			for i, r := range g.Roots {
				if r.Rank == rank && r.Inside == inside && g.visit(r.To) {
					g.reached(r.To, isRoot|uint32(i), g.numbered(uint32(i)))
					next.Add(g, r.To)
				}
			}
		}
		for next.Len() > 0 {
			for n, start := range now.Take(g, &next) {
				if steps++; steps%(1<<16) == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if g.outAt == nil {
					p.whole(n, start, nil)
					continue
				}
				for i := g.outAt[n]; i < g.outAt[n+1]; i++ {
					p.do(n, g.out.at(i))
				}
			}
			p.flush()
		}
		if rank == ranks {
			return nil
		}
	}
}

// collect returns memory that was dropped, if that is much, before more is asked for: else both are there for a while.
func collect(dropped int) {
	const much = 32 << 20
	if dropped > much {
		runtime.GC()
	}
}

// ways makes room for the ways to all objects, or for part of what is known of them, as far as there are bytes.
func (g *Graph) ways(room int) {
	g.parent, g.from, g.short, g.shorts = nil, nil, nil, nil
	switch {
	case room >= 8*g.nodes:
		g.from = make([]uint32, g.nodes)
	case room >= 2*g.nodes:
		g.short = make([]uint16, g.nodes)
	}
	if room >= 6*g.nodes {
		g.parent = make([]uint32, g.nodes)
		for i := range g.parent {
			g.parent[i] = None
		}
	}
}

// numbered is the number by which the objects know a root: its own, or a short one. The last one of these stands for all roots that have none.
func (g *Graph) numbered(root uint32) uint32 {
	if g.short == nil {
		return root
	}
	if len(g.shorts) < math.MaxUint16 {
		g.shorts = append(g.shorts, root)
	}
	return uint32(len(g.shorts) - 1)
}

// rootNumber is the number of the root that reached an object.
func (g *Graph) rootNumber(n Node) uint32 {
	switch {
	case g.from != nil:
		return g.from[n]
	case g.short != nil:
		return uint32(g.short[n])
	}
	return 0
}

// reached keeps the way to an object, or part of it.
func (g *Graph) reached(n Node, parent, number uint32) {
	if g.parent != nil {
		g.parent[n] = parent
	}
	switch {
	case g.from != nil:
		g.from[n] = number
	case g.short != nil:
		g.short[n] = uint16(number)
	}
}

// Ways reports whether the ways to objects are known.
func (g *Graph) Ways() bool { return g.parent != nil }

func (g *Graph) visit(n Node) bool {
	if g.seen[n/64]&(1<<(n%64)) != 0 {
		return false
	}
	g.seen[n/64] |= 1 << (n % 64)
	return true
}

// Reached reports whether a root reaches an object.
func (g *Graph) Reached(n Node) bool { return g.seen != nil && g.seen[n/64]&(1<<(n%64)) != 0 }

// RootOf is the number of the root from which an object is reached on the shortest way; false if none does, or there was no room to keep it.
func (g *Graph) RootOf(n Node) (root int, ok bool) {
	switch k := g.rootNumber(n); {
	case !g.Reached(n):
	case g.from != nil:
		return int(k), true
	case g.short != nil && k < math.MaxUint16-1:
		return int(g.shorts[k]), true
	}
	return 0, false
}

// Path is the way from a root to an object: the root, and the objects on the way, the last of them the object itself. most is how many may be on it;
// a longer one, or none, is false.
func (g *Graph) Path(n Node, most int) (r Root, nodes []Node, ok bool) {
	if !g.Reached(n) || g.parent == nil {
		return r, nil, false
	}
	for range most {
		nodes = append(nodes, n)
		p := g.parent[n]
		if p&isRoot != 0 {
			for i, j := 0, len(nodes)-1; i < j; i, j = i+1, j-1 {
				nodes[i], nodes[j] = nodes[j], nodes[i]
			}
			return g.Roots[p&^isRoot], nodes, true
		}
		n = p
	}
	return r, nil, false
}

// Parent is the step before an object on its Path: another object, or None and the root.
func (g *Graph) Parent(n Node) (parent Node, r Root, ok bool) {
	if !g.Reached(n) || g.parent == nil {
		return None, r, false
	}
	p := g.parent[n]
	if p&isRoot != 0 {
		return None, g.Roots[p&^isRoot], true
	}
	return p, r, true
}
