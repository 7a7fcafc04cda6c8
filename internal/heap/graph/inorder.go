package graph

import (
	"cmp"
	"math"
	"slices"
)

const (
	orderBits = 16      // sizes in one piece
	maxRuns   = 1 << 16 // more are no order
)

// inOrder are the sizes of objects as they are added, which is by address but for some places where it begins anew: they need not be added once more.
type inOrder struct {
	runs   []run
	pieces [][]uint16
	large  []uint64 // sizes that do not fit, in their order
	n      int
}

// A run are objects that were added by rising addresses.
type run struct {
	start, last uint64
	n           int
	large       int // sizes before it
	at          int
}

func (o *inOrder) add(start, size uint64) {
	if len(o.runs) > maxRuns {
		return
	}
	if k := len(o.runs); k == 0 || start <= o.runs[k-1].last {
		o.runs = append(o.runs, run{start: start, at: o.n, large: len(o.large)})
		if len(o.runs) > maxRuns {
			o.pieces, o.large = nil, nil
			return
		}
	}
	r := &o.runs[len(o.runs)-1]
	r.last = start
	r.n++
	if size > math.MaxUint16-1 {
		o.large = append(o.large, size)
		size = math.MaxUint16
	}
	const piece = 1 << orderBits
	if o.n%piece == 0 {
		o.pieces = append(o.pieces, make([]uint16, piece))
	}
	o.pieces[o.n/piece][o.n%piece] = uint16(size)
	o.n++
}

// sizes gives the objects of a graph, which have their numbers, their sizes. It is false if runs overlap: then it does nothing.
func (o *inOrder) sizes(g *Graph) bool {
	if len(o.runs) > maxRuns {
		return false
	}
	slices.SortFunc(o.runs, func(a, b run) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(o.runs); i++ {
		if o.runs[i].start <= o.runs[i-1].last {
			return false
		}
	}
	n := Node(0)
	for _, r := range o.runs {
		large := o.large[r.large:]
		for i := r.at; i < r.at+r.n; i++ {
			size := uint64(o.pieces[i>>orderBits][i&(1<<orderBits-1)])
			if size == math.MaxUint16 {
				size, large = large[0], large[1:]
			}
			g.sized(n, size)
			n++
		}
	}
	return true
}
