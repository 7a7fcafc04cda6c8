package glibc

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/heap"
)

const (
	maxListed = 1 << 22 // chunks of lists are followed in all
	minProof  = 3       // lists prove a thread's cache of which one is wrong
)

// readLists reads which chunks are free though their neighbours say that they are in use, and on which list the others are.
func (h *Heap) readLists() {
	if h.listed {
		return
	}
	h.listed = true
	h.lists, h.own = map[uint64]string{}, map[uint64]bool{}
	h.tcaches()
	for _, a := range h.arenas {
		if a.started {
			h.bins(a)
			h.fastbins(a)
		}
	}
}

// list says on which list a chunk is.
func (h *Heap) list(c uint64, kind string) {
	h.lists[c] = kind
	h.mark(c)
}

// mark and maybe tell most chunks, which are on no list, from the few that are without a look at maps.
func (h *Heap) mark(c uint64) {
	i := c / h.align % (64 * uint64(len(h.marks)))
	h.marks[i/64] |= 1 << (i % 64)
}

func (h *Heap) maybe(c uint64) bool {
	i := c / h.align % (64 * uint64(len(h.marks)))
	return h.marks[i/64]&(1<<(i%64)) != 0
}

// inHeap reports whether a chunk can be at an address.
func (h *Heap) inHeap(c uint64) bool {
	return (c+2*h.w)%h.align == 0 && h.segmentAt(c) != nil
}

// sized reports whether a chunk of a size can be at an address.
func (h *Heap) sized(c, size uint64) bool {
	got, ok := h.size(c)
	return ok && got == size && h.inHeap(c)
}

// bins reads the lists of chunks that were merged with their free neighbours.
func (h *Heap) bins(a *arena) {
	for i := uint64(0); i < bins/2; i++ {
		head := a.bins + 2*i*h.w - 2*h.w // as if it were a chunk
		kind := "large bin"
		switch {
		case i == 0:
			kind = "unsorted bin"
		case i < 63:
			kind = "small bin"
		}
		prev := head
		for c := h.mem.Word(head + 2*h.w); c != head; {
			if !h.inHeap(c) || h.lists[c] != "" || len(h.lists) >= maxListed {
				if prev != head && !h.inHeap(c) {
					h.overwritten(prev, kind, prev+2*h.w, c)
				}
				break
			}
			h.list(c, kind)
			if back := h.mem.Word(c + 3*h.w); back != prev {
				h.overwritten(c, kind, c+3*h.w, back)
				break
			}
			prev, c = c, h.mem.Word(c+2*h.w)
		}
	}
}

// overwritten notes that a pointer in a free chunk is wrong.
func (h *Heap) overwritten(c uint64, list string, at, value uint64) {
	if len(h.damages) >= maxDamages {
		return
	}
	size, _ := h.size(c)
	b := heap.Block{Start: h.user(c), Free: true, List: list}
	if size > h.w {
		b.Size = size - h.w
	}
	h.damages = append(h.damages, heap.Damage{At: at, Size: int(h.w), Why: fmt.Sprintf("the list's pointer there, %#x, leads to no block", value), Of: b, Written: true})
}

// begins notes that the first pointer of a thread's list is wrong.
func (h *Heap) begins(at, value, size uint64) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, heap.Begins("tcache", at, int(h.w), value, size))
	}
}

// next decodes the pointer at an address of a list that has one direction.
func (h *Heap) next(at uint64) (plain, mangled uint64) {
	v := h.mem.Word(at)
	return v, v ^ at>>12
}

// fastbins reads the lists of small chunks, which keep the mark of being in use.
func (h *Heap) fastbins(a *arena) {
	for i := range a.fast {
		prev := uint64(0)
		right := h.inHeap
		for c := h.mem.Word(a.fastAt + uint64(i)*h.w); c != 0; {
			if !right(c) || len(h.lists) >= maxListed {
				if prev != 0 {
					h.overwritten(prev, "fastbin", prev+2*h.w, c)
				}
				break
			}
			if h.lists[c] != "" {
				break
			}
			h.list(c, "fastbin")
			if size, ok := h.size(c); ok && prev == 0 {
				right = func(c uint64) bool { return h.sized(c, size) }
			}
			prev = c
			c = h.follow(c+2*h.w, 0, right)
		}
	}
}

