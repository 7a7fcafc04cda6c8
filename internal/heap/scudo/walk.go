package scudo

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// walkWindow is how many bytes are read at once.
const walkWindow = 1 << 18

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "Scudo" }

// block is the block at an address of a region, whose first bytes b has; what is wrong with its header, "" for nothing.
func (h *Heap) block(r *region, at uint64, b []byte) (out heap.Block, wrong string) {
	free := heap.Block{Start: at, Size: r.size, Free: true, List: "free slot"}
	v := h.order.Uint64(b)
	if v == 0 {
		return free, "" // never handed out, or its page was given back to the system
	}
	user := at + h.head
	if v&0xffffffff == marker { // aligned more than others
		off := v >> 32 * h.head
		if off >= r.size-h.head {
			return free, fmt.Sprintf("the block's record says that it begins %d bytes behind its beginning, and it has %d", off, r.size)
		}
		user += off
		var ok bool
		if v, ok = h.mem.Uint(user-h.head, 8); !ok {
			return free, ""
		}
	}
	x := unpack(v)
	switch room := at + r.size - user; {
	case !h.right(user, v):
		return free, "the checksum of its header is wrong"
	case x.class != r.class || x.offset != (user-at)/h.head-1:
		return free, "its header is of another block"
	case x.state == available: // its last size is not kept
		return heap.Block{Start: user, Size: room, Free: true, List: "free slot"}, ""
	case x.size > room:
		return free, fmt.Sprintf("its header says that it has %d bytes, and there is room for %d", x.size, room)
	case x.state == quarantine:
		return heap.Block{Start: user, Size: x.size, Free: true, List: "quarantine"}, ""
	default:
		return heap.Block{Start: user, Size: x.size}, ""
	}
}

// walk calls yield for each block until it returns false.
func (h *Heap) walk(yield func(at uint64, b heap.Block, wrong string) bool) {
	h.search()
	for i := range h.regions {
		r := &h.regions[i]
		step := max(walkWindow/r.size, 1) * r.size
		for at := r.start; at < r.end; at += step {
			n := min(step, r.end-at)
			b := h.mem.Some(at, int(n))
			for k := uint64(0); k+r.size <= uint64(len(b)); k += r.size {
				if h.budget--; h.budget <= 0 {
					return
				}
				if x, wrong := h.block(r, at+k, b[k:]); !yield(at+k, x, wrong) {
					return
				}
			}
			if uint64(len(b)) < n {
				break
			}
		}
	}
	for i := range h.large {
		if h.budget--; h.budget <= 0 || !yield(h.large[i].at, h.large[i].block(), "") {
			return
		}
	}
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.walk(func(_ uint64, b heap.Block, wrong string) bool { return wrong != "" || yield(b) })
}

// BlockAt implements heap.Allocator.
func (h *Heap) BlockAt(addr uint64) (heap.Block, bool) {
	if i := heap.Within(h.regions, addr, func(r *region) (start, end uint64) { return r.start, r.end }); i >= 0 {
		r := &h.regions[i]
		at := addr - (addr-r.start)%r.size
		if h.budget--; h.budget <= 0 || r.end-at < r.size {
			return heap.Block{}, false
		}
		b := h.mem.Bytes(at, 8)
		if b == nil {
			return heap.Block{}, false
		}
		x, wrong := h.block(r, at, b)
		return x, wrong == ""
	}
	h.search()
	if i := heap.Within(h.large, addr, func(l *large) (start, end uint64) { return l.start, l.end }); i >= 0 {
		return h.large[i].block(), true
	}
	return heap.Block{}, false
}

// Records implements heap.Allocator: those of large blocks are beside them, and its lists of free ones have no addresses.
func (h *Heap) Records() [][2]uint64 { return nil }

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	if h.walked {
		return slices.Clone(h.damages)
	}
	h.walked = true
	var before heap.Block
	h.walk(func(at uint64, b heap.Block, wrong string) bool {
		if wrong == "" {
			if before = b; b.Free {
				before = heap.Block{}
			}
			return true
		}
		d := heap.Damage{At: at, Size: 8, Why: wrong, Of: heap.Block{Start: at + h.head}}
		if before.Size != 0 && before.End() <= at && at-before.End() < b.Size {
			d.Before = before
		}
		before = heap.Block{}
		h.damages = append(h.damages, d)
		return len(h.damages) < maxDamages
	})
	return slices.Clone(h.damages)
}

var _ heap.Allocator = (*Heap)(nil)
