// Package mimalloc reads the heap of mimalloc 2 and 3, as release builds have it, by the structures that it keeps in memory: it needs no symbols
// and no debug information.
//
// Memory of mimalloc 2 is in segments, which begin at multiples of their size. Each has its own address in it, changed by a secret that they share and that
// the library's data has too. Which release's layout it is, memory says: in that its pages count as many blocks as their lists have.
package mimalloc

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

const (
	addrMask    = 1<<48 - 1
	maxSegments = 1 << 16
	hugeBlock   = 2 << 30 // blocks that large have the size of their page
	maxDamages  = 32
	maxListed   = 1 << 22
)

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	mem     procmem.Reader
	word    uint64
	layout  *layout
	pages   []page // by address
	damages []heap.Damage
	budget  int
	wrong   int         // pages that contradict the layout, or themselves
	tables  [][2]uint64 // of pages' records
	arenas  []arena     // of mimalloc 3, by address

	lists     map[uint64]string // of blocks that are free, by address
	readLists bool
}

// A page is memory with blocks of one size, or free.
type page struct {
	addr, size uint64 // of its slices
	start      uint64 // of its first block
	block      uint64 // size; 0 if the page is free
	count      int    // blocks that were made
	used       int    // as the page counts: without those on its own lists
	heap       uint64
	lists      [3]uint64 // free, freed by its thread, freed by others
	record     uint64
	mapped     bool
}

func (p *page) end() uint64 { return p.addr + p.size }

// Options bound the work.
type Options struct {
	// Blocks is how many blocks are looked at in all; 0 means 1<<26.
	Blocks int
}

// Find returns the heap of a process; nil if it has none of this kind.
func Find(p heap.Process, o Options) *Heap {
	a := p.Arch()
	if a == nil {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{mem: procmem.Of(p), word: uint64(a.WordSize), budget: o.Blocks}
	var found []candidate
	layouts := layoutsOf(a.WordSize)
	for i := range layouts {
		l := &layouts[i]
		if i > 0 && l.segment == layouts[i-1].segment && l.cookie == layouts[i-1].cookie {
			continue // of the same candidates
		}
		found = append(found, h.candidates(p, l))
	}
	if !slices.ContainsFunc(found, func(c candidate) bool { return len(c.segments) > 0 }) {
		return h.findThree(p)
	}
	var best *Heap
	heap.Data(p, heap.MaxData, func(_ uint64, b []byte) bool {
		return heap.Words(a, b, func(_ int, v uint64) bool {
			for _, c := range found {
				if list := c.segments[v]; list != nil {
					for i := range layouts {
						l := &layouts[i]
						if l.segment != c.layout.segment || l.cookie != c.layout.cookie {
							continue
						}
						if got := h.as(l, list); got != nil && (best == nil || got.wrong < best.wrong) {
							if best = got; got.wrong == 0 {
								return false
							}
						}
					}
				}
			}
			return best == nil
		})
	})
	if best == nil {
		return h.findThree(p)
	}
	return best
}

// A candidate is what may be segments of a layout, by what would be the secret.
type candidate struct {
	layout   *layout
	segments map[uint64][]uint64
}

func (h *Heap) candidates(p heap.Process, l *layout) candidate {
	c := candidate{l, map[uint64][]uint64{}}
	n := 0
	for _, m := range p.Mappings() {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		first := (uint64(m.Start) + l.segment - 1) &^ (l.segment - 1)
		for at := first; at >= first && at < uint64(m.End) && n < maxSegments; at += l.segment {
			n++
			if v, ok := h.mem.LookupWord(at + l.cookie); ok && v != 0 && v^at != 0 {
				c.segments[v^at] = append(c.segments[v^at], at)
			}
		}
	}
	return c
}

// as reads segments as those of a layout; nil if most of their pages contradict it.
func (h *Heap) as(l *layout, list []uint64) *Heap {
	got := &Heap{mem: h.mem, word: h.word, layout: l, budget: h.budget}
	if !got.segments(list) {
		return nil
	}
	if !got.holds() {
		return nil
	}
	return got
}

// holds reports whether most pages are as their layout says.
func (h *Heap) holds() bool {
	h.free()
	blocks := 0
	for i := range h.pages {
		if h.pages[i].block != 0 {
			blocks++
		}
	}
	return h.wrong <= max(blocks/2, 1) // one may be damaged
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "mimalloc" }

// segments reads segments, by rising addresses. It is false if none has pages.
func (h *Heap) segments(list []uint64) bool {
	h.pages, h.damages = nil, nil
	past := uint64(0)
	for _, at := range list {
		if at < past {
			continue // in a huge one
		}
		past = max(past, h.segment(at))
	}
	return len(h.pages) > 0
}

// segment reads the pages of a segment, and returns where it ends.
func (h *Heap) segment(at uint64) (end uint64) {
	l := h.layout
	head := h.mem.Bytes(at, int(l.slices))
	if head == nil {
		return at
	}
	word := func(off uint64) uint64 { return h.mem.Arch.Word(head[off:]) }
	order := h.mem.Arch.ByteOrder
	total, info, huge, entries := word(l.total), word(l.info), order.Uint32(head[l.kind:]) == 1, word(l.entries)
	maxSlices := l.segment / l.slice
	if total == 0 || total > 1<<31 || info == 0 || info >= entries || entries > maxSlices || entries > total || total*l.slice > addrMask-at {
		return at
	}
	pageBytes := l.page.bytes
	b := h.mem.Bytes(at+l.slices, int(maxSlices*pageBytes))
	if b == nil {
		return at
	}
	end = at + total*l.slice
	for i := info; i < entries && h.budget > 0; {
		h.budget--
		r := b[i*pageBytes:][:pageBytes]
		p := page{addr: at + i*l.slice, size: uint64(order.Uint32(r)) * l.slice, record: at + l.slices + i*pageBytes, mapped: huge}
		if p.size == 0 || p.size > end-p.addr {
			h.contradict(heap.Damage{At: p.record, Size: 4, Why: fmt.Sprintf("a page's record says that it has %d slices", order.Uint32(r)), Of: heap.Block{Start: p.addr}})
			break
		}
		l.read(&p, r, h.mem.Arch)
		switch {
		case p.block == 0 || p.block >= h.word && p.count > 0 && uint64(p.count) <= (p.end()-p.start)/p.block:
			h.pages = append(h.pages, p)
		case p.block == 1 || p.count == 0: // another thread is at it
		default:
			h.contradict(heap.Damage{At: p.record, Size: int(pageBytes), Why: fmt.Sprintf("a page's record says that it has %d blocks of %d bytes: there is no room", p.count, p.block), Of: heap.Block{Start: p.start}})
		}
		i += p.size / l.slice
	}
	return end
}

// contradict notes that a page contradicts itself.
func (h *Heap) contradict(d heap.Damage) {
	h.wrong++
	h.note(d)
}

func (h *Heap) note(d heap.Damage) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, d)
	}
}

