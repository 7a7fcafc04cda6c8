package graph

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/corewalk/corewalk/internal/procmem"
)

// A Kind says of what kind an object is: a number that whoever builds the graph gives.
type Kind = uint16

// A Root is a word outside of the objects that points into one.
type Root struct {
	At   uint64 // address of the word; a number that the caller gave, for what has none
	To   Node
	Rank uint8 // the lower, the better it names what it leads to
	// Inside says that the word points behind the beginning of the object. Numbers that are no pointers do so more often than variables.
	Inside bool
}

// A Graph is what lies in a heap. It is made by a Builder, and changes no more but for Kinds.
type Graph struct {
	index
	mem    procmem.Reader
	told   []told
	refs   []Ref // of a part of one object
	sizes  []uint16
	large  map[Node]uint64 // sizes that do not fit
	Kinds  []Kind          // of each object
	Heads  []uint8         // by kind, as far as there are any: bytes at the beginning of an object, pointers to which do not count
	Blind  []bool          // by kind likewise: what such objects point at does not count
	Skips  []uint64        // by kind likewise: bits, by number, of the words of eight bytes whose pointers do not count
	Roots  []Root
	total  uint64
	rooted map[rootPage]*[perPage / 64]uint64 // bits: objects that have a root
	outAt  []uint32                           // where each object's edges begin in out; nil if they are not kept
	out    edges
	seen   []uint64 // bits: objects that a root reaches
	parent []uint32 // of each object reached: an object, or a root's number with isRoot
	from   []uint32 // and the number of the root
	short  []uint16 // instead of it where there is less room: numbers of shorts
	shorts []uint32 // numbers of roots
	limit  int      // bytes of memory that the graph may take
}

// Errors of what is left out to stay within limits.
var (
	ErrMany  = errors.New("more objects than can be counted")
	ErrLarge = errors.New("more pointers than fit into the memory that may be used")
)

// A Builder makes a Graph.
type Builder struct {
	g      *Graph
	second bool
	first  inOrder
}

// NewBuilder makes a graph. limit is how much memory it may take, in bytes.
func NewBuilder(mem procmem.Reader, limit int) *Builder {
	return &Builder{g: &Graph{index: index{most: limit / 8}, mem: mem, limit: limit}}
}

// Range says that objects may be in a range of memory. It is false where that overlaps another.
func (b *Builder) Range(start, end uint64) bool { return b.g.add(start, end) }

// A Ref is a reference in an object.
type Ref struct {
	Off uint64 // in the object
	To  uint64
}

// told is memory whose objects somebody knows the references of.
type told struct {
	start, end uint64
	tag        uint64
	refs       func(start, off uint64, b []byte, out []Ref) []Ref
}

// Tell has the references of objects in a range told, of a part b of the object at start that begins at an offset in it. What else is in them leads
// nowhere, and only what leads to the beginning of one of them leads there, with a tag added to it: 0 where references are addresses.
func (b *Builder) Tell(start, end, tag uint64, refs func(start, off uint64, b []byte, out []Ref) []Ref) {
	i, _ := slices.BinarySearchFunc(b.g.told, start, func(t told, a uint64) int { return cmp.Compare(t.start, a) })
	b.g.told = slices.Insert(b.g.told, i, told{start, end, tag, refs})
}

// Add adds an object. All objects are added, and after Counted, if that asks for it, once more. An object that begins nowhere in
// the ranges, or where one does already, is left out.
func (b *Builder) Add(start, size uint64) {
	g := b.g
	if !b.second {
		if g.mark(start) {
			b.first.add(start, size)
		}
		return
	}
	if n, ok := g.exact(start); ok && g.sizes[n] == 0 {
		g.sized(n, size)
	}
}

// sized keeps how large an object is.
func (g *Graph) sized(n Node, size uint64) {
	g.total += size
	if size > math.MaxUint16-1 {
		g.large[n] = size
		size = math.MaxUint16
	}
	g.sizes[n] = uint16(size)
}

// Counted ends a round. It is true if all objects are to be added once more, as they did not come by address, or nearly so.
func (b *Builder) Counted() (again bool) {
	if b.second {
		return false
	}
	g := b.g
	g.number()
	g.sizes, g.large = make([]uint16, g.nodes), map[Node]uint64{}
	again = !b.first.sizes(g)
	b.first = inOrder{} // what it takes is free for the kinds
	collect(2 * g.nodes)
	g.Kinds = make([]Kind, g.nodes)
	b.second = true
	return again
}

// Graph ends the last round.
func (b *Builder) Graph() *Graph { return b.g }

// Len is the number of objects.
func (g *Graph) Len() int { return g.nodes }

// Total is the number of bytes of all objects.
func (g *Graph) Total() uint64 { return g.total }

// Start is where an object begins.
func (g *Graph) Start(n Node) uint64 { return g.start(n) }

// Size is the number of bytes of an object.
func (g *Graph) Size(n Node) uint64 {
	if s := g.sizes[n]; s != math.MaxUint16 {
		return uint64(s)
	}
	return g.large[n]
}

// Exact is the object that begins at an address.
func (g *Graph) Exact(addr uint64) (Node, bool) { return g.exact(addr) }

// Find is the object that has an address, and how far in it that is.
func (g *Graph) Find(addr uint64) (n Node, off uint64, ok bool) {
	n, start, ok := g.last(addr)
	if off := addr - start; ok && (off == 0 || off < g.Size(n)) {
		return n, off, true
	}
	return None, 0, false
}

