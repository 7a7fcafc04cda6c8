package stackflow

import "math"

// A slot is a word of the stack: at is its address.
type slot struct{ at, val value }

// maxSlots bounds the words of a frame that are remembered.
const maxSlots = 64

// A frame is the words of the stack that are known, in the order in which they
// were written. Copies of it share them until one is changed.
type frame struct {
	slots  []slot
	heap   *slotHeap
	shared bool // somebody else has the same slots
	// version tells lists of slots apart: those with the same one are the same.
	version uint64
	// places has a bit for each eight bytes, by their number modulo 64, that some
	// slot touches, and lowest is at most the offset of each: what these exclude
	// need not be searched for.
	places uint64
	lowest int64
}

// clear forgets all words.
func (f *frame) clear() {
	f.slots, f.shared, f.places, f.lowest = nil, true, 0, math.MaxInt64
	f.own()
}

// place is the bit of the eight bytes that offset k is in.
func place(k int64) uint64 { return 1 << (uint64(k) >> 3 & 63) }

// mayTouch reports whether there may be a word that [k, k+size) touches.
func (f *frame) mayTouch(k, size int64) bool {
	if size > 16 {
		return true
	}
	return f.places&(place(k)|place(k+8)|place(k+size-1)) != 0
}

// slotAt returns what the word at addr holds.
func (f *frame) slotAt(addr value) value {
	if i := f.index(addr); i >= 0 {
		return f.slots[i].val
	}
	return value{}
}

// index is the number of the slot for the word at addr, -1 for none.
func (f *frame) index(addr value) int {
	if f.places&place(addr.k) == 0 {
		return -1
	}
	for i := range f.slots {
		if f.slots[i].at == addr {
			return i
		}
	}
	return -1
}

// add appends a word.
func (f *frame) add(x slot) {
	f.own()
	f.slots = append(f.slots, x)
	f.places |= place(x.at.k) | place(x.at.k+7)
	f.lowest = min(f.lowest, x.at.k)
}

// keep forgets the words of which wanted does not report that they are to stay.
func (f *frame) keep(wanted func(x *slot) bool) {
	for i := range f.slots {
		if wanted(&f.slots[i]) {
			continue
		}
		f.own()
		kept := f.slots[:i]
		for _, x := range f.slots[i+1:] {
			if wanted(&x) {
				kept = append(kept, x)
			}
		}
		f.slots = kept
		return
	}
}

// intersect forgets the words that g does not have, and answers whether there were
// any. Mostly both have the same ones in the same order.
func (f *frame) intersect(g *frame) bool {
	if f.version == g.version {
		return false
	}
	next := 0 // of g's words
	for i := range f.slots {
		x := &f.slots[i]
		if next < len(g.slots) && g.slots[next] == *x {
			next++
			continue
		}
		if next = g.index(x.at); next < 0 || g.slots[next].val != x.val {
			f.keep(func(x *slot) bool { return g.slotAt(x.at) == x.val })
			return true
		}
		next++
	}
	return false
}

// own makes the slots f's alone, to be changed.
func (f *frame) own() {
	f.heap.versions++
	f.version = f.heap.versions
	if f.shared {
		f.slots = append(f.heap.alloc(len(f.slots)), f.slots...)
		f.shared = false
	}
}

// A slotHeap hands out memory for slots, and for the values of registers.
type slotHeap struct {
	chunks [][]slot
	vals   []value
	heapMark
	versions uint64 // of lists of slots, so far
}

// A heapMark says how much of a slotHeap is in use.
type heapMark struct {
	n    int // of the chunk in use
	used int // of its slots
}

const (
	chunkSlots = 2048 // the size of a chunk
	maxChunks  = 2048 // bounds the memory of one analysis
	keptChunks = 32   // are kept for the next one
)

// full reports whether too much memory is in use.
func (h *slotHeap) full() bool { return h.n >= maxChunks }

// release gives back what was handed out since the heap was at m.
func (h *slotHeap) release(m heapMark) { h.heapMark = m }

// alloc makes a list of slots with room for n and some more.
func (h *slotHeap) alloc(n int) []slot {
	n += 8
	if h.n < len(h.chunks) && h.used+n > chunkSlots {
		h.n, h.used = h.n+1, 0
	}
	if h.n == len(h.chunks) {
		h.chunks = append(h.chunks, make([]slot, chunkSlots))
	}
	at := h.used
	h.used += n
	return h.chunks[h.n][at:at:h.used]
}

// values returns an empty list with room for n values. It is given back with all
// the rest only.
func (h *slotHeap) values(n int) []value {
	if cap(h.vals)-len(h.vals) < n {
		h.vals = make([]value, 0, max(n, chunkSlots))
	}
	at := len(h.vals)
	h.vals = h.vals[:at+n]
	return h.vals[at : at : at+n]
}

// reset gives everything back.
func (h *slotHeap) reset() {
	h.vals = h.vals[:0]
	h.release(heapMark{})
	if len(h.chunks) > keptChunks {
		clear(h.chunks[keptChunks:])
		h.chunks = h.chunks[:keptChunks]
	}
}