// free reads the lists of free blocks.
func (h *Heap) free() {
	if h.readLists {
		return
	}
	h.readLists = true
	h.lists = map[uint64]string{}
	heaps := map[uint64]bool{}
	for i := range h.pages {
		p := &h.pages[i]
		if p.block == 0 {
			continue
		}
		if h.wrong > maxDamages && h.wrong > i {
			return // they have another layout
		}
		n, whole, bad := 0, true, false
		for k, name := range []string{"free list", "local free list", "free list of other threads"} {
			got, ok := h.list(p.lists[k], name, p)
			if first := p.lists[k]; !ok && got == 0 && h.pageAt(first) == nil && h.budget > 0 {
				h.note(heap.Begins(name, p.record+h.layout.page.lists[k], int(h.word), first, p.block))
			}
			bad = bad || !ok
			if k < 2 { // the others still count as used
				n, whole = n+got, whole && ok
			}
		}
		before := h.wrong
		if whole && p.used+n != p.count {
			h.contradict(heap.Damage{At: p.record + h.layout.page.used, Size: 4, Why: fmt.Sprintf("a page's record says that %d of its %d blocks are in use, and %d are free", p.used, p.count, n), Of: heap.Block{Start: p.start}})
		}
		if bad && h.wrong == before { // a page counts once
			h.wrong++
		}
		if p.heap != 0 && !heaps[p.heap] && len(heaps) < 1<<14 {
			heaps[p.heap] = true
			if key, ok := h.mem.LookupWord(p.heap + h.layout.key); ok && key != 0 {
				h.list(h.mem.Word(p.heap+h.layout.delayed), "free list of other threads", nil)
			}
		}
	}
}

