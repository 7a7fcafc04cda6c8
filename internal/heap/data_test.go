package heap_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/jemalloc"
	"github.com/corewalk/corewalk/internal/heap/mimalloc"
	"github.com/corewalk/corewalk/internal/heap/tcmalloc"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Words are those that are not zero, of all sizes and byte orders, wherever they are, up to the one that ends it.
func TestWords(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X, arch.X86, arch.PPC} {
		w := a.WordSize
		for size := range 200 {
			b := make([]byte, size)
			var want []int
			for off := 0; off+w <= size; off += w {
				if off/w%5 == 3 || off/w > 9 && off/w < 12 {
					b[off+w-1] = byte(off + 1)
					want = append(want, off)
				}
			}
			var got []int
			if !heap.Words(a, b, func(off int, v uint64) bool { got = append(got, off); return v == a.Word(b[off:]) }) || !slices.Equal(got, want) {
				t.Fatalf("%s, %d bytes: %d, want %d", a.Name, size, got, want)
			}
			for n := range want {
				k := 0
				if heap.Words(a, b, func(int, uint64) bool { k++; return k <= n }) || k != n+1 {
					t.Fatalf("%s, %d bytes: it ends with word %d, not %d", a.Name, size, k, n+1)
				}
			}
		}
	}
}

// A table is read up to its end, or to the word that ends it, and what is not there is left out.
func TestWindow(t *testing.T) {
	const at, size = 0x10000, 3 << 18
	p := &counted{Process: heaptest.Recorded(t, "jemalloc").Process()}
	p.Pages = map[uint64][]byte{}
	put := func(off, v uint64) {
		page := (at + off) &^ 4095
		if p.Pages[page] == nil {
			p.Pages[page] = make([]byte, 4096)
		}
		binary.LittleEndian.PutUint64(p.Pages[page][off%4096:], v)
	}
	for off := uint64(0); off < size+8; off += 4096 {
		put(off, 0)
	}
	places := []uint64{0, 8, 4088, 4096, 1<<18 - 8, 1 << 18, size - 8, size}
	for _, off := range places {
		put(off, off+1)
	}
	var w heap.Window
	read := func(do func() bool) (got []uint64) {
		w.Words(procmem.Of(p), at, size, func(i, v uint64) bool {
			if v != i*8+1 {
				t.Errorf("word %d is %#x", i, v)
			}
			got = append(got, i*8)
			return do()
		})
		return got
	}
	if got := read(func() bool { return true }); !slices.Equal(got, places[:7]) {
		t.Errorf("%#x", got)
	}
	p.bytes = 0
	if got := read(func() bool { return false }); len(got) != 1 || p.bytes > 4096 {
		t.Errorf("%#x, %d bytes", got, p.bytes)
	}
	delete(p.Pages, at+size-4096)
	if got := read(func() bool { return true }); !slices.Equal(got, places[:6]) {
		t.Errorf("without a page: %#x", got)
	}
}

// Two words that lead to what is less apart than it is large are not of one table.
func TestCrowded(t *testing.T) {
	b := make([]byte, 8*100)
	put := func(i int, v uint64) { binary.LittleEndian.PutUint64(b[8*i:], v) }
	put(50, 0x10000)
	for _, c := range []struct {
		i    int
		v    uint64
		want bool
	}{{51, 0x10fff, true}, {51, 0x11000, false}, {49, 0xf001, true}, {49, 0xf000, false}, {18, 0x10000, true}, {17, 0x10000, false}, {81, 0x10000, true}, {82, 0x10000, false}, {60, 0, false}} {
		put(c.i, c.v)
		if got := heap.Crowded(arch.AMD64, b, 8*50, 0x1000, 0); got != c.want {
			t.Errorf("%#x in word %d: %t", c.v, c.i, got)
		}
		if heap.Crowded(arch.AMD64, b, 8*50, 0x1000, 1) {
			t.Errorf("%#x in word %d: one may be there", c.v, c.i)
		}
		put(c.i, 0)
	}
}

