// Package asan reads the heap of AddressSanitizer's runtime, of LLVM 14 to 19 and GCC 12 on x86-64 and x86, by what it keeps in memory: it needs no
// symbols and no debug information.
//
// Small chunks are in regions of one size each: at a constant address (SizeClassAllocator64), on 32 bits of 1 MiB each (SizeClassAllocator32). Large ones
// have mappings of their own (LargeMmapAllocator). A chunk begins with its header, or with a magic number and where the header is. Names are those of asan_allocator.cpp.
package asan

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	regionSize = 1 << 36 // kRegionSize: 4 TiB for kNumClassesRounded of 64 classes
	userSize   = regionSize / 8 * 7
	numClasses = 53 // without kBatchClassID
	midClass   = 16
	magic      = 0xCC6E96B9CC6E96B9 // kAllocBegMagic
	headerSize = 16                 // kChunkHeaderSize
	allocated  = 2                  // CHUNK_ALLOCATED
	quarantine = 3                  // CHUNK_QUARANTINE
	maxAllowed = 1 << 40            // kMaxAllowedMallocSize
	maxBatch   = 1021               // QuarantineBatch::kSize
	batchClass = 8192               // sizeof(QuarantineBatch)
	batchHead  = 32                 // what isBatch looks at
	sampled    = 64                 // chunks of a region that tell whether they are the sanitizer's
	enough     = 256                // of all regions: reports read little of a heap
	maxDamages = 32
	window     = 1 << 18 // bytes that are read at once
)

// spaces are values of kAllocatorSpace: before LLVM 17, and since.
var spaces = [...]uint64{0x600000000000, 0x500000000000}

// classSize is SizeClassMap::Size of DefaultSizeClassMap.
func classSize(class uint64) uint64 {
	if class <= midClass {
		return class * 16
	}
	class -= midClass
	t := uint64(256) << (class >> 2)
	return t + t>>2*(class&3)
}

// A region has chunks of one size.
type region struct {
	start, end uint64 // kUserMapSize at a time is mapped
	size       uint64 // of a chunk
}

// A chunk is what its header says.
type chunk struct {
	beg, end uint64 // with its redzones
	header   uint64
	state    byte
	kind     byte // alloc_type
	used     uint64
	own      bool
	damage   string
}

