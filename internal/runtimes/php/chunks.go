package php

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

// PHP has an allocator of its own (Zend/zend_alloc.c): chunks of 2 MB, each of 512 pages, the first of which says what the others have: blocks of one
// of thirty sizes, or of whole pages. What is larger has a mapping of its own, which a list says. The first chunk of a heap also has what all share. A
// page that is free is told by a bit; what else is said of it is old.
const (
	chunkSize    = 2 << 20
	pageSize     = 4096
	chunkPages   = chunkSize / pageSize
	chunkHeap    = 0  // in a chunk: its heap
	sharedAt     = 64 // in the first chunk: what all share
	freeBits     = chunkPages / 8
	pageOfOwn    = 0x40000001 // what the first page says of itself: one page in use
	pageKind     = 3 << 30
	pageWhole    = 1 << 30 // blocks of pages: how many
	pageBlocks   = 2 << 30 // the first page of blocks of one size, and the others
	pageMore     = 3 << 30
	pageCount    = 1<<10 - 1
	pageClass    = 1<<5 - 1
	classes      = 30
	maxFree      = 1 << 26 // free blocks of a heap that are looked at
	maxHuge      = 1 << 16
	maxChunks    = 1 << 16
	hugeNode     = 24 // of the list: where it is, how large, the next
	mostOfShared = 128
)

// classSizes are the sizes of blocks, and classPages the pages that are filled with them at a time.
var (
	classSizes = [classes]uint16{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072}
	classPages = [classes]uint8{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 3, 1, 1, 5, 3, 2, 2, 5, 3, 7, 4, 5, 3}
)

// A span is some pages of a chunk with blocks of one size.
type span struct {
	start uint64
	size  uint64 // of a block
	count uint64
	own   bool // the allocator's
}

func (r *span) end() uint64 { return r.start + r.size*r.count }

// A requestHeap is what the allocator has handed out for requests, of all threads. It implements heap.Allocator and heap.Ranged.
type requestHeap struct {
	memory                                         // without what the analysis may spend: how many blocks there are bounds the work
	runs    []span                                 // by address
	huge    []heap.Block                           // by address
	free    map[uint64]*[chunkSize / 8 / 64]uint64 // by chunk: bits of the words at which free blocks begin
	objects []uint64                               // all objects, by address
	cut     string                                 // why there may be more
	last    uint64
}