// follow returns the next element of a list, by the pointer at an address: as it is, or mangled since 2.32. One of both leads to a place that can
// be right. shift is what is to be added to a pointer to be the address of the chunk.
func (h *Heap) follow(at, shift uint64, right func(uint64) bool) uint64 {
	plain, mangled := h.next(at)
	fits := func(v uint64) bool { return v == 0 || right(v-shift) }
	switch {
	case fits(mangled) && (h.protect || !fits(plain) || plain != 0 && mangled == 0):
		if plain != 0 && !fits(plain) {
			h.protect = true
		}
		return mangled
	case fits(plain) && !h.protect:
		return plain
	case h.protect:
		return mangled
	}
	return plain
}

// A format is how a thread's cache is laid out.
type format struct {
	chunk   uint64 // size of its chunk
	bins    int
	counter int // size of a counter, in bytes
}

// formats are those of the releases from 2.26 on.
func (h *Heap) formats() []format {
	up := func(n uint64) uint64 { return (n + h.w + h.align - 1) &^ (h.align - 1) }
	return []format{
		{up(64*2 + 64*h.w), 64, 2}, // 2.30
		{up(64*1 + 64*h.w), 64, 1}, // 2.26
		{up(76*2 + 76*h.w), 76, 2}, // 2.42: room that is left, not how many there are
	}
}

// tcaches finds the threads' caches among the blocks in use: their sizes are known, and what their pointers lead to proves them.
func (h *Heap) tcaches() {
	formats := h.formats()
	first := true
	for i := range h.segments {
		s := &h.segments[i]
		d := h.walk(s, s.start, func(v visit) bool {
			if v.inUse && !v.top {
				for _, f := range formats {
					if v.size == f.chunk && h.tcache(h.user(v.addr), f, v.addr == s.start) {
						h.own[v.addr] = true
						h.mark(v.addr)
						if first { // one release has one format
							formats, first = []format{f}, false
						}
						break
					}
				}
			}
			return true
		})
		s.whole = d == nil
	}
}

// tcache reads the cache at an address; false if it is none. That of the first thread is the first block of the heap.
func (h *Heap) tcache(at uint64, f format, first bool) bool {
	entries := at + uint64(f.counter*f.bins)
	counts := h.mem.Bytes(at, f.counter*f.bins)
	if counts == nil {
		return false
	}
	type list struct{ chunks []uint64 }
	var lists []list
	var bad []func()
	wrong := false
	for i := range f.bins {
		e := h.mem.Word(entries + uint64(i)*h.w)
		n := int(counts[i*f.counter])
		if f.counter == 2 {
			n = int(h.mem.Arch.ByteOrder.Uint16(counts[2*i:]))
		}
		if e == 0 {
			if n != 0 && f.bins == 64 {
				return false
			}
			continue
		}
		if f.bins == 64 && n == 0 {
			return false
		}
		c := e - 2*h.w
		size, _ := h.size(c)
		if !h.inHeap(c) || i < 64 && size != h.minSize()+uint64(i)*h.align {
			// One may be wrong, as malloc has read it of a freed block that was written to, if the others prove that it is a cache.
			if wrong || i >= 64 || h.segmentAt(c) != nil {
				return false
			}
			wrong = true
			bad = append(bad, func() { h.begins(entries+uint64(i)*h.w, e, h.minSize()+uint64(i)*h.align-h.w) })
			continue
		}
		// All chunks of a list have one size. In a heap at low addresses a pointer leads into it also when it is decoded wrongly.
		right := h.inHeap
		if i < 64 {
			right = func(c uint64) bool { return h.sized(c, size) }
		}
		var l list
		for k := 0; e != 0 && k < 1<<16 && (f.bins != 64 || k < n); k++ {
			c := e - 2*h.w
			if !right(c) {
				prev := l.chunks[len(l.chunks)-1]
				bad = append(bad, func() { h.overwritten(prev, "tcache", h.user(prev), e) })
				break
			}
			l.chunks = append(l.chunks, c)
			e = h.follow(e, 2*h.w, right)
		}
		lists = append(lists, l)
	}
	if len(lists) == 0 && !(first && wrong) || wrong && !first && len(lists) < minProof {
		return false // nothing proves it
	}
	for _, l := range lists {
		for _, c := range l.chunks {
			h.list(c, "tcache")
			if h.key == 0 {
				h.key = h.mem.Word(c + 3*h.w)
			}
		}
	}
	for _, do := range bad {
		do()
	}
	return true
}

var _ heap.Allocator = (*Heap)(nil)
