// Package jemalloc reads the heap of jemalloc 5, by the structures that it keeps in memory: it needs no symbols and no debug information.
//
// Everything hangs on a tree of two or three levels that leads from pages to records of extents: its root is a sparse table in the library's data, and
// each record leads back to the pages by which it is found. Layouts are those of rtree.h, edata.h (extent_structs.h before 5.3), cache_bin.h and
// tcache_structs.h of the releases 5.1 to 5.3.1; where they differ, memory itself decides.
package jemalloc

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

const (
	addrMask  = 1<<48 - 1
	edataMask = addrMask &^ 0x3f
	// maxRoots is how many words of data are tried as a pointer of the root.
	maxRoots = 1 << 14
	// maxLeaves is 4 TiB with pages of 4 KiB.
	maxLeaves = 1 << 12
	maxBad    = 2         // words of the root that lead nowhere
	maxWindow = 256 << 10 // bytes that are read at once
	// maxTables is how many bytes of what may be tables of the less usual shapes are read.
	maxTables = 32 << 20
)

// States of an extent.
var states = []string{"", "dirty extent", "muzzy extent", "retained extent"}

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	shape
	p       heap.Process
	mem     procmem.Reader
	maps    []libstate.Mapping
	szind   uint     // where in a record's bits the class is
	extents []extent // by address
	pad     uint64   // bytes that extents of one block have more than it, so that it can begin anywhere in the first page
	damages []heap.Damage
	budget  int
	window  heap.Window

	cached     map[uint64]bool // blocks that threads keep, by address
	own        map[uint64]bool // blocks of the allocator itself
	readCaches bool
}

// An extent is memory that is one block, or a slab of them, or free.
type extent struct {
	base, size uint64 // of whole pages
	addr       uint64 // where the block begins
	record     uint64
	state      int // 0 is in use
	class      int
	slab       bool
}

func (x *extent) end() uint64 { return x.base + x.size }

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
	shapes := shapes64[:]
	if a.WordSize == 4 {
		shapes = shapes32[:]
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{p: p, mem: procmem.Of(p), maps: p.Mappings(), budget: o.Blocks}
	tried := map[uint64]bool{}
	tables := uint64(0)
	heap.Data(p, heap.MaxData, func(at uint64, b []byte) bool {
		around := h.around(at)
		return heap.Words(a, b, func(off int, v uint64) bool {
			if v%64 != 0 || v > addrMask || tried[v] {
				return true
			}
			room := uint64(0)
			for i := range shapes {
				h.shape = shapes[i].on(a)
				least := h.below()
				if around < h.rootBytes() || heap.Crowded(a, b, off, least, h.beside()) { // there is no room for a root, or not for what it leads to
					continue
				}
				if room == 0 {
					if room = h.room(v); room == 0 {
						return true
					}
				}
				if room < least {
					continue
				}
				tried[v] = true
				if i > 0 && tables > maxTables {
					break
				}
				before := h.window.Asked
				if h.rooted(at+uint64(off), v) {
					return false
				}
				if i > 0 {
					tables += h.window.Asked - before
				}
			}
			return len(tried) < maxRoots
		})
	})
	if len(h.extents) == 0 {
		return nil
	}
	return h
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "jemalloc" }

// below is the size of what the root leads to.
func (h *Heap) below() uint64 {
	if root, _, _ := h.levels(); root != 0 {
		return h.nodeBytes()
	}
	return h.leafBytes()
}

// beside is how many pointers to the allocator's own memory may be near the word of the root: of three levels, it is among the first.
func (h *Heap) beside() int {
	if root, _, _ := h.levels(); root != 0 {
		return 2
	}
	return 0
}

// maxTable is more than any table has.
const maxTable = 4 << 20

// room is how many bytes from an address on may be written to without a gap, as far as matters.
func (h *Heap) room(at uint64) (n uint64) {
	for n < maxTable {
		m, ok := h.mapping(at)
		if !ok || m.Perm&libstate.Write == 0 {
			break
		}
		n, at = n+uint64(m.End)-at, uint64(m.End)
	}
	return n
}

// inOne reports whether n bytes are in mappings without a gap that may be written to.
func (h *Heap) inOne(at, n uint64) bool { return h.room(at) >= n }

// around is how many bytes that may be written to are around an address without a gap, as far as matters.
func (h *Heap) around(at uint64) (n uint64) {
	for lo := at; n < maxTable; {
		m, ok := h.mapping(lo - 1)
		if !ok || m.Perm&libstate.Write == 0 {
			break
		}
		n, lo = n+lo-uint64(m.Start), uint64(m.Start)
	}
	return n + h.room(at)
}

