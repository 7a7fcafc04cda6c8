package v8

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// V8's heap is pages at multiples of 256 KiB, each with a header that says where objects are in it. None of V8's variables has where the headers are, but
// they prove themselves: of each page its size, where its objects begin and end, the Heap, which is the same for all of an Isolate, and the space, which
// leads to the Heap in turn.

const (
	pageAlign    = 256 << 10
	pageHead     = 256      // bytes of a header that are looked at
	maxPageHead  = 64 << 10 // and that one may have
	maxPages     = 1 << 20
	maxPageSize  = 1 << 34
	regularPage  = pageAlign
	maxRegular   = 128 << 10 // kMaxRegularHeapObjectSize: a larger object has a page of its own
	maxSpaceHead = 64        // words of a space in which its lists are
	maxListAt    = 48        // words of a header in which the links of its list are
	flagFrom     = 1 << 3    // MemoryChunk::FROM_PAGE: what has been there was moved or is dead
	flagTo       = 1 << 4    // TO_PAGE: new objects
	spaceHeap    = 8         // where a space has its Heap
	heapAround   = 256 << 10 // bytes before a Heap, and behind where it begins, in which its Isolate is
	heapBehind   = 64 << 10
	areaSearch   = 2 << 10 // bytes of what an Isolate points at, in which areas are looked for
	maxAreas     = 1 << 12
	maxSearched  = 1 << 15
)

// A pageForm says which words of a page's header have what. Since V8 13 most of it is in a record of its own, to which the second word leads.
type pageForm struct {
	flags, size, heap, start, end, space int
	apart                                bool
}

var pageForms = [...]pageForm{
	{flags: 1, size: 0, heap: 2, start: 3, end: 4, space: 8},               // up to 11
	{flags: 0, size: 2, heap: 3, start: 4, end: 5, space: 9},               // 12
	{flags: 0, size: 6, heap: 8, start: 9, end: 7, space: 10, apart: true}, // 13
}

// A heapPage is memory with objects.
type heapPage struct {
	at         uint64 // the header
	start, end uint64 // where objects may be
	size       uint64 // with the header
	record     uint64 // by which V8 knows the page
	flags      uint64
	heap       uint64
	space      uint64
	unused     bool // it has no objects: what is there is old
}

// read reads the header of the page at an address; false if there is none.
func (f *pageForm) read(h *jsHeap, at uint64, b []byte) (p heapPage, ok bool) {
	word := func(b []byte, i int) uint64 { return littleEndian.Uint64(b[8*i:]) }
	p = heapPage{at: at, record: at, flags: word(b, f.flags)}
	if f.apart {
		if p.record = word(b, 1); !isAddress(p.record) || p.record-at < pageAlign {
			return p, false
		}
		var buf [pageHead]byte
		if h.mem.Fill(p.record, buf[:]) < pageHead {
			return p, false
		}
		b = buf[:]
	}
	p.size, p.heap, p.start, p.end, p.space = word(b, f.size), word(b, f.heap), word(b, f.start), word(b, f.end), word(b, f.space)
	switch {
	case p.flags >= 1<<32 || p.size%4096 != 0 || p.size == 0 || p.size > maxPageSize:
		return p, false
	case p.start%8 != 0 || p.start <= at || p.start-at > maxPageHead || p.end <= p.start || p.end%8 != 0 || p.end-at > p.size:
		return p, false
	case p.heap == 0 && p.space == 0: // what cannot be written to is no Isolate's
		return p, h.jsMapAt(p.start) != nil
	}
	return p, isAddress(p.heap) && isAddress(p.space) && h.word(p.space+spaceHeap) == p.heap
}

// findPages finds all pages.
func (h *jsHeap) findPages(p heap.Process) error {
	var best []heapPage
	modules := p.LibraryTracker()
	var starts []uint64 // of memory in which pages may be
	for _, m := range p.Mappings() {
		if m.Path != "" && !strings.HasPrefix(m.Path, "[anon") && m.Path != "[heap]" || m.Perm&(libstate.Read|libstate.Write|libstate.Exec) == 0 {
			continue
		}
		if modules != nil {
			if _, ok := modules.LibraryAt(m.Start); ok {
				continue
			}
		}
		for at := (uint64(m.Start) + pageAlign - 1) &^ (pageAlign - 1); at < uint64(m.End); at += pageAlign {
			if len(starts) >= maxPages || h.e.p.Spend(1) != nil {
				break
			}
			starts = append(starts, at)
		}
	}
	slices.Sort(starts)
	var b [pageHead]byte
	for i := range pageForms {
		var list []heapPage
		next := uint64(0)
		own := 0
		for _, at := range starts {
			if at < next || h.mem.Fill(at, b[:]) < pageHead {
				continue
			}
			if q, ok := pageForms[i].read(h, at, b[:]); ok {
				list = append(list, q)
				next = at + q.size
				if q.heap != 0 {
					own++
				}
			}
		}
		if own > h.own {
			best, h.own = list, own
		}
	}
	if best == nil {
		return errors.New("no page of its heap is found")
	}
	h.pages = best
	return nil
}

