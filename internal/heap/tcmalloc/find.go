// Package tcmalloc reads the heap of gperftools' tcmalloc 2 on 32 bits and on 64 with 48 bits of addresses, by the structures that it keeps in memory: it
// needs no symbols and no debug information. Google's other tcmalloc has other structures.
//
// Everything hangs on a tree of two levels that leads from pages to spans of them: its root is a sparse table in the library's data, and each span
// has the number of the page by which it is found. The table of sizes stands in the same data. Layouts are those of span.h, pagemap.h, common.h,
// thread_cache.h and central_freelist.h, which have not changed from 2.10 on.
package tcmalloc

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

const (
	minShift   = 12
	maxClasses = 128
	maxRoots   = 1 << 14 // words of data that are tried as a pointer of the root
	maxLeaves  = 1 << 12
	maxData    = 8 << 20
	spanWords  = 6
)

// Where a span is.
const (
	inUse = iota
	onFree
	onReturned
)

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	mem     procmem.Reader
	word    uint64 // bytes
	bits    uint   // of addresses
	maps    []libstate.Mapping
	shift   uint // of a page
	sizes   []uint64
	spans   []span // by address
	dataAt  uint64 // data of the library
	dataLen uint64
	damages []heap.Damage
	budget  int
	window  heap.Window

	lists     map[uint64]string // of blocks that are free, by address
	readLists bool
}

// A span is memory that is one block, or many of one size, or free.
type span struct {
	start, size uint64
	record      uint64
	objects     uint64 // first of its list of free blocks
	used        int    // blocks that are not on that list
	class       int
	location    int
}

func (s *span) end() uint64 { return s.start + s.size }

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
	h := &Heap{mem: procmem.Of(p), word: uint64(a.WordSize), bits: min(48, 8*uint(a.WordSize)), maps: p.Mappings(), budget: o.Blocks}
	tried := map[uint64]bool{}
	heap.Data(p, heap.MaxData, func(at uint64, b []byte) bool {
		if from, to := h.around(at); to-from < h.rootBytes(18) {
			return true // there is no room for a root
		}
		return heap.Words(a, b, func(off int, leaf uint64) bool {
			if leaf%h.word != 0 || leaf>>h.bits != 0 || tried[leaf] || heap.Crowded(a, b, off, h.leafBytes(18), 0) || !h.writable(leaf, h.leafBytes(18)) {
				return true
			}
			tried[leaf] = true
			votes := h.leafVotes(leaf)
			for _, shift := range []uint{13, 12, 14, 15, 16, 18} { // the build's choice: 8 KiB if it makes none
				h.shift = shift
				if h.rooted(at+uint64(off), votes) {
					return false
				}
			}
			return len(tried) < maxRoots
		})
	})
	if len(h.spans) == 0 || !h.readData() {
		return nil
	}
	return h
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "tcmalloc" }

// The tree has as many bits as a page's number, of which leaves have half, and the one that is left.
func (h *Heap) leafBits(shift uint) uint { return (h.bits - shift + 1) / 2 }

func (h *Heap) leafBytes(shift uint) uint64 { return h.word << h.leafBits(shift) }
func (h *Heap) rootBytes(shift uint) uint64 { return h.word << (h.bits - shift - h.leafBits(shift)) }

// writable reports whether n bytes are in mappings without a gap that may be written to.
func (h *Heap) writable(at, n uint64) bool {
	for range 8 {
		m, ok := h.mapping(at)
		if !ok || m.Perm&libstate.Write == 0 {
			return false
		}
		left := uint64(m.End) - at
		if left >= n {
			return true
		}
		at, n = uint64(m.End), n-left
	}
	return false
}

// around is the memory around an address that may be written to without a gap.
func (h *Heap) around(at uint64) (from, to uint64) {
	from, to = at, at
	for {
		m, ok := h.mapping(from - 1)
		if !ok || m.Perm&libstate.Write == 0 {
			break
		}
		from = uint64(m.Start)
	}
	for {
		m, ok := h.mapping(to)
		if !ok || m.Perm&libstate.Write == 0 {
			break
		}
		to = uint64(m.End)
	}
	return from, to
}

func (h *Heap) mapping(addr uint64) (m libstate.Mapping, ok bool) {
	i := heap.Within(h.maps, addr, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) })
	if i < 0 {
		return m, false
	}
	return h.maps[i], true
}

