package gtcmalloc

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// A subject is a recorded process, of which some words are changed, and its heap.
type subject struct {
	t     *testing.T
	p     *heaptest.Process
	h     *Heap
	words map[uint64]uint64
}

func subjectOf(t *testing.T, name string) *subject {
	t.Helper()
	p := heaptest.Recorded(t, name).Process()
	h, err := Find(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.all()
	h.free()
	return &subject{t, p, h, map[uint64]uint64{}}
}

// put changes some bytes.
func (s *subject) put(at, v uint64, size int) {
	for i := range uint64(size) {
		word := (at + i) &^ 7
		if _, ok := s.words[word]; !ok {
			s.words[word] = s.h.mem.Word(word)
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], s.words[word])
		b[(at+i)%8] = byte(v >> (8 * i))
		s.words[word] = binary.LittleEndian.Uint64(b[:])
	}
}

// find finds the changed heap.
func (s *subject) find() (*Heap, error) {
	return Find(heaptest.Changed(s.p, s.words), Options{})
}

// damage wants one damage whose reason has some words.
func (s *subject) damage(why string) (d heap.Damage) {
	s.t.Helper()
	h, err := s.find()
	if err != nil {
		s.t.Fatal(err)
	}
	all := h.Damages()
	if len(all) != 1 || !strings.Contains(all[0].Why, why) {
		s.t.Fatalf("%+v, want one: %s", all, why)
	}
	return all[0]
}

// spanWith is the first span of many blocks for which is is true, with its record.
func (s *subject) spanWith(is func(x *span, b []byte) bool) (*span, []byte) {
	s.t.Helper()
	for i := range s.h.spans {
		x := &s.h.spans[i]
		if b := s.h.mem.Bytes(x.record, int(s.h.l.At("span.size"))); s.h.count(x) > 1 && is(x, b) {
			return x, b
		}
	}
	s.t.Fatal("no such span")
	return nil, nil
}

// listed reports whether a span has a list of numbers, and one in its record.
func (s *subject) listed(x *span, b []byte) bool {
	return s.h.sizes[x.class] <= 512 && s.h.l.of("span.cached", b) > 1 && s.h.l.of("span.freelist", b) != listEnd
}

// A span's lists: numbers of blocks that are none, that are there twice, in the record and in free blocks.
func TestSpanDamaged(t *testing.T) {
	for _, name := range []string{"gtcmalloc", "gtcmalloc21"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				what   string
				change func(s *subject, x *span, b []byte, cache uint64)
				why    string
			}{
				{"past the end", func(s *subject, x *span, b []byte, cache uint64) { s.put(cache, 0xfffe, 2) }, "where none begins"},
				{"between", func(s *subject, x *span, b []byte, cache uint64) { s.put(cache, 1, 2) }, "where none begins"},
				{"twice", func(s *subject, x *span, b []byte, cache uint64) { s.put(cache, s.h.mem.Word(cache)>>16&0xffff, 2) }, "where none begins"},
				{"in a block", func(s *subject, x *span, b []byte, cache uint64) {
					s.put(x.start+8*s.h.l.of("span.freelist", b), 0x7fff, 2)
				}, "where none begins"},
				{"many in the record", func(s *subject, x *span, b []byte, cache uint64) { s.set(x, "span.cached", 17) }, "no room"},
				{"many in a block", func(s *subject, x *span, b []byte, cache uint64) { s.set(x, "span.embedded", 60000) }, "no room"},
				{"counts", func(s *subject, x *span, b []byte, cache uint64) { s.set(x, "span.allocated", 60000) }, "blocks are in use"},
			} {
				t.Run(c.what, func(t *testing.T) {
					s := subjectOf(t, name)
					x, b := s.spanWith(func(x *span, b []byte) bool { return s.listed(x, b) && (name == "gtcmalloc" || s.h.sizes[x.class] > 8) })
					if c.what == "between" && s.h.sizes[x.class] == 8 {
						t.Skip("numbers are those of blocks")
					}
					c.change(s, x, b, x.record+s.h.l.At("span.cache"))
					if d := s.damage(c.why); d.At != x.record || d.Of.Start != x.start {
						t.Errorf("%+v, want it at %#x", d, x.record)
					}
				})
			}
		})
	}
}

// set changes a number of a span's record that has whole bytes.
func (s *subject) set(x *span, name string, v uint64) {
	n, ok := s.h.l.number(name)
	if !ok || n.bit%8 != 0 || n.bits%8 != 0 {
		s.t.Fatal(name, n)
	}
	s.put(x.record+n.bit/8, v, int(n.bits/8))
}

// A span that is full has no list: what was left there is not one.
func TestSpanFull(t *testing.T) {
	s := subjectOf(t, "gtcmalloc21")
	x, _ := s.spanWith(func(x *span, b []byte) bool { return s.h.l.of("span.allocated", b) == s.h.count(x) })
	s.put(x.record+s.h.l.At("span.cache"), 3, 2)
	s.set(x, "span.cached", 1)
	if h, err := s.find(); err != nil || len(h.Damages()) > 0 {
		t.Errorf("%v %+v", err, h.Damages())
	}
}