// findAreas finds the ends of what is new: V8 makes objects one behind the other in areas, of which it knows where the next object begins and where the
// area ends. Between them are none.
func (h *jsHeap) findAreas() {
	heaps, spaces := map[uint64]bool{}, map[uint64]bool{}
	for i := range h.pages {
		if p := &h.pages[i]; p.heap != 0 {
			heaps[p.heap], spaces[p.space] = true, true
		}
	}
	seen := map[uint64]bool{}
	search := func(at uint64, n int, deep bool) {
		buf := make([]byte, n)
		b := buf[:h.mem.Fill(at, buf)]
		for i := 0; i+24 <= len(b); i += 8 {
			start, top, limit := littleEndian.Uint64(b[i:]), littleEndian.Uint64(b[i+8:]), littleEndian.Uint64(b[i+16:])
			if start <= top && top < limit && start >= firstAddress && limit < behindAddress && (start|top|limit)%8 == 0 {
				if p := h.pageAt(top); p != nil && start >= p.start && limit <= p.end && len(h.areas) < maxAreas {
					h.areas[top] = max(h.areas[top], limit)
				}
			}
			if deep && isAddress(start) && !seen[start] && len(seen) < maxSearched && h.pageAt(start) == nil && h.e.p.Spend(1) == nil {
				seen[start] = true
				h.linked = append(h.linked, start)
			}
		}
	}
	for at := range heaps {
		// The Isolate is around it; what is before its block of memory may not be there.
		from := at - heapAround
		for from < at && h.word(from) == 0 {
			from += 4096
		}
		search(from, int(at-from)+heapBehind, true)
	}
	for at := range spaces {
		search(at, 8*maxSpaceHead, true)
	}
	for _, at := range h.linked {
		search(at, areaSearch, false)
	}
	h.linked = nil
	for at := range spaces {
		h.newSpace(at)
	}
}

// pageAt is the page that has an address; nil if none has.
func (h *jsHeap) pageAt(at uint64) *heapPage {
	i := heap.Within(h.pages, at, func(p *heapPage) (start, end uint64) { return p.start, p.end })
	if i < 0 {
		return nil
	}
	return &h.pages[i]
}

// newSpace finds which pages of a space for new objects have none: pages are used one after the other, as they are in its list.
func (h *jsHeap) newSpace(at uint64) {
	pages := map[uint64]*heapPage{} // by the addresses by which V8 knows them
	for i := range h.pages {
		if p := &h.pages[i]; p.space == at && p.flags&flagTo != 0 && p.size == regularPage {
			pages[p.record] = p
		}
	}
	if len(pages) == 0 {
		return
	}
	var buf [8 * maxSpaceHead]byte
	b := buf[:h.mem.Fill(at, buf[:])]
	if len(b) < 16 {
		return
	}
	first, current := uint64(0), uint64(0)
	for i := 16; i+8 <= len(b); i += 8 {
		w := littleEndian.Uint64(b[i:])
		if i > 16 && w == littleEndian.Uint64(b) { // the other half begins, with the same table of functions
			break
		}
		if pages[w] != nil {
			if first == 0 {
				first = w
			}
			current = w
		}
	}
	if first == 0 || len(pages) == 1 {
		return
	}
	for off := uint64(8 * 9); off < 8*maxListAt; off += 8 {
		order := []uint64{first}
		for w := first; len(order) <= len(pages); {
			next := h.word(w + off)
			if pages[next] == nil || h.word(next+off+8) != w {
				break
			}
			order = append(order, next)
			w = next
		}
		if len(order) != len(pages) || h.word(order[len(order)-1]+off) != 0 {
			continue
		}
		if i := slices.Index(order, current); i >= 0 {
			for _, w := range order[i+1:] {
				pages[w].unused = true
			}
		}
		return
	}
}

// ranges are the pages, those that lie side by side together.
func (h *jsHeap) ranges() (out [][2]uint64) {
	for i := range h.pages {
		p := &h.pages[i]
		if n := len(out); n > 0 && out[n-1][1] == p.at {
			out[n-1][1] = p.at + p.size
			continue
		}
		out = append(out, [2]uint64{p.at, p.at + p.size})
	}
	slices.SortFunc(out, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	return out
}
