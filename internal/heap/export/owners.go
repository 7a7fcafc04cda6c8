package export

import (
	"context"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// An entry stands for the objects of one class that are kept alive by the same chain of classes: a stack, as profilers have them, with the object
// innermost and a root outermost. A class that keeps itself alive, as in lists, is in a chain once. An entry of a single object, if some are told
// apart, begins a new chain below the other.
type entry struct {
	parent uint32
	class  class
	depth  uint8
	node   graph.Node // if it is a single object; None
	count  uint64
	bytes  uint64 // of the objects
	total  uint64 // and of those in all entries below
}

// maxDepth is how many entries a chain has at most. Of longer ones the innermost but one are left out.
const maxDepth = 16

// An ownership has the entries of all objects. Entry 0 is what all roots are below.
type ownership struct {
	*classes
	entries []entry
	at      []uint32 // entry of each object
	index   map[uint64]uint32
	limit   int
	// single reports objects that have entries of their own; nil: none.
	single func(n graph.Node) bool
	// paths has objects that no other dominates below what is before them on the shortest path from a root; without, they are right below that root, so
	// that what is below an object is what it keeps alive.
	paths bool
}

const pending = ^uint32(0)

// owners makes the entries, at most limit, and one more for each class and name of a root.
func owners(ctx context.Context, h *Heap, limit int, paths bool, single func(graph.Node) bool) (*ownership, error) {
	o := &ownership{classes: newClasses(h), entries: make([]entry, 1), at: make([]uint32, h.Graph.Len()), index: map[uint64]uint32{}, limit: limit, paths: paths, single: single}
	o.entries[0].node = graph.None
	type step struct {
		n   graph.Node
		top uint32 // entry of a root that it is below; 0: below the step after it
	}
	var way []step
	for i := range o.at {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		for n := graph.Node(i); o.at[n] == 0; {
			o.at[n] = pending
			owner, top := o.owner(n)
			way = append(way, step{n, top})
			if len(way)%perCheck == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if top != 0 {
				break
			}
			if o.at[owner] == pending { // the dominators are wrong
				way[len(way)-1].top = o.top(otherOwners)
				break
			}
			n = owner
		}
		for ; len(way) > 0; way = way[:len(way)-1] {
			s := way[len(way)-1]
			parent := s.top
			if parent == 0 {
				owner, _ := o.owner(s.n)
				parent = o.at[owner]
			}
			o.place(s.n, parent)
		}
	}
	for i := len(o.entries) - 1; i > 0; i-- { // parents are before children
		e := &o.entries[i]
		e.total += e.bytes
		o.entries[e.parent].total += e.total
	}
	return o, nil
}

// owner is what an object is below: another, or the entry of a root.
func (o *ownership) owner(n graph.Node) (by graph.Node, top uint32) {
	if int(n) < len(o.h.By) {
		if by = o.h.By[n]; int64(by) < int64(len(o.at)) {
			return by, 0
		}
	}
	by, r, ok := o.h.Graph.Parent(n)
	switch {
	case !ok:
		return graph.None, o.top(unreached)
	case by == graph.None:
		return graph.None, o.root(o.ofRoot(r))
	case o.paths || o.h.By == nil:
		return by, 0
	}
	i, _ := o.h.Graph.RootOf(n)
	return graph.None, o.root(o.ofRoot(o.h.Graph.Roots[i]))
}

func (o *ownership) top(name string) uint32 { return o.root(o.number(name, true, false)) }

// root is the entry of a root.
func (o *ownership) root(c class) uint32 {
	if i, ok := o.index[uint64(c)]; ok {
		return i
	}
	return o.add(0, c, graph.None)
}

func (o *ownership) add(parent uint32, c class, single graph.Node) uint32 {
	i := uint32(len(o.entries))
	o.entries = append(o.entries, entry{parent: parent, class: c, depth: o.entries[parent].depth + 1, node: single})
	if single == graph.None {
		o.index[uint64(parent)<<32|uint64(c)] = i
	} else {
		o.entries[i].depth = 1
	}
	return i
}

// place puts an object below an entry.
func (o *ownership) place(n graph.Node, parent uint32) {
	c := o.of(n)
	var i uint32
	if o.single != nil && o.single(n) {
		i = o.add(parent, c, n)
	} else {
		i = o.child(parent, c)
	}
	o.at[n] = i
	e := &o.entries[i]
	e.count++
	e.bytes += o.h.Graph.Size(n)
}

func (o *ownership) child(parent uint32, c class) uint32 {
	for i := parent; i != 0; i = o.entries[i].parent {
		e := &o.entries[i]
		if e.node != graph.None {
			break
		}
		if e.class == c {
			return i
		}
	}
	for o.entries[parent].depth >= maxDepth-1 {
		parent = o.entries[parent].parent
	}
	if i, ok := o.index[uint64(parent)<<32|uint64(c)]; ok {
		return i
	}
	if len(o.entries) >= o.limit {
		parent = o.top(otherOwners)
		if i, ok := o.index[uint64(parent)<<32|uint64(c)]; ok {
			return i
		}
	}
	return o.add(parent, c, graph.None)
}