// A Heap is the heap of one process. It implements heap.Allocator and heap.Traced.
type Heap struct {
	mem     procmem.Reader
	p       heap.Process
	word    uint64
	regions []region // by address
	budget  int

	searched bool
	large    []chunk // by address
	depot    depot
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
	if a != arch.AMD64 && a != arch.X86 {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{mem: procmem.Of(p), p: p, word: uint64(a.WordSize), budget: o.Blocks}
	if h.word == 4 {
		if h.regions32(p.Mappings()); len(h.regions) > 0 && h.proved() {
			return h
		}
		return nil
	}
	for _, space := range spaces {
		h.regions = regions(p.Mappings(), space)
		if len(h.regions) > 0 && h.proved() {
			return h
		}
	}
	return nil
}

// regions are the regions of a space that have chunks.
func regions(mappings []libstate.Mapping, space uint64) (all []region) {
	for _, m := range mappings {
		start, end := uint64(m.Start), uint64(m.End)
		if start < space || start-space >= regionSize*(numClasses) || m.Perm&libstate.Write == 0 || m.Path != "" {
			continue
		}
		class, off := (start-space)/regionSize, (start-space)%regionSize
		limit := space + class*regionSize + userSize
		last := len(all) - 1
		switch {
		case class == 0 || off >= userSize:
		case off == 0:
			all = append(all, region{start, min(end, limit), classSize(class)})
		case last >= 0 && all[last].end == start:
			all[last].end = min(end, limit)
		}
	}
	return all
}

// proved says whether the regions have chunks of the sanitizer's: other sanitizers have the same regions, without headers in them.
func (h *Heap) proved() bool {
	good, bad := 0, 0
	for i := range h.regions {
		r := &h.regions[i]
		for at := r.start; at < r.start+sampled*r.size && r.end-at >= r.size && good+bad < enough; at += r.size {
			b := h.mem.Bytes(at, int(min(r.size, batchHead)))
			if b == nil {
				break
			}
			switch c := h.chunk(at, r.size, b); {
			case c.damage != "":
				bad++
			case c.header != 0:
				good++
			}
		}
	}
	return good > bad*4
}

// chunk is the chunk of some bytes b, which may be only its first ones.
func (h *Heap) chunk(at, size uint64, b []byte) chunk {
	c := chunk{beg: at, end: at + size}
	order := h.mem.Arch.ByteOrder
	off := uint64(0)
	if h.mem.Arch.Word(b) == magic>>(64-8*h.word) {
		if off = h.mem.Arch.Word(b[h.word:]) - at; off < headerSize || off > size-headerSize || off%8 != 0 {
			c.damage = fmt.Sprintf("the chunk's record says that its header is at %#x, which is not in it", at+off)
			return c
		}
	}
	var head []byte
	if off+headerSize <= uint64(len(b)) {
		head = b[off:][:headerSize]
	} else if head = h.mem.Bytes(at+off, headerSize); head == nil {
		return c
	}
	c.state, c.kind = head[0], head[1]&3
	c.used = uint64(order.Uint16(head[2:]))<<32 | uint64(order.Uint32(head[4:]))
	switch {
	case c.state == allocated || c.state == quarantine:
		if c.used > size-off-headerSize || c.kind == 0 {
			c.damage = fmt.Sprintf("the chunk's header says that it is of %d bytes, and there is room for %d", c.used, size-off-headerSize)
			if c.used <= size-off-headerSize {
				c.damage = "the chunk's header does not say how it was allocated"
			}
			return c
		}
		c.header = at + off
	case off == 0 && size == batchClass*h.word/8 && h.isBatch(b):
		c.own = true
	case off == 0 && c.state != 0 && h.word == 4 && h.isTransfer(&c, b):
	case c.state != 0 && off != 0: // QuarantineCallback.Recycle clears the magic first
		c.damage = fmt.Sprintf("the chunk's state is %d", c.state)
	case c.state != 0:
		c.damage = fmt.Sprintf("the chunk's state is %d", c.state)
	}
	return c
}

// isBatch says whether a chunk is a list of chunks in quarantine (QuarantineBatch).
func (h *Heap) isBatch(b []byte) bool {
	if len(b) < batchHead {
		return false
	}
	n := h.mem.Arch.Word(b[2*h.word:])
	if n == 0 || n > maxBatch {
		return false
	}
	head, ok := h.mem.U8(h.mem.Arch.Word(b[3*h.word:]))
	return ok && head == quarantine
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "AddressSanitizer" }

// block is a chunk as others see it.
func (c *chunk) block(mapped bool) heap.Block {
	b := heap.Block{Start: c.beg, Size: c.end - c.beg, Mapped: mapped}
	switch {
	case c.own:
		b.Own = true
	case c.header == 0:
		b.Free, b.List = true, "free slot"
		if c.damage != "" {
			b.List = "" // it is not known
		}
	default:
		b.Start, b.Size = c.header+headerSize, c.used
		if c.state == quarantine {
			b.Free, b.List = true, "quarantine"
		}
	}
	return b
}

// walk calls yield for each chunk until it returns false.
func (h *Heap) walk(yield func(c *chunk, mapped bool) bool) {
	h.search()
	for i := range h.regions {
		r := &h.regions[i]
		step := max(window/r.size, 1) * r.size
		for at := r.start; at < r.end; at += step {
			b := h.mem.Some(at, int(min(step, r.end-at)))
			for k := uint64(0); k+r.size <= uint64(len(b)); k += r.size {
				if h.budget--; h.budget <= 0 {
					return
				}
				if c := h.chunk(at+k, r.size, b[k:][:r.size]); !yield(&c, false) {
					return
				}
			}
			if uint64(len(b)) < min(step, r.end-at) {
				break
			}
		}
	}
	for i := range h.large {
		if h.budget--; h.budget <= 0 || !yield(&h.large[i], true) {
			return
		}
	}
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.walk(func(c *chunk, mapped bool) bool { return c.damage != "" || yield(c.block(mapped)) })
}

// chunkAt is the chunk that has an address, redzones among it.
func (h *Heap) chunkAt(addr uint64) (c chunk, mapped, ok bool) {
	if i := heap.Within(h.regions, addr, func(r *region) (start, end uint64) { return r.start, r.end }); i >= 0 {
		r := &h.regions[i]
		beg := addr - (addr-r.start)%r.size
		if h.budget--; h.budget <= 0 || r.end-beg < r.size {
			return c, false, false
		}
		b := h.mem.Bytes(beg, int(min(r.size, 4096)))
		if b == nil {
			return c, false, false
		}
		return h.chunk(beg, r.size, b), false, true
	}
	h.search()
	if i := heap.Within(h.large, addr, func(c *chunk) (start, end uint64) { return c.beg, c.end }); i >= 0 {
		return h.large[i], true, true
	}
	return c, false, false
}

// BlockAt implements heap.Allocator. The redzones of a block are the records beside it.
func (h *Heap) BlockAt(addr uint64) (heap.Block, bool) {
	c, mapped, ok := h.chunkAt(addr)
	if !ok || c.damage != "" {
		return heap.Block{}, false
	}
	return c.block(mapped), true
}

// Beside implements heap.Traced, as Allocator::FindHeapChunkByAddress and ChooseChunk do.
func (h *Heap) Beside(addr uint64) (heap.Block, bool) {
	c, mapped, ok := h.chunkAt(addr)
	ok = ok && c.header != 0
	at := addr - page
	if ok || c.end != 0 {
		at = c.beg - 1
	}
	if (!ok || addr < c.header+headerSize) && addr-at <= page {
		left, leftMapped, there := h.chunkAt(at)
		switch end := left.header + headerSize + left.used; {
		case !there || left.header == 0 || addr < end:
		case !ok, left.state < c.state, left.state == c.state && addr-end < c.header+headerSize-addr:
			return left.block(leftMapped), true
		}
	}
	return c.block(mapped), ok
}

// Records implements heap.Allocator: none of the sanitizer's leads to blocks in use, and its quarantine is in blocks of its own.
func (h *Heap) Records() [][2]uint64 { return nil }

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	if !h.walked {
		h.walked = true
		var before heap.Block
		h.walk(func(c *chunk, mapped bool) bool {
			if c.damage == "" {
				before = c.block(mapped)
				if before.Free {
					before = heap.Block{}
				}
				return true
			}
			d := heap.Damage{At: c.beg, Size: 8, Why: c.damage, Of: heap.Block{Start: c.beg}}
			if before.Size != 0 && before.End() <= c.beg && c.beg-before.End() < 2048 {
				d.Before = before
			}
			before = heap.Block{}
			h.damages = append(h.damages, d)
			return len(h.damages) < maxDamages
		})
	}
	return slices.Clone(h.damages)
}

var (
	_ heap.Allocator = (*Heap)(nil)
	_ heap.Traced    = (*Heap)(nil)
)
