package mimalloc

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// mimalloc 3 has arenas of slices. The record of a page is at the beginning of its slices, or, since 3.3, in a table at the beginning of the arena; in each
// stands which arena it is of, and its slice there. The library's data points at the arenas.

// Of what mi_memid_t says where memory is from: from the system in one of three ways, or of an arena. Releases since 3.5 count from one less.
const (
	ofOS, ofArena = 4, 7
	osKinds       = 3
	maxArenas     = 1 << 10
	startsAt      = 40 // in an arena's record: where it begins, since 3.5; with 64 bits
	minArena      = 1 << 20
	arenaHead     = 512     // bytes in which an arena's record has the table's address
	maxSingle     = 1 << 14 // slices outside of arenas that are looked at
	tableTries    = 16      // records of a table that are looked at to know it
)

// A third is where a release of mimalloc 3 has what in a page's record: what pageLayout says, and where the memory is from.
type third struct {
	pageLayout
	count uint64 // of blocks that were made
	memid uint64
	unit  uint64 // at has 32 bits: in so many bytes, behind the record; 0 where it is an address
	less  uint32 // by which kinds of memory are less: then arenas do not begin with their records
}

var thirds64 = [...]third{
	{pageLayout{bytes: 120, used: 16, block: 40, at: 48, lists: [3]uint64{8, 24, 32}, wide: true}, 18, 96, 0, 0},
	{pageLayout{bytes: 112, used: 16, block: 40, at: 48, lists: [3]uint64{8, 24, 32}, wide: true}, 18, 88, 8, 0},   // 3.4
	{pageLayout{bytes: 128, used: 40, block: 32, at: 48, lists: [3]uint64{16, 24, 64}, wide: true}, 56, 104, 1, 1}, // 3.6
}

var thirds32 = [...]third{
	{pageLayout{bytes: 72, used: 8, block: 24, at: 28, lists: [3]uint64{4, 16, 20}, wide: true}, 10, 52, 0, 0},
	{pageLayout{bytes: 72, used: 8, block: 24, at: 28, lists: [3]uint64{4, 16, 20}, wide: true}, 10, 52, 4, 0}, // 3.4
}

// memory is where a page's or an arena's memory is from: of the system from base on, or of the arena with its record there some slices from one on.
type memory struct {
	base, size  uint64
	slice, many uint64
	kind        uint32
}

// memBytes is how much memoryOf reads.
func (h *Heap) memBytes() uint64 { return h.word + 12 }

func (h *Heap) memoryOf(b []byte) memory {
	a := h.mem.Arch
	return memory{a.Word(b), a.Word(b[h.word:]), uint64(a.ByteOrder.Uint32(b[h.word:])), uint64(a.ByteOrder.Uint32(b[h.word+4:])), a.ByteOrder.Uint32(b[h.word+8:])}
}

// sliceSize is that of arenas.
func (h *Heap) sliceSize() uint64 {
	if h.word == 4 {
		return slice32
	}
	return slice64
}

// An arena is memory of mimalloc 3, with a record in it.
type arena struct {
	start, end uint64
	record     uint64
	kind       uint32
}

// findThree returns the heap of mimalloc 3; nil if there is none.
func (h *Heap) findThree(p heap.Process) *Heap {
	var arenas []arena
	a := p.Arch()
	heap.Data(p, heap.MaxData, func(_ uint64, b []byte) bool {
		return heap.Words(a, b, func(_ int, v uint64) bool {
			if v%h.sliceSize() == 0 && v>>48 == 0 && !slices.ContainsFunc(arenas, func(x arena) bool { return x.record == v }) {
				if x, ok := h.arenaAt(v); ok {
					arenas = append(arenas, x)
				}
			}
			return len(arenas) < maxArenas
		})
	})
	if len(arenas) == 0 {
		return nil
	}
	slices.SortFunc(arenas, func(a, b arena) int { return cmp.Compare(a.start, b.start) })
	thirds := thirds64[:]
	if h.word == 4 {
		thirds = thirds32[:]
	}
	for i := range thirds {
		l := &thirds[i]
		got := &Heap{mem: h.mem, word: h.word, layout: &layout{page: &l.pageLayout}, budget: h.budget, arenas: arenas}
		for _, x := range arenas {
			if x.kind >= ofOS-l.less && x.kind < ofOS+osKinds-l.less && (x.start != x.record) == (l.less > 0) {
				got.arena(l, x)
			}
		}
		if len(got.pages) == 0 {
			continue
		}
		got.single(p, l, arenas)
		slices.SortFunc(got.pages, func(a, b page) int { return cmp.Compare(a.addr, b.addr) })
		got.drop()
		if got.holds() {
			return got
		}
	}
	return nil
}

