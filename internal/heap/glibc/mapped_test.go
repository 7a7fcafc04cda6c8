package glibc_test

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A mapped process has another mapping, of which the first bytes are there.
type mapped struct {
	*made
	more  []byte
	size  uint64
	reads int
}

const moreAt = 0x7e0000000000

func (m *mapped) Mappings() []libstate.Mapping {
	all := append(m.made.Mappings(), libstate.Mapping{Start: moreAt, End: arch.Address(moreAt + m.size), Perm: libstate.Read | libstate.Write})
	slices.SortFunc(all, func(a, b libstate.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

func (m *mapped) ReadMem(addr arch.Address, b []byte) (int, error) {
	m.reads++
	if off := addr - moreAt; off < arch.Address(len(m.more)) {
		n := copy(b, m.more[off:])
		if n < len(b) {
			return n, arch.ErrUnmapped
		}
		return n, nil
	}
	return m.made.ReadMem(addr, b)
}

func (m *mapped) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	if _, err := m.ReadMem(addr, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// TestMappedBehind: a block with a mapping of its own is found behind other memory of one mapping, if it is as large as such blocks are; and mappings
// without end end.
func TestMappedBehind(t *testing.T) {
	b, top := small()
	m := &mapped{made: arenaOf(b, top, map[int]uint64{0: heapAt + 0x2c0}, map[int]uint64{0: heapAt + 0x800}), more: make([]byte, 1<<20), size: 1 << 20}
	record := func(page, size uint64) { binary.LittleEndian.PutUint64(m.more[page<<12+8:], size|2) }
	record(0, 0x1000)
	record(1, 0x2000)
	record(4, 0x3000) // something else is before it
	record(8, 0x20000)
	record(40, 0x21000)
	record(73, 0x20000) // right behind
	record(200, 0x100000)
	found := func(m *mapped) (sizes []uint64) {
		h := glibc.Find(m, glibc.Options{})
		if h == nil {
			t.Fatal("no heap")
		}
		h.Blocks(func(b heap.Block) bool {
			if b.Mapped {
				sizes = append(sizes, b.Size+16)
			}
			return true
		})
		return sizes
	}
	if got, want := found(m), []uint64{0x1000, 0x2000, 0x20000, 0x21000, 0x20000}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
	m.size, m.more = 1<<46, nil
	if got := found(m); len(got) != 0 || m.reads > 1<<24 {
		t.Errorf("%#x, %d reads", got, m.reads)
	}
}

// TestMappedBlockAt: an address is in the block whose record is before it, also when many are asked for; and where no record is, they are not all
// searched for.
func TestMappedBlockAt(t *testing.T) {
	const pages = 1 << 12
	b, top := small()
	m := &mapped{made: arenaOf(b, top, map[int]uint64{0: heapAt + 0x2c0}, map[int]uint64{0: heapAt + 0x800}), more: make([]byte, pages<<12), size: pages << 12}
	binary.LittleEndian.PutUint64(m.more[2<<12+8:], 0x1000<<12|2)
	binary.LittleEndian.PutUint64(m.more[0x1002<<12-0x5000+8:], 0x5000|2) // it ends where the other does: what is nearer counts
	m.more = append(m.more, make([]byte, 8<<12)...)
	m.size = uint64(len(m.more))
	h := glibc.Find(m, glibc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	before := m.reads
	const first, nearer = 0x1000<<12 - 16, 0x5000 - 16
	for _, tt := range []struct{ addr, size uint64 }{{5 << 12, first}, {1 << 12, 0}, {0x1001<<12 + 40, nearer}, {0xff0 << 12, first}, {2<<12 + 16, first}, {0x1003 << 12, 0},
		{0x1ffc, 0}, {0x1002<<12 - 0x5000, nearer}, {0x1002<<12 - 0x5001, first}, {0x1002 << 12, 0}, {0x1007 << 12, 0}} {
		for range 3 { // the second time it is known
			if got, ok := h.BlockAt(moreAt + tt.addr); ok != (tt.size != 0) || got.Size != tt.size {
				t.Errorf("at %#x: %#x, %t; want %#x", tt.addr, got.Size, ok, tt.size)
			}
		}
	}
	if n := m.reads - before; n > 4*pages {
		t.Errorf("%d reads for %d pages", n, pages)
	}
	m.size, m.more = 1<<46, nil
	if h = glibc.Find(m, glibc.Options{}); h == nil {
		t.Fatal("no heap")
	}
	before = m.reads
	for i := range uint64(1000) {
		if b, ok := h.BlockAt(moreAt + (i+1)<<32); ok {
			t.Fatalf("%+v", b)
		}
	}
	if n := m.reads - before; n > 1<<24 {
		t.Errorf("%d reads of nothing", n)
	}
}

// TestMappedLarge: an address in a block of a gigabyte, or behind it, is found by the records from the beginning of the mapping on, whatever was asked before.
func TestMappedLarge(t *testing.T) {
	b, top := small()
	const large, next = 1 << 30, 0x3000
	m := &mapped{made: arenaOf(b, top, map[int]uint64{0: heapAt + 0x2c0}, map[int]uint64{0: heapAt + 0x800}), more: make([]byte, 4096), size: large + next + 4096}
	binary.LittleEndian.PutUint64(m.more[8:], large|2)
	h := glibc.Find(m, glibc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	before := m.reads
	for _, at := range []uint64{large - 1, 600 << 20, 16, 400 << 20} {
		if got, ok := h.BlockAt(moreAt + at); !ok || got.Size != large-16 || got.Start != moreAt+16 {
			t.Errorf("at %#x: %+v", at, got)
		}
	}
	if n := m.reads - before; n > 1000 {
		t.Errorf("%d reads", n)
	}
	if got, ok := h.BlockAt(moreAt + large); ok {
		t.Errorf("behind it: %+v", got)
	}
}

// TestMappedChain: records that follow one another are followed as far as allowed; then the one before the address is searched for.
func TestMappedChain(t *testing.T) {
	b, top := small()
	const blocks = 200
	m := &mapped{made: arenaOf(b, top, map[int]uint64{0: heapAt + 0x2c0}, map[int]uint64{0: heapAt + 0x800}), more: make([]byte, blocks<<13), size: blocks << 13}
	for i := range blocks {
		binary.LittleEndian.PutUint64(m.more[i<<13+8:], 0x2000|2)
	}
	h := glibc.Find(m, glibc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	for i := range uint64(blocks) {
		before := m.reads
		if got, ok := h.BlockAt(moreAt + i<<13 + 0x1008); !ok || got.Start != moreAt+i<<13+16 || got.Size != 0x2000-16 {
			t.Errorf("block %d: %+v", i, got)
		}
		if n := m.reads - before; n > 300 {
			t.Errorf("block %d: %d reads", i, n)
		}
	}
}