// counted counts what is read, and keeps data of libraries.
type counted struct {
	*heaptest.Process
	bytes int
	calls int
	kept  *heap.KeptData
}

func (p *counted) KeptData() *heap.KeptData { return p.kept }

func (p *counted) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := p.Process.ReadMem(at, b)
	p.calls++
	p.bytes += n
	return n, err
}

func (p *counted) ReadWord(at arch.Address) (uint64, error) {
	p.bytes += 8
	return p.Process.ReadWord(at)
}

// The data of libraries is read once, however often it is searched; without KeptData each time.
func TestKeptData(t *testing.T) {
	p := &counted{Process: heaptest.Recorded(t, "tcmalloc").Process(), kept: &heap.KeptData{}}
	sum := func(most uint64) (n int) {
		heap.Data(p, most, func(_ uint64, b []byte) bool { n += len(b); return true })
		return n
	}
	first := sum(heap.MaxData)
	read := p.bytes
	if second := sum(heap.MaxData); first == 0 || second != first || p.bytes != read {
		t.Errorf("%d bytes of data, then %d, for which %d and %d were read", first, second, read, p.bytes-read)
	}
	if less := sum(4096); less == 0 || less >= first {
		t.Errorf("%d of %d bytes when few are asked for", less, first)
	}
	p.kept, p.bytes = nil, 0
	if sum(heap.MaxData); p.bytes != read {
		t.Errorf("%d bytes, not %d", p.bytes, read)
	}
}

// TestKeptDataIsBounded: of what a dump says is there, so much is kept, and the rest read again.
func TestKeptDataIsBounded(t *testing.T) {
	rec := &heaptest.Recording{Arch: arch.AMD64.Name}
	for i := range arch.Address(4) {
		m := libstate.Mapping{Start: (i + 1) << 32, End: (i+1)<<32 + heap.MaxData, Perm: libstate.Read | libstate.Write}
		rec.Maps = append(rec.Maps, m)
		rec.Modules = append(rec.Modules, heaptest.Module{Path: string(rune('a' + i)), Maps: []libstate.Mapping{m}})
	}
	p := &counted{Process: rec.Process(), kept: &heap.KeptData{}}
	for k, want := range []int{4, 2, 2} {
		p.calls = 0
		heap.Data(p, heap.MaxData, func(uint64, []byte) bool { return true })
		if p.calls != want {
			t.Errorf("time %d: %d mappings are read, want %d", k, p.calls, want)
		}
	}
}

// TestReads: to find a heap and one block in it, no more is read than is needed. What is meant to read more has its number here.
func TestReads(t *testing.T) {
	for name, c := range map[string]struct {
		find func(heap.Process) heap.Allocator
		most int // KiB
	}{
		"jemalloc": {func(p heap.Process) heap.Allocator { return jemalloc.Find(p, jemalloc.Options{}) }, 13100},
		"tcmalloc": {func(p heap.Process) heap.Allocator { return tcmalloc.Find(p, tcmalloc.Options{}) }, 15000},
		"mimalloc": {func(p heap.Process) heap.Allocator { return mimalloc.Find(p, mimalloc.Options{}) }, 3500},
	} {
		p := &counted{Process: heaptest.Recorded(t, name).Process(), kept: &heap.KeptData{}}
		h := c.find(p)
		var some heap.Block
		h.Blocks(func(b heap.Block) bool { some = b; return b.Free || b.Own })
		p.kept, p.bytes = &heap.KeptData{}, 0
		if b, ok := c.find(p).BlockAt(some.Start); !ok || b != some {
			t.Errorf("%s: %+v, want %+v", name, b, some)
		}
		if n := p.bytes >> 10; n > c.most {
			t.Errorf("%s: %d KiB are read, may be %d", name, n, c.most)
		}
	}
}
