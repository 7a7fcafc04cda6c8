package gtcmalloc

import (
	"fmt"
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
	switch list := h.lists[b.Start]; {
	case list != "":
		b.Free, b.List = true, list
	case h.listed(s)[b.Start]:
		b.Free, b.List = true, "span"
	default:
		b.Own = h.own(b.Start)
	}
	return b
}

// listed are the blocks that a span lists as free. Those of the last one are kept.
func (h *Heap) listed(s *span) map[uint64]bool {
	if h.last != s.record {
		list, _, _ := h.freeIn(s)
		h.last, h.lastFree = s.record, make(map[uint64]bool, len(list))
		for _, at := range list {
			h.lastFree[at] = true
		}
	}
	return h.lastFree
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
	for i := range h.all() {
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

// spanAt returns the span that has an address: by the page, else, as of large ones only the first and the last page lead to them, by all spans.
func (h *Heap) spanAt(addr uint64) (s span, ok bool) {
	if addr>>addressBits != 0 {
		return s, false
	}
	if !h.whole {
		page, pages := addr>>h.shift, h.l.At("leaf.pages")
		leaf := h.leafAt(page / pages)
		if leaf == 0 {
			return s, false
		}
		entry := h.mem.Word(leaf + h.l.At("leaf.span") + 8*(page%pages))
		if s, ok = h.spanOf(page, leaf, entry); ok && !h.isDeleted(s.record) {
			return s, true
		}
	}
	all := h.all()
	i := heap.Within(all, addr, func(s *span) (start, end uint64) { return s.start, s.end() })
	if i < 0 {
		return s, false
	}
	return all[i], true
}

// Records implements heap.Allocator: tables of free blocks, behind whose ends are old pointers.
func (h *Heap) Records() [][2]uint64 {
	h.free()
	return slices.Clone(h.records)
}

// BlockAt implements heap.Allocator. Blocks have no records beside them.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.free()
	s, ok := h.spanAt(addr)
	if !ok {
		i := heap.Within(h.left, addr, func(r *[2]uint64) (start, end uint64) { return r[0], r[1] })
		if i < 0 {
			return b, false
		}
		return gone(h.left[i]), true
	}
	n := h.count(&s)
	if n == 0 {
		b = h.block(&s, 0)
		return b, b.Contains(addr)
	}
	i := (addr - s.start) / h.sizes[s.class]
	if i >= n {
		return b, false
	}
	return h.block(&s, i), true
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.free()
	if !h.walked {
		h.walked = true
		for i := range h.all() {
			h.examine(&h.spans[i])
		}
	}
	return slices.Clone(h.damages)
}

// examine notes how a span contradicts itself, and what it lists that is in a cache, too.
func (h *Heap) examine(s *span) {
	list, why, _ := h.freeIn(s)
	if why != "" {
		h.note(heap.Damage{At: s.record, Size: int(h.l.At("span.size")), Why: why, Of: heap.Block{Start: s.start}})
	}
	for _, at := range list {
		if was := h.lists[at]; was != "" {
			h.note(twice(at, h.sizes[s.class], "span", was))
		}
	}
}

// twice is the damage of a block that is on two lists.
func twice(at, size uint64, list, was string) heap.Damage {
	return heap.Damage{At: at, Size: 8, Why: fmt.Sprintf("it is in a %s, and in a %s already", list, was), Of: heap.Block{Start: at, Size: size, Free: true, List: was}, Twice: true}
}

var _ heap.Allocator = (*Heap)(nil)