// Bits of blocks that a span does not have.
func TestBitmapDamaged(t *testing.T) {
	s := subjectOf(t, "gtcmalloc")
	size := s.h.l.At("span.bitmap.size")
	x, _ := s.spanWith(func(x *span, b []byte) bool {
		return s.h.sizes[x.class] >= 64 && s.h.count(x) < 8*size-8 && s.h.l.of("span.allocated", b) < s.h.count(x)
	})
	s.put(x.record+s.h.l.At("span.bitmap")+size-1, 0x80, 1)
	s.damage("is free")

	s = subjectOf(t, "gtcmalloc")
	s.set(x, "span.allocated", 60000)
	s.damage("blocks are in use")
}

// While a thread moves blocks counts differ by some: that is no damage.
func TestSpanMoving(t *testing.T) {
	s := subjectOf(t, "gtcmalloc21")
	x, b := s.spanWith(s.listed)
	s.set(x, "span.allocated", s.h.l.of("span.allocated", b)+5)
	h, err := s.find()
	if err != nil || len(h.Damages()) > 0 || len(h.listed(x)) != len(s.h.listed(x)) || len(h.listed(x)) == 0 {
		t.Errorf("%v %+v, %d are free, want %d", err, h.Damages(), len(h.listed(x)), len(s.h.listed(x)))
	}
}

// cached is a slot of a processor's cache: where it is, the block, and where the slot after it is.
func (s *subject) cached(list string) (slot, block uint64) {
	s.t.Helper()
	for _, r := range s.h.records {
		words, _ := s.h.mem.Words(r[0], int((r[1]-r[0])/8))
		for i, v := range words {
			if s.h.lists[v] == list && i+1 < len(words) && s.h.lists[words[i+1]] == list {
				return r[0] + 8*uint64(i), v
			}
		}
	}
	s.t.Fatal("no slot of a " + list)
	return 0, 0
}

// Caches of processors, and between: pointers to what is no block, or to one that is in another cache.
func TestCachesDamaged(t *testing.T) {
	for _, c := range []struct{ name, list, why string }{
		{"gtcmalloc", "processor cache", "a processor's cache"},
		{"gtcmalloc", "transfer cache", "a transfer cache"},
	} {
		t.Run(c.name+" "+c.list, func(t *testing.T) {
			s := subjectOf(t, c.name)
			slot, block := s.cached(c.list)
			s.put(slot, block+1, 8)
			if d := s.damage(c.why); d.At != slot {
				t.Errorf("%+v, want it at %#x", d, slot)
			}
			other := s.h.mem.Word(slot + 8)
			s.put(slot, other, 8)
			if d := s.damage("already"); !d.Twice || d.Of.Start != other || d.Of.List != c.list {
				t.Errorf("%+v, want %#x twice", d, other)
			}
		})
	}
}

// first is where the first list of a thread is that has several blocks.
func (s *subject) first() (head uint64, class int) {
	s.t.Helper()
	at := s.h.mem.Word(s.h.at["threads"])
	for class := 1; class < len(s.h.sizes); class++ {
		list := at + s.h.l.At("thread.lists") + uint64(class)*s.h.l.At("thread.list.size")
		if n, _ := s.h.mem.U32(list + s.h.l.At("list.length")); n > 3 {
			return list + s.h.l.At("list.first"), class
		}
	}
	s.t.Fatal("no list")
	return 0, 0
}

// Caches of threads: links to what is no block, and back to one that was there.
func TestThreadsDamaged(t *testing.T) {
	s := subjectOf(t, "gtcmalloc21")
	head, class := s.first()
	a := s.h.mem.Word(head)
	b := s.h.mem.Word(a)
	s.put(head, 0x4141414141414141, 8)
	if d := s.damage("begins with 0x4141414141414141"); d.Popped != s.h.sizes[class] || d.At != head {
		t.Errorf("%+v", d)
	}
	s = subjectOf(t, "gtcmalloc21")
	s.put(b, 0x4141414141414141, 8)
	if d := s.damage("leads to no block"); !d.Written || d.Of.Start != b || d.At != b {
		t.Errorf("%+v, want it of %#x", d, b)
	}
	s = subjectOf(t, "gtcmalloc21")
	s.put(b, a, 8)
	if d := s.damage("already"); !d.Twice || d.Of.Start != a {
		t.Errorf("%+v, want %#x twice", d, a)
	}
	s = subjectOf(t, "gtcmalloc21") // the threads' own list leads back
	at := s.h.mem.Word(s.h.at["threads"])
	s.put(at+s.h.l.At("thread.next"), at, 8)
	if h, err := s.find(); err != nil || len(h.Damages()) > 0 {
		t.Errorf("%v %+v", err, h.Damages())
	}
}

