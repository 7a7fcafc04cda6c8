// Package jemalloc reads the heap of jemalloc 5 on 64 bits with 48 bits of addresses and pages of 4 KiB, by the structures that it keeps in
// memory: it needs no symbols and no debug information.
//
// Everything hangs on a tree of two levels that leads from pages to records of extents: its root is a sparse table in the library's data, and each
// record leads back to the pages by which it is found. Layouts are those of rtree.h, edata.h (extent_structs.h before 5.3), cache_bin.h and
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
	page      = 4096
	levelBits = 18 // of an address's page number, for each level of the tree
	entries   = 1 << levelBits
	leafBytes = entries * 8
	reach     = leafBytes / 8 * page // bytes that one leaf is about
	addrMask  = 1<<48 - 1
	edataMask = addrMask &^ 0x3f
	noClass   = 232
	small     = 36  // classes that slabs are made of
	maxRegs   = 512 // in a slab
	// maxRoots is how many words of data are tried as a pointer of the root.
	maxRoots = 1 << 14
	// maxLeaves is 4 TiB.
	maxLeaves = 1 << 12
	maxBad    = 2         // words of the root that lead nowhere
	maxWindow = 256 << 10 // bytes that are read at once
)

// States of an extent.
var states = []string{"", "dirty extent", "muzzy extent", "retained extent"}

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
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
	if a == nil || a.WordSize != 8 {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{p: p, mem: procmem.Of(p), maps: p.Mappings(), budget: o.Blocks}
	tried := map[uint64]bool{}
	heap.Data(p, heap.MaxData, func(at uint64, b []byte) bool {
		if h.around(at) < leafBytes {
			return true // there is no room for a root
		}
		return heap.Words(a, b, func(off int, leaf uint64) bool {
			if leaf%64 != 0 || leaf > addrMask || tried[leaf] || heap.Crowded(a, b, off, leafBytes) || !h.inOne(leaf, leafBytes) {
				return true
			}
			tried[leaf] = true
			return !h.rooted(at+uint64(off), leaf) && len(tried) < maxRoots
		})
	})
	if len(h.extents) == 0 {
		return nil
	}
	return h
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "jemalloc" }

// inOne reports whether n bytes are in mappings without a gap that may be written to.
func (h *Heap) inOne(at, n uint64) bool {
	for range 8 {
		m, ok := h.mapping(at)
		if !ok || m.Perm&libstate.Write == 0 {
			return false
		}
		if left := uint64(m.End) - at; left >= n {
			return true
		} else {
			at, n = uint64(m.End), n-left
		}
	}
	return false
}

// around is how many bytes that may be written to are around an address without a gap, as far as matters.
func (h *Heap) around(at uint64) (n uint64) {
	for lo := at; n < leafBytes; {
		m, ok := h.mapping(lo - 1)
		if !ok || m.Perm&libstate.Write == 0 {
			break
		}
		n, lo = n+lo-uint64(m.Start), uint64(m.Start)
	}
	for hi := at; n < leafBytes; {
		m, ok := h.mapping(hi)
		if !ok || m.Perm&libstate.Write == 0 {
			break
		}
		n, hi = n+uint64(m.End)-hi, uint64(m.End)
	}
	return n
}

func (h *Heap) mapping(addr uint64) (m libstate.Mapping, ok bool) {
	i := heap.Within(h.maps, addr, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) })
	if i < 0 {
		return m, false
	}
	return h.maps[i], true
}

// rooted reads the tree, if the word at an address is the pointer of its root to a leaf.
func (h *Heap) rooted(at, leaf uint64) bool {
	i, ok := h.leafProves(leaf)
	if !ok || at < i*8 || !h.inOne(at-i*8, leafBytes) {
		return false
	}
	// The other words of the root are pointers to leaves too: a copy of the pointer elsewhere has other neighbours.
	var leaves [][2]uint64
	bad := 0
	h.words(at-i*8, func(k, v uint64) bool {
		if v%64 != 0 || v > addrMask || !h.inOne(v, leafBytes) {
			bad++
		} else {
			leaves = append(leaves, [2]uint64{k, v})
		}
		return bad <= maxBad && len(leaves) <= maxLeaves
	})
	if bad > maxBad || len(leaves) > maxLeaves {
		return false
	}
	seen := map[uint64]bool{}
	for _, l := range leaves {
		if !seen[l[1]] {
			seen[l[1]] = true
			h.leaf(l[0]*reach, l[1])
		}
	}
	slices.SortFunc(h.extents, func(a, b extent) int { return cmp.Compare(a.base, b.base) })
	// Of two that overlap the first is believed.
	end := uint64(0)
	h.extents = slices.DeleteFunc(h.extents, func(x extent) bool {
		if x.base < end {
			h.note(heap.Damage{At: x.record + 8, Size: 16, Why: "an extent's record is about memory of the extent before", Of: heap.Block{Start: x.addr}})
			return true
		}
		end = x.end()
		return false
	})
	return len(h.extents) > 0
}

