package glibc

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// Bits of a chunk's size.
const (
	prevInUse = 1
	isMapped  = 2
	notMain   = 4
	flags     = 7
)

const (
	window     = 32 << 10 // bytes that are read at once
	maxDamages = 32
)

// A chunk is what stands in front of a block.
type chunk struct {
	addr uint64 // of the word before the size
	size uint64
	bits uint64
}

// A cursor reads words that come by rising addresses.
type cursor struct {
	h      *Heap
	at     uint64
	data   []byte // a part of buffer
	buffer []byte
	ahead  int // bytes that are read at once: more and more
}

// word reads a word at an address.
func (c *cursor) word(addr uint64) (uint64, bool) {
	w := c.h.w
	if addr-c.at >= uint64(len(c.data)) || addr-c.at+w > uint64(len(c.data)) {
		if c.buffer == nil {
			c.buffer = make([]byte, window)
		}
		c.ahead = min(max(2*c.ahead, 256), window)
		c.at, c.data = addr, c.h.mem.View(addr, c.buffer[:c.ahead])
		if uint64(len(c.data)) < w {
			return 0, false
		}
	}
	order := c.h.mem.Arch.ByteOrder
	if w == 8 {
		return order.Uint64(c.data[addr-c.at:]), true
	}
	return uint64(order.Uint32(c.data[addr-c.at:])), true
}

// minSize is that of the smallest chunk.
func (h *Heap) minSize() uint64 { return 4 * h.w }

// user is where the program's part of a chunk begins.
func (h *Heap) user(c uint64) uint64 { return c + 2*h.w }

// wrong says what is wrong with a chunk's record; "" if it can be one.
func (h *Heap) wrong(s *segment, c chunk) string {
	switch {
	case c.size < h.minSize():
		return fmt.Sprintf("size %#x is less than any block's", c.size|c.bits)
	case c.size%h.align != 0:
		return fmt.Sprintf("size %#x is no multiple of %d", c.size|c.bits, h.align)
	case c.size > s.end-c.addr:
		return fmt.Sprintf("size %#x is past the end of the heap", c.size|c.bits)
	case c.bits&isMapped != 0:
		return fmt.Sprintf("size %#x has the mark of a block with a mapping of its own", c.size|c.bits)
	case c.bits&notMain != 0 && s.arena.isMain:
		return fmt.Sprintf("size %#x has the mark of another arena", c.size|c.bits)
	}
	return ""
}

// A visit is a chunk in a walk.
type visit struct {
	chunk
	before chunk // its neighbour; size 0 for none
	inUse  bool  // as the next chunk says
	top    bool
	fence  bool // marks the end of a heap that is full
}

// walk visits the chunks of a segment by address until visit returns false, or the records end. It returns the damage that ended it, if any.
func (h *Heap) walk(s *segment, from uint64, do func(visit) bool) *heap.Damage {
	if h.most > 0 && s.end-s.start > h.most {
		return nil
	}
	cur := &cursor{h: h, buffer: h.buffer}
	h.buffer = nil // another walk meanwhile has its own
	defer func() { h.buffer = cur.buffer }()
	var before chunk
	read := func(at uint64) (chunk, bool) {
		v, ok := cur.word(at + h.w)
		return chunk{at, v &^ flags, v & flags}, ok
	}
	c, ok := read(from)
	for ; ok; h.budget-- {
		if h.budget <= 0 {
			return nil
		}
		if c.addr == s.arena.top && s.last {
			if c.size > s.end-c.addr || c.addr+c.size != s.end && s.arena.isMain {
				return h.damage(c, before, fmt.Sprintf("the last block's size %#x does not end where the heap does", c.size|c.bits))
			}
			do(visit{chunk: c, before: before, top: true})
			return nil
		}
		if !s.last && s.end-c.addr < h.minSize()+2*h.align && c.size <= h.minSize() {
			do(visit{chunk: c, before: before, fence: true})
			return nil
		}
		if why := h.wrong(s, c); why != "" {
			return h.damage(c, before, why)
		}
		next, there := chunk{}, false
		if c.addr+c.size < s.end {
			next, there = read(c.addr + c.size)
		} else if s.last {
			return h.damage(c, before, fmt.Sprintf("size %#x leads past the last block", c.size|c.bits))
		}
		inUse := !there || next.bits&prevInUse != 0
		if inUse && there && c.bits&notMain == 0 && !s.arena.isMain { // free ones have no mark
			return h.damage(c, before, fmt.Sprintf("size %#x has the mark of the main arena", c.size|c.bits))
		}
		if !inUse {
			if prev, ok := cur.word(next.addr); ok && prev != c.size {
				d := h.damage(next, c, fmt.Sprintf("it says that a free block of %#x bytes is before it, which has %#x", prev, c.size))
				d.At, d.Size = next.addr, int(2*h.w)
				return d
			}
		}
		if !do(visit{chunk: c, before: before, inUse: inUse}) || !there {
			return nil
		}
		before, c = c, next
	}
	return nil
}

// damage makes one of a chunk's record.
func (h *Heap) damage(c, before chunk, why string) *heap.Damage {
	d := &heap.Damage{At: c.addr + h.w, Size: int(h.w), Why: why, Of: heap.Block{Start: h.user(c.addr)}}
	if before.size != 0 {
		d.Before = h.block(before)
	}
	return d
}

