package glibc_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// made is a process of 64 bits with a library's data, in which the main arena is, and a heap.
type made struct {
	data, heap []byte
	at         arch.Address // of the heap
}

const (
	dataAt  = 0x7f0000001000
	heapAt  = 0x555500000000
	arenaAt = dataAt + 0x100
	binsAt  = arenaAt + 112
)

func (m *made) Arch() *arch.Arch { return arch.AMD64 }
func (m *made) LibraryTracker() libstate.LibraryState {
	lib := &libstate.Library{Path: "/lib/libc.so.6", Kind: libstate.SharedLibrary}
	lib.SetMappings(m.Mappings()[1:])
	return libstate.NewTable([]*libstate.Library{lib}, 0)
}

func (m *made) Mappings() []libstate.Mapping {
	return []libstate.Mapping{
		{Start: m.at, End: m.at + arch.Address(len(m.heap)+4095)&^4095 + 4096, Perm: libstate.Read | libstate.Write},
		{Start: dataAt, End: dataAt + arch.Address(len(m.data)), Perm: libstate.Read | libstate.Write, Path: "/lib/libc.so.6"},
	}
}

func (m *made) ReadMem(addr arch.Address, b []byte) (int, error) {
	for _, part := range []struct {
		at   arch.Address
		data []byte
	}{{dataAt, m.data}, {m.at, m.heap}} {
		if off := addr - part.at; off < arch.Address(len(part.data)) {
			n := copy(b, part.data[off:])
			if n < len(b) {
				return n, arch.ErrUnmapped
			}
			return n, nil
		}
	}
	return 0, arch.ErrUnmapped
}

func (m *made) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	if _, err := m.ReadMem(addr, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// arenaOf lays out the main arena of a heap: its top, its bins, all of which are empty but those that given says, and fastbins.
func arenaOf(heapBytes []byte, top uint64, bins, fast map[int]uint64) *made {
	m := &made{data: make([]byte, 0x2000), heap: heapBytes, at: heapAt}
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(m.data[at-dataAt:], v) }
	for i := range uint64(127) {
		head := binsAt + 16*i - 16
		put(head+16, head)
		put(head+24, head)
	}
	for i, c := range bins {
		put(binsAt+16*uint64(i), c)
		put(binsAt+16*uint64(i)+8, c)
	}
	for i, c := range fast {
		put(arenaAt+16+8*uint64(i), c)
	}
	put(binsAt-16, top)
	put(binsAt+254*8+16, arenaAt)                   // next
	put(binsAt+254*8+16+16, 1)                      // threads
	put(binsAt+254*8+16+24, uint64(len(heapBytes))) // from the system
	return m
}

// small is a heap of some blocks: a thread's cache, one in use, one in a bin, one in a fastbin, one in the cache, the top.
func small() (b []byte, top uint64) {
	b = make([]byte, 4096)
	le := binary.LittleEndian
	at := 0
	chunk := func(size int, flags uint64) int {
		le.PutUint64(b[at+8:], uint64(size)|flags)
		at += size
		return at - size
	}
	cache := chunk(0x290, 1)
	chunk(0x30, 1)
	free := chunk(0x500, 1)
	le.PutUint64(b[free+16:], binsAt-16)
	le.PutUint64(b[free+24:], binsAt-16)
	le.PutUint64(b[at:], 0x500)
	chunk(0x40, 0)
	fast := chunk(0x20, 1)
	le.PutUint64(b[fast+16:], (heapAt+uint64(fast)+16)>>12) // the mangled end of a list
	cached := chunk(0x30, 1)
	le.PutUint16(b[cache+16+2:], 1)
	le.PutUint64(b[cache+16+128+8:], heapAt+uint64(cached)+16)
	le.PutUint64(b[cached+16:], (heapAt+uint64(cached)+16)>>12)
	top = heapAt + uint64(at)
	chunk(4096-at, 1)
	return b, top
}

func find(b []byte, top uint64) *glibc.Heap {
	return glibc.Find(arenaOf(b, top, map[int]uint64{0: heapAt + 0x2c0}, map[int]uint64{0: heapAt + 0x800}), glibc.Options{Chunks: 1 << 12})
}

