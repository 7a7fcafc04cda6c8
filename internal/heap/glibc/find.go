// Package glibc reads the heap of the GNU C library's malloc, 2.17 to 2.43, of 32 and 64 bits, by the structures that it keeps in memory: it
// needs no symbols and no debug information.
//
// The main arena is found in the library's data by its empty bins, each of which points to itself. The other arenas hang on its ring. Layouts
// are those of malloc/malloc.c and malloc/arena.c of the releases; where they differ, memory itself decides.
package glibc

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

const (
	bins = 254 // words of pointers: 127 bins, the first for what is not sorted yet
	// minEmpty is how many of the bins have to be empty at least: heaps in which much was freed have few that are.
	minEmpty = 2
	// maxTries is how many words that may be an empty bin are looked at more closely.
	maxTries  = 256
	binmap    = 16 // bytes
	maxArenas = 4096
)

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	p        heap.Process
	mem      procmem.Reader
	w        uint64 // size of a word
	align    uint64 // of blocks: 16, 8 on some of 32 bits
	arenas   []*arena
	segments []segment // by address
	maps     []libstate.Mapping

	lists   map[uint64]string // of free chunks, by their address
	marks   [1 << 10]uint64   // bits by which both maps are left out; see maybe
	own     map[uint64]bool   // chunks with records of the allocator
	key     uint64            // that marks what lies in a tcache; 0 if it is not known
	protect bool              // pointers of lists are mangled with their own address (2.32)
	damages []heap.Damage
	listed  bool
	budget  int
	tries   int
	// lastTried are up to where bins were looked for, at even and odd words.
	lastTried [2]uint64
	most      uint64 // bytes of a segment that is walked; 0 for any number
	buffer    []byte // that no cursor has

	searched []searched // see mappedAt
	searches int        // pages that were looked at for it
}

// An arena is a malloc_state.
type arena struct {
	addr    uint64
	bins    uint64 // address of the first bin's pointers
	top     uint64 // chunk
	system  uint64 // bytes from the system
	fastAt  uint64 // address of the lists of small chunks
	fast    int    // how many
	isMain  bool
	started bool // it has a heap
}

// A segment is memory in which chunk follows chunk. Addresses of chunks are those of their records: a word before the size.
type segment struct {
	start, end uint64
	arena      *arena
	// last says that the arena's top is in it; others end with marks.
	last bool
	// whole says that a walk found no damage: another would not.
	whole bool
}

// Options bound the work.
type Options struct {
	// Chunks is how many chunks are looked at in all; 0 means 1<<26.
	Chunks int
	// Bytes is how large a heap of an arena may be: a larger one is not read at all. 0 means that all are.
	Bytes uint64
}

// Find returns the heap of a process; nil if it has none of this kind.
func Find(p heap.Process, o Options) *Heap {
	a := p.Arch()
	if a == nil || a.WordSize != 4 && a.WordSize != 8 {
		return nil
	}
	if o.Chunks == 0 {
		o.Chunks = 1 << 26
	}
	h := &Heap{p: p, mem: procmem.Of(p), w: uint64(a.WordSize), maps: p.Mappings(), budget: o.Chunks, most: o.Bytes}
	h.align = 16
	// The main arena is in writable data of a library: glibc is one of its own, or linked into the program. What looks like one and has no memory is none.
	found := false
	heap.Data(h.p, heap.MaxData, func(at uint64, b []byte) bool {
		m := h.findIn(at, b)
		found = m != nil && h.open(m)
		return !found
	})
	if !found {
		return nil
	}
	return h
}

// open finds the other arenas, and the memory of all of them; false if there is none.
func (h *Heap) open(m *arena) bool {
	h.arenas, h.segments = append(h.arenas[:0], m), h.segments[:0]
	h.ring(m)
	for _, x := range h.arenas {
		h.segmentsOf(x)
	}
	slices.SortFunc(h.segments, func(a, b segment) int {
		if a.start < b.start {
			return -1
		}
		return 1
	})
	h.segments = slices.CompactFunc(h.segments, func(a, b segment) bool { return a.start == b.start })
	return len(h.segments) > 0
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "glibc malloc" }

// findIn finds an arena in data that begins at an address.
func (h *Heap) findIn(at uint64, data []byte) *arena {
	w := int(h.w)
	var x *arena
	past := -1 // where the pair before ends
	heap.Words(h.mem.Arch, data, func(off int, v uint64) bool {
		// The pair of an empty bin: both point two words before the pair.
		if v != at+uint64(off)-2*h.w || off+2*w > len(data) || h.mem.Arch.Word(data[off+w:]) != v {
			return true
		}
		inRun := off == past
		if past = off + 2*w; !inRun && h.tries < maxTries {
			h.tries++
			x = h.arenaAround(at+uint64(past), at, data)
		}
		return x == nil
	})
	return x
}

