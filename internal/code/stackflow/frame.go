package stackflow

import "math"

// A slot is a word of the stack, at address at.
type slot struct{ at, val value }

// maxSlots limits the words of a frame that are tracked.
const maxSlots = 64

// A frame is the set of known words of the stack, in the order in which they were written.
// Copies share the slots until one of them changes.
type frame struct {
	slots  []slot
	heap   *slotHeap
	shared bool // a copy has the same slots
	// version identifies a list of slots: lists with the same version are equal.
	version uint64
	// places has one bit for each eight bytes that a slot touches, by offset/8 modulo 64.
	// lowest is a lower bound of the offsets. They rule out most searches.
	places uint64
	lowest int64
}

// clear forgets all words.
func (f *frame) clear() {
	f.slots, f.shared, f.places, f.lowest = nil, true, 0, math.MaxInt64
	f.own()
}

// place returns the bit in places for offset k.
func place(k int64) uint64 { return 1 << (uint64(k) >> 3 & 63) }

// mayTouch reports whether a word may overlap [k, k+size).
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

// index returns the index of the slot for the word at addr, or -1.
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

// keep forgets the words for which wanted returns false.
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

// intersect forgets the words that g does not have, and reports whether there were any.
// Usually both have the same words in the same order.
func (f *frame) intersect(g *frame) bool {
	if f.version == g.version {
		return false
	}
	next := 0 // index in g's words
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

// own makes the slots private to f, so that they can be changed.
func (f *frame) own() {
	f.heap.versions++
	f.version = f.heap.versions
	if f.shared {
		f.slots = append(f.heap.alloc(len(f.slots)), f.slots...)
		f.shared = false
	}
}

// A slotHeap allocates slots and values of registers.
type slotHeap struct {
	chunks [][]slot
	vals   []value
	heapMark
	versions uint64 // number of slot lists so far
}

// A heapMark says how much of a slotHeap is in use.
type heapMark struct {
	n    int // index of the current chunk
	used int // number of its slots in use
}

const (
	chunkSlots = 2048 // the size of a chunk
	maxChunks  = 2048 // limits the memory of one analysis
	keptChunks = 32   // number kept for the next analysis
)

// full reports whether the memory limit is reached.
func (h *slotHeap) full() bool { return h.n >= maxChunks }

// release frees what was allocated since the heap was at m.
func (h *slotHeap) release(m heapMark) { h.heapMark = m }

// alloc returns a list of slots with capacity for n and some more.
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

// values returns an empty list with capacity for n values. It is freed only by reset.
func (h *slotHeap) values(n int) []value {
	if cap(h.vals)-len(h.vals) < n {
		h.vals = make([]value, 0, max(n, chunkSlots))
	}
	at := len(h.vals)
	h.vals = h.vals[:at+n]
	return h.vals[at : at : at+n]
}

// reset frees everything.
func (h *slotHeap) reset() {
	h.vals = h.vals[:0]
	h.release(heapMark{})
	if len(h.chunks) > keptChunks {
		clear(h.chunks[keptChunks:])
		h.chunks = h.chunks[:keptChunks]
	}
}
