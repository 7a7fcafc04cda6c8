package asan_test

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/libstate"
)

// TestRecorded32: of 32 bits, blocks in regions are found, and what contradicts itself is a damage; without a shadow there is no heap.
func TestRecorded32(t *testing.T) {
	rec := heaptest.Recorded(t, "asan32")
	p := rec.Process()
	h := asan.Find(p, asan.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	var used, freed heap.Block
	kinds := map[string]int{}
	h.Blocks(func(b heap.Block) bool {
		kinds[b.List]++
		switch {
		case b.Own:
			kinds["own"]++
		case b.Free && b.List == "quarantine" && b.Size > 40:
			freed = b
		case !b.Free && used.Size == 0 && b.Size > 100 && b.Size < 300: // it has a header of its own behind the chunk's beginning
			used = b
		}
		return true
	})
	if used.Size == 0 || freed.Size == 0 || kinds[""] < 1000 || kinds["free slot"] == 0 || len(h.Damages()) != 0 {
		t.Fatalf("%+v, %+v, %v, %+v", used, freed, kinds, h.Damages())
	}
	if s, ok := h.History(used); !ok || s.How != "malloc" || s.Freed != nil {
		t.Errorf("%+v, %v", s, ok)
	}
	if s, ok := h.History(freed); !ok || s.Freed == nil {
		t.Errorf("%+v, %v", s, ok)
	}
	word := func(at uint64) uint64 {
		low, _ := p.ReadWord(at)
		high, _ := p.ReadWord(at + 4)
		return low | high<<32
	}
	for what, words := range map[string]map[uint64]uint64{
		"no state": {used.Start - 16: word(used.Start-16)&^0xff | 7},
		"too long": {used.Start - 16: word(used.Start-16) | 0xffff<<32},
		"no kind":  {used.Start - 16: word(used.Start-16) &^ 0x300},
	} {
		h := asan.Find(heaptest.Changed(p, words), asan.Options{})
		if h == nil {
			t.Fatal(what)
		}
		if b, ok := h.BlockAt(used.Start); ok || len(h.Damages()) != 1 {
			t.Errorf("%s: %+v, %v, %+v", what, b, ok, h.Damages())
		}
	}
	bare := *rec
	bare.Maps = slices.DeleteFunc(slices.Clone(rec.Maps), func(m libstate.Mapping) bool { return m.Start < 0x40000000 })
	if asan.Find(bare.Process(), asan.Options{}) != nil {
		t.Error("a heap without a shadow")
	}
}

func FuzzMemory32(f *testing.F) {
	heaptest.Fuzz(f, heaptest.Recorded(f, "asan32").Cut(), func(p heap.Process) heap.Allocator {
		if h := asan.Find(p, asan.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}

// TestCut: fuzzed recordings have a heap.
func TestCut(t *testing.T) {
	for _, name := range []string{"asan", "asan32"} {
		h := asan.Find(heaptest.Recorded(t, name).Cut().Process(), asan.Options{Blocks: 1 << 13})
		if h == nil {
			t.Fatal(name)
		}
		n := 0
		h.Blocks(func(heap.Block) bool { n++; return true })
		if n < 500 {
			t.Errorf("%s: %d blocks", name, n)
		}
	}
}