func (h *Heap) mapping(addr uint64) (m libstate.Mapping, ok bool) {
	i := heap.Within(h.maps, addr, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) })
	if i < 0 {
		return m, false
	}
	return h.maps[i], true
}

// rooted reads the tree, if the word at an address is the pointer v of its root.
func (h *Heap) rooted(at, v uint64) bool {
	root, node, _ := h.levels()
	number := uint64(0)
	if root == 0 {
		n, ok := h.leafProves(v)
		if !ok {
			return false
		}
		number = n
	} else {
		ok := false
		for _, l := range h.table(v, h.nodeBytes(), h.leafBytes()) {
			n, good := h.leafProves(l[1])
			if good && n&(1<<node-1) == l[0] {
				number, ok = n>>node, true
				break
			}
		}
		if !ok {
			return false
		}
	}
	i := number * h.word
	if at < i || i >= h.rootBytes() || !h.inOne(at-i, h.rootBytes()) {
		return false
	}
	// The other words of the root are pointers too: a copy of the pointer elsewhere has other neighbours.
	leaves := h.table(at-i, h.rootBytes(), h.below())
	if root != 0 {
		nodes := leaves
		leaves = nil
		for _, n := range nodes {
			for _, l := range h.table(n[1], h.nodeBytes(), h.leafBytes()) {
				leaves = append(leaves, [2]uint64{n[0]<<node + l[0], l[1]})
			}
		}
	}
	if len(leaves) > maxLeaves {
		return false
	}
	seen := map[uint64]bool{}
	for _, l := range leaves {
		if !seen[l[1]] {
			seen[l[1]] = true
			h.leaf(l[0]*h.reach(), l[1])
		}
	}
	slices.SortFunc(h.extents, func(a, b extent) int { return cmp.Compare(a.base, b.base) })
	// Of two that overlap the first is believed.
	end := uint64(0)
	h.extents = slices.DeleteFunc(h.extents, func(x extent) bool {
		if x.base < end {
			h.note(heap.Damage{At: x.record + 8, Size: 2 * int(h.word), Why: "an extent's record is about memory of the extent before", Of: heap.Block{Start: x.addr}})
			return true
		}
		end = x.end()
		return false
	})
	return len(h.extents) > 0
}

// table is what a table of pointers leads to, which has some bytes, with the numbers of the pointers; nil if it is no such table.
func (h *Heap) table(at, size, each uint64) (all [][2]uint64) {
	bad := 0
	h.window.Words(h.mem, at, size, func(k, v uint64) bool {
		if v%64 != 0 || v > addrMask || !h.inOne(v, each) {
			bad++
		} else {
			all = append(all, [2]uint64{k, v})
		}
		return bad <= maxBad && len(all) <= maxLeaves
	})
	if bad > maxBad || len(all) > maxLeaves {
		return nil
	}
	return all
}

// elements calls do for the elements of a leaf that are not zero, with their first words, until it returns false.
func (h *Heap) elements(leaf uint64, do func(i, v uint64) bool) {
	words := h.element() / h.word
	h.window.Words(h.mem, leaf, h.leafBytes(), func(i, v uint64) bool {
		if i%words != 0 {
			return true
		}
		return do(i/words, v)
	})
}

// told is what the i-th element of a leaf, which begins with v, says of the blocks of its extent.
func (h *Heap) told(leaf, i, v uint64, since uint) (class uint64, slab bool) {
	if h.compact() {
		return v >> 48, v&1 != 0
	}
	at := leaf + i*h.element() + h.word
	told, _ := h.mem.U32(at)
	if since == since53 {
		return uint64(told) >> 5 & 0xff, told&1 != 0
	}
	b, _ := h.mem.U8(at + 4)
	return uint64(told), b&1 != 0
}

// record reads the beginning of an extent's record: its bits, address and size.
func (h *Heap) record(at uint64) (bits, addr, size uint64, ok bool) {
	b := h.mem.Bytes(at, int(8+2*h.word))
	if b == nil {
		return 0, 0, 0, false
	}
	a := h.mem.Arch
	return a.ByteOrder.Uint64(b), a.Word(b[8:]), a.Word(b[8+h.word:]), true
}