// rooted reads the tree, if the word at an address is the pointer of its root to the leaf with some votes.
func (h *Heap) rooted(at uint64, votes []vote) bool {
	i, ok := h.proven(votes)
	size := h.rootBytes(h.shift)
	if !ok || i*h.word >= size || at < i*h.word || !h.writable(at-i*h.word, size) {
		return false
	}
	// The other words of the root are pointers to leaves too: a copy of the pointer elsewhere has other neighbours.
	var leaves [][2]uint64
	good := true
	h.window.Words(h.mem, at-i*h.word, size, func(k, v uint64) bool {
		good = v%h.word == 0 && v>>h.bits == 0 && h.writable(v, h.leafBytes(h.shift)) && len(leaves) < maxLeaves
		leaves = append(leaves, [2]uint64{k, v})
		return good
	})
	if !good {
		return false
	}
	seen := map[uint64]bool{}
	for _, l := range leaves {
		if !seen[l[1]] {
			seen[l[1]] = true
			h.leaf(l[0]<<h.leafBits(h.shift), l[1])
		}
	}
	slices.SortFunc(h.spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	end := uint64(0)
	h.spans = slices.DeleteFunc(h.spans, func(s span) bool {
		if s.start < end {
			h.note(heap.Damage{At: s.record, Size: 2 * int(h.word), Why: "a span's record is about memory of the span before", Of: heap.Block{Start: s.start}})
			return true
		}
		end = s.end()
		return false
	})
	h.dataAt, size = h.around(at)
	if size -= h.dataAt; size > maxData { // as much as can be of the library, on both sides
		h.dataAt, size = max(h.dataAt, at-min(at, maxData/2)), maxData
	}
	h.dataLen = size
	return len(h.spans) > 0
}

// words calls do for the words of a leaf that are not zero, until it returns false.
func (h *Heap) words(leaf uint64, do func(i, v uint64) bool) {
	h.window.Words(h.mem, leaf, h.leafBytes(h.shift), do)
}

// A vote is a word of a leaf that leads to what may be a span.
type vote struct{ i, first, record uint64 }

// leafVotes reads a leaf of pages of whichever size.
func (h *Heap) leafVotes(leaf uint64) (votes []vote) {
	const most, hopeless, plenty, piece = 1024, 16, 32, 256 << 10
	n, end := 0, false
	for off := uint64(0); off < h.leafBytes(minShift) && !end && len(votes) < plenty; off += piece {
		h.window.Words(h.mem, leaf+off, piece, func(i, v uint64) bool {
			if n++; n > most || n > hopeless && len(votes) == 0 {
				end = true
			} else if v%h.word == 0 {
				if w, ok := h.mem.Words(v, 2); ok && w[1] > 0 && w[0] < 1<<(h.bits-minShift) && w[1] < 1<<(h.bits-minShift) {
					votes = append(votes, vote{off/h.word + i, w[0], v})
				}
			}
			return !end
		})
	}
	return votes
}

// proven says which leaf one is, by the spans that it leads to, several of which must agree.
func (h *Heap) proven(votes []vote) (number uint64, ok bool) {
	const enough = 3
	count, seen := map[uint64]int{}, map[uint64]bool{}
	bits := h.leafBits(h.shift)
	for _, v := range votes {
		if v.first < 1<<(h.bits-h.shift) && v.first&(1<<bits-1) == v.i && !seen[v.record] {
			seen[v.record] = true
			count[v.first>>bits]++
		}
	}
	best := 0
	for k, v := range count {
		if v > best || v == best && k < number {
			number, best = k, v
		}
	}
	return number, best >= enough
}

// leaf reads the spans of a leaf that is about the pages from a number on.
func (h *Heap) leaf(from, leaf uint64) {
	past := uint64(0)
	h.words(leaf, func(i, v uint64) bool {
		if i < past {
			return true
		}
		if h.budget--; h.budget <= 0 {
			return false
		}
		w, ok := h.mem.Words(v, spanWords)
		if !ok || w[0] != from+i || w[1] == 0 || w[1] >= 1<<(h.bits-h.shift) || w[0]+w[1] > 1<<(h.bits-h.shift) {
			return true // what was left when spans were joined
		}
		past = i + w[1]
		h.spans = append(h.spans, span{start: w[0] << h.shift, size: w[1] << h.shift, record: v, objects: w[4],
			used: int(w[5] & 0xffff), class: int(w[5] >> 16 & 0xff), location: int(w[5] >> 24 & 3)})
		return true
	})
}

// data calls do for the words of the library's data that are not zero, with their addresses, until it returns false.
func (h *Heap) data(do func(at, v uint64) bool) {
	h.window.Words(h.mem, h.dataAt, h.dataLen, func(i, v uint64) bool { return do(h.dataAt+i*h.word, v) })
}

// readData finds the sizes of classes. It is false if they are not there, or spans have others.
func (h *Heap) readData() bool {
	isFirst := func(v uint64) bool { return v == 8 || v == 16 } // that is not zero
	tries := 0
	h.data(func(at, v uint64) bool {
		low, high := v&0xffffffff, v>>32
		if h.mem.Arch.ByteOrder == binary.BigEndian {
			low, high = high, low
		}
		switch {
		case h.word == 4: // the word before it is zero
			if !isFirst(v) {
				return true
			}
			at -= 4
		case low == 0 && isFirst(high):
		case isFirst(low) && high > low && high%8 == 0:
			at -= 4
		default:
			return true
		}
		tries++
		if sizes := h.sizesAt(at); len(sizes) >= 20 && h.agree(sizes) {
			h.sizes = sizes
		}
		return h.sizes == nil && tries < maxRoots
	})
	return h.sizes != nil
}

// sizesAt are the sizes of classes that stand at an address, as far as each is larger than the one before.
func (h *Heap) sizesAt(at uint64) (sizes []uint64) {
	for i := range uint64(maxClasses) {
		v, ok := h.mem.U32(at + 4*i)
		if !ok || i == 0 && v != 0 || i > 0 && uint64(v) <= sizes[i-1] || v%8 != 0 || v > 1<<20 {
			break
		}
		sizes = append(sizes, uint64(v))
	}
	return sizes
}

// agree reports whether spans can have blocks of some sizes: none has more in use than there is room.
func (h *Heap) agree(sizes []uint64) bool {
	good, bad := 0, 0
	for i := range h.spans {
		s := &h.spans[i]
		if s.location != inUse || s.class == 0 {
			continue
		}
		if s.class < len(sizes) && sizes[s.class] <= s.size && uint64(s.used) <= s.size/sizes[s.class] {
			good++
		} else {
			bad++
		}
	}
	return good > 0 && bad <= good/16
}

func (h *Heap) note(d heap.Damage) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, d)
	}
}
