// Package spans finds the range that contains an address: of segments, sections, parts of
// memory, which a file lists in any number and order.
package spans

import (
	"cmp"
	"container/heap"
	"slices"
)

// A Piece is a range of addresses, First and Last included, that belongs to one of the
// ranges that a Table was made of.
type Piece struct {
	First, Last uint64
	Index       int // of the range
}

// A Table is a set of ranges of addresses, ordered by address. Where several ranges contain
// an address, it belongs to the one that comes first in the list. The zero Table is empty. A
// Table is safe for concurrent use.
type Table []Piece

// New makes a Table of n ranges. at returns range i, first and last address included; false
// if it is to be left out. Making it takes n log n steps, and none of them more than one
// look at each range; the Table has less than 2n pieces.
func New(n int, at func(i int) (first, last uint64, ok bool)) Table {
	t := make(Table, 0, min(n, 16))
	sorted := true
	for i := range n {
		first, last, ok := at(i)
		if !ok || last < first {
			continue
		}
		sorted = sorted && (len(t) == 0 || first > t[len(t)-1].Last)
		t = append(t, Piece{first, last, i})
	}
	if !sorted {
		t = untangle(t)
	}
	return t
}

// untangle sorts pieces, which are in the order of their indexes, and cuts those that
// overlap.
func untangle(list []Piece) Table {
	slices.SortStableFunc(list, func(a, b Piece) int { return cmp.Compare(a.First, b.First) })
	var out Table
	var open pieceHeap // those that begin at or below pos
	pos := uint64(0)
	for next := 0; next < len(list) || len(open) > 0; {
		if len(open) == 0 {
			pos = max(pos, list[next].First)
		}
		for ; next < len(list) && list[next].First <= pos; next++ {
			heap.Push(&open, list[next])
		}
		top := open[0]
		if top.Last < pos {
			heap.Pop(&open)
			continue
		}
		last := top.Last
		if next < len(list) && list[next].First <= last {
			last = list[next].First - 1
		}
		if n := len(out); n > 0 && out[n-1].Index == top.Index && out[n-1].Last+1 == pos {
			out[n-1].Last = last
		} else {
			out = append(out, Piece{pos, last, top.Index})
		}
		if pos = last + 1; pos == 0 {
			break // the end of the address space
		}
	}
	return out
}

// Find returns the index of the range to which an address belongs; false if no range
// contains it.
func (t Table) Find(addr uint64) (int, bool) {
	lo, hi := 0, len(t)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t[mid].Last < addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(t) || t[lo].First > addr {
		return 0, false
	}
	return t[lo].Index, true
}

// pieceHeap has the piece with the lowest index on top.
type pieceHeap []Piece

func (h pieceHeap) Len() int           { return len(h) }
func (h pieceHeap) Less(i, j int) bool { return h[i].Index < h[j].Index }
func (h pieceHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *pieceHeap) Push(x any)        { *h = append(*h, x.(Piece)) }
func (h *pieceHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
