// Package mallocng reads the heap of musl's malloc since 1.2.1, "mallocng", of 64 bits, by the structures that it keeps in memory: it needs no
// symbols and no debug information.
//
// The allocator's context is found in the data of musl or of the program by its secret, which the first page of records repeats. Pages of records
// form a list; each record leads to a group of equal slots, and the group leads back to its record. Layouts are those of meta.h, as 1.2.3 has them.
package mallocng

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
)

const (
	page      = 4096 // of records, whatever the system's
	unit      = 16
	record    = 4  // bytes before a block
	metaSize  = 40 // of a record
	areaHead  = 24
	maxSlots  = (page - areaHead) / metaSize
	maxAreas  = 1 << 16
	single    = 63 // class of a group with one block and a mapping of its own
	maxNested = 16
)

// classes are the sizes of slots, in units.
var classes = [48]uint16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255,
	292, 340, 409, 511, 584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191}

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	mem    procmem.Reader
	secret uint64
	groups []group // by address
	lost   []heap.Damage
	budget int
}

// A group is memory that is divided into slots.
type group struct {
	addr   uint64
	stride uint64 // of a slot
	slots  int
	free   uint32 // bits of slots
	mapped bool
	within int // the group in one of whose slots this one is; -1 for none
}

func (g *group) storage() uint64 { return g.addr + unit }

func (g *group) end() uint64 { return g.storage() + uint64(g.slots)*g.stride }

// Options bound the work.
type Options struct {
	// Blocks is how many blocks are looked at in all; 0 means 1<<26.
	Blocks int
}

// Find returns the heap of a process; nil if it has none of this kind.
func Find(p heap.Process, o Options) *Heap {
	a := p.Arch()
	if a == nil || a.WordSize != 8 {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{mem: procmem.Of(p), budget: o.Blocks}
	found := false
	heap.Data(p, heap.MaxData, func(at uint64, b []byte) bool {
		found = h.findIn(b)
		return !found
	})
	if !found {
		return nil
	}
	return h
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "musl mallocng" }

// findIn finds the context in data, and reads the records that hang on it.
func (h *Heap) findIn(data []byte) bool {
	order := h.mem.Arch.ByteOrder
	found := false
	heap.Words(h.mem.Arch, data, func(off int, v uint64) bool {
		// What says that it is initialised stands behind the secret, where the size of pages is not fixed behind that.
		if order == binary.BigEndian {
			v >>= 32
		}
		if uint32(v) != 1 || off+8*8 > len(data) {
			return true
		}
		head, tail := order.Uint64(data[off+48:]), order.Uint64(data[off+56:])
		if head == 0 || head%page != 0 || tail == 0 || tail%page != 0 {
			return true
		}
		for _, before := range []int{8, 16} {
			if off < before {
				continue
			}
			secret := order.Uint64(data[off-before:])
			if secret != 0 && h.mem.Word(head) == secret && h.mem.Word(tail) == secret && h.areas(secret, head, tail) {
				found = true
				break
			}
		}
		return !found
	})
	return found
}

// areas reads the pages of records. It is false if none has a group that leads back to its record.
func (h *Heap) areas(secret, head, tail uint64) bool {
	h.secret = secret
	h.groups, h.lost = nil, nil
	seen := map[uint64]bool{}
	for at := head; at != 0; {
		if seen[at] || len(seen) >= maxAreas {
			break
		}
		seen[at] = true
		b := h.mem.Bytes(at, page)
		if b == nil || at%page != 0 || h.mem.Arch.ByteOrder.Uint64(b) != secret {
			h.note(heap.Damage{At: at, Size: 8, Why: "a page of the allocator's records has not the secret"})
			break
		}
		h.area(at, b)
		if at == tail {
			break
		}
		at = h.mem.Arch.ByteOrder.Uint64(b[8:])
	}
	slices.SortFunc(h.groups, func(a, b group) int { return cmp.Compare(a.addr, b.addr) })
	h.groups = slices.CompactFunc(h.groups, func(a, b group) bool { return a.addr == b.addr })
	h.nest()
	return len(h.groups) > 0
}

// area reads a page of records.
func (h *Heap) area(at uint64, b []byte) {
	order := h.mem.Arch.ByteOrder
	n := min(int(order.Uint32(b[16:])), maxSlots)
	for i := range n {
		m := b[areaHead+i*metaSize:][:metaSize]
		mem := order.Uint64(m[16:])
		if mem == 0 {
			continue // it has no group
		}
		meta := at + areaHead + uint64(i*metaSize)
		free := order.Uint32(m[24:]) | order.Uint32(m[28:])
		bits := order.Uint64(m[32:])
		last, class, maplen := bits&31, bits>>6&63, bits>>12
		g := group{addr: mem, slots: int(last) + 1, free: free, within: -1}
		switch {
		case class == single && last == 0 && maplen != 0 && maplen < 1<<36:
			g.stride, g.mapped = maplen*page-unit, true
		case class >= uint64(len(classes)):
			h.note(heap.Damage{At: meta + 32, Size: 8, Why: "a group's record has no class of size that there is"})
			continue
		case last == 0 && maplen != 0 && maplen < 1<<36:
			g.stride = maplen*page - unit
		default:
			g.stride = unit * uint64(classes[class])
		}
		if back, ok := h.mem.LookupWord(mem); mem%unit != 0 || g.end() < mem {
			h.note(heap.Damage{At: meta + 16, Size: 8, Why: "a group's record leads to no group"})
		} else if !ok {
			continue // the dump has not got its memory
		} else if back != meta {
			h.note(heap.Damage{At: mem, Size: 8, Why: "a group does not lead back to its record", Of: heap.Block{Start: g.storage()}})
		} else {
			h.groups = append(h.groups, g)
		}
	}
}

// nest finds the groups that are in a slot of another.
func (h *Heap) nest() {
	var open []int
	for i := range h.groups {
		g := &h.groups[i]
		for len(open) > 0 && h.groups[open[len(open)-1]].end() <= g.addr {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			g.within = open[len(open)-1]
		}
		if len(open) < maxNested {
			open = append(open, i)
		}
	}
}

func (h *Heap) note(d heap.Damage) {
	if len(h.lost) < maxDamages {
		h.lost = append(h.lost, d)
	}
}