// target is the object to which a pointer leads.
func (g *Graph) target(v uint64) (Node, bool) {
	if t := g.toldAt(v); t != nil {
		return g.exact(v - t.tag)
	}
	n, off, ok := g.Find(v)
	if ok && g.Heads != nil {
		if k := int(g.Kinds[n]); k < len(g.Heads) && off < uint64(g.Heads[k]) {
			return None, false
		}
	}
	return n, ok
}

// toldAt is what tells the references of an object at an address; nil for its words.
func (g *Graph) toldAt(addr uint64) *told {
	low, high := 0, len(g.told)
	for low < high {
		m := int(uint(low+high) >> 1)
		switch t := &g.told[m]; {
		case addr < t.start:
			high = m
		case addr >= t.end:
			low = m + 1
		default:
			return t
		}
	}
	return nil
}

// blind reports whether what an object points at does not count.
func (g *Graph) blind(n Node) bool {
	k := int(g.Kinds[n])
	return k < len(g.Blind) && g.Blind[k]
}

// skips are the words of an object that do not count.
func (g *Graph) skips(n Node) uint64 {
	if k := int(g.Kinds[n]); k < len(g.Skips) {
		return g.Skips[k]
	}
	return 0
}

// counts is yield without words that do not count, of a part of an object that begins at an offset in it.
func counts(skips, at uint64, yield func(off int, to Node) bool) func(off int, to Node) bool {
	if skips == 0 {
		return yield
	}
	return func(off int, to Node) bool {
		word := (at + uint64(off)) / 8
		return word < 64 && skips&(1<<word) != 0 || yield(off, to)
	}
}

// Each calls yield for each object by address, with its memory, as much of it as is there, up to most bytes: yield must not keep it. It ends when
// yield returns false.
func (g *Graph) Each(most int, yield func(n Node, start uint64, b []byte) bool) {
	g.each(&window{mem: g.mem}, 0, Node(g.nodes), most, yield)
}

// each is Each from an object to before another, read through a window. Several may be at work at once, with windows of their own.
func (g *Graph) each(w *window, from, to Node, most int, yield func(n Node, start uint64, b []byte) bool) {
	var p places
	for n := from; n < to; n++ {
		start := p.start(&g.index, n)
		if !yield(n, start, w.read(start, int(min(g.Size(n), uint64(most))))) {
			return
		}
	}
}

// A window reads memory in pieces, by rising addresses.
type window struct {
	mem  procmem.Reader
	at   uint64
	data []byte
	buf  []byte
}

const windowSize = 256 << 10

// read is memory, as much as is there of it, until the next read.
func (w *window) read(at uint64, n int) []byte {
	if at >= w.at && at-w.at < uint64(len(w.data)) && at-w.at+uint64(n) <= uint64(len(w.data)) {
		return w.data[at-w.at:][:n]
	}
	if n > windowSize { // not through the window
		return w.mem.Some(at, n)
	}
	if w.buf == nil {
		w.buf = make([]byte, windowSize)
	}
	w.at, w.data = at, w.mem.View(at, w.buf)
	return w.data[:min(n, len(w.data))]
}

// words calls yield for each aligned word of memory that begins at an address.
func (g *Graph) words(at uint64, b []byte, yield func(off int, v uint64) bool) {
	a := g.mem.Arch
	if a == nil {
		return
	}
	size := a.WordSize
	off := int(-at & uint64(size-1))
	if size == 8 {
		for ; off+8 <= len(b); off += 8 {
			if v := a.ByteOrder.Uint64(b[off:]); v != 0 && !yield(off, v) {
				return
			}
		}
		return
	}
	for ; off+4 <= len(b); off += 4 {
		if v := a.ByteOrder.Uint32(b[off:]); v != 0 && !yield(off, uint64(v)) {
			return
		}
	}
}

// within calls yield for each pointer in a part of an object that begins at an offset in it, until it returns false, and then does: how far in the part it is.
func (g *Graph) within(start, off uint64, b []byte, yield func(off int, to Node) bool) bool {
	t := g.toldAt(start)
	if t == nil {
		return g.pointers(start+off, b, yield)
	}
	const piece = 64 << 10
	for i := 0; i < len(b); i += piece {
		g.refs = t.refs(start, off+uint64(i), b[i:min(i+piece, len(b))], g.refs[:0])
		for _, r := range g.refs {
			if to, ok := g.target(r.To); ok && !yield(int(r.Off-off), to) {
				return false
			}
		}
	}
	return true
}

// pointers calls yield for each word of memory that points into an object, until it returns false, and then does.
func (g *Graph) pointers(at uint64, b []byte, yield func(off int, to Node) bool) bool {
	if len(g.spans) == 0 {
		return true
	}
	low, high := g.spans[0].start, g.spans[len(g.spans)-1].end
	if a := g.mem.Arch; a != nil && a.WordSize == 8 && !a.Big() { // most memory of most dumps
		for off := int(-at & 7); off+8 <= len(b); off += 8 {
			if v := binary.LittleEndian.Uint64(b[off:]); v-low < high-low {
				if to, ok := g.target(v); ok && !yield(off, to) {
					return false
				}
			}
		}
		return true
	}
	on := true
	g.words(at, b, func(off int, v uint64) bool {
		if v-low >= high-low {
			return true
		}
		to, ok := g.target(v)
		on = !ok || yield(off, to)
		return on
	})
	return on
}
