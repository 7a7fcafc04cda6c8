package gtcmalloc

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// block is the i-th block of a span.
func (h *Heap) block(s *span, i uint64) heap.Block {
	switch {
	case s.location != inUse:
		return heap.Block{Start: s.start, Size: s.size, Free: true, List: "free span"}
	case h.count(s) == 0:
		return h.alone(s)
	}
	size := h.sizes[s.class]
	b := heap.Block{Start: s.start + i*size, Size: size}
	b.List = h.lists[b.Start]
	b.Free = b.List != ""
	b.Own = h.own[b.Start] && !b.Free
	return b
}

// alone is the block that a span is: all of it, or what a block has that was chosen to be by itself.
func (h *Heap) alone(s *span) heap.Block {
	b := heap.Block{Start: s.start, Size: s.size}
	if start, size, ok := h.guarded(s); ok {
		return heap.Block{Start: start, Size: size}
	}
	if s.sample != 0 && h.l.Has("sample.size") {
		if v := h.mem.Word(s.sample + h.l.At("sample.size")); v > 0 && v < s.size {
			b.Size = v
		}
	}
	return b
}

// guarded is the block of a span between pages that nobody may use: it ends or begins with its page.
func (h *Heap) guarded(s *span) (start, size uint64, ok bool) {
	base, known := h.at["guardedpage_allocator_"]
	for _, name := range [...]string{"guard.slots", "guard.first", "guard.end", "guard.page", "slot.size", "slot.requested", "slot.start"} {
		known = known && h.l.Has(name)
	}
	if !known {
		return 0, 0, false
	}
	first, end, page := h.mem.Word(base+h.l.At("guard.first")), h.mem.Word(base+h.l.At("guard.end")), h.mem.Word(base+h.l.At("guard.page"))
	if s.start < first || s.start >= end || page == 0 || page > 1<<20 || (s.start-first)/page/2 > maxGuarded {
		return 0, 0, false
	}
	slot := h.mem.Word(base+h.l.At("guard.slots")) + (s.start-first)/page/2*h.l.At("slot.size")
	start, size = h.mem.Word(slot+h.l.At("slot.start")), h.mem.Word(slot+h.l.At("slot.requested"))
	return start, size, start >= s.start && start <= s.end() && size <= s.end()-start
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.free()
	k := 0
	for i := range h.spans {
		s := &h.spans[i]
		for ; k < len(h.left) && h.left[k][0] < s.start; k++ {
			if !yield(gone(h.left[k])) {
				return
			}
		}
		for i := range max(h.count(s), 1) {
			if h.budget--; h.budget <= 0 || !yield(h.block(s, i)) {
				return
			}
		}
	}
	for ; k < len(h.left); k++ {
		if !yield(gone(h.left[k])) {
			return
		}
	}
}

// gone is memory of spans that are no more.
func gone(r [2]uint64) heap.Block {
	return heap.Block{Start: r[0], Size: r[1] - r[0], Free: true, List: "free span"}
}

// spanAt returns the span that has an address.
func (h *Heap) spanAt(addr uint64) *span {
	i := heap.Within(h.spans, addr, func(s *span) (start, end uint64) { return s.start, s.end() })
	if i < 0 {
		return nil
	}
	return &h.spans[i]
}

// Records implements heap.Allocator: tables of free blocks, behind whose ends are old pointers.
func (h *Heap) Records() [][2]uint64 {
	h.free()
	return slices.Clone(h.records)
}

// BlockAt implements heap.Allocator. Blocks have no records beside them.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.free()
	s := h.spanAt(addr)
	if s == nil {
		i := heap.Within(h.left, addr, func(r *[2]uint64) (start, end uint64) { return r[0], r[1] })
		if i < 0 {
			return b, false
		}
		return gone(h.left[i]), true
	}
	n := h.count(s)
	if n == 0 {
		b = h.block(s, 0)
		return b, b.Contains(addr)
	}
	i := (addr - s.start) / h.sizes[s.class]
	if i >= n {
		return b, false
	}
	return h.block(s, i), true
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.free()
	return slices.Clone(h.damages)
}

var _ heap.Allocator = (*Heap)(nil)
