// Package scudo reads the heap of Scudo, LLVM's hardened allocator (its standalone form, which Android has), as LLVM 19 lays it out, by what it keeps
// in memory: it needs no symbols and no debug information.
//
// Small blocks are in regions of one size each: a mapping of its own on 64 bits, 512 KiB at a multiple of that on 32. Large ones have mappings of their
// own, in a list. Each block begins with a header that has a checksum of itself, of its address and of a secret of the process: headers with the same
// secret prove the heap. Names are those of chunk.h, size_class_map.h and secondary.h.
package scudo

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	region32   = 1 << 19    // bytes of a region on 32 bits: DefaultConfig's; Android's are half as large
	marker     = 0x44554353 // BlockMarker
	window     = 16 << 10   // bytes of a region that are looked at to know it
	enough     = 8          // headers that prove the secret
	maxVotes   = 1 << 14    // words that may be headers, of which most of other allocators are none
	maxRegions = 1 << 12
	maxDeep    = 256 // regions of which more is read, as their beginning does not tell of what they are
	maxLarge   = 1 << 16
	maxDamages = 32
	available  = 0 // Chunk::Available
	allocated  = 1 // Chunk::Allocated
	quarantine = 2 // Chunk::Quarantined
)

// A sizes is a map of classes to the sizes of their blocks (SizeClassMap).
type sizes func(class uint64) uint64

// defaultSizes is DefaultSizeClassMap.
func defaultSizes(class uint64) uint64 {
	const mid, last = 8, 44
	switch {
	case class > last:
		return 0
	case class <= mid:
		return class * 32
	}
	class -= mid
	t := uint64(256) << (class >> 2)
	return t + t>>2*(class&3)
}

// androidSizes are the sizes of AndroidSizeClassMap on 64 bits, by 16 bytes.
const androidSizes = "\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00\x07\x00\x09\x00\x0b\x00\x0c\x00\x0e\x00\x12\x00\x16\x00\x1c\x00\x25\x00\x32\x00\x45\x00" +
	"\x67\x00\x83\x00\xa1\x00\xc3\x00\x01\x01\x21\x01\xbd\x01\x21\x02\xd9\x02\x79\x03\x01\x04\x81\x04\xa1\x05\x31\x07\x21\x08\x01\x10"

func androidSize(class uint64) uint64 {
	if class == 0 || class*2 > uint64(len(androidSizes)) {
		return 0
	}
	return (uint64(androidSizes[class*2-2]) | uint64(androidSizes[class*2-1])<<8) * 16
}

// A region has blocks of one class.
type region struct {
	start, end uint64
	class      uint64
	size       uint64 // of a block, with its header
}

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	mem     procmem.Reader
	p       heap.Process
	word    uint64
	head    uint64 // bytes of a header, and the alignment of blocks
	order   binary.ByteOrder
	castag  *crc32.Table
	secret  uint16 // what the process's cookie makes of a checksum
	sizes   sizes
	regions []region // by address
	budget  int
	buf     []byte
	deep    int

	searched bool
	large    []large // by address
	damages  []heap.Damage
	walked   bool
}

// Options bound the work.
type Options struct {
	// Blocks is how many blocks are looked at in all; 0 means 1<<26.
	Blocks int
}

