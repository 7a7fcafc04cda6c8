package glibc_test

import (
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
	return slices.Insert(m.made.Mappings(), 1, libstate.Mapping{Start: moreAt, End: arch.Address(moreAt + m.size), Perm: libstate.Read | libstate.Write})
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
