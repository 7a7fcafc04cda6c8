package oldmalloc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

const maxDamages = 32

// blockAt is the block of a chunk, by its record.
func (h *Heap) blockAt(c uint64) heap.Block {
	_, size, _ := h.record(c)
	b := heap.Block{Start: c + 2*h.w}
	if n := h.chunkSize(size); n > 2*h.w {
		b.Size = n - 2*h.w
	}
	if size&inUse == 0 {
		b.Free = true
		if h.listed[c] {
			b.List = "bin"
		}
	}
	return b
}

// walk calls do for the blocks of a run, until it returns false.
func (h *Heap) walk(r *run, do func(heap.Block) bool) bool {
	if r.mapped {
		return do(heap.Block{Start: r.start + 2*h.w, Size: r.end - r.start - 2*h.w, Mapped: true})
	}
	for c := r.start; c < r.end && h.budget > 0; h.budget-- {
		b := h.blockAt(c)
		if b.Size == 0 {
			return true
		}
		if !do(b) {
			return false
		}
		c = b.End()
	}
	return true
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.search()
	for i := range h.runs {
		if !h.walk(&h.runs[i], yield) {
			return
		}
	}
}

// BlockAt implements heap.Allocator.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.find()
	r := h.runAt(addr)
	if r == nil && h.within(addr, 1) {
		h.search()
		r = h.runAt(addr)
	}
	if r == nil {
		return b, false
	}
	h.walk(r, func(at heap.Block) bool {
		if addr < at.End() {
			b, ok = at, true
		}
		return !ok
	})
	return b, ok
}

// Records implements heap.Allocator: bins point at free chunks only.
func (h *Heap) Records() [][2]uint64 {
	return [][2]uint64{{h.bins - 8, h.bins + bins*h.bin()}}
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.search()
	all := slices.Clone(h.lost)
	for i := range h.runs {
		if r := &h.runs[i]; r.broken && len(all) < maxDamages {
			all = append(all, h.damage(r, h.rest(i)))
		}
	}
	slices.SortStableFunc(all, func(a, b heap.Damage) int { return cmp.Compare(a.At, b.At) })
	return all
}

// rest is the next run of the same area; nil if it is not known.
func (h *Heap) rest(i int) *run {
	if i+1 < len(h.runs) && !h.runs[i+1].first && !h.runs[i+1].mapped {
		return &h.runs[i+1]
	}
	return nil
}

// ends tells which of two sizes is wrong where a run is broken: that of the chunk at its end, or what repeats it. In the second case the chunk is the run's
// last one: what is written past its end is what was damaged.
func (h *Heap) ends(i int) {
	r := &h.runs[i]
	_, size, _ := h.record(r.end)
	n := h.chunkSize(size)
	if n == 0 || !h.within(r.end, n+2*h.w) {
		return
	}
	next := r.end + n
	if rest := h.rest(i); rest != nil {
		if rest.start < next {
			return
		}
		prior, _, _ := h.record(rest.start)
		if rest.start != next && rest.start-h.chunkSize(prior) == r.end {
			return
		}
	}
	r.end, r.past = next, true
}

// MarksLast implements heap.MarksLast: what is given back is marked as free after all that is looked at.
func (h *Heap) MarksLast() {}

// damage says what is wrong where a run ends, of whose area the rest may be known.
func (h *Heap) damage(r, rest *run) heap.Damage {
	c := r.end
	before, size, _ := h.record(c)
	d := heap.Damage{At: c + h.w, Size: int(h.w), Of: heap.Block{Start: c + 2*h.w}}
	if rest != nil {
		if prior, _, ok := h.record(rest.start); ok && h.chunkSize(prior) == rest.start-c {
			d.Of.Size = rest.start - d.Of.Start
		}
	}
	if r.past {
		d.At, d.Before = c, h.last(r)
		d.Why = fmt.Sprintf("it says %#x of the block before it, which has %#x", before, d.Before.Size+2*h.w)
		if rest == nil || rest.start != c {
			d.Size = int(2 * h.w) // its own size is wrong, too, as far as is known
		}
		return d
	}
	d.Why = fmt.Sprintf("size %#x leads to no block", size)
	if d.Of.Size != 0 {
		d.Why += fmt.Sprintf("; %#x would be right", d.Of.Size+2*h.w)
	}
	return d
}

// last is the last block of a run.
func (h *Heap) last(r *run) (last heap.Block) {
	h.walk(r, func(b heap.Block) bool { last = b; return true })
	return last
}

var _ heap.Allocator = (*Heap)(nil)
