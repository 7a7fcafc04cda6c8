package gtcmalloc

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
)

// count is how many blocks the changed heap has on a list.
func (s *subject) count(list string) (n int) {
	s.t.Helper()
	h, err := s.find()
	if err != nil {
		s.t.Fatal(err)
	}
	for b := range h.Blocks {
		if b.List == list {
			n++
		}
	}
	return n
}

// alone is a span of several pages that is one block.
func (s *subject) alone() *span {
	s.t.Helper()
	for i := range s.h.spans {
		if x := &s.h.spans[i]; x.sample == 0 && s.h.count(x) == 1 && x.size >= 3<<s.h.shift {
			return x
		}
	}
	s.t.Fatal("no such span")
	return nil
}

// room is a page of a span without a list that was recorded, for other records.
func (s *subject) room() uint64 {
	s.t.Helper()
	for i := range s.h.spans {
		x := &s.h.spans[i]
		for at := x.start; at < x.end(); at += 4096 {
			if len(s.h.listed(x)) == 0 && s.h.mem.Bytes(at, 4096) != nil {
				for off := uint64(0); off < 4096; off += 8 {
					s.put(at+off, 0, 8)
				}
				return at
			}
		}
	}
	s.t.Fatal("no such page")
	return 0
}

// free wants a span to be told as free memory, whoever asks first.
func (s *subject) free(x *span) {
	s.t.Helper()
	want := heap.Block{Start: x.start, Size: x.size, Free: true, List: "free span"}
	h, err := s.find()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, at := range []uint64{x.start, x.end() - 1, x.start + x.size/2} {
		if b, ok := h.BlockAt(at); !ok || b != want {
			s.t.Errorf("%#x: %+v, want %+v", at, b, want)
		}
	}
	n := 0
	for b := range h.Blocks {
		if b == want {
			n++
		}
	}
	if n != 1 {
		s.t.Errorf("%+v is there %d times", want, n)
	}
}

// A span that was deleted is free memory, and so is one that the page heap has.
func TestFreeSpans(t *testing.T) {
	for _, name := range []string{"gtcmalloc", "gtcmalloc21"} {
		s := subjectOf(t, name)
		x := s.alone()
		head := s.h.at["span_allocator_"] + s.h.l.At("spans.free")
		s.put(x.record, s.h.mem.Word(head), 8)
		s.put(head, x.record, 8)
		s.free(x)
	}
	s := subjectOf(t, "gtcmalloc21")
	x := s.alone()
	n, _ := s.h.l.number("span.location")
	s.put(x.record+n.bit/8, s.h.mem.Word(x.record+n.bit/8)|1<<(n.bit%8), 1)
	s.free(x)
}

// Caches of processors that are being emptied, that nobody has used yet, or that are none.
func TestProcessorsDamaged(t *testing.T) {
	for _, c := range []struct {
		what, name string
		change     func(s *subject, base, slab uint64)
		none       bool
		why        string
	}{
		{"as it is", "gtcmalloc", func(*subject, uint64, uint64) {}, false, ""},
		{"as it is in 2022", "gtcmalloc22", func(*subject, uint64, uint64) {}, false, ""},
		{"being emptied", "gtcmalloc22", func(s *subject, base, slab uint64) { s.put(slab+8*3+4, 0xffff, 2) }, false, "being emptied"},
		{"not populated", "gtcmalloc", func(s *subject, base, slab uint64) {
			resize := s.h.mem.Word(base + s.h.l.At("cpu.resize"))
			for i := range uint64(2) {
				s.put(resize+i*s.h.l.At("resize.size")+s.h.l.At("resize.populated"), 0, 1)
			}
		}, true, ""},
		{"no table", "gtcmalloc", func(s *subject, base, slab uint64) {
			s.put(s.h.mem.Word(base+s.h.l.At("cpu.resize"))+s.h.l.At("resize.populated"), 2, 1)
		}, true, ""},
		{"no records", "gtcmalloc", func(s *subject, base, slab uint64) { s.put(base+s.h.l.At("cpu.resize"), 0, 8) }, true, ""},
		{"no beginnings", "gtcmalloc", func(s *subject, base, slab uint64) { s.put(base+s.h.l.At("cpu.begins"), 0, 8) }, true, ""},
		{"beginnings that are missing", "gtcmalloc", func(s *subject, base, slab uint64) { s.put(base+s.h.l.At("cpu.begins"), 0x1000, 8) }, true, ""},
		{"too small", "gtcmalloc", func(s *subject, base, slab uint64) { s.put(base+s.h.l.At("cpu.packed"), 9, 1) }, true, ""},
		{"too large", "gtcmalloc", func(s *subject, base, slab uint64) { s.put(base+s.h.l.At("cpu.packed"), 27, 1) }, true, ""},
		{"nowhere", "gtcmalloc", func(s *subject, base, slab uint64) { s.put(base+s.h.l.At("cpu.packed")+1, 0, 7) }, true, ""},
		{"elsewhere", "gtcmalloc", func(s *subject, base, slab uint64) {
			for class := range uint64(200) { // more than there are blocks
				s.put(slab+4*class, 0xffff, 2)
			}
		}, true, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := subjectOf(t, c.name)
			base := s.h.at["cpu_cache_"]
			slabs, shift := s.h.slabs(base)
			for cpu := range uint64(2) {
				c.change(s, base, slabs+cpu<<shift)
			}
			if n := s.count("processor cache"); (n == 0) != c.none {
				t.Errorf("%d blocks", n)
			}
			h, _ := s.find()
			for _, d := range h.Damages() {
				if c.why == "" || !strings.Contains(d.Why, c.why) {
					t.Errorf("%+v", d)
				}
			}
			if c.why != "" && len(h.Damages()) == 0 {
				t.Error("no damage")
			}
		})
	}
}

