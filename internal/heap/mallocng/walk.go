package mallocng

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

const (
	maxDamages = 32
	maxFar     = 1 << 12 // MiB that a block is aligned to
)

// Bits in the byte before a block's offset, above the slot's number.
const (
	inPlace  = 7 // it does not stand before a block: the offset says how far into the slot the block is
	holds    = 6 // the slot holds a group
	restLong = 5 // how many bytes are left at the slot's end is written there
)

// A slot is what is known of one.
type slot struct {
	block heap.Block
	group bool // it holds one
	// wrong is set if its records contradict themselves.
	wrong *heap.Damage
}

// slot reads the i-th slot of a group.
func (h *Heap) slot(g *group, i int) slot {
	h.budget--
	start := g.storage() + uint64(i)*g.stride
	end := start + g.stride - record
	if g.free>>i&1 != 0 {
		return slot{block: heap.Block{Start: start, Size: g.stride - record, Free: true, List: "free slot"}}
	}
	before, ok := h.mem.LookupWord(start - 8)
	if !ok {
		return slot{} // the dump has not got it
	}
	p := start
	if before>>40&0xff == inPlace<<5 {
		p += unit * (before >> 48)
		before = h.mem.Word(p - 8)
		for n := 0; n < maxFar && !h.fits(g, i, p, before) && p-start < g.stride; n++ {
			h.budget--
			p += unit << 16 // alignment beyond 1 MiB does not fit into what is written
			before = h.mem.Word(p - 8)
		}
	}
	b := heap.Block{Start: p, Mapped: g.mapped}
	if !h.fits(g, i, p, before) || p >= end {
		return slot{wrong: &heap.Damage{At: p - 8, Size: 8, Why: fmt.Sprintf("its record %#x is not that of slot %d", before, i), Of: b, Before: h.before(g, i)}}
	}
	rest := before >> 45 & 7
	if rest == holds {
		b.Size, b.Own = end-p, true
		return slot{block: b, group: true}
	}
	tail, ok := h.mem.LookupWord(end - 4) // the last 4 bytes, and the first that is not the slot's
	if !ok {
		return slot{}
	}
	if rest == restLong {
		rest = tail & 0xffffffff
	}
	if rest > end-p || rest > restLong && before>>45&7 != restLong || rest < restLong && before>>45&7 == restLong {
		d := &heap.Damage{At: end - 4, Size: 4, Why: fmt.Sprintf("%#x bytes cannot be left of a slot of %#x", rest, g.stride), Of: b}
		if before>>45&7 == restLong { // what says so is behind the block, which had less than all before it
			d.Of, d.Before = heap.Block{Start: end + record}, heap.Block{Start: p, Size: end - 4 - p}
		}
		return slot{wrong: d}
	}
	b.Size = end - rest - p
	s := slot{block: b}
	for _, at := range []uint64{end - rest, end} {
		if v, ok := h.mem.U8(at); ok && v != 0 && (at != end || i+1 < g.slots) {
			s.wrong = &heap.Damage{At: at, Size: 1, Why: fmt.Sprintf("%#x is written past the block's end", v), Of: heap.Block{Start: end + record}, Before: b}
			break
		}
	}
	return s
}

// fits reports whether the word before a block can be that of a slot's.
func (h *Heap) fits(g *group, i int, p, before uint64) bool {
	off := before >> 48
	if before>>32&0xff != 0 {
		if off != 0 {
			return false
		}
		off = before & 0xffffffff
	}
	return before>>40&31 == uint64(i) && off == (p-g.storage())/unit && before>>45&7 != inPlace
}

// before is the neighbour of a slot that is not the first of its group.
func (h *Heap) before(g *group, i int) heap.Block {
	if i == 0 {
		return heap.Block{}
	}
	return h.neighbour(g.storage() + uint64(i)*g.stride)
}

// neighbour is the block in use that ends where a slot or a group begins: the last of a group, if one is there.
func (h *Heap) neighbour(start uint64) heap.Block {
	b, ok := h.BlockAt(start - record - 1)
	if !ok || b.Free || b.Own || b.Start >= start {
		return heap.Block{}
	}
	return b
}

// visit calls do for each slot that does not hold a group.
func (h *Heap) visit(do func(*group, slot) bool) {
	for k := range h.groups {
		g := &h.groups[k]
		for i := range g.slots {
			if h.budget <= 0 {
				return
			}
			if s := h.slot(g, i); !s.group && !do(g, s) {
				return
			}
		}
	}
}

// Blocks implements heap.Allocator. Slots whose records are wrong are left out.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.visit(func(_ *group, s slot) bool { return s.block.Start == 0 || yield(s.block) })
}

// Records implements heap.Allocator. None of its records points at a block in use.
func (h *Heap) Records() [][2]uint64 { return nil }

// BlockAt implements heap.Allocator.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	k, found := slices.BinarySearchFunc(h.groups, addr, func(g group, a uint64) int {
		if g.addr <= a {
			return -1
		}
		return 1
	})
	if !found {
		k--
	}
	for n := 0; k >= 0 && n <= maxNested; n, k = n+1, h.groups[k].within {
		g := &h.groups[k]
		if addr >= g.end() {
			continue
		}
		if addr < g.storage()-record {
			return heap.Block{Start: g.addr, Size: unit - record, Own: true}, true
		}
		s := h.slot(g, int((addr-g.storage()+record)/g.stride))
		if s.block.Start == 0 {
			return b, false
		}
		return s.block, true
	}
	return b, false
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	all := slices.Clone(h.lost)
	for i := range all {
		if d := &all[i]; d.Of.Start == d.At+unit { // a group's own
			d.Before = h.neighbour(d.At)
		}
	}
	h.visit(func(_ *group, s slot) bool {
		if s.wrong != nil {
			all = append(all, *s.wrong)
		}
		return len(all) < maxDamages
	})
	// Who writes past the end of a block damages what comes next first.
	slices.SortStableFunc(all, func(a, b heap.Damage) int { return cmp.Compare(a.At, b.At) })
	return all
}

var _ heap.Allocator = (*Heap)(nil)