// arenaAround returns the arena that has a bin in data that begins at an address, by the ring of arenas, which leads back to its beginning.
func (h *Heap) arenaAround(inside, at uint64, data []byte) *arena {
	// The bins end with their map, four words of 32 bits, and the pointer to the next arena. Where they begin is known by trying.
	var best *arena
	least := maxBad + 1
	b := inside - bins*h.w
	last := &h.lastTried[inside/h.w%2]
	if inside > *last && b <= *last {
		b = *last + 2*h.w // the others were tried for the pair before
	}
	for *last = inside; b <= inside; b += 2 * h.w {
		var part []byte
		if off := b - at; off <= uint64(len(data)) && uint64(len(data))-off >= bins*h.w+binmap+h.w {
			part = data[off:]
		} else {
			part = h.mem.Some(b, int(bins*h.w+binmap+h.w))
		}
		if uint64(len(part)) < bins*h.w+binmap+h.w {
			continue
		}
		next := h.mem.Arch.Word(part[bins*h.w+binmap:])
		if next%h.w != 0 || !h.writable(next) {
			continue // which is nearly all of what is no arena
		}
		bad := h.badIn(part, b)
		if bad >= least {
			continue
		}
		head, ok := h.back(next, b)
		if !ok {
			continue
		}
		if x := h.arenaAt(head, b); x != nil {
			x.isMain = true
			best, least = x, bad
		}
	}
	return best
}

// headers are how far bins may be from the beginning of an arena: since 2.43 it has no fastbins.
func (h *Heap) headers() []uint64 {
	if h.w == 8 {
		return []uint64{24, 104, 112, 120}
	}
	return []uint64{16, 56, 60, 64, 68, 72}
}

// newest reports whether the arenas are those of 2.43 and later.
func (h *Heap) newest() bool { return len(h.arenas) > 0 && h.arenas[0].fast == 0 }

// back follows the ring from an arena until it comes to the one whose bins are at b, and returns where that begins.
func (h *Heap) back(next, b uint64) (head uint64, ok bool) {
	for range maxArenas {
		if slices.Contains(h.headers(), b-next) {
			return next, true
		}
		at, ok := h.binsOf(next)
		if !ok {
			return 0, false
		}
		next = h.mem.Word(at + bins*h.w + binmap)
	}
	return 0, false
}

// binsOf returns where the bins of an arena are.
func (h *Heap) binsOf(head uint64) (b uint64, ok bool) {
	if head == 0 || head%h.w != 0 {
		return 0, false
	}
	least := maxBad + 1
	for _, d := range h.headers() {
		if bad := h.badBins(head + d); bad < least {
			b, least = head+d, bad
		}
	}
	return b, least <= maxBad
}

// minPage is the smallest page of a system: where the main heap ends, a page does.
const minPage = 4096

// maxBad is how many bins may be damaged.
const maxBad = 4

// badBins counts the bins that cannot be right if bins begin at an address; more than maxBad if there are none. An empty one points to itself, the
// chunks at both ends of another point back to it.
func (h *Heap) badBins(b uint64) (bad int) {
	return h.badIn(h.mem.Some(b, bins*int(h.w)), b)
}

// badIn is badBins with the memory from that address on.
func (h *Heap) badIn(data []byte, b uint64) (bad int) {
	w := int(h.w)
	if len(data) < bins*w {
		return maxBad + 1
	}
	empty := 0
	for i := 0; i < bins && bad <= maxBad; i += 2 {
		head := b + uint64(i-2)*h.w
		first, last := h.mem.Arch.Word(data[i*w:]), h.mem.Arch.Word(data[(i+1)*w:])
		switch {
		case first == head && last == head:
			empty++
		case !h.writable(first) || !h.writable(last) || h.mem.Word(first+3*h.w) != head || h.mem.Word(last+2*h.w) != head:
			bad++
		}
	}
	if empty < minEmpty {
		return maxBad + 1
	}
	return bad
}

// writable reports whether an address is in memory that the process wrote to.
func (h *Heap) writable(addr uint64) bool {
	if n := len(h.maps); n == 0 || addr < uint64(h.maps[0].Start) || addr >= uint64(h.maps[n-1].End) {
		return false // most words are no addresses
	}
	m, ok := h.mapping(addr)
	return ok && m.Perm&libstate.Write != 0
}