// block is what the program has of a chunk in use: the next chunk's first word too.
func (h *Heap) block(c chunk) heap.Block {
	return heap.Block{Start: h.user(c.addr), Size: c.size - h.w}
}

// blockOf is the block of a visit.
func (h *Heap) blockOf(v visit) heap.Block {
	b := h.block(v.chunk)
	switch {
	case v.top:
		b.Free, b.List, b.Size = true, "top", v.size-2*h.w
	case v.fence:
		b.Own = true
	case !v.inUse:
		b.Free, b.List = true, h.lists[v.addr]
	case !h.maybe(v.addr): // most
	case h.lists[v.addr] != "":
		b.Free, b.List = true, h.lists[v.addr]
	case h.own[v.addr]:
		b.Own = true
	}
	return b
}

// segmentAt returns the segment that has an address.
func (h *Heap) segmentAt(addr uint64) *segment {
	i := heap.Within(h.segments, addr, func(s *segment) (start, end uint64) { return s.start, s.end })
	if i < 0 {
		return nil
	}
	return &h.segments[i]
}

// BlockAt implements heap.Allocator.
func (h *Heap) BlockAt(addr uint64) (b heap.Block, ok bool) {
	h.readLists()
	s := h.segmentAt(addr)
	if s == nil {
		return h.mappedAt(addr)
	}
	h.walk(s, s.start, func(v visit) bool {
		if addr-v.addr < v.size {
			b, ok = h.blockOf(v), true
			if !v.fence && addr-v.addr < h.w && v.before.size != 0 && v.bits&prevInUse != 0 {
				// The word before the size belongs to the block before, while that is in use.
				b = h.block(v.before)
				if list := h.lists[v.before.addr]; list != "" {
					b.Free, b.List = true, list
				}
			}
		}
		return !ok
	})
	return b, ok
}

// Blocks implements heap.Allocator.
func (h *Heap) Blocks(yield func(heap.Block) bool) {
	h.readLists()
	for i := range h.segments {
		s, on := &h.segments[i], true
		for from, n := s.start, 0; from != 0 && n < maxDamages; n++ {
			d := h.walk(s, from, func(v visit) bool {
				on = yield(h.blockOf(v))
				return on
			})
			if !on {
				return
			}
			if from = 0; d != nil { // what is between is left out
				from = h.resume(s, d)
			}
		}
	}
	h.mapped(yield)
}

// Records implements heap.Allocator: arenas point at the chunks of their lists, which begin in the last word of the block before.
func (h *Heap) Records() (all [][2]uint64) {
	for _, x := range h.arenas {
		all = append(all, [2]uint64{x.addr, x.bins + bins*h.w + binmap})
	}
	return all
}

// Damages implements heap.Allocator.
func (h *Heap) Damages() []heap.Damage {
	h.readLists()
	all := slices.Clone(h.damages)
	for i := range h.segments {
		s := &h.segments[i]
		for from := s.start; !s.whole && len(all) < maxDamages; {
			d := h.walk(s, from, func(visit) bool { return true })
			if d == nil {
				break
			}
			resumed := h.resume(s, d)
			all = append(all, *d)
			if resumed == 0 {
				break
			}
			from = resumed
		}
	}
	return all
}

// proof is how many chunks in a row show that a walk goes on rightly.
const proof = 6

// resume finds the next chunk after a damage, from which the records go on: 0 if there is none. It corrects the damage where its cause is the
// record before: a size that is wrong but can be one leads into the middle of a block.
func (h *Heap) resume(s *segment, d *heap.Damage) uint64 {
	look := &cursor{h: h}
	good := func(at uint64) bool {
		if v, ok := look.word(at + h.w); !ok || h.wrong(s, chunk{at, v &^ flags, v & flags}) != "" {
			return false
		}
		n, whole := 0, false
		if bad := h.walk(s, at, func(v visit) bool {
			n++
			whole = v.top || v.fence
			return n < proof && !whole
		}); bad != nil {
			return false
		}
		return n >= proof || whole
	}
	const far = 1 << 20
	if d.Before.Size != 0 {
		prior := d.Before.Start - 2*h.w
		stored := d.Before.Size + h.w
		for size := h.minSize(); size < stored+far && prior+size < s.end; size += h.align {
			if h.budget <= 0 {
				return 0
			}
			if size == stored || !good(prior+size) {
				continue
			}
			if size < stored { // the chunk before really ends here: its own record is wrong
				v, _ := h.mem.LookupWord(prior + h.w)
				*d = heap.Damage{At: prior + h.w, Size: int(h.w), Why: fmt.Sprintf("size %#x leads into the middle of another block; %#x would be right", v, size|v&flags),
					Of: heap.Block{Start: h.user(prior), Size: size - h.w}, Before: h.neighbour(s, prior)}
			}
			return prior + size
		}
		return 0
	}
	for at := d.At - h.w + h.minSize(); at < s.end && at-d.At < far && h.budget > 0; at += h.align {
		if good(at) {
			return at
		}
	}
	return 0
}

// neighbour is the block that ends where a chunk begins.
func (h *Heap) neighbour(s *segment, c uint64) (b heap.Block) {
	h.walk(s, s.start, func(v visit) bool {
		if v.addr+v.size == c {
			b = h.block(v.chunk)
		}
		return v.addr < c
	})
	return b
}