// table makes a cache between threads in memory of a block: a table with some blocks of a class, for a record of it at an address.
func (s *subject) table(record uint64, kind string, table, start, mask uint64, blocks []uint64) {
	s.put(record+s.h.l.At(kind+".slots"), table, 8)
	info := record + s.h.l.At(kind+".used")
	if s.h.l.Has(kind + ".mask") {
		s.put(info, start, 4)
		s.put(record+s.h.l.At(kind+".mask"), mask, 8)
		info += 4
	} else {
		start, mask = 0, ^uint64(0)
	}
	s.put(info, uint64(len(blocks)), 4)
	s.put(info+4, uint64(len(blocks)+1), 4)
	for i, b := range blocks {
		s.put(table+8*((start+uint64(i))&mask), b, 8)
	}
}

// some are blocks in use of a small class.
func (s *subject) some(n int) (class int, blocks []uint64) {
	s.t.Helper()
	for class = 1; class < 20; class++ {
		blocks = nil
		for i := range s.h.spans {
			x := &s.h.spans[i]
			for k := range s.h.count(x) {
				if b := s.h.block(x, k); x.class == class && !b.Free && !b.Own && len(blocks) < n {
					blocks = append(blocks, b.Start)
				}
			}
		}
		if len(blocks) == n {
			return class, blocks
		}
	}
	s.t.Fatal("no such class")
	return 0, nil
}

// Caches that some processors share, and those that are rings.
func TestShared(t *testing.T) {
	for _, name := range []string{"gtcmalloc", "gtcmalloc22"} {
		t.Run(name, func(t *testing.T) {
			s := subjectOf(t, name)
			before := s.count("transfer cache")
			class, blocks := s.some(3)
			base := s.h.at["sharded_transfer_cache_"]
			page := s.room()
			s.put(base+s.h.l.At("shards"), page, 8)
			s.put(base+s.h.l.At("shards.count"), 2, 4) // the first has none
			caches := page + 64
			s.put(page+s.h.l.At("shard.size")+s.h.l.At("shard.caches"), caches, 8)
			record := caches + uint64(class)*s.h.l.At("sharded.size")
			s.table(record, "sharded", page+3584, 2, 3, blocks)
			h, err := s.find()
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range blocks {
				if b, ok := h.BlockAt(at); !ok || b.List != "transfer cache" {
					t.Errorf("%#x: %+v", at, b)
				}
			}
			if n := s.count("transfer cache"); n != before+3 {
				t.Errorf("%d blocks, want %d", n, before+3)
			}
			// What is none.
			for what, change := range map[string]func(){
				"many":     func() { s.put(base+s.h.l.At("shards.count"), maxShards+1, 4) },
				"nowhere":  func() { s.put(base+s.h.l.At("shards"), 0, 8) },
				"no table": func() { s.put(record+s.h.l.At("sharded.slots"), 0, 8) },
				"odd":      func() { s.put(record+s.h.l.At("sharded.slots"), page+3585, 8) },
				"elsewhere": func() {
					s.put(record+s.h.l.At("sharded.slots"), page+3000, 8)
				},
			} {
				kept := map[uint64]uint64{}
				for k, v := range s.words {
					kept[k] = v
				}
				change()
				if n := s.count("transfer cache"); n != before {
					t.Errorf("%s: %d blocks, want %d", what, n, before)
				}
				s.words = kept
			}
		})
	}
}

// The cache of a class is a ring where it is not the other kind.
func TestRing(t *testing.T) {
	s := subjectOf(t, "gtcmalloc22")
	before := s.count("transfer cache")
	class, blocks := s.some(3)
	page := s.room()
	record := s.h.at["transfer_cache_"] + s.h.l.At("transfer.cache") + uint64(class)*s.h.l.At("transfer.size")
	if s.h.slots(record, "transfer", class, false) {
		before -= int(s.h.mem.Word(record+s.h.l.At("transfer.used")) & 0xffffffff)
	}
	s.put(record+s.h.l.At("transfer.slots"), 0, 8)
	s.table(record, "ring", page, 3, 3, blocks)
	if n := s.count("transfer cache"); n != before+3 {
		t.Errorf("%d blocks, want %d", n, before+3)
	}
}