// arenaAt reads the arena at an address whose bins are at b.
func (h *Heap) arenaAt(head, b uint64) *arena {
	x := &arena{addr: head, bins: b}
	x.top, _ = h.mem.LookupWord(b - 2*h.w)
	x.fastAt = head + 8
	if h.w == 8 && b-head >= 112 || h.w == 4 && b-head >= 60 {
		x.fastAt += 4 // have_fastchunks, since 2.27
		x.fastAt += (h.w - x.fastAt%h.w) % h.w
	}
	x.fast = int((b - 2*h.w - x.fastAt) / h.w)
	// After next come next_free, since 2.23 the number of threads, and what the system gave.
	at := b + bins*h.w + binmap + 2*h.w
	first, ok := h.mem.LookupWord(at)
	if !ok {
		return nil
	}
	x.system = first
	if first < 1<<16 { // threads: no heap has so few bytes
		x.system, _ = h.mem.LookupWord(at + h.w)
	}
	x.started = x.top != 0 && x.top != b-2*h.w && x.system != 0 && x.system%h.w == 0
	return x
}

// ring adds the other arenas.
func (h *Heap) ring(m *arena) {
	d := m.bins - m.addr
	seen := map[uint64]bool{m.addr: true}
	for next := h.mem.Word(m.bins + bins*h.w + binmap); next != 0 && !seen[next] && len(h.arenas) < maxArenas; {
		seen[next] = true
		if h.badBins(next+d) > maxBad {
			return
		}
		x := h.arenaAt(next, next+d)
		if x == nil {
			return
		}
		h.arenas = append(h.arenas, x)
		next = h.mem.Word(x.bins + bins*h.w + binmap)
	}
}

// mapping returns the mapping that has an address.
func (h *Heap) mapping(addr uint64) (m libstate.Mapping, ok bool) {
	i := heap.Within(h.maps, addr, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) })
	if i < 0 {
		return m, false
	}
	return h.maps[i], true
}

// segmentsOf adds the memory of an arena.
func (h *Heap) segmentsOf(x *arena) {
	if !x.started {
		return
	}
	size, ok := h.size(x.top)
	if !ok {
		return
	}
	if x.isMain {
		end := x.top + size
		m, ok := h.mapping(x.top)
		if !ok || x.top%h.w != 0 {
			return
		}
		if end < x.top || end > uint64(m.End) || end%minPage != 0 { // the last block's record is damaged
			if end = uint64(m.End); x.system < end-uint64(m.Start) {
				end = max(uint64(m.Start)+x.system, x.top+h.minSize())
			}
		}
		start := end - x.system
		if start > end || start < uint64(m.Start) || x.system == 0 {
			start = uint64(m.Start) // the system gave memory in several places
		}
		if s, ok := h.begin(start); ok {
			h.segments = append(h.segments, segment{start: s, end: end, arena: x, last: true})
		}
		return
	}
	for _, most := range []uint64{64 << 20, 32 << 20, 1 << 20, 512 << 10, 128 << 20, 2 << 20} { // 2*DEFAULT_MMAP_THRESHOLD_MAX, and with large pages
		base := x.addr &^ (most - 1)
		if at := h.mem.Word(base); at != x.addr || x.addr-base > 256 {
			continue
		}
		// The heaps of the arena, the newest first.
		for n, b := 0, x.top&^(most-1); b != 0 && n < maxArenas; n++ {
			if h.mem.Word(b) != x.addr {
				break
			}
			prev, used := h.mem.Word(b+h.w), h.mem.Word(b+2*h.w)
			if used == 0 || used > most || used%4096 != 0 {
				break
			}
			after := b + 4*h.w
			if b == base {
				after = x.bins + bins*h.w + binmap + 4*h.w // the arena follows
			}
			if s, ok := h.begin((after + h.align - 1) &^ (h.align - 1)); ok {
				h.segments = append(h.segments, segment{start: s, end: b + used, arena: x, last: x.top-b < most})
			}
			if prev != 0 && prev%most != 0 || prev == b {
				break
			}
			b = prev
		}
		return
	}
}

// begin finds the first chunk from an address on: the allocator skips some words so that blocks are aligned.
func (h *Heap) begin(at uint64) (uint64, bool) {
	for off := uint64(0); off < 4*h.align; off += h.w {
		c := at + off
		if (c+2*h.w)%8 != 0 {
			continue
		}
		if v, ok := h.mem.LookupWord(c + h.w); ok && v&1 != 0 && v&^7 >= 4*h.w && v&^7 < 1<<40 && v&^7%8 == 0 {
			if next, ok := h.mem.LookupWord(c + v&^7 + h.w); ok && next&^7 >= 2*h.w {
				if h.w == 4 && (c+2*h.w)%16 != 0 {
					h.align = 8
				}
				return c, true
			}
		}
	}
	return 0, false
}

// size is that of a chunk, without its flags.
func (h *Heap) size(c uint64) (uint64, bool) {
	v, ok := h.mem.LookupWord(c + h.w)
	return v &^ 7, ok
}
