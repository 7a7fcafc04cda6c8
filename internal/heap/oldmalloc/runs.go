package oldmalloc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// A run is memory in which chunk follows chunk, each of which repeats the size of the one before. An area of the allocator is one, or several where a record
// is damaged. A block with a mapping of its own is one, too. Addresses of chunks are those of their records, two words before the block.
type run struct {
	start, end uint64 // the first chunk, and what follows the last
	mapped     bool
	// first says that the area begins here; broken that what follows the last chunk does not repeat its size.
	first, broken bool
	past          bool // see ends
}

// record is what stands in front of a block: the size of the chunk before, and its own. Both have the bit inUse.
func (h *Heap) record(c uint64) (before, size uint64, ok bool) {
	if before, ok = h.mem.LookupWord(c); ok {
		size, ok = h.mem.LookupWord(c + h.w)
	}
	return before, size, ok
}

// chunkSize is a chunk's size by what its record says; 0 if none has that.
func (h *Heap) chunkSize(size uint64) uint64 {
	if size &^= inUse; size%(4*h.w) != 0 {
		return 0
	}
	return size
}

// forward follows the sizes of chunks from one to the end of the run.
func (h *Heap) forward(c uint64, r *run) {
	for r.end = c; h.budget > 0; h.budget-- {
		_, size, ok := h.record(c)
		if !ok {
			return
		}
		if size == inUse { // the mark behind the last chunk of the area
			return
		}
		next := c + h.chunkSize(size)
		if next <= c || !h.within(c, next-c) {
			r.broken = true
			return
		}
		before, _, ok := h.record(next)
		if ok && before != size {
			r.broken = true
			return
		}
		if !ok {
			return
		}
		c, r.end = next, next
	}
}

// backward follows the sizes of the chunks before to the beginning of the run.
func (h *Heap) backward(c uint64, r *run) {
	for r.start = c; h.budget > 0; h.budget-- {
		before, _, ok := h.record(c)
		if !ok {
			return
		}
		if before == inUse {
			r.first = true
			return
		}
		step := h.chunkSize(before)
		if step == 0 || step > c {
			return
		}
		if _, size, ok := h.record(c - step); !ok || size != before {
			return
		}
		c -= step
		r.start = c
	}
}

// around adds the run that a chunk is in, or that ends there.
func (h *Heap) around(c uint64) {
	var r run
	h.backward(c, &r)
	h.forward(c, &r)
	h.add(r)
}

func (h *Heap) add(r run) {
	if r.start > r.end || r.start == r.end && !(r.first && r.broken) || len(h.runs) >= maxRuns {
		return
	}
	i, _ := slices.BinarySearchFunc(h.runs, r.start, func(b run, at uint64) int { return cmp.Compare(b.start, at) })
	if i > 0 && h.runs[i-1].end > r.start || i < len(h.runs) && h.runs[i].start < r.end {
		return
	}
	h.runs = slices.Insert(h.runs, i, r)
}

// runAt is the run that has an address; nil if none has.
func (h *Heap) runAt(addr uint64) *run {
	i := heap.Within(h.runs, addr, func(r *run) (start, end uint64) { return r.start, r.end })
	if i < 0 {
		return nil
	}
	return &h.runs[i]
}

// find finds runs by what is free in them, and by the marks at the ends of mappings: the rest of a library's last page is the allocator's, too.
func (h *Heap) find() {
	if h.known {
		return
	}
	h.known = true
	h.readRings()
	free := make([]uint64, 0, len(h.listed))
	for c := range h.listed {
		free = append(free, c)
	}
	slices.Sort(free)
	for _, c := range free {
		if h.runAt(c) == nil {
			h.around(c)
		}
	}
	for _, m := range h.maps {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		if end := uint64(m.End) - 2*h.w; h.closes(end) {
			if h.runAt(end-1) == nil {
				h.around(end)
			}
			if r := h.runAt(end - 1); m.Path != "" || r != nil && !r.first {
				h.opens(max(uint64(m.End)-page, uint64(m.Start)), end)
			}
		}
		h.pages(uint64(m.Start), uint64(m.Start)+page)
	}
	h.findEnds()
}

// findEnds corrects the ends of runs that are broken.
func (h *Heap) findEnds() {
	for i := range h.runs {
		if r := &h.runs[i]; r.broken && !r.past {
			h.ends(i)
		}
	}
}

// opens looks in the page at whose end an area ends for where that begins. What is left of a library's last page begins where its data end.
func (h *Heap) opens(start, end uint64) {
	for c := start + 2*h.w; c < end; c += 4 * h.w {
		if h.runAt(c) != nil {
			return
		}
		before, size, ok := h.record(c)
		if n := h.chunkSize(size); ok && before == inUse && size&inUse != 0 && n != 0 && n <= end-c {
			r := run{start: c, first: true}
			h.forward(c, &r)
			h.add(r)
			return
		}
	}
}