// arenaAt is the arena at an address: its record begins with what memory it has from the system.
func (h *Heap) arenaAt(at uint64) (x arena, ok bool) {
	b := h.mem.Bytes(at, int(h.memBytes()))
	if b == nil {
		return x, false
	}
	m := h.memoryOf(b)
	base, size, kind := m.base, m.size, m.kind
	if kind < ofOS-1 || kind >= ofOS+osKinds || base == 0 || base > at || at-base > size || size-(at-base) < minArena || size > addrMask-base {
		return x, false
	}
	x = arena{start: at, end: (base + size) &^ (h.sliceSize() - 1), record: at, kind: kind}
	if first := h.mem.Word(at + startsAt); h.word == 8 && first == base && first%h.sliceSize() == 0 {
		x.start = first // the record is not in its first slice
	}
	return x, true
}

// arena reads the pages of an arena.
func (h *Heap) arena(l *third, x arena) {
	table := h.table(l, x)
	if table != 0 {
		h.tables = append(h.tables, [2]uint64{table, table + (x.end-x.start)/h.sliceSize()*l.bytes})
	}
	for _, i := range h.registered(l, x, table) {
		at := x.start + i*h.sliceSize()
		if r, record, n := h.inArena(l, x, table, i); r != nil {
			h.third(l, r, record, at, n)
		}
	}
}

// inArena is the record of the page that begins with a slice, where it is, and how many bytes of slices the page has; nil if none begins there.
func (h *Heap) inArena(l *third, x arena, table, slice uint64) (r []byte, record, n uint64) {
	h.budget--
	at := x.start + slice*h.sliceSize()
	if table != 0 {
		record = table + slice*l.bytes
		r = h.mem.Bytes(record, int(l.bytes))
	}
	if r == nil || h.mem.Arch.Word(r[l.block:]) == 0 {
		record = at // small blocks may have it there
		r = h.mem.Bytes(record, int(l.bytes))
	}
	if r == nil {
		return nil, 0, 0
	}
	m := h.memoryOf(r[l.memid:])
	n = m.many * h.sliceSize()
	if m.kind != ofArena-l.less || m.base != x.record || m.slice != slice || n == 0 || n > x.end-at {
		return nil, 0, 0
	}
	return r, record, n
}

// chunkBytes is the size of a chunk of a bitmap: a number of chunks, the chunks that have bits, and the chunks.
func (h *Heap) chunkBytes() uint64 { return 8 * h.word }

// registered are the slices with which pages begin, by the bitmap of them: the one with most bits of those whose bits are all such slices.
func (h *Heap) registered(l *third, x arena, table uint64) (best []uint64) {
	for set := range h.bitmaps(x) {
		good := 0
		for i, slice := range set {
			if r, _, _ := h.inArena(l, x, table, slice); r != nil {
				good++
			}
			if i > 16 && good < i/2 {
				break
			}
		}
		if len(set) > len(best) && good >= len(set)-len(set)/16 {
			best = set
		}
	}
	return best
}

// bitmaps are the slices of each bitmap to which an arena's record points.
func (h *Heap) bitmaps(x arena) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		head := h.mem.Bytes(x.record, arenaHead)
		if head == nil {
			return
		}
		a, word := h.mem.Arch, int(h.word)
		chunkBytes := h.chunkBytes()
		chunks := ((x.end-x.start)/h.sliceSize() + 8*chunkBytes - 1) / (8 * chunkBytes)
		for off := word + 16; off+word <= len(head) && h.budget > 0; off += word {
			v := a.Word(head[off:])
			if v <= x.record || v >= x.end || v%chunkBytes != 0 {
				continue
			}
			n := h.mem.Word(v)
			if n == 0 || n > chunks { // the last slices may have none
				continue
			}
			b := h.mem.Bytes(v+2*chunkBytes, int(n*chunkBytes))
			var set []uint64
			for i := 0; i+word <= len(b); i += word {
				for w := a.Word(b[i:]); w != 0; w &= w - 1 {
					set = append(set, uint64(8*i+bits.TrailingZeros64(w)))
				}
			}
			if !yield(set) {
				return
			}
		}
	}
}

