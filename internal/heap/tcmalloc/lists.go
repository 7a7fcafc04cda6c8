package tcmalloc

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/heap"
)

const (
	maxListed  = 1 << 22
	maxThreads = 1 << 14
	maxTries   = 1 << 18 // words of data that are tried as a pointer to the first cache
	cacheRest  = 512     // how much behind the last class of a thread's cache is searched for the next cache
	maxSlots   = 64
)

// Of one class in a thread's cache: a pointer, four numbers of half a word, and the size of its blocks.
func (h *Heap) listSize() uint64  { return 3 * h.word }
func (h *Heap) listBytes() uint64 { return 4 * h.word }

// Of one class of the central cache, from its number on: two spans, two numbers, and the lists that threads gave it, each by its first and last block.
func (h *Heap) slotsAt() uint64  { return 3*h.word + 2*spanWords*h.word }
func (h *Heap) slotsEnd() uint64 { return h.slotsAt() + maxSlots*2*h.word }

// free reads what is free though its span is in use: what spans list, what threads keep, and what is between them.
func (h *Heap) free() {
	if h.readLists {
		return
	}
	h.readLists = true
	h.lists = map[uint64]string{}
	for i := range h.spans {
		s := &h.spans[i]
		if s.location != inUse || h.count(s) == 0 {
			continue
		}
		n := h.list(s.record+4*h.word, s.objects, h.count(s), s.class, "span", s)
		if n >= 0 && h.count(s)-n != s.used {
			h.note(heap.Damage{At: s.record + 5*h.word, Size: 2, Why: fmt.Sprintf("a span's record says that %d of its %d blocks are in use, and %d are free", s.used, h.count(s), n), Of: heap.Block{Start: s.start}})
		}
	}
	first, central, stride := h.roots()
	h.threads(first)
	h.transfers(central, stride)
}

// list notes the blocks of a list as free, whose first pointer is at an address, head, 0 if that is not to be blamed. It returns how many there are, -1 if
// the list is wrong.
func (h *Heap) list(head, at uint64, most, class int, name string, within *span) int {
	prev := uint64(0)
	for n := range most {
		if at == 0 {
			return n
		}
		s := within
		if s == nil {
			s = h.spanAt(at)
		}
		wrong := s == nil || at-s.start >= s.size || s.class != class || s.location != inUse
		wrong = wrong || (at-s.start)%h.sizes[class] != 0 || int((at-s.start)/h.sizes[class]) >= h.count(s)
		if h.budget--; h.budget <= 0 || len(h.lists) >= maxListed {
			return -1
		}
		switch {
		case wrong && prev != 0:
			h.note(heap.Damage{At: prev, Size: int(h.word), Why: fmt.Sprintf("the list's pointer there, %#x, leads to no block", at), Of: heap.Block{Start: prev, Size: h.sizes[class], Free: true, List: name}, Written: true})
			return -1
		case wrong:
			if head != 0 && h.spanAt(at) == nil {
				h.note(heap.Begins(name, head, int(h.word), at, h.sizes[class]))
			}
			return -1
		case h.lists[at] != "":
			h.note(heap.Damage{At: at, Size: int(h.word), Why: fmt.Sprintf("it is in a %s, and in a %s already", name, h.lists[at]), Of: heap.Block{Start: at, Size: h.sizes[class], Free: true, List: h.lists[at]}, Twice: true})
			return -1
		}
		h.lists[at] = name
		prev, at = at, h.mem.Word(at)
	}
	return most
}

// isCache reports whether a thread's cache is at an address: it repeats the sizes of classes.
func (h *Heap) isCache(at uint64) bool {
	for i := 1; i < len(h.sizes); i++ {
		if v, ok := h.mem.U32(at + uint64(i)*h.listBytes() + h.listSize()); !ok || uint64(v) != h.sizes[i] {
			return false
		}
	}
	return true
}

// roots finds a thread's cache, to which a pointer in the library's data leads, and the central cache there: records of all classes, one behind the other,
// with their numbers.
func (h *Heap) roots() (cache, central, stride uint64) {
	tries := 0
	h.data(func(at, v uint64) bool {
		switch {
		case v == 1 && central == 0:
			if stride = h.centralAt(at); stride != 0 {
				central = at
			}
		case cache == 0 && tries < maxTries && v%h.word == 0 && v>>h.bits == 0:
			if tries++; h.isCache(v) {
				cache = v
			}
		}
		return cache == 0 || central == 0
	})
	return cache, central, stride
}

// centralAt is how far the records of the central cache are apart, if it is at an address; 0 if it is not.
func (h *Heap) centralAt(at uint64) (stride uint64) {
	end := h.dataAt + h.dataLen
	for s := (h.slotsEnd() + 12 + 63) &^ 63; s <= h.slotsEnd()+256; s += 64 {
		n := uint64(1)
		for n < uint64(len(h.sizes)-1) && at+n*s+h.slotsEnd()+4 <= end && h.mem.Word(at+n*s) == n+1 {
			n++
		}
		if n == uint64(len(h.sizes)-1) {
			return s
		}
	}
	return 0
}

// threads reads the caches of threads, which form a list.
func (h *Heap) threads(first uint64) {
	seen := map[uint64]bool{}
	var queue []uint64
	add := func(v uint64) {
		if v != 0 && v%h.word == 0 && v>>h.bits == 0 && !seen[v] && len(queue) < maxThreads && h.isCache(v) {
			seen[v] = true
			queue = append(queue, v)
		}
	}
	add(first)
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		for c := 1; c < len(h.sizes); c++ {
			head := at + uint64(c)*h.listBytes()
			first, ok := h.mem.LookupWord(head)
			n, ok2 := h.mem.Uint(head+h.word, int(h.word/2))
			if !ok || !ok2 || first == 0 {
				continue
			}
			if n != 0 {
				h.list(head, first, int(n), c, "thread cache", nil)
			} else if h.spanAt(first) == nil { // the last one that it had did not end it
				h.note(heap.Begins("thread cache", head, int(h.word), first, h.sizes[c]))
			}
		}
		tail := uint64(len(h.sizes)) * h.listBytes()
		if w, ok := h.mem.Words(at+tail, int((maxClasses*h.listBytes()+cacheRest-tail)/h.word)); ok {
			for _, v := range w {
				add(v)
			}
		}
	}
}

// transfers reads the lists that threads hand to others, which the central cache has in slots of each class.
func (h *Heap) transfers(at, stride uint64) {
	if at == 0 {
		return
	}
	for c := 1; c < len(h.sizes); c++ {
		base := at + uint64(c-1)*stride
		n, ok := h.mem.U32(base + h.slotsEnd())
		if !ok || n > maxSlots {
			continue
		}
		w, ok := h.mem.Words(base+h.slotsAt(), int(n)*2)
		if !ok {
			continue
		}
		for i := 0; i < len(w); i += 2 {
			// The list ends at the second pointer; its last block's own pointer is zero.
			h.list(0, w[i], maxListed, c, "transfer cache", nil)
		}
	}
}
