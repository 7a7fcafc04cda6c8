package analysis

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/unwind/arch"
)

// slots is a heap without records between its blocks: some of one size, one behind the other.
type slots struct {
	heap.Allocator
	start, size uint64
	data        []byte
	free        map[int]bool
	damages     []heap.Damage
	own         bool // they are the allocator's
}

func (s *slots) Damages() []heap.Damage { return s.damages }

func (s *slots) at(i int) heap.Block {
	b := heap.Block{Start: s.start + uint64(i)*s.size, Size: s.size, Free: s.free[i], Own: s.own}
	if b.Free {
		b.List = "list"
	}
	return b
}

func (s *slots) BlockAt(at uint64) (heap.Block, bool) {
	if at < s.start || at >= s.start+uint64(len(s.data)) {
		return heap.Block{}, false
	}
	return s.at(int((at - s.start) / s.size)), true
}

func (s *slots) Blocks(yield func(heap.Block) bool) {
	for i := range len(s.data) / int(s.size) {
		if !yield(s.at(i)) {
			return
		}
	}
}

func (s *slots) ReadMem(at arch.Address, b []byte) (int, error) {
	if at < s.start || at >= s.start+uint64(len(s.data)) {
		return 0, arch.ErrUnreadable
	}
	n := copy(b, s.data[at-s.start:])
	return n, nil
}

func (s *slots) ReadWord(at arch.Address) (uint64, error) {
	if at < s.start || at+8 > s.start+uint64(len(s.data)) {
		return 0, arch.ErrUnreadable
	}
	return binary.LittleEndian.Uint64(s.data[at-s.start:]), nil
}

// TestListDamaged: a block is said to be overrun if what it ends with goes on to the damaged pointer of a free one: the first of those through which it went,
// of text the nearest in use that has it from its beginning. Else a free block was written to.
func TestListDamaged(t *testing.T) {
	const size, at = 32, 3 // the free block whose pointer is damaged
	series := func(s *slots, from, n, step int) {
		for i := range n {
			binary.LittleEndian.PutUint32(s.data[from+4*i:], uint32(0x11000000+step*i))
		}
	}
	text := func(s *slots, from int, what string) { copy(s.data[from:], what) }
	words := func(s *slots, from int, list ...uint64) {
		for i, v := range list {
			binary.LittleEndian.PutUint64(s.data[from+8*i:], v)
		}
	}
	mapped := uint64(openCase(t, fixture.Get(t, "amd64-pie")).s.Mappings()[0].Start)
	for name, c := range map[string]struct {
		write func(*slots)
		want  string // "1": the block that was overrun
		block int
		sure  string
	}{
		"a series":                     {func(s *slots) { series(s, 2*size, 10, 3) }, "was overrun: a series of numbers, to", 2, "likely"},
		"a series through one":         {func(s *slots) { series(s, size, 18, 3) }, "or one of those behind it, may have been overrun: a series of numbers, to", 1, "possible"},
		"that was changed since":       {func(s *slots) { series(s, size, 18, 3); words(s, 2*size, 0, 0) }, "or one of those behind it, may have been overrun: a series of numbers, to", 1, "possible"},
		"of a block that is free":      {func(s *slots) { series(s, 2*size, 10, 3); s.free[2] = true }, "which is free now, may have been overrun: a series of numbers", 2, "possible"},
		"a series that ends before":    {func(s *slots) { series(s, 2*size, 8, 3); words(s, 3*size, 0x77) }, "was written to", at, "likely"},
		"another step":                 {func(s *slots) { series(s, 2*size, 8, 3); series(s, 3*size, 2, 5) }, "was written to", at, "likely"},
		"one number over and over":     {func(s *slots) { series(s, 2*size, 10, 0) }, "was overrun: a series of numbers, to", 2, "likely"},
		"nothing before":               {func(s *slots) { words(s, 3*size, 0x4141414142424242) }, "was written to", at, "likely"},
		"text":                         {func(s *slots) { text(s, 2*size, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz") }, "was overrun: \"", 2, "likely"},
		"text, and text before":        {func(s *slots) { text(s, size, strings.Repeat("xyz-", 16)+"another text, on and on and on") }, "was overrun: \"", 2, "likely"},
		"text through one":             {func(s *slots) { text(s, size, strings.Repeat("xyz-", 24)); words(s, 2*size, 0) }, "or one of those behind it, may have been overrun: \"", 1, "possible"},
		"text of a block that is free": {func(s *slots) { text(s, 2*size, strings.Repeat("xyz-", 16)); s.free[2] = true }, "was written to", at, "likely"},
		"one letter, that is free":     {func(s *slots) { text(s, 2*size, strings.Repeat("x", 64)); s.free[2] = true }, "which is free now, may have been overrun", 2, "possible"},
		"text too short":               {func(s *slots) { text(s, 3*size-minText+1, strings.Repeat("xyz-", 10)) }, "was written to", at, "likely"},
		"numbers that are alike": {func(s *slots) {
			words(s, 2*size, 0x6767676700000001, 0x6767676700000009, 0x6767676700000004, 0x6767676700000002, 0x6767676700000003)
		}, "may have been overrun: a row of numbers like 0x6767676700000003, goes on", 2, "possible"},
		"numbers that are not": {func(s *slots) {
			words(s, 2*size, 0x6767676700000001, 0x6767676700000009, 0x6767676800000004, 0x6767676700000002, 0x6767676700000003)
		}, "was written to", at, "likely"},
		"small numbers": {func(s *slots) { words(s, 2*size, 1, 9, 4, 2, 3) }, "was written to", at, "likely"},
		"pointers":      {func(s *slots) { words(s, 2*size, mapped+1, mapped+9, mapped+4, mapped+2, mapped+3) }, "was written to", at, "likely"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &slots{start: 0x7777000000000, size: size, data: make([]byte, 6*size), free: map[int]bool{at: true}}
			c.write(s)
			known := heapFinders
			t.Cleanup(func() { heapFinders = known })
			heapFinders = []func(heap.Process, heapBounds) heap.Allocator{func(heap.Process, heapBounds) heap.Allocator { return s }}
			died := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
			died.mem.Memory = s
			free := s.at(at)
			d := heap.Damage{At: free.Start, Size: 8, Of: free, Written: true}
			got, sure := died.damaged(&d)
			of := "0x777700000" + map[int]string{1: "0020", 2: "0040", 3: "0060"}[c.block]
			if !strings.Contains(got, c.want) || !strings.Contains(got, "block of 32 bytes at "+of) || sure != c.sure {
				t.Errorf("%q [%s], want %q of %s [%s]", got, sure, c.want, of, c.sure)
			}
			// The same, where the pointer has come to the list's beginning, and another has the block.
			s.free[at] = false
			s.data = append(s.data, make([]byte, size)...)
			copy(s.data[6*size:], s.data[3*size:3*size+8])
			popped := heap.Begins("list", s.start+6*size, 8, 0, size)
			clear(s.data[3*size : 3*size+8])
			got, _ = died.damaged(&popped)
			if c.block == at {
				of, c.want = "a block of 32 bytes", "was written to while it was free"
			}
			if !strings.Contains(got, c.want) || !strings.Contains(got, of) {
				t.Errorf("popped: %q, want %q of %s", got, c.want, of)
			}
		})
	}
}
