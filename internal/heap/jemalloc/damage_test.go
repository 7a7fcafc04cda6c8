package jemalloc

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An edit changes memory of a process.
type edit struct {
	p     heap.Process
	words map[uint64]uint64
}

func (e *edit) put(at uint64, size int, v uint64) {
	mem := procmem.Of(heaptest.Changed(e.p, e.words))
	for i := range uint64(size) {
		w := (at + i) &^ 7
		old, _ := mem.Uint(w, 8)
		shift := (at + i) % 8 * 8
		e.words[w] = old&^(0xff<<shift) | (v>>(8*i)&0xff)<<shift
		mem = procmem.Of(heaptest.Changed(e.p, e.words))
	}
}

// layouts are recordings of all kinds.
var layouts = []string{"jemalloc", "jemalloc57", "jemalloc64k", "jemalloc32", "jemalloc32_52"}

// first is the first extent of a kind: a slab, a block, or free.
func first(h *Heap, kind func(*extent) bool) *extent {
	i := slices.IndexFunc(h.extents, func(x extent) bool { return kind(&x) })
	if i < 0 {
		return nil
	}
	return &h.extents[i]
}

func used(h *Heap) (n int, all map[uint64]heap.Block) {
	all = map[uint64]heap.Block{}
	h.Blocks(func(b heap.Block) bool {
		if !b.Free && !b.Own {
			n++
			all[b.Start] = b
		}
		return true
	})
	return n, all
}

// TestRecords: a record of an extent that contradicts itself, the tree or its bits is named, and costs no other extent's blocks.
func TestRecords(t *testing.T) {
	slab := func(x *extent) bool { return x.state == 0 && x.slab }
	block := func(x *extent) bool { return x.state == 0 && !x.slab }
	for _, name := range layouts {
		p := heaptest.Recorded(t, name).Process()
		whole := Find(p, Options{})
		if whole == nil {
			t.Fatal(name)
		}
		_, before := used(whole)
		w := int(whole.word)
		size := func(x *extent) uint64 { return x.record + 8 + whole.word }
		bits := func(x *extent) uint64 { v, _, _, _ := whole.record(x.record); return v }
		for _, c := range []struct {
			name   string
			of     func(*extent) bool
			change func(e *edit, x *extent)
			why    string
			at     func(x *extent) uint64 // of the damage
			lost   bool                   // its blocks are not known then
		}{
			{"no size", slab, func(e *edit, x *extent) { e.put(size(x), w, 0) }, "not about the page that leads to it", func(x *extent) uint64 { return x.record + 8 }, true},
			{"elsewhere", slab, func(e *edit, x *extent) { e.put(x.record+8, w, x.base+x.size) }, "not about the page that leads to it", func(x *extent) uint64 { return x.record + 8 }, true},
			{"past the end of addresses", slab, func(e *edit, x *extent) { e.put(size(x), w, whole.most()-x.base+1+whole.page()) }, "not about the page that leads to it", func(x *extent) uint64 { return x.record + 8 }, true},
			{"another class", slab, func(e *edit, x *extent) { e.put(x.record, 8, bits(x)^1<<whole.szind) }, "say different sizes", func(x *extent) uint64 { return x.record }, true},
			{"no slab", slab, func(e *edit, x *extent) { e.put(x.record, 8, bits(x)^1<<12) }, "say different sizes", func(x *extent) uint64 { return x.record }, true},
			{"too small", block, func(e *edit, x *extent) { e.put(size(x), w, whole.page()) }, "smaller than its blocks", size, true},
			{"free ones miscounted", slab, func(e *edit, x *extent) { e.put(x.record, 8, bits(x)^1<<(whole.szind+whole.classBits())) }, "blocks are free, its bits that", func(x *extent) uint64 { return x.record }, false},
		} {
			x := first(whole, c.of)
			if x == nil {
				continue // of few blocks none is large
			}
			e := &edit{p, map[uint64]uint64{}}
			c.change(e, x)
			h := Find(heaptest.Changed(p, e.words), Options{})
			if h == nil {
				t.Errorf("%s: %s: no heap", name, c.name)
				continue
			}
			d := h.Damages()
			if i := slices.IndexFunc(d, func(d heap.Damage) bool { return strings.Contains(d.Why, c.why) }); i < 0 || d[i].At != c.at(x) || d[i].Of.Start < x.base || d[i].Of.Start >= x.end() {
				t.Errorf("%s: %s: %+v, want %s at %#x", name, c.name, d, c.why, c.at(x))
			}
			_, after := used(h)
			for at, b := range before {
				if got, ok := after[at]; at-x.base < x.size {
					if ok == c.lost {
						t.Errorf("%s: %s: the block at %#x, in the extent: %t", name, c.name, at, ok)
						break
					}
				} else if !ok || got != b {
					t.Errorf("%s: %s: the block at %#x, elsewhere, is %+v, want %+v", name, c.name, at, got, b)
					break
				}
			}
		}
		// What another thread is at is left out, and is no damage.
		if x := first(whole, slab); whole.szind == since53 {
			e := &edit{p, map[uint64]uint64{}}
			e.put(x.record, 8, bits(x)&^(7<<17)|5<<17)
			h := Find(heaptest.Changed(p, e.words), Options{})
			if h == nil {
				t.Fatal(name)
			}
			if _, ok := h.BlockAt(x.base); ok || slices.ContainsFunc(h.Damages(), func(d heap.Damage) bool { return strings.Contains(d.Why, "extent") }) {
				t.Errorf("%s: an extent that is being merged: %t, %+v", name, ok, h.Damages())
			}
		}
	}
}