func TestSmall(t *testing.T) {
	b, top := small()
	h := find(b, top)
	if h == nil {
		t.Fatal("no heap")
	}
	var got []heap.Block
	h.Blocks(func(b heap.Block) bool { got = append(got, b); return true })
	want := []heap.Block{
		{Start: heapAt + 0x10, Size: 0x288, Own: true},
		{Start: heapAt + 0x2a0, Size: 0x28},
		{Start: heapAt + 0x2d0, Size: 0x4f8, Free: true, List: "unsorted bin"},
		{Start: heapAt + 0x7d0, Size: 0x38},
		{Start: heapAt + 0x810, Size: 0x18, Free: true, List: "fastbin"},
		{Start: heapAt + 0x830, Size: 0x28, Free: true, List: "tcache"},
		{Start: heapAt + 0x860, Size: 4096 - 0x850 - 16, Free: true, List: "top"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if d := h.Damages(); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}

// TestLow: in a heap at low addresses, as a static program's is, a pointer of a list leads into the heap also when it is taken as it is.
func TestLow(t *testing.T) {
	for _, inCache := range []int{3, 0} { // the first list tells how the others are written
		lowHeap(t, inCache)
	}
}

func lowHeap(t *testing.T, inCache int) {
	const low = 0x1000000
	b := make([]byte, 0x4000)
	le := binary.LittleEndian
	at := 0
	chunk := func(size int) uint64 {
		le.PutUint64(b[at+8:], uint64(size)|1)
		at += size
		return uint64(low + at - size)
	}
	link := func(from, to uint64) { le.PutUint64(b[from+16-low:], to^(from+16)>>12) }
	cache := chunk(0x290)
	var cached, fast []uint64
	for range 3 {
		cached, fast = append(cached, chunk(0x30)), append(fast, chunk(0x20))
	}
	for range 2 {
		chunk(0x1800)
	}
	top := uint64(low + at)
	chunk(len(b) - at)
	if inCache > 0 {
		le.PutUint16(b[cache-low+16+2:], uint16(inCache))
		le.PutUint64(b[cache-low+16+128+8:], cached[0]+16)
	}
	for i := range 2 {
		link(cached[i], cached[i+1]+16)
		link(fast[i], fast[i+1])
	}
	link(cached[2], 0)
	link(fast[2], 0)
	m := arenaOf(b, top, nil, map[int]uint64{0: fast[0]})
	m.at = low
	h := glibc.Find(m, glibc.Options{Chunks: 1 << 12})
	if h == nil {
		t.Fatal("no heap")
	}
	if d := h.Damages(); len(d) > 0 {
		t.Errorf("%d in the cache: %+v", inCache, d)
	}
	free := map[string]int{}
	h.Blocks(func(b heap.Block) bool { free[b.List]++; return true })
	if free["tcache"] != inCache || free["fastbin"] != 3 {
		t.Errorf("%d in the cache: %v", inCache, free)
	}
}

// Whatever is in a heap, the walk ends, blocks lie in the heap, and do not overlap.
func FuzzHeap(f *testing.F) {
	b, top := small()
	f.Add(b, top, uint64(heapAt+0x2d8))
	f.Fuzz(func(t *testing.T, b []byte, top, at uint64) {
		if len(b) > 1<<16 {
			return
		}
		h := find(b, top)
		if h == nil {
			return
		}
		end := uint64(0)
		h.Blocks(func(b heap.Block) bool {
			if b.Mapped {
				return true
			}
			if b.Start < end || b.End() < b.Start || b.Start < heapAt {
				t.Errorf("%+v after %#x", b, end)
			}
			end = b.Start
			return true
		})
		if b, ok := h.BlockAt(at); ok && b.End() < b.Start {
			t.Errorf("%+v", b)
		}
		if d := h.Damages(); len(d) > 64 {
			t.Errorf("%d damages", len(d))
		}
	})
}

// fragmented is a heap in which each bin has a chunk, but for those that are empty.
func fragmented(empty func(bin int) bool) *made {
	b := make([]byte, 0x10000)
	le := binary.LittleEndian
	at, bins := 0, map[int]uint64{}
	chunk := func(size int, flags uint64) int {
		le.PutUint64(b[at+8:], uint64(size)|flags)
		at += size
		return at - size
	}
	for i := range 127 {
		if empty(i) {
			continue
		}
		free := chunk(0x40, 1)
		bins[i] = heapAt + uint64(free)
		le.PutUint64(b[free+16:], binsAt+16*uint64(i)-16)
		le.PutUint64(b[free+24:], binsAt+16*uint64(i)-16)
		le.PutUint64(b[at:], 0x40)
		chunk(0x30, 0)
	}
	top := heapAt + uint64(at)
	chunk(len(b)-at, 1)
	return arenaOf(b, top, bins, nil)
}

// TestFewEmptyBins: a heap is found however few of its bins are empty, and beside one another; all have to be right.
func TestFewEmptyBins(t *testing.T) {
	for _, c := range []struct {
		name   string
		empty  func(bin int) bool
		change func(m *made)
		found  bool
	}{
		{"every tenth", func(i int) bool { return i%10 == 3 }, nil, true},
		{"two", func(i int) bool { return i == 70 || i == 126 }, nil, true},
		{"one", func(i int) bool { return i == 70 }, nil, false},
		{"none", func(int) bool { return false }, nil, false},
		{"damaged", func(i int) bool { return i%10 == 3 }, func(m *made) {
			for i := range 6 { // bins 20 to 25 lead to a chunk of another
				binary.LittleEndian.PutUint64(m.data[binsAt+16*uint64(20+i)-dataAt:], heapAt)
			}
		}, false},
	} {
		m := fragmented(c.empty)
		if c.change != nil {
			c.change(m)
		}
		h := glibc.Find(m, glibc.Options{Chunks: 1 << 12})
		if (h != nil) != c.found {
			t.Errorf("%s: found %t", c.name, h != nil)
		}
		if h == nil {
			continue
		}
		if b, ok := h.BlockAt(heapAt + 0x20); !ok || !b.Free || b.Size != 0x38 {
			t.Errorf("%s: %+v, %t", c.name, b, ok)
		}
	}
}
