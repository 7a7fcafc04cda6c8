package golang

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// The heap as runtime/mheap.go and runtime/mbitmap.go of the releases lay it out: spans of pages, each with objects of one size.

// Values of mspan.state.
const (
	spanInUse  = 1 // has objects
	spanManual = 2 // has stacks, or records of the runtime
)

const (
	pageSize      = 8192
	maxSpans      = 1 << 26
	provenBy      = 16      // spans that show that a list is of spans
	maxObjects    = 1 << 20 // of one span: those of 8 bytes in 8 MiB
	maxAllObjects = 1 << 30
)

// A span is pages of the heap.
type span struct {
	start, end uint64
	size       uint64 // of an object
	count      uint64 // of objects
	fresh      uint64 // objects from this number on were never handed out since the last sweep, but for those with a bit
	bits       uint64 // address of the bits of those that are
	// head is how many bytes of each object the runtime has for itself: since Go 1.22 a pointer to the type, of those with pointers that are
	// neither small nor have a span of their own.
	head uint64
}

// A goHeap is the heap of a Go program. It implements heap.Allocator.
type goHeap struct {
	r      *runtime
	spans  []span      // with objects, by address
	manual [][2]uint64 // spans of stacks
}

// Heap implements heap.Owner. It is nil where the list of spans is not found.
func (r *runtime) Heap() heap.Allocator {
	list, n, ok := r.allspans()
	if !ok {
		return nil
	}
	h := &goHeap{r: r}
	word := uint64(r.Arch.WordSize)
	const piece = 1 << 13
	for i := uint64(0); i < n; i += piece {
		k := min(piece, n-i)
		b := r.bytes(list+i*word, k*word)
		if b == nil || r.p.Spend(int(k)) != nil {
			break
		}
		for j := range k {
			h.add(r.Arch.Word(b[j*word:]))
		}
	}
	if h.spans = apart(h.spans); len(h.spans) == 0 {
		return nil
	}
	return h
}

// apart sorts spans, and leaves out those that overlap others, and those that are too many.
func apart(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	end, objects := uint64(0), uint64(0)
	return slices.DeleteFunc(spans, func(s span) bool {
		objects += s.count
		bad := s.start < end || objects > maxAllObjects
		end = max(end, s.end)
		return bad
	})
}

// allspans finds the runtime's list of all spans that there ever were.
func (r *runtime) allspans() (list, n uint64, ok bool) {
	off, ok := r.of("mheap").off("allspans")
	if !ok || r.of("mspan") == nil {
		return 0, 0, false
	}
	if at, ok := r.symbol("mheap_"); ok {
		return r.spansAt(at + off)
	}
	// Without symbols: the longest list of spans in the program's data.
	word := r.Arch.WordSize
	p, is := r.p.State.(heap.Process)
	if !is {
		return 0, 0, false
	}
	heap.Data(p, heap.MaxData, func(at uint64, b []byte) bool {
		if r.p.Spend(len(b)/word) != nil {
			return false
		}
		for i := 0; i+3*word <= len(b); i += word {
			length, room := r.Arch.Word(b[i+word:]), r.Arch.Word(b[i+2*word:])
			if length <= n || length > room || room > maxSpans {
				continue
			}
			if l, k, ok := r.spansAt(at + uint64(i)); ok {
				list, n = l, k
			}
		}
		return true
	})
	return list, n, n > 0
}

// spansAt reads the slice of spans at an address, and proves it.
func (r *runtime) spansAt(at uint64) (list, n uint64, ok bool) {
	word := uint64(r.Arch.WordSize)
	list, _ = r.word(at)
	n, ok = r.word(at + word)
	if !ok || list == 0 || list%word != 0 || n == 0 || n > maxSpans {
		return 0, 0, false
	}
	for i := range min(n, provenBy) {
		p, ok := r.word(list + i*n/min(n, provenBy)*word)
		if !ok || p == 0 || p%word != 0 {
			return 0, 0, false
		}
		start, pages, state, ok := r.span(p)
		if !ok || start%pageSize != 0 || state > spanManual || state != 0 && (pages == 0 || start == 0) {
			return 0, 0, false
		}
	}
	return list, n, true
}