// The list of spans that are no more leads back, or nowhere.
func TestDeletedDamaged(t *testing.T) {
	s := subjectOf(t, "gtcmalloc21")
	head := s.h.at["span_allocator_"] + s.h.l.At("spans.free")
	at := s.h.mem.Word(head)
	if at == 0 {
		t.Fatal("no span was deleted")
	}
	s.put(at, at, 8)
	if h, err := s.find(); err != nil {
		t.Error(err)
	} else if !h.isDeleted(at) || len(h.deleted) != 1 {
		t.Errorf("%d spans", len(h.deleted))
	}
	s.put(head, 0x4141414141414141, 8)
	if h, err := s.find(); err != nil || h.isDeleted(at) || len(h.deleted) != 0 {
		t.Error(err)
	}
}

// A heap that cannot be read is one that says why: where its records are missing, and where they are not what the layout says.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(s *subject)
		why    string
	}{
		{"sizes", func(s *subject) { s.put(s.h.at["sizemap_"]+s.h.l.At("sizes")+8, 0x41414141, 4) }, "table of sizes"},
		{"no class", func(s *subject) { s.put(s.h.at["sizemap_"]+s.h.l.At("sizes")+4, 0, 4) }, "table of sizes"},
		{"map", func(s *subject) {
			for _, x := range s.h.spans {
				s.put(s.h.at["pagemap_"]+s.h.l.At("map.root")+8*(x.start>>s.h.shift/s.h.l.At("leaf.pages")), 0, 8)
			}
		}, "records of memory are not"},
		{"spans", func(s *subject) {
			for i := range s.h.spans {
				if x := &s.h.spans[i]; s.h.count(x) > 1 {
					s.set(x, "span.allocated", 0xffff)
				}
			}
		}, "contradict"},
	} {
		s := subjectOf(t, "gtcmalloc21")
		c.change(s)
		if h, err := s.find(); h != nil || err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", c.what, err, c.why)
		}
	}
}

// A stranger has other symbols, or none.
type stranger struct {
	*heaptest.Process
	sizes int
}

func (s stranger) SymbolNamed(name string) (addr, size uint64, ok bool) {
	if s.sizes == 0 {
		return 0, 0, false
	}
	addr, size, ok = s.Process.SymbolNamed(name)
	return addr, size + uint64(s.sizes), ok
}

func (s stranger) TypeOfUnit(uint64, string) (*types.Type, bool) { return nil, false }

// Without symbols there is none; with those of a release that the table does not have it is not read.
func TestStranger(t *testing.T) {
	p := heaptest.Recorded(t, "gtcmalloc").Process()
	if h, err := Find(stranger{p, 0}, Options{}); h != nil || err != nil {
		t.Errorf("without symbols: %v", err)
	}
	if h, err := Find(stranger{p, 8}, Options{}); h != nil || err == nil {
		t.Error("with other sizes it is read")
	}
}

// The work is bounded.
func TestBounded(t *testing.T) {
	p := heaptest.Recorded(t, "gtcmalloc").Process()
	h, _ := Find(p, Options{Blocks: 500})
	if h == nil {
		return
	}
	n := 0
	h.Blocks(func(heap.Block) bool { n++; return true })
	if n > 500 {
		t.Errorf("%d blocks", n)
	}
}

// What is left of spans is without what others have now.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ ranges, spans, want [][2]uint64 }{
		{nil, nil, nil},
		{[][2]uint64{{10, 20}}, nil, [][2]uint64{{10, 20}}},
		{[][2]uint64{{10, 20}, {15, 30}, {30, 40}}, nil, [][2]uint64{{10, 40}}},
		{[][2]uint64{{10, 20}}, [][2]uint64{{10, 20}}, nil},
		{[][2]uint64{{10, 20}}, [][2]uint64{{5, 12}, {14, 16}, {18, 25}}, [][2]uint64{{12, 14}, {16, 18}}},
		{[][2]uint64{{10, 20}, {30, 40}}, [][2]uint64{{12, 35}}, [][2]uint64{{10, 12}, {35, 40}}},
		{[][2]uint64{{10, 20}, {30, 40}}, [][2]uint64{{0, 5}, {22, 25}, {45, 50}}, [][2]uint64{{10, 20}, {30, 40}}},
	} {
		var spans []span
		for _, s := range c.spans {
			spans = append(spans, span{start: s[0], size: s[1] - s[0]})
		}
		if got := without(c.ranges, spans); !slices.Equal(got, c.want) {
			t.Errorf("%v without %v: %v, want %v", c.ranges, c.spans, got, c.want)
		}
	}
}

// A number is read from its bits, wherever they are.
func TestNumber(t *testing.T) {
	b := []byte{0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f, 0xff}
	for _, c := range []struct {
		n    number
		want uint64
	}{{number{0, 8}, 0x21}, {number{4, 8}, 0x32}, {number{3, 5}, 0x4}, {number{0, 64}, 0x0fedcba987654321}, {number{4, 64}, 0xf0fedcba98765432}, {number{35, 3}, 5}, {number{64, 8}, 0xff}, {number{68, 8}, 0}} {
		if got := c.n.in(b); got != c.want {
			t.Errorf("%+v: %#x, want %#x", c.n, got, c.want)
		}
		if n, ok := (layout{map[string]uint64{"x": c.n.packed()}}).number("x"); !ok || n != c.n {
			t.Errorf("%+v: %+v", c.n, n)
		}
	}
}