// Find returns the heap of a process; nil if it has none of this kind.
func Find(p heap.Process, o Options) *Heap {
	a := p.Arch()
	if a != arch.AMD64 && a != arch.X86 && a != arch.ARM64 {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{mem: procmem.Of(p), p: p, word: uint64(a.WordSize), head: 2 * uint64(a.WordSize), order: a.ByteOrder,
		castag: crc32.MakeTable(crc32.Castagnoli), budget: o.Blocks}
	pieces := h.pieces()
	for _, s := range []sizes{defaultSizes, androidSize} {
		if h.sizes = s; !h.findSecret(pieces) {
			continue
		}
		for _, r := range pieces {
			if h.known(&r) {
				h.regions = append(h.regions, r)
			}
		}
		if len(h.regions) > 0 {
			return h
		}
	}
	return nil
}

// pieces are the memory that may be a region each.
func (h *Heap) pieces() (all []region) {
	for _, m := range h.p.Mappings() {
		if m.Perm&libstate.Write == 0 || m.Path != "" && !isAnonymous(m.Path) {
			continue
		}
		start, end := uint64(m.Start), uint64(m.End)
		if h.word == 8 {
			all = append(all, region{start: start, end: end})
		} else {
			for at := (start + region32 - 1) &^ (region32 - 1); at < end && end-at >= region32; at += region32 {
				all = append(all, region{start: at, end: at + region32})
			}
		}
		if len(all) >= maxRegions {
			return all[:maxRegions]
		}
	}
	return all
}

// isAnonymous says whether a mapping's name is one that the program gave to memory that is no file's, as Android does.
func isAnonymous(path string) bool { return len(path) > 5 && path[:5] == "[anon" }

// A header is that of a chunk (UnpackedHeader).
type header struct {
	class  uint64
	state  byte
	size   uint64 // of a small chunk; of a large one how many bytes are left behind it
	offset uint64 // how many alignments it is behind the block's beginning
	sum    uint16
}

func unpack(v uint64) header {
	return header{class: v & 0xff, state: byte(v >> 8 & 3), size: v >> 12 & (1<<20 - 1), offset: v >> 32 & 0xffff, sum: uint16(v >> 48)}
}

// plain is what a checksum would be without a cookie. That changes some bits of each checksum, which are the same for all headers: a CRC is linear.
func (h *Heap) plain(user, packed uint64) uint16 {
	var b [16]byte
	if h.word == 8 {
		h.order.PutUint64(b[:], user)
	} else {
		h.order.PutUint32(b[:], uint32(user))
	}
	h.order.PutUint64(b[h.word:], packed&^(0xffff<<48))
	crc := ^crc32.Update(^uint32(0), h.castag, b[:h.word+8])
	return uint16(crc ^ crc>>16)
}

// right says whether the checksum of a header is.
func (h *Heap) right(user, packed uint64) bool {
	return packed>>48 == uint64(h.plain(user, packed)^h.secret)
}

// fits says whether a word may be the header at the beginning of a block of some class.
func (h *Heap) fits(r *region, at, v uint64) (size uint64, ok bool) {
	x := unpack(v)
	size = h.sizes(x.class)
	return size, size != 0 && x.state <= quarantine && x.offset == 0 && x.sum != 0 && x.size <= size-h.head && (at-r.start)%size == 0
}

// findSecret finds what the cookie makes of checksums, by headers that agree.
func (h *Heap) findSecret(pieces []region) bool {
	votes := map[uint16]int{}
	n := 0
	for i := range pieces {
		r := &pieces[i]
		if n >= maxVotes {
			break
		}
		b := h.beginning(r, window)
		own := 0 // of a region each has its share
		for off := uint64(0); off+8 <= uint64(len(b)) && n < maxVotes && own < maxVotes/64; off += h.head {
			v := h.order.Uint64(b[off:])
			if v == 0 {
				continue
			}
			if _, ok := h.fits(r, r.start+off, v); ok {
				votes[h.plain(r.start+off+h.head, v)^uint16(v>>48)]++
				n, own = n+1, own+1
			}
		}
	}
	best, second := 0, 0
	for s, k := range votes {
		if k > best || k == best && s < h.secret {
			h.secret = s
			best, second = k, best
		} else {
			second = max(second, k)
		}
	}
	return best >= enough && best > 4*second
}

// beginning is the beginning of a region, until the next is asked for.
func (h *Heap) beginning(r *region, most uint64) []byte {
	n := int(min(most, r.end-r.start))
	if len(h.buf) < n {
		h.buf = make([]byte, n)
	}
	return h.buf[:h.mem.Fill(r.start, h.buf[:n])]
}

// known finds the class of a region by its headers.
func (h *Heap) known(r *region) bool {
	if h.classIn(r, h.beginning(r, window)) {
		return true
	}
	if h.deep++; h.deep > maxDeep {
		return false
	}
	return h.classIn(r, h.beginning(r, 32*window))
}

// classIn finds the class in the beginning of a region.
func (h *Heap) classIn(r *region, b []byte) bool {
	votes := map[uint64]int{}
	for off := uint64(0); off+8 <= uint64(len(b)); off += h.head {
		v := h.order.Uint64(b[off:])
		if v == 0 {
			continue
		}
		if _, ok := h.fits(r, r.start+off, v); ok && h.right(r.start+off+h.head, v) {
			votes[v&0xff]++
		}
	}
	best := 0
	for class, k := range votes {
		if k > best || k == best && class < r.class {
			r.class, best = class, k
		}
	}
	r.size = h.sizes(r.class)
	return best > 0
}

// A large is a block with a mapping of its own (LargeBlock::Header).
type large struct {
	at         uint64 // of the record
	start, end uint64 // of what is mapped
	user, size uint64

	guarded, freed bool // it is one of GWP-ASan's, and was given back
}

// search finds the large blocks: the library's data lead to the list of them.
func (h *Heap) search() {
	if h.searched {
		return
	}
	h.searched = true
	maps := h.p.Mappings()
	seen := map[uint64]bool{}
	heap.Data(h.p, heap.MaxData, func(_ uint64, b []byte) bool {
		h.readGuarded(b)
		for off := uint64(0); off+h.word <= uint64(len(b)); off += h.word {
			v := h.mem.Arch.Word(b[off:])
			if v == 0 || v%h.head != 0 || seen[v] || len(h.large) >= maxLarge {
				continue
			}
			i := heap.Within(maps, v, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) })
			if i < 0 || maps[i].Path != "" && !isAnonymous(maps[i].Path) || maps[i].Perm&libstate.Write == 0 {
				continue
			}
			for step := range uint64(2) { // the list's links back, and on
				for at := v; at != 0 && (at == v || !seen[at]) && len(h.large) < maxLarge; {
					if h.budget--; h.budget <= 0 {
						return false
					}
					w, ok := h.largeAt(at, seen)
					if !ok {
						break
					}
					at = w[step]
				}
			}
		}
		return true
	})
	h.sortLarge()
}

// largeAt reads the record of a large block, and notes the block.
func (h *Heap) largeAt(at uint64, seen map[uint64]bool) ([]uint64, bool) {
	w, ok := h.mem.Words(at, 6) // Prev, Next, CommitBase, CommitSize, MapBase, MapCapacity
	if !ok || w[2] > at || w[3] > 1<<46 || at-w[2] >= w[3] || w[4] > w[2] || w[5] < w[3] || w[2]-w[4] > w[5]-w[3] {
		return nil, false
	}
	user, end := at+6*h.word+h.head, w[2]+w[3]
	v, ok := h.mem.Uint(user-h.head, 8)
	x := unpack(v)
	if !ok || user > end || x.class != 0 || x.state != allocated || x.size > end-user || !h.right(user, v) {
		return nil, false
	}
	if !seen[at] {
		seen[at] = true
		h.large = append(h.large, large{at: at, start: w[2], end: end, user: user, size: end - user - x.size})
	}
	return w, true
}
