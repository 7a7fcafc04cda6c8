// Package mimalloc reads the heap of mimalloc 2.0 on 64 bits, as 2.0.9 lays it out and release builds have it, by the structures that it keeps in
// memory: it needs no symbols and no debug information.
//
// Memory is in segments, which begin at multiples of their size. Each has its own address in it, changed by a secret that they share and that
// the library's data has too. Layouts are those of mimalloc-types.h.
package mimalloc

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

const (
	segmentSize = 32 << 20
	sliceSize   = 64 << 10
	maxSlices   = segmentSize / sliceSize
	addrMask    = 1<<48 - 1
	maxSegments = 1 << 16
	// Of a segment's record.
	cookieAt  = 216
	slicesAt  = 264
	pageBytes = 80
	// Of a thread's heap.
	delayedAt = 2840
	heapKeyAt = delayedAt + 24
	hugeBlock = 2 << 30 // blocks that large have the size of their page
	// Blocks of up to 1024 bytes begin later in their page.
	shifted, shift = 1024, 384
	maxDamages     = 32
	maxListed      = 1 << 22
)

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	mem     procmem.Reader
	secret  uint64
	pages   []page // by address
	damages []heap.Damage
	budget  int

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
	if a == nil || a.WordSize != 8 {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{mem: procmem.Of(p), budget: o.Blocks}
	found := map[uint64][]uint64{} // segments, by what would be the secret
	n := 0
	for _, m := range p.Mappings() {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		first := (uint64(m.Start) + segmentSize - 1) &^ (segmentSize - 1)
		for at := first; at >= first && at < uint64(m.End) && n < maxSegments; at += segmentSize {
			n++
			if v, ok := h.mem.LookupWord(at + cookieAt); ok && v != 0 && v^at != 0 {
				found[v^at] = append(found[v^at], at)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	heap.Data(p, heap.MaxData, func(_ uint64, b []byte) bool {
		return heap.Words(a, b, func(_ int, v uint64) bool {
			if found[v] != nil && h.segments(found[v]) {
				h.secret = v
			}
			return h.secret == 0
		})
	})
	if h.secret == 0 {
		return nil
	}
	return h
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
	head, ok := h.mem.Words(at+cookieAt, (slicesAt-cookieAt)/8)
	if !ok {
		return at
	}
	total, info, huge, entries := head[1], head[2], head[3]&0xffffffff == 1, head[4]
	if total == 0 || total > 1<<31 || info == 0 || info >= entries || entries > maxSlices || entries > total || total*sliceSize > addrMask-at {
		return at
	}
	b := h.mem.Bytes(at+slicesAt, maxSlices*pageBytes)
	if b == nil {
		return at
	}
	end = at + total*sliceSize
	order := h.mem.Arch.ByteOrder
	for i := info; i < entries && h.budget > 0; {
		h.budget--
		r := b[i*pageBytes:][:pageBytes]
		p := page{addr: at + i*sliceSize, size: uint64(order.Uint32(r)) * sliceSize, record: at + slicesAt + i*pageBytes, mapped: huge}
		if p.size == 0 || p.size > end-p.addr {
			h.note(heap.Damage{At: p.record, Size: 4, Why: fmt.Sprintf("a page's record says that it has %d slices", order.Uint32(r)), Of: heap.Block{Start: p.addr}})
			break
		}
		p.start, p.block = p.addr, uint64(order.Uint32(r[28:]))
		if p.block >= 8 && p.block <= shifted {
			p.start += shift
		}
		if p.block >= hugeBlock {
			p.block = p.size
		}
		p.count, p.used, p.heap = int(order.Uint16(r[10:])), int(order.Uint32(r[24:])), order.Uint64(r[48:])
		p.lists = [3]uint64{order.Uint64(r[16:]), order.Uint64(r[32:]), order.Uint64(r[40:]) &^ 3}
		switch {
		case p.block == 0 || p.block >= 8 && p.count > 0 && uint64(p.count) <= (p.end()-p.start)/p.block:
			h.pages = append(h.pages, p)
		case p.block == 1 || p.count == 0: // another thread is at it
		default:
			h.note(heap.Damage{At: p.record, Size: pageBytes, Why: fmt.Sprintf("a page's record says that it has %d blocks of %d bytes: there is no room", p.count, p.block), Of: heap.Block{Start: p.start}})
		}
		i += p.size / sliceSize
	}
	return end
}

func (h *Heap) note(d heap.Damage) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, d)
	}
}

// listsAt are where the record of a page has its lists' first pointers.
var listsAt = [3]uint64{16, 32, 40}

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
		n, whole := 0, true
		for k, name := range []string{"free list", "local free list", "free list of other threads"} {
			got, ok := h.list(p.lists[k], name, p)
			if first := p.lists[k]; !ok && got == 0 && h.pageAt(first) == nil && h.budget > 0 {
				h.note(heap.Begins(name, p.record+listsAt[k], 8, first, p.block))
			}
			if k < 2 { // the others still count as used
				n, whole = n+got, whole && ok
			}
		}
		if whole && p.used+n != p.count {
			h.note(heap.Damage{At: p.record + 24, Size: 4, Why: fmt.Sprintf("a page's record says that %d of its %d blocks are in use, and %d are free", p.used, p.count, n), Of: heap.Block{Start: p.start}})
		}
		if p.heap != 0 && !heaps[p.heap] && len(heaps) < 1<<14 {
			heaps[p.heap] = true
			if key, ok := h.mem.LookupWord(p.heap + heapKeyAt); ok && key != 0 {
				h.list(h.mem.Word(p.heap+delayedAt), "free list of other threads", nil)
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
				h.note(heap.Damage{At: prev, Size: 8, Why: fmt.Sprintf("the list's pointer there, %#x, leads to no block", at), Of: heap.Block{Start: prev, Size: p.block, Free: true, List: name}, Written: true})
			}
			return n, false
		}
		if list := h.lists[at]; list != "" {
			h.note(heap.Damage{At: at, Size: 8, Why: fmt.Sprintf("it is in a %s, and in a %s already", name, list), Of: heap.Block{Start: at, Size: p.block, Free: true, List: list}, Twice: true})
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

// Records implements heap.Allocator: segments begin with them.
func (h *Heap) Records() (all [][2]uint64) {
	const segment = 32 << 20
	last := uint64(0)
	for i := range h.pages {
		if at := h.pages[i].record &^ (segment - 1); at != last {
			last = at
			all = append(all, [2]uint64{at, max(at, h.pages[i].addr)})
		}
	}
	return all
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
