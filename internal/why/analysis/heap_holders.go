package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
)

// An invaded block has a bad value in it that another may have written.
type invaded struct {
	heapWord
	run     run
	word    uint64     // bytes
	before  heap.Block // in which the run begins; of size 0 if that is no block before
	through bool       // other blocks are between

	holds, holdsBefore []holder // pointers to the block, and to that before
}

// A holder is a pointer to a block.
type holder struct {
	path    string
	to      string // the name of the type of what it points to
	size    uint64 // of that
	chars   bool   // it points to characters
	whole   bool   // it points to a structure, a class or a union
	pointer bool   // to a pointer
	text    bool   // which may have text of its own where the run is
	// denies says that the run fills a pointer of it, and goes on: who keeps something else in a pointer has no more room there.
	denies  bool
	points  bool // it has a pointer where the bad value is
	pointee *types.Type
}

// findBefore finds the block in which the run begins, if it goes on past its end.
func (v *invaded) findBefore() {
	least := uint64(minText)
	if !v.run.text {
		least = minSeries * v.word
	}
	b, ok := v.heap.BlockAt(v.run.from)
	if !ok || b.Free && (!v.run.text || b.List == "top") || b.Own || b.End() > v.block.Start || v.run.from < b.Start || b.End() < v.run.from+least {
		return
	}
	v.before = b
	for at := b.End(); at < v.block.Start && !v.through; at += v.word {
		other, ok := v.heap.BlockAt(at)
		v.through = ok && other.Start != b.Start && other.Start != v.block.Start
	}
	if b.Free && v.through {
		v.before = heap.Block{} // freed blocks one behind the other have what was there before
	}
}

// throughFreed goes on from a freed block in which text begins, as far as its list has not written there, to the block in use from which it came: that one is
// full of text to its last byte, and so are freed blocks on the way.
func (c *crash) throughFreed(v *invaded) {
	b, from := v.before, v.run.from
	if !v.run.text || v.before.Size == 0 || !b.Free {
		first, ok := v.heap.BlockAt(v.run.from)
		if !v.run.text || v.before.Size != 0 || !ok || !first.Free || first.List == "top" || first.End() > v.block.Start {
			return
		}
		b = first
	}
	for b.Free && from >= b.Start && from-b.Start <= maxReset && v.at-b.Start < maxPoured {
		before, ok := v.heap.BlockAt(b.Start - 1)
		if !ok || before.Own || before.List == "top" || before.End() != b.Start {
			return
		}
		run := uint64(0)
		for run < before.Size {
			char, ok := c.mem.Uint(before.End()-run-1, 1)
			if !ok || !printable(byte(char)) {
				break
			}
			run++
		}
		if run < minText {
			return
		}
		b, from = before, before.End()-run
	}
	if !b.Free {
		v.before, v.through, v.run.from = b, true, from
	}
}

// cut has text begin with the block if it does not go on from one before: the last byte of a number there may be a letter by chance.
func (v *invaded) cut() {
	if v.run.text && v.before.Size == 0 && v.run.from < v.block.Start && v.run.end >= v.block.Start+minText {
		v.run.from = v.block.Start
	}
}

// holders finds out who points to a block, and to that before, at once: the nearest, since each step away is another search of all memory. Of that, so many
// bytes are read.
func (c *crash) holders(v *invaded, scanned int) {
	of := []*held{{start: v.block.Start}}
	if v.before.Size != 0 {
		of = append(of, &held{start: v.before.Start})
	}
	names := c.names()
	names.most = scanned
	defer func() { names.most = maxScanned }()
	names.each(of, func(h *held, path string, t *types.Type) bool {
		list := &v.holds
		if h != of[0] {
			list = &v.holdsBefore
		}
		if len(*list) == 0 {
			names.keep(h.start, path)
			names.keepType(h.start, path, t)
		}
		if len(*list) < maxHolds {
			*list = append(*list, v.holder(path, t))
		}
		return len(v.holds) < maxHolds || len(of) > 1 && len(v.holdsBefore) == 0
	}, func() bool { return len(v.holds) > 0 && (len(of) == 1 || len(v.holdsBefore) > 0) })
	for _, h := range of {
		if _, ok := names.known[h.start]; !ok {
			names.keep(h.start, h.symbol)
		}
	}
	c.inRegisters(v)
}

// inRegisters adds the variables of the youngest frames that lead to a block, and are nowhere in memory, if nobody else says what the block is.
func (c *crash) inRegisters(v *invaded) {
	if c.Variables == nil || slices.ContainsFunc(v.holds, func(h holder) bool { return h.whole }) {
		return
	}
	c.pointers(func(p *where.Held, to uint64) bool {
		if to == v.block.Start && !slices.ContainsFunc(v.holds, func(h holder) bool { return h.path == p.Variable }) {
			v.holds = append(v.holds, v.holder(p.Variable, p.Type))
		}
		return len(v.holds) < maxHolds
	})
}

// holder says what a pointer means.
func (v *invaded) holder(path string, t *types.Type) holder {
	h := holder{path: path}
	to := t.Strip().Target()
	if to == nil {
		return h
	}
	h.to, h.size, h.pointee = to.Name(), to.Size(), to
	_, h.chars = to.Strip().Char()
	h.whole, h.pointer = to.Strip().Aggregate(), to.Strip().Pointer()
	from, end := max(v.run.from, v.block.Start)-v.block.Start, v.at+v.word-v.block.Start
	h.text = h.whole && to.MayHoldText(from, end)
	h.denies = h.whole && v.run.end > v.block.Start && to.HasPointer(from, v.run.end-1-v.block.Start)
	h.points = (h.whole || h.pointer) && to.HasPointer(v.at-v.block.Start, end)
	return h
}
