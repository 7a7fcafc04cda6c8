package glibc

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// Blocks with a mapping of their own.

// mappedAt finds the block with a mapping of its own that has an address: its record is at the beginning of a page before.
func (h *Heap) mappedAt(addr uint64) (b heap.Block, ok bool) {
	m, there := h.mapping(addr)
	if !there || m.Path != "" || m.Perm&libstate.Write == 0 {
		return b, false
	}
	c, ok := h.chained(addr, &m)
	if !ok {
		i := h.searchedAt(addr)
		if i < 0 {
			i = h.search(addr, &m)
		}
		if i < 0 {
			return b, false
		}
		c = h.searched[i].before
	}
	if addr-c.addr >= c.size {
		return b, false
	}
	return heap.Block{Start: h.user(c.addr), Size: c.size - 2*h.w, Mapped: true}, true
}

// chained finds the record of the block that has an address by those that follow one another from the beginning of a mapping on. A block may be so large that
// it is not searched through.
func (h *Heap) chained(addr uint64, m *libstate.Mapping) (c chunk, ok bool) {
	at := uint64(m.Start)
	for range maxChained {
		if c, ok = h.mappedChunk(at, uint64(m.End)); !ok || addr-c.addr < c.size {
			break
		}
		at = c.addr + c.size
	}
	return c, ok && addr-c.addr < c.size
}

// Whoever asks for many addresses asks for many in one block, or in memory that is none. searched are pages for which is known what record is the
// nearest one at the beginning of a page before or of them; one of size 0 is none. They do not overlap, and are in the order of addresses.
type searched struct {
	start, end uint64
	before     chunk
}

// search looks for the record before an address. It returns the index of the pages that it has searched; -1 if they were too many.
func (h *Heap) search(addr uint64, m *libstate.Mapping) int {
	run := searched{start: addr &^ 4095, end: addr&^4095 + 4096}
	known := -1 // pages before, whose record is the nearest one for these, too
	for n := 0; n < maxBefore; n++ {
		if h.searches++; h.searches > maxPages {
			return -1
		}
		if c, ok := h.mappedChunk(run.start, uint64(m.End)); ok {
			run.before = c
			break
		}
		if run.start < uint64(m.Start)+4096 {
			break
		}
		if known = h.searchedAt(run.start - 1); known >= 0 {
			break
		}
		run.start -= 4096
	}
	if known >= 0 {
		h.searched[known].end = run.end
		return known
	}
	if len(h.searched) >= maxSearched {
		h.searched = h.searched[:0]
	}
	i, _ := slices.BinarySearchFunc(h.searched, run.start, func(r searched, at uint64) int { return cmp.Compare(r.start, at) })
	h.searched = slices.Insert(h.searched, i, run)
	return i
}

// searchedAt returns the index of the pages that have an address; -1 if it is to be searched for.
func (h *Heap) searchedAt(addr uint64) int {
	return heap.Within(h.searched, addr, func(r *searched) (start, end uint64) { return r.start, r.end })
}

const (
	maxBefore   = 1 << 16 // pages before an address
	maxSearched = 1 << 12
	maxChained  = 64 // records
)

// mappedChunk is the record of a block with a mapping of its own that begins at a page. Before it are as many bytes as it says, so that the block
// is aligned. Since 2.43 its size is without the record.
func (h *Heap) mappedChunk(page, end uint64) (chunk, bool) {
	at := page + (h.align-2*h.w%h.align)%h.align
	v, ok := h.mem.LookupWord(at + h.w)
	c := chunk{at, v &^ flags, v & flags}
	if h.newest() {
		c.size += 2 * h.w
	}
	pad := h.mem.Word(at)
	return c, ok && c.bits == isMapped && pad == at-page && (c.size+pad)%4096 == 0 && c.size >= 4096-pad && c.size <= end-at
}

const (
	leastMapped = 128 << 10 // DEFAULT_MMAP_THRESHOLD: the program may set another
	maxPages    = 1 << 22   // that are looked at for blocks behind something else, and for blocks that have some address
)

// mapped calls yield for the blocks with mappings of their own. The kernel joins mappings: what else a program asked it for may be before and between them,
// and there only what is large by default counts as a block.
func (h *Heap) mapped(yield func(heap.Block) bool) {
	pages := 0
	for _, m := range h.maps {
		if m.Path != "" || m.Perm&libstate.Write == 0 || h.segmentAt(uint64(m.Start)) != nil {
			continue
		}
		other := false
		for at := uint64(m.Start); at < uint64(m.End); {
			c, ok := h.mappedChunk(at, uint64(m.End))
			if !ok || other && c.size < leastMapped {
				if pages++; pages > maxPages {
					break
				}
				other = true
				at += 4096
				continue
			}
			if h.budget--; h.budget <= 0 || !yield(heap.Block{Start: h.user(c.addr), Size: c.size - 2*h.w, Mapped: true}) {
				return
			}
			at = c.addr + c.size
		}
	}
}