// TestOverlap: of two extents that would have the same memory the first is believed.
func TestOverlap(t *testing.T) {
	for _, name := range layouts {
		p := heaptest.Recorded(t, name).Process()
		whole := Find(p, Options{})
		for i := range whole.extents[:len(whole.extents)-1] {
			x, y := &whole.extents[i], &whole.extents[i+1]
			if x.end() != y.base || x.state == 0 || y.state != 0 || y.base/whole.reach() == x.base/whole.reach() {
				continue // within one leaf the second is not looked for
			}
			e := &edit{p, map[uint64]uint64{}}
			e.put(x.record+8+whole.word, int(whole.word), x.size+y.size)
			h := Find(heaptest.Changed(p, e.words), Options{})
			if h == nil || len(h.Damages()) == 0 || !strings.Contains(h.Damages()[0].Why, "about memory of the extent before") || h.extentAt(y.base).base != x.base {
				t.Errorf("%s: %#x and %#x: %+v", name, x.base, y.base, h)
			}
			break
		}
	}
}

// TestOwnCaches: what a thread keeps is free; what is wrong there is named.
func TestOwnCaches(t *testing.T) {
	for _, name := range layouts {
		p := heaptest.Recorded(t, name).Process()
		whole := Find(p, Options{})
		whole.caches()
		if len(whole.cached) < 20 {
			t.Errorf("%s: %d blocks are kept by threads", name, len(whole.cached))
		}
		// A word that leads to such a block, from a block of the allocator's own: the thread's list.
		var at, to uint64
		places := map[uint64][]uint64{}
		for own := range whole.own {
			b, _ := whole.BlockAt(own)
			for a := own; a < b.End(); a += whole.word {
				if v := whole.mem.Word(a); whole.cached[v] {
					places[v] = append(places[v], a)
				}
			}
		}
		for v, list := range places {
			if len(list) == 1 { // of several some are old
				at, to = list[0], v
			}
		}
		if at == 0 {
			t.Errorf("%s: no list", name)
			continue
		}
		free := uint64(0) // a block that is free already
		whole.visit(func(b heap.Block) bool {
			if kept, _ := whole.BlockAt(to); b.Free && b.List == "slab" && b.Size == kept.Size {
				free = b.Start
			}
			return free == 0
		})
		for v, want := range map[uint64]string{to + 1: "where no block of", 0x10: "where no block of", free: "which is free already: in a slab"} {
			if v == 0 {
				continue
			}
			e := &edit{p, map[uint64]uint64{}}
			e.put(at, int(whole.word), v)
			h := Find(heaptest.Changed(p, e.words), Options{})
			d := h.Damages()
			if len(d) != 1 || d[0].At != at || d[0].Size != int(whole.word) || !strings.Contains(d[0].Why, want) || d[0].Twice != (v == free) {
				t.Errorf("%s: %#x: %+v, want %s", name, v, d, want)
			}
			if b, _ := h.BlockAt(to); b.Free {
				t.Errorf("%s: the block at %#x is free, though nothing says so: %+v", name, to, b)
			}
		}
	}
}