// leafProves says which leaf one is, by the records that it leads to, several of which must agree.
func (h *Heap) leafProves(leaf uint64) (number uint64, ok bool) {
	const most, hopeless = 1024, 16
	enough := 3
	if h.word == 4 {
		enough = 2 // nothing is retained there, so that a small program may have no more
	}
	votes := map[uint64]int{}
	layouts := map[uint]int{}
	n := 0
	seen := map[uint64]bool{}
	page, reach := h.page(), h.reach()
	count := reach / page
	h.elements(leaf, func(i, v uint64) bool {
		if n++; n > most || n > hopeless && len(votes) == 0 {
			return false
		}
		record := v & edataMask
		if seen[record] {
			return true
		}
		seen[record] = true
		bits, addr, size, ok := h.record(record)
		if !ok {
			return true
		}
		base, size := addr&^(page-1), size&^(page-1)
		if size == 0 || base > h.most() || size > h.most()-base || base/reach != (base+size-1)/reach && i != base/page%count {
			return true
		}
		if first, last := base/page%count, (base+size-1)/page%count; i != first && i != last {
			return true
		}
		voted := false
		for _, shift := range h.releases() {
			if class, _ := h.told(leaf, i, v, shift); class <= h.classes() {
				voted = true
				if bits>>shift&(1<<h.classBits()-1) == class {
					layouts[shift]++
				}
			}
		}
		if voted {
			votes[base/reach]++
		}
		return true
	})
	best := 0
	for g, v := range votes {
		if v > best || v == best && g < number {
			number, best = g, v
		}
	}
	for _, shift := range h.releases() {
		// Records of free extents need not have the class that the tree has.
		if best >= enough && layouts[shift] >= enough-1 && layouts[shift] >= best/8 && (h.szind == 0 || layouts[shift] > layouts[h.szind]) {
			h.szind, ok = shift, true
		}
	}
	return number, ok
}

// releases are those whose records the shape may have, by where the class is in their bits.
func (h *Heap) releases() []uint {
	switch {
	case h.word == 8:
		return []uint{since53, since51}
	case h.old:
		return []uint{since51}
	}
	return []uint{since53}
}

// leaf reads the extents of a leaf that is about the pages from an address on.
func (h *Heap) leaf(from, leaf uint64) {
	past := uint64(0) // pages before it are known
	page := h.page()
	h.elements(leaf, func(i, v uint64) bool {
		if i < past {
			return true
		}
		if h.budget--; h.budget <= 0 {
			return false
		}
		at := from + i*page
		record := v & edataMask
		bits, addr, size, ok := h.record(record)
		if !ok {
			return true // the dump has not got it
		}
		x := extent{base: addr &^ (page - 1), size: size &^ (page - 1), addr: addr, record: record, class: int(bits >> h.szind & (1<<h.classBits() - 1)), slab: bits>>12&1 != 0}
		x.state = int(bits >> (h.szind - 2) & 3)
		if h.szind == since53 {
			x.state = int(bits >> 17 & 7)
		}
		class, slab := uint64(0), false
		if x.state == 0 {
			class, slab = h.told(leaf, i, v, h.szind)
		}
		switch {
		case x.size == 0 || x.base > h.most() || x.size > h.most()-x.base || at < x.base || at >= x.end():
			h.note(heap.Damage{At: record + 8, Size: 2 * int(h.word), Why: "an extent's record is not about the page that leads to it", Of: heap.Block{Start: at}})
			return true
		case at != x.base:
			return true // its last page; the first is in the leaf before
		case x.state >= len(states):
			return true // another thread is at it
		case x.state == 0 && (x.class != int(class) || x.slab != slab || x.class >= int(h.classes()) || x.slab && x.class >= h.small()):
			h.note(heap.Damage{At: record, Size: 8, Why: "an extent's record and the tree say different sizes", Of: heap.Block{Start: x.addr}})
			past = i + 1
			return true
		case x.state == 0 && (x.slab && h.sizeOf(x.class) > x.size || !x.slab && x.class > 0 && h.sizeOf(x.class-1) >= x.size):
			h.note(heap.Damage{At: record + 8 + h.word, Size: int(h.word), Why: "an extent is smaller than its blocks", Of: heap.Block{Start: x.addr}})
			past = i + 1
			return true
		}
		past = i + x.size/page
		if x.state == 0 && !x.slab && (x.addr != x.base || x.size == h.sizeOf(x.class)+page) {
			h.pad = page
		}
		h.extents = append(h.extents, x)
		return true
	})
}

func (h *Heap) note(d heap.Damage) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, d)
	}
}