// list notes the blocks of a list as free: those of one page, or of any. It returns how many there are; false if the list is wrong.
func (h *Heap) list(at uint64, name string, within *page) (n int, ok bool) {
	prev := uint64(0)
	for ; at != 0; n++ {
		if h.budget--; h.budget <= 0 || len(h.lists) >= maxListed {
			return n, false
		}
		p := within
		if p == nil {
			p = h.pageAt(at)
		}
		if p == nil || p.block == 0 || at-p.start >= uint64(p.count)*p.block || (at-p.start)%p.block != 0 {
			if prev != 0 && within != nil {
				h.note(heap.Damage{At: prev, Size: int(h.word), Why: fmt.Sprintf("the list's pointer there, %#x, leads to no block", at), Of: heap.Block{Start: prev, Size: p.block, Free: true, List: name}, Written: true})
			}
			return n, false
		}
		if list := h.lists[at]; list != "" {
			h.note(heap.Damage{At: at, Size: int(h.word), Why: fmt.Sprintf("it is in a %s, and in a %s already", name, list), Of: heap.Block{Start: at, Size: p.block, Free: true, List: list}, Twice: true})
			return n, false
		}
		h.lists[at] = name
		prev, at = at, h.mem.Word(at)
	}
	return n, true
}

// pageAt returns the page that has an address.
func (h *Heap) pageAt(addr uint64) *page {
	i := heap.Within(h.pages, addr, func(p *page) (start, end uint64) { return p.addr, p.end() })
	if i < 0 {
		return nil
	}
	return &h.pages[i]
}

// block is the i-th block of a page.
func (h *Heap) block(p *page, i int) heap.Block {
	if p.block == 0 {
		return heap.Block{Start: p.addr, Size: p.size, Free: true, List: "free span"}
	}
	b := heap.Block{Start: p.start + uint64(i)*p.block, Size: p.block, Mapped: p.mapped}
	b.List = h.lists[b.Start]
	b.Free = b.List != ""
	return b
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.free()
	for k := range h.pages {
		p := &h.pages[k]
		n := p.count
		if p.block == 0 {
			n = 1
		}
		for i := range n {
			if h.budget--; h.budget <= 0 || !yield(h.block(p, i)) {
				return
			}
		}
	}
}

// Records implements heap.Allocator: segments begin with them, or pages and arenas.
func (h *Heap) Records() [][2]uint64 {
	all := slices.Clone(h.tables)
	last := uint64(0)
	for i := range h.pages {
		p := &h.pages[i]
		at := p.addr // it has its own record
		if h.layout.segment != 0 {
			at = p.record &^ (h.layout.segment - 1)
		} else if p.record != at {
			continue
		}
		if at != last {
			last = at
			all = append(all, [2]uint64{at, max(at, p.start)})
		}
	}
	return all
}

// Spans implements heap.Spanned: segments, arenas, and the pages with blocks in use.
func (h *Heap) Spans() (all, used [][2]uint64) {
	for i := range h.pages {
		p := &h.pages[i]
		if p.block != 0 && p.used > 0 {
			used = append(used, [2]uint64{p.start, p.start + uint64(p.count)*p.block})
		}
		if n := len(all); n == 0 || p.addr >= all[n-1][1] {
			all = append(all, h.holder(p))
		} else {
			all[n-1][1] = max(all[n-1][1], p.end())
		}
	}
	return all, used
}

// holder is the arena that a page is in, or its segment from the first page on; a page that is alone is by itself.
func (h *Heap) holder(p *page) [2]uint64 {
	if i := heap.Within(h.arenas, p.addr, func(x *arena) (start, end uint64) { return x.start, x.end }); i >= 0 {
		return [2]uint64{h.arenas[i].start, h.arenas[i].end}
	}
	return [2]uint64{p.addr, p.end()}
}

// BlockAt implements heap.Allocator. Blocks have no records beside them.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.free()
	p := h.pageAt(addr)
	switch {
	case p == nil:
		return b, false
	case p.block == 0:
		return h.block(p, 0), true
	case addr < p.start || addr-p.start >= uint64(p.count)*p.block:
		return b, false
	}
	return h.block(p, int((addr-p.start)/p.block)), true
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.free()
	return slices.Clone(h.damages)
}

var _ heap.Allocator = (*Heap)(nil)
