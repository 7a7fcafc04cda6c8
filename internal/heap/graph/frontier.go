package graph

import "iter"

// listed is how many objects a Frontier lists: more are bits.
const listed = 1 << 16

// A Frontier is a set of objects that are to be looked at next: a few in the order in which they were added, many by address, which is how their memory
// is read fast, and takes a bit for each object of the graph.
type Frontier struct {
	list []Node
	bits []uint64
	n    int
}

// Add adds an object, which is not in it yet.
func (f *Frontier) Add(g *Graph, n Node) {
	if f.n++; f.n <= listed {
		f.list = append(f.list, n)
		return
	}
	if f.n == listed+1 {
		if f.bits == nil {
			f.bits = make([]uint64, (g.nodes+63)/64)
		}
		for _, l := range f.list {
			f.bits[l/64] |= 1 << (l % 64)
		}
	}
	f.bits[n/64] |= 1 << (n % 64)
}

// Len is the number of objects.
func (f *Frontier) Len() int { return f.n }

// many reports whether the objects come by address.
func (f *Frontier) many() bool { return f.n > listed }

// clear empties it.
func (f *Frontier) clear() {
	if f.many() {
		clear(f.bits)
	}
	f.list, f.n = f.list[:0], 0
}

// nodes are the objects.
func (f *Frontier) nodes() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if !f.many() {
			for _, n := range f.list {
				if !yield(n) {
					return
				}
			}
			return
		}
		for i, w := range f.bits {
			for ; w != 0; w &= w - 1 {
				if !yield(Node(64*i + trailing(w))) {
					return
				}
			}
		}
	}
}

// Take empties a Frontier into the one that it replaces, and gives the objects with where they begin.
func (f *Frontier) Take(g *Graph, from *Frontier) iter.Seq2[Node, uint64] {
	f.clear()
	*f, *from = *from, *f
	return func(yield func(Node, uint64) bool) {
		var p places
		for n := range f.nodes() {
			if !yield(n, p.start(&g.index, n)) {
				return
			}
		}
	}
}