func (r *runtime) findHeap() (*requestHeap, error) {
	p, ok := r.p.State.(heap.Process)
	if !ok {
		return nil, nil
	}
	h := &requestHeap{memory: r.memory, free: map[uint64]*[chunkSize / 8 / 64]uint64{}}
	h.Reader = procmem.Of(p)
	type shared struct{ main, bits uint64 }
	heaps := map[uint64]*shared{}
	chunks := 0
	for _, m := range p.Mappings() {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		for at := (uint64(m.Start) + chunkSize - 1) &^ (chunkSize - 1); at < uint64(m.End) && uint64(m.End)-at >= chunkSize; at += chunkSize {
			if r.p.Spend(1) != nil {
				h.cut = "the limit of the analysis is reached"
				break
			}
			of := h.Word(at + chunkHeap)
			main := of &^ (chunkSize - 1)
			if of == 0 || of-main != sharedAt || h.Word(main+chunkHeap) != of {
				continue
			}
			s := heaps[of]
			if s == nil {
				s = &shared{main: main, bits: h.bitsOf(main)}
				heaps[of] = s
			}
			if chunks++; s.bits == 0 || chunks > maxChunks {
				continue
			}
			h.chunk(at, s.bits)
		}
	}
	if len(h.runs) == 0 {
		return nil, nil
	}
	for _, s := range r.states() {
		h.list(s.executor + r.at("globals.objects"))
	}
	slices.Sort(h.objects)
	slices.SortFunc(h.runs, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for of, s := range heaps {
		if s.bits != 0 {
			h.share(of, s.main, s.bits-sharedAt)
		}
	}
	slices.SortFunc(h.huge, func(a, b heap.Block) int { return cmp.Compare(a.Start, b.Start) })
	h.huge = slices.CompactFunc(h.huge, func(a, b heap.Block) bool { return b.Start < a.End() })
	return h, nil
}

// bitsOf finds where the first chunk of a heap has the bits of free pages, which the words on pages follow: how large what all share is differs between
// releases. It is 0 if they are not found.
func (h *requestHeap) bitsOf(main uint64) uint64 {
	b := h.Bytes(main, pageSize)
	for off := sharedAt + 256; b != nil && off+freeBits+4*chunkPages <= pageSize; off += 8 {
		if h.Arch.ByteOrder.Uint32(b[off+freeBits:]) == pageOfOwn && h.pages(main, b[off:], nil) {
			return uint64(off)
		}
	}
	return 0
}

// pages goes through the pages of a chunk that are in use, of which b has the bits and then the words; false if these do not agree.
func (h *requestHeap) pages(chunk uint64, b []byte, give func(span)) bool {
	order := h.Arch.ByteOrder
	used := func(i int) bool { return b[i/8]&(1<<(i%8)) != 0 }
	info := func(i int) uint32 { return order.Uint32(b[freeBits+4*i:]) }
	for i := 0; i < chunkPages; {
		if !used(i) {
			i++
			continue
		}
		v := info(i)
		x := span{start: chunk + uint64(i)*pageSize, count: 1, own: i == 0}
		n := 0
		switch v & pageKind {
		case pageWhole:
			n = int(v & pageCount)
			x.size = uint64(n) * pageSize
		case pageBlocks:
			class := v & pageClass
			if class >= classes {
				return false
			}
			n = int(classPages[class])
			x.size = uint64(classSizes[class])
			x.count = uint64(n) * pageSize / x.size
			for k := i + 1; k < min(i+n, chunkPages); k++ {
				if info(k)&pageKind != pageMore || info(k)&pageClass != class {
					return false
				}
			}
		}
		if n == 0 || i+n > chunkPages {
			return false
		}
		for k := i + 1; k < i+n; k++ {
			if !used(k) {
				return false
			}
		}
		if give != nil {
			give(x)
		}
		i += n
	}
	return used(0)
}

// chunk adds the pages of a chunk.
func (h *requestHeap) chunk(at, bits uint64) {
	b := h.Bytes(at, pageSize)
	if b == nil {
		h.cut, h.last = "the beginning of a chunk is not there", at
		return
	}
	n := len(h.runs)
	if !h.pages(at, b[bits:], func(x span) { h.runs = append(h.runs, x) }) {
		h.runs = h.runs[:n]
		h.cut, h.last = "what a chunk says of its pages contradicts itself", at
	}
}

// share reads what all chunks of a heap share: the lists of free blocks, by sizes, and the list of what is larger than a chunk.
func (h *requestHeap) share(of, main, size uint64) {
	words, ok := h.Words(of, int(min(size/8, mostOfShared)))
	if !ok {
		return
	}
	// The lists come after four words, or five, and are the only thirty words that lead to blocks of their sizes.
	for first := 2; first <= 6 && first+classes <= len(words); first++ {
		if !h.lists(words[first : first+classes]) {
			continue
		}
		for class, at := range words[first : first+classes] {
			h.freed(at, uint64(classSizes[class]))
		}
		for i := first + classes; i+1 < len(words); i++ {
			if words[i+1] == main { // the first chunk, before which is the list
				h.larger(words[i])
				break
			}
		}
		return
	}
}

// lists reports whether words are the beginnings of lists of free blocks, by sizes.
func (h *requestHeap) lists(words []uint64) bool {
	some := false
	for class, at := range words {
		if at == 0 {
			continue
		}
		x := h.runAt(at)
		if x == nil || x.size != uint64(classSizes[class]) || x.own || (at-x.start)%x.size != 0 {
			return false
		}
		some = true
	}
	return some
}

// freed follows a list of free blocks of one size.
func (h *requestHeap) freed(at, size uint64) {
	for range maxFree {
		x := h.runAt(at)
		if x == nil || x.size != size || (at-x.start)%size != 0 || h.isFree(at) {
			if at != 0 {
				h.cut, h.last = "a list of free blocks leads to what is none", at
			}
			return
		}
		chunk := at &^ (chunkSize - 1)
		bits := h.free[chunk]
		if bits == nil {
			bits = new([chunkSize / 8 / 64]uint64)
			h.free[chunk] = bits
		}
		i := (at - chunk) / 8
		bits[i/64] |= 1 << (i % 64)
		at = h.Word(at)
	}
}

func (h *requestHeap) isFree(at uint64) bool {
	bits := h.free[at&^(chunkSize-1)]
	i := at & (chunkSize - 1) / 8
	return bits != nil && bits[i/64]&(1<<(i%64)) != 0
}

// larger follows the list of blocks that are larger than a chunk.
func (h *requestHeap) larger(node uint64) {
	for range maxHuge {
		b := h.Bytes(node, hugeNode)
		if b == nil || node%8 != 0 {
			return
		}
		at, size := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if at%chunkSize != 0 || at == 0 || size%pageSize != 0 || size == 0 || size > 1<<46 {
			return
		}
		h.huge = append(h.huge, heap.Block{Start: at, Size: size, Mapped: true})
		node = binary.LittleEndian.Uint64(b[16:])
	}
}

// runAt are the pages that have an address; nil for none.
func (h *requestHeap) runAt(addr uint64) *span {
	k := heap.Within(h.runs, addr, func(x *span) (start, end uint64) { return x.start, x.end() })
	if k < 0 {
		return nil
	}
	return &h.runs[k]
}

// Name implements heap.Allocator.
func (h *requestHeap) Name() string { return "PHP's memory of requests" }

func (h *requestHeap) block(x *span, at uint64) heap.Block {
	b := heap.Block{Start: at, Size: x.size, Own: x.own}
	if h.isFree(at) {
		b.Free, b.List = true, "free list"
	}
	return b
}

// Blocks implements heap.Allocator.
func (h *requestHeap) Blocks(yield func(heap.Block) bool) {
	for i := range h.runs {
		x := &h.runs[i]
		for at := x.start; at < x.end(); at += x.size {
			if !yield(h.block(x, at)) {
				return
			}
		}
	}
	for _, b := range h.huge {
		if !yield(b) {
			return
		}
	}
}

// BlockAt implements heap.Allocator.
func (h *requestHeap) BlockAt(addr uint64) (heap.Block, bool) {
	if x := h.runAt(addr); x != nil {
		return h.block(x, addr-(addr-x.start)%x.size), true
	}
	if k := heap.Within(h.huge, addr, func(b *heap.Block) (start, end uint64) { return b.Start, b.End() }); k >= 0 {
		return h.huge[k], true
	}
	return heap.Block{}, false
}

// Records implements heap.Allocator: what the allocator knows is in blocks of its own.
func (h *requestHeap) Records() [][2]uint64 { return nil }

// Ranges implements heap.Ranged.
func (h *requestHeap) Ranges() (list [][2]uint64) {
	for i := range h.runs {
		list = append(list, [2]uint64{h.runs[i].start, h.runs[i].end()})
	}
	for _, b := range h.huge {
		list = append(list, [2]uint64{b.Start, b.End()})
	}
	slices.SortFunc(list, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	return list
}

// Damages implements heap.Allocator.
func (h *requestHeap) Damages() []heap.Damage {
	if h.cut == "" {
		return nil
	}
	return []heap.Damage{{At: h.last, Size: 8, Why: h.cut}}
}