// drop leaves out pages without blocks in use in whose memory others are, or whose lists are not theirs any more.
func (h *Heap) drop() {
	var past uint64
	kept := h.pages[:0]
	for i, p := range h.pages {
		if p.used == 0 && (p.addr < past || i+1 < len(h.pages) && h.pages[i+1].addr < p.end() || !h.idle(&p)) {
			continue
		}
		past = max(past, p.end())
		kept = append(kept, p)
	}
	h.pages = kept
}

// idle reports whether the lists of a page have all its blocks.
func (h *Heap) idle(p *page) bool {
	n := 0
	for _, at := range p.lists[:2] {
		for ; at != 0; n++ {
			if h.budget--; h.budget <= 0 || n >= p.count || at < p.start || at >= p.end() || (at-p.start)%p.block != 0 {
				return false
			}
			at = h.mem.Word(at)
		}
	}
	return n == p.count
}

// table is where the records of an arena's pages are; 0 if all are in the pages. Small blocks have them there in any case.
func (h *Heap) table(l *third, x arena) uint64 {
	head := h.mem.Bytes(x.record, arenaHead)
	if head == nil {
		return 0
	}
	word := int(h.word)
	for set := range h.bitmaps(x) {
		var some []uint64 // that have no record of their own
		for _, slice := range set {
			if r, _, _ := h.inArena(l, x, 0, slice); r == nil {
				if some = append(some, slice); len(some) == tableTries {
					break
				}
			}
		}
		for off := word + 16; off+word <= len(head) && len(some) > 0; off += word {
			v := h.mem.Arch.Word(head[off:])
			if v < x.start || v >= x.end || v%h.word != 0 { // since 3.5 it begins the arena
				continue
			}
			for _, slice := range some {
				if h.budget--; h.budget <= 0 {
					return 0
				}
				b := h.mem.Bytes(v+slice*l.bytes+l.memid, int(h.memBytes()))
				if b == nil {
					continue
				}
				if m := h.memoryOf(b); m.kind == ofArena-l.less && m.base == x.record && m.slice == slice {
					return v
				}
			}
		}
	}
	return 0
}

// third adds the page with n bytes at an address, if its record r can be one.
func (h *Heap) third(l *third, r []byte, record, at, n uint64) bool {
	a := h.mem.Arch
	p := page{addr: at, size: n, record: record, count: int(a.ByteOrder.Uint16(r[l.count:]))}
	p.used, p.block = l.counts(r, a)
	if p.start = a.Word(r[l.at:]); l.unit != 0 {
		p.start = record + l.unit*uint64(a.ByteOrder.Uint32(r[l.at:]))
	}
	l.heads(&p, r, a)
	if p.block < h.word || p.start-at >= n {
		return false
	}
	if p.block > p.end()-p.start {
		p.block = p.end() - p.start
	}
	if uint64(p.count) > (p.end()-p.start)/p.block || p.count == 0 {
		return false
	}
	h.pages = append(h.pages, p)
	return true
}

// single reads the pages of one block that have memory of the system's to themselves.
func (h *Heap) single(p heap.Process, l *third, arenas []arena) {
	order, sliceSize := h.mem.Arch.ByteOrder, h.sliceSize()
	tries := 0
	for _, m := range p.Mappings() {
		if m.Perm&libstate.Write == 0 || m.Path != "" {
			continue
		}
		for at := (uint64(m.Start) + sliceSize - 1) &^ (sliceSize - 1); at < uint64(m.End) && h.budget > 0 && tries < maxSingle; h.budget-- {
			if i := heap.Within(arenas, at, func(x *arena) (start, end uint64) { return x.start, x.end }); i >= 0 {
				at = arenas[i].end
				continue
			}
			next := at + sliceSize
			tries++
			if r := h.mem.Bytes(at, int(l.bytes)); r != nil {
				from := h.memoryOf(r[l.memid:])
				base, size, kind := from.base, from.size, from.kind
				if kind >= ofOS-l.less && kind < ofOS+osKinds-l.less && base <= at && at-base < size && base+size <= uint64(m.End) && order.Uint16(r[l.count:]) == 1 && h.third(l, r, at, at, base+size-at) {
					h.pages[len(h.pages)-1].mapped = true
					next = (base + size + sliceSize - 1) &^ (sliceSize - 1)
				}
			} else {
				next = max(next, h.mem.AbsentTo(at, uint64(m.End))&^(sliceSize-1))
			}
			at = next
		}
	}
}
