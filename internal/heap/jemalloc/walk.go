package jemalloc

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

const maxDamages = 32

// regions is how many blocks a slab has.
func (h *Heap) regions(x *extent) int { return int(min(x.size/h.sizeOf(x.class), uint64(h.maxRegs()))) }

// free returns which regions of a slab are free; false if the dump has not got it.
func (h *Heap) free(x *extent) (words []uint64, ok bool) {
	return h.mem.Words(x.record+h.bitmapAt(h.szind), (h.regions(x)+int(8*h.word)-1)/int(8*h.word))
}

// region is the i-th block of a slab.
func (h *Heap) region(x *extent, free []uint64, i int) heap.Block {
	size := h.sizeOf(x.class)
	b := heap.Block{Start: x.base + uint64(i)*size, Size: size}
	switch {
	case free[i/int(8*h.word)]>>(i%int(8*h.word))&1 != 0:
		b.Free, b.List = true, "slab"
	case h.cached[b.Start]:
		b.Free, b.List = true, "thread cache"
	case h.own[b.Start]:
		b.Own = true
	}
	return b
}

// whole is the block of an extent that is no slab.
func (h *Heap) whole(x *extent) heap.Block {
	if x.state != 0 {
		return heap.Block{Start: x.base, Size: x.size, Free: true, List: states[x.state]}
	}
	// Since 5.3.1 large blocks need not have the size of their class.
	b := heap.Block{Start: x.addr, Size: min(h.sizeOf(x.class), x.size-min(h.pad, x.size), x.end()-x.addr)}
	switch {
	case h.cached[b.Start]:
		b.Free, b.List = true, "thread cache"
	case h.own[b.Start]:
		b.Own = true
	}
	return b
}

// visit calls do for the blocks by address, until it returns false.
func (h *Heap) visit(do func(heap.Block) bool) {
	for k := range h.extents {
		x := &h.extents[k]
		if h.budget--; h.budget <= 0 {
			return
		}
		if !x.slab || x.state != 0 {
			if !do(h.whole(x)) {
				return
			}
			continue
		}
		free, ok := h.free(x)
		if !ok {
			continue
		}
		h.budget -= h.regions(x)
		for i := range h.regions(x) {
			if !do(h.region(x, free, i)) {
				return
			}
		}
	}
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.caches()
	h.visit(yield)
}

// baseBlock is what records of extents lie in: a multiple of it.
const baseBlock = 2 << 20

// Records implements heap.Allocator: records of extents point at their first block.
func (h *Heap) Records() (all [][2]uint64) {
	seen := map[uint64]bool{}
	for i := range h.extents {
		if at := h.extents[i].record &^ (baseBlock - 1); !seen[at] {
			seen[at] = true
			all = append(all, [2]uint64{at, at + baseBlock})
		}
	}
	return all
}

// extentAt returns the extent that has an address.
func (h *Heap) extentAt(addr uint64) *extent {
	i := heap.Within(h.extents, addr, func(x *extent) (start, end uint64) { return x.base, x.end() })
	if i < 0 {
		return nil
	}
	return &h.extents[i]
}

// BlockAt implements heap.Allocator. Blocks have no records beside them.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.caches()
	return h.blockAt(addr)
}

func (h *Heap) blockAt(addr uint64) (b heap.Block, ok bool) {
	x := h.extentAt(addr)
	if x == nil {
		return b, false
	}
	if !x.slab || x.state != 0 {
		b = h.whole(x)
		return b, b.Contains(addr)
	}
	i := int((addr - x.base) / h.sizeOf(x.class))
	free, ok := h.free(x)
	if !ok || i >= h.regions(x) {
		return b, false
	}
	return h.region(x, free, i), true
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.caches()
	all := slices.Clone(h.damages)
	for k := range h.extents {
		x := &h.extents[k]
		if h.budget--; h.budget <= 0 || len(all) >= maxDamages {
			break
		}
		if !x.slab || x.state != 0 {
			continue
		}
		free, ok := h.free(x)
		word, _, _, ok2 := h.record(x.record)
		if !ok || !ok2 {
			continue
		}
		n := 0
		for i, w := range free {
			if rest := h.regions(x) - int(8*h.word)*i; rest < 64 {
				w &= 1<<max(rest, 0) - 1
			}
			n += bits.OnesCount64(w)
		}
		if count := int(word >> (h.szind + h.classBits()) & uint64(2*h.maxRegs()-1)); count != n {
			all = append(all, heap.Damage{At: x.record, Size: 8, Why: fmt.Sprintf("a slab's record says that %d blocks are free, its bits that %d are", count, n), Of: heap.Block{Start: x.base}})
		}
	}
	return all
}

var _ heap.Allocator = (*Heap)(nil)