// TestShapes: tables are as large as rtree.h makes them.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		s                             shape
		root, node, leaf, reach, elem uint64
	}{
		{shapes64[0], 2 << 20, 2 << 20, 2 << 20, 1 << 30, 8},
		{shapes64[1], 256 << 10, 256 << 10, 512 << 10, 128 << 20, 16},
		{shapes64[2], 512 << 10, 512 << 10, 512 << 10, 4 << 30, 8},
		{shapes64[3], 512 << 10, 512 << 10, 1 << 20, 4 << 30, 16},
		{shapes64[4], 1 << 20, 1 << 20, 4 << 20, 1 << 30, 16},
		{shapes64[5], 1 << 20, 1 << 20, 1 << 20, 2 << 30, 8},
		{shapes32[0], 4096, 4096, 8192, 4 << 20, 8},
		{shapes32[1], 4096, 4096, 12288, 4 << 20, 12},
	} {
		c.s = c.s.on(arch.AMD64)
		if got := [5]uint64{c.s.rootBytes(), c.s.nodeBytes(), c.s.leafBytes(), c.s.reach(), c.s.element()}; got != [5]uint64{c.root, c.node, c.leaf, c.reach, c.elem} {
			t.Errorf("%+v: %d", c.s, got)
		}
	}
}

// TestClasses: sizes are those of sc.h, and as many as there.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		s              shape
		on             *arch.Arch
		sizes          []uint64
		classes, small int
		largest        uint64 // that slabs are made of
		bitmap, old    uint64
		bin            uint64
	}{
		{shapes64[0], arch.AMD64, []uint64{8, 16, 32, 48, 64, 80, 96, 112, 128, 160}, 232, 36, 14336, 64, 64, 24},
		{shapes64[2], arch.ARM64, []uint64{8, 16, 32, 48, 64, 80, 96, 112, 128, 160}, 232, 52, 229376, 64, 64, 24},
		{shapes32[0], arch.X86, []uint64{8, 16, 32, 48, 64, 80, 96, 112, 128, 160}, 104, 36, 14336, 40, 36, 20},
		{shapes32[0], arch.ARM, []uint64{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160}, 107, 39, 14336, 48, 40, 24},
	} {
		s := c.s.on(c.on)
		for i, want := range c.sizes {
			if got := s.sizeOf(i); got != want {
				t.Errorf("%s: class %d has %d bytes, want %d", c.on.Name, i, got, want)
			}
		}
		if got := [3]int{int(s.classes()), s.small(), int(s.sizeOf(s.small() - 1))}; got != [3]int{c.classes, c.small, int(c.largest)} {
			t.Errorf("%s: %d", c.on.Name, got)
		}
		if got := [3]uint64{s.bitmapAt(since53), s.bitmapAt(since51), s.binBytes()}; got != [3]uint64{c.bitmap, c.old, c.bin} {
			t.Errorf("%s: %d", c.on.Name, got)
		}
	}
}
