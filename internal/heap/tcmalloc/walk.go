package tcmalloc

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

const maxDamages = 32

// count is how many blocks a span is divided into; 0 if it is one.
func (h *Heap) count(s *span) int {
	if s.class == 0 || s.class >= len(h.sizes) {
		return 0
	}
	return int(s.size / h.sizes[s.class])
}

// block is the i-th block of a span.
func (h *Heap) block(s *span, i int) heap.Block {
	switch {
	case s.location == onFree:
		return heap.Block{Start: s.start, Size: s.size, Free: true, List: "free span"}
	case s.location == onReturned:
		return heap.Block{Start: s.start, Size: s.size, Free: true, List: "returned span"}
	case h.count(s) == 0:
		return heap.Block{Start: s.start, Size: s.size}
	}
	size := h.sizes[s.class]
	b := heap.Block{Start: s.start + uint64(i)*size, Size: size}
	b.List = h.lists[b.Start]
	b.Free = b.List != ""
	return b
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.free()
	for k := range h.spans {
		s := &h.spans[k]
		n := 1
		if s.location == inUse {
			n = max(h.count(s), 1)
		}
		for i := range n {
			if h.budget--; h.budget <= 0 || !yield(h.block(s, i)) {
				return
			}
		}
	}
}

// spanAt returns the span that has an address.
func (h *Heap) spanAt(addr uint64) *span {
	i := heap.Within(h.spans, addr, func(s *span) (start, end uint64) { return s.start, s.end() })
	if i < 0 {
		return nil
	}
	return &h.spans[i]
}

// Records implements heap.Allocator. None of its records points at a block in use.
func (h *Heap) Records() [][2]uint64 { return nil }

// BlockAt implements heap.Allocator. Blocks have no records beside them.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.free()
	s := h.spanAt(addr)
	if s == nil {
		return b, false
	}
	i := 0
	if n := h.count(s); n > 0 && s.location == inUse {
		if i = int((addr - s.start) / h.sizes[s.class]); i >= n {
			return b, false
		}
	}
	return h.block(s, i), true
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.free()
	return slices.Clone(h.damages)
}

var _ heap.Allocator = (*Heap)(nil)