// span reads where a span is, and what is in it.
func (r *runtime) span(at uint64) (start, pages, state uint64, ok bool) {
	rec := r.of("mspan")
	o, ok := r.beginning(rec, at)
	if !ok {
		return 0, 0, 0, false
	}
	return o.word("startaddr"), o.word("npages"), uint64(o.u8("state")), o.has("startaddr") && o.has("npages") && o.has("state") && uint64(len(o.data)) == rec.size
}

// add takes note of a span.
func (h *goHeap) add(at uint64) {
	r := h.r
	start, pages, state, ok := r.span(at)
	if !ok || pages == 0 || pages > 1<<40/pageSize || start%pageSize != 0 || start == 0 {
		return
	}
	s := span{start: start, end: start + pages*pageSize}
	if s.end < s.start {
		return
	}
	if _, ok := r.word(s.start); !ok {
		return // nothing of it is in the dump
	}
	if _, ok := r.word(s.end - uint64(r.Arch.WordSize)); !ok {
		return
	}
	switch state {
	case spanManual:
		h.manual = append(h.manual, [2]uint64{s.start, s.end})
		return
	case spanInUse:
	default:
		return
	}
	o, _ := r.beginning(r.of("mspan"), at)
	s.size, s.bits = o.word("elemsize"), o.word("allocbits")
	class, noscan := o.u8("spanclass")>>1, o.u8("spanclass")&1 != 0
	if small := uint64(r.Arch.WordSize * r.Arch.WordSize * 8); r.minor >= 22 && !noscan && class != 0 && s.size > small {
		s.head = 8
	}
	if s.count, s.fresh = o.word("nelems"), o.word("freeindex"); r.minor >= 22 {
		s.count, s.fresh = uint64(o.u16("nelems")), uint64(o.u16("freeindex"))
	}
	if s.size < 8 || s.count == 0 || s.count > maxObjects || s.count > (s.end-s.start)/s.size || s.fresh > s.count {
		return
	}
	h.spans = append(h.spans, s)
}

// Name implements heap.Allocator.
func (h *goHeap) Name() string { return "Go heap" }

// used are the bits of the objects that were handed out, as far as they are there.
func (h *goHeap) used(s *span) []byte {
	if s.fresh >= s.count {
		return nil
	}
	return h.r.bytes(s.bits, (s.count+7)/8)
}

// object is the i-th of a span.
func (s *span) object(bits []byte, i uint64) heap.Block {
	b := heap.Block{Start: s.start + i*s.size + s.head, Size: s.size - s.head, Mapped: s.count == 1}
	if i >= s.fresh && (i/8 >= uint64(len(bits)) || bits[i/8]&(1<<(i%8)) == 0) {
		b.Free, b.List = true, "span"
	}
	return b
}

// Blocks implements heap.Allocator.
func (h *goHeap) Blocks(yield func(heap.Block) bool) {
	for k := range h.spans {
		s := &h.spans[k]
		bits := h.used(s)
		for i := range s.count {
			if !yield(s.object(bits, i)) {
				return
			}
		}
	}
}

// BlockAt implements heap.Allocator.
func (h *goHeap) BlockAt(addr uint64) (heap.Block, bool) {
	i := heap.Within(h.spans, addr, func(s *span) (start, end uint64) { return s.start, s.end })
	if i < 0 {
		return heap.Block{}, false
	}
	s := &h.spans[i]
	n := (addr - s.start) / s.size
	if n >= s.count {
		return heap.Block{}, false
	}
	return s.object(h.used(s), n), true
}

// Records implements heap.Allocator: the runtime's records are outside of the heap, and point into it by spans' beginnings only.
func (h *goHeap) Records() [][2]uint64 { return nil }

// Stacks implements heap.Stacked.
func (h *goHeap) Stacks() [][2]uint64 { return h.manual }

// Damages implements heap.Allocator.
func (h *goHeap) Damages() []heap.Damage { return nil }