// closes reports whether the mark behind the last chunk of an area is at c.
func (h *Heap) closes(c uint64) bool {
	before, size, ok := h.record(c)
	return ok && size == inUse && h.chunkSize(before) != 0
}

// search finds the runs, and blocks with mappings of their own, that begin at some page: the kernel joins mappings.
func (h *Heap) search() {
	h.find()
	if h.searched {
		return
	}
	h.searched = true
	for _, m := range h.maps {
		if m.Perm&libstate.Write != 0 && m.Path == "" {
			h.pages(uint64(m.Start), uint64(m.End))
		}
	}
	h.findEnds()
}

// pages looks at the beginnings of pages.
func (h *Heap) pages(start, end uint64) {
	for at := start; at < end && h.budget > 0; h.budget-- {
		c := at + 2*h.w
		if r := h.runAt(c); r != nil {
			at = (r.end + page - 1) &^ (page - 1)
			continue
		}
		before, size, ok := h.record(c)
		switch {
		case !ok:
			at = max(at+page, h.mem.AbsentTo(at, end)&^(page-1))
			continue
		case before == inUse && size&inUse != 0 && h.chunkSize(size) != 0:
			r := run{start: c, first: true}
			if h.forward(c, &r); r.start < r.end || h.closes(end-2*h.w) {
				h.add(r)
			}
		case before == 2*h.w && size&inUse == 0 && (size+before)%page == 0 && size >= page-before && h.within(c, size):
			h.add(run{start: h.aligned(at, c, size), end: c + size, mapped: true, first: true})
		}
		at += page
	}
}

// within reports whether the mapping that has an address has some bytes from there on.
func (h *Heap) within(at, size uint64) bool {
	i := heap.Within(h.maps, at, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) })
	return i >= 0 && size <= uint64(h.maps[i].End)-at
}

// aligned is the record of a block with a mapping of its own: that of the page, or, if the program asked for one that is aligned, one behind it.
func (h *Heap) aligned(base, c, size uint64) uint64 {
	for align := 8 * h.w; align < size; align <<= 1 {
		other := (c+2*h.w+align-1)&^(align-1) - 2*h.w
		if before, rest, ok := h.record(other); ok && other != c && before == other-base && rest == c+size-other {
			return other
		}
	}
	return c
}

// readRings reads which chunks are free.
func (h *Heap) readRings() {
	h.listed = map[uint64]bool{}
	for i := range uint64(bins) {
		bin := h.bins + i*h.bin()
		head := h.headOf(bin)
		if h.mem.Word(bin+8) == 0 {
			continue
		}
		// Both ways, since a ring that was written to ends early.
		for _, to := range []uint64{2 * h.w, 3 * h.w} {
			back := 5*h.w - to
			from := head
			for h.budget > 0 {
				h.budget--
				c := h.mem.Word(from + to)
				if c == head {
					break
				}
				if h.mem.Word(c+back) != from {
					h.broken(bin, from, c, to, back, h.isFree(c))
					break
				}
				if to == 2*h.w && h.listed[c] {
					break // it leads into itself
				}
				h.listed[c] = true
				from = c
			}
		}
	}
}

// isFree reports whether a chunk's record, and what repeats its size, are those of a free one.
func (h *Heap) isFree(c uint64) bool {
	_, size, ok := h.record(c)
	if !ok || size&inUse != 0 || h.chunkSize(size) == 0 || c%(4*h.w) != 2*h.w {
		return false
	}
	again, _, ok := h.record(c + size)
	return ok && again == size
}

// broken notes where a ring does not lead on: in a chunk, or bin, whose pointer leads to no free chunk, or in a chunk that does not lead back.
func (h *Heap) broken(bin, from, c, to, back uint64, whole bool) {
	d := heap.Damage{At: from + to, Size: int(h.w), Why: fmt.Sprintf("a free block leads to %#x, where none is", c), Of: h.blockAt(from), Written: true}
	switch {
	case whole:
		d.At, d.Of = c+back, h.blockAt(c)
		d.Why = fmt.Sprintf("a free block leads back to %#x, and not to the one that leads to it", h.mem.Word(c+back))
	case from == h.headOf(bin):
		d.Of, d.Written = heap.Block{}, false
		d.Why = fmt.Sprintf("a list of free blocks begins with %#x, where none is", c)
	}
	if _, there := h.mem.LookupWord(d.At); !there || slices.ContainsFunc(h.lost, func(o heap.Damage) bool { return o.At == d.At }) {
		return
	}
	if _, there := h.mem.LookupWord(c); !there && c != 0 && h.within(c, 1) {
		return // the dump has not got it
	}
	if len(h.lost) < maxDamages {
		h.lost = append(h.lost, d)
	}
}