// words calls do for the words of a leaf, or of the root, that are not zero, until it returns false.
func (h *Heap) words(at uint64, do func(i, v uint64) bool) {
	h.window.Words(h.mem, at, leafBytes, do)
}

// leafProves says of which gigabyte a leaf is, by the records that it leads to, several of which must agree.
func (h *Heap) leafProves(leaf uint64) (gigabyte uint64, ok bool) {
	const enough, most, hopeless = 3, 1024, 16
	votes := map[uint64]int{}
	layouts := map[uint]int{}
	n := 0
	seen := map[uint64]bool{}
	h.words(leaf, func(i, v uint64) bool {
		if n++; n > most || n > hopeless && len(votes) == 0 {
			return false
		}
		record := v & edataMask
		if seen[record] {
			return true
		}
		seen[record] = true
		w, ok := h.mem.Words(record, 3)
		if !ok {
			return true
		}
		base, size := w[1]&^(page-1), w[2]&^(page-1)
		if size == 0 || base > addrMask || size > addrMask-base || base/reach != (base+size-1)/reach && i != base/page%entries {
			return true
		}
		if first, last := base/page%entries, (base+size-1)/page%entries; i != first && i != last {
			return true
		}
		class := v >> 48
		if class > noClass {
			return true
		}
		for _, shift := range []uint{since53, since51} {
			if w[0]>>shift&0xff == class {
				layouts[shift]++
			}
		}
		votes[base/reach]++
		return true
	})
	best := 0
	for g, v := range votes {
		if v > best || v == best && g < gigabyte {
			gigabyte, best = g, v
		}
	}
	for _, shift := range []uint{since53, since51} {
		// Records of free extents need not have the class that the tree has.
		if best >= enough && layouts[shift] >= enough-1 && layouts[shift] >= best/8 && (h.szind == 0 || layouts[shift] > layouts[h.szind]) {
			h.szind, ok = shift, true
		}
	}
	return gigabyte, ok
}

// leaf reads the extents of a leaf that is about the pages from an address on.
func (h *Heap) leaf(from, leaf uint64) {
	past := uint64(0) // pages before it are known
	h.words(leaf, func(i, v uint64) bool {
		if i < past {
			return true
		}
		if h.budget--; h.budget <= 0 {
			return false
		}
		at := from + i*page
		record := v & edataMask
		w, ok := h.mem.Words(record, 3)
		if !ok {
			return true // the dump has not got it
		}
		x := extent{base: w[1] &^ (page - 1), size: w[2] &^ (page - 1), addr: w[1], record: record, class: int(w[0] >> h.szind & 0xff), slab: w[0]>>12&1 != 0}
		x.state = int(w[0] >> (h.szind - 2) & 3)
		if h.szind == since53 {
			x.state = int(w[0] >> 17 & 7)
		}
		switch {
		case x.size == 0 || x.base > addrMask || x.size > addrMask-x.base || at < x.base || at >= x.end():
			h.note(heap.Damage{At: record + 8, Size: 16, Why: "an extent's record is not about the page that leads to it", Of: heap.Block{Start: at}})
			return true
		case at != x.base:
			return true // its last page; the first is in the leaf before
		case x.state >= len(states):
			return true // another thread is at it
		case x.state == 0 && (x.class != int(v>>48) || x.slab != (v&1 != 0) || x.class >= noClass || x.slab && x.class >= small):
			h.note(heap.Damage{At: record, Size: 8, Why: "an extent's record and the tree say different sizes", Of: heap.Block{Start: x.addr}})
			past = i + 1
			return true
		case x.state == 0 && (x.slab && sizeOf(x.class) > x.size || !x.slab && x.class > 0 && sizeOf(x.class-1) >= x.size):
			h.note(heap.Damage{At: record + 16, Size: 8, Why: "an extent is smaller than its blocks", Of: heap.Block{Start: x.addr}})
			past = i + 1
			return true
		}
		past = i + x.size/page
		if x.state == 0 && !x.slab && (x.addr != x.base || x.size == sizeOf(x.class)+page) {
			h.pad = page
		}
		h.extents = append(h.extents, x)
		return true
	})
}

// sizeOf is the size of a class.
func sizeOf(class int) uint64 {
	switch {
	case class == 0:
		return 8
	case class <= 4:
		return 16 * uint64(class)
	case class >= noClass:
		return 0
	}
	group, n := (class-5)/4, uint64((class-5)%4+1)
	return 64<<group + n*(16<<group)
}

func (h *Heap) note(d heap.Damage) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, d)
	}
}
