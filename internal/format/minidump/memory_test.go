package minidump_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// fill makes n bytes that show their origin.
func fill(c byte, n int) []byte { return bytes.Repeat([]byte{c}, n) }

func read(f *minidump.File, addr uint64, n int) string {
	b := make([]byte, n)
	return string(b[:f.Memory.Read(addr, b)])
}

func TestMemoryOverlaps(t *testing.T) {
	d := windows()
	d.MemoryList(
		dumpbuild.Memory{Start: 0x100, Data: []byte("aaaa")},
		dumpbuild.Memory{Start: 0x104, Data: []byte("bbbb")},       // adjacent
		dumpbuild.Memory{Start: 0x102, Data: []byte("cccccccccc")}, // longer than both
		dumpbuild.Memory{Start: 0x200, Data: []byte("same")},
		dumpbuild.Memory{Start: 0x200, Data: []byte("diff")}, // equal: the first stands
		dumpbuild.Memory{Start: 0x300, Loc: &dumpbuild.Loc{}},
	)
	d.Memory64(
		dumpbuild.Memory{Start: 0x0fe, Data: []byte("64646464646464646464646464646464")},
		dumpbuild.Memory{Start: 0xffffffffffffffff - 3, Data: []byte("last")},
	)
	f := parse(t, d)
	if got := read(f, 0xfe, 64); got != "64aacccccccccc"+"646464646464646464" {
		t.Errorf("overlapping: %q", got)
	}
	if got := read(f, 0x200, 8); got != "same" {
		t.Errorf("equal: %q", got)
	}
	if got := read(f, 0xfffffffffffffffc, 8); got != "last" {
		t.Errorf("end of the address space: %q", got)
	}
	if f.Memory.At(0x300) != nil || f.Memory.At(0xfd) != nil {
		t.Error("bytes where there are none")
	}
	if a, ok := f.Memory.Next(0x150); a != 0x200 || !ok {
		t.Errorf("next after 0x150: %#x %v", a, ok)
	}
	if _, ok := f.Memory.Next(0); !ok {
		t.Error("nothing from 0 on")
	}
	warned(t, f, "memory ranges overlap others and have different bytes, the first at 0x100")
}

// Bytes that are in the file once are neither copied nor compared.
func TestMemorySharedBytes(t *testing.T) {
	d := windows()
	l := d.Blob([]byte("shared stack"))
	d.Threads(false, dumpbuild.Thread{ID: 1, StackStart: 0x1000, Stack: l})
	d.MemoryList(dumpbuild.Memory{Start: 0x1000, Loc: &l}, dumpbuild.Memory{Start: 0x1004, Loc: &dumpbuild.Loc{Size: 4, Off: l.Off + 4}})
	f := parse(t, d)
	if b := f.Memory.At(0x1000); len(b) != 12 || &b[0] != &f.Data[l.Off] {
		t.Errorf("%d bytes lie together", len(b))
	}
	if n := len(f.Memory.Spans()); n != 1 {
		t.Errorf("%d spans", n)
	}
	warned(t, f)
}

func TestMemory64CutOff(t *testing.T) {
	d := windows()
	d.Memory64(dumpbuild.Memory{Start: 0x1000, Data: fill('a', 64)}, dumpbuild.Memory{Start: 0x2000, Data: fill('b', 64)}, dumpbuild.Memory{Start: 0x3000, Data: fill('c', 64)})
	whole := d.Bytes()
	f, err := minidump.Parse(whole[:len(whole)-100])
	if err != nil {
		t.Fatal(err)
	}
	if read(f, 0x1000, 100) != string(fill('a', 64)) || read(f, 0x2000, 100) != string(fill('b', 28)) || read(f, 0x3000, 1) != "" {
		t.Error("wrong bytes of a dump that was cut off")
	}
	for addr, want := range map[uint64]bool{0x2000 + 27: false, 0x2000 + 28: true, 0x2000 + 63: true, 0x2000 + 64: false, 0x3000: true, 0x5000: false} {
		if f.Memory.Lost(addr) != want {
			t.Errorf("lost at %#x: %v", addr, !want)
		}
	}
	warned(t, f, "2 of 3 memory ranges are partly or completely past its end")
}

func TestMemory64Absurd(t *testing.T) {
	d := windows()
	d.Stream(9, d.W().U64(1<<60, 1<<63).U64(0x1000, 1<<63).U64(0x2000, 1<<63).U64(0xffffffffffffffff, ^uint64(0)).B)
	f := parse(t, d)
	if len(f.Memory.Spans()) != 0 || !f.Memory.Lost(0x1000) {
		t.Errorf("%d spans", len(f.Memory.Spans()))
	}
	d = windows()
	d.Stream(9, d.W().U64(1).B)
	warned(t, parse(t, d), "too short for a list")
}

// TestMemoryModel compares the index with a byte-by-byte model of its rule.
func TestMemoryModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		d := windows()
		type rng struct {
			start uint64
			data  []byte
			list  int
		}
		var all []rng
		var lists [2][]dumpbuild.Memory
		for i := range 1 + rnd.IntN(9) {
			r := rng{uint64(rnd.IntN(40)), fill(byte('a'+i), 1+rnd.IntN(20)), rnd.IntN(2)}
			all = append(all, r)
			lists[r.list] = append(lists[r.list], dumpbuild.Memory{Start: r.start, Data: r.data})
		}
		d.MemoryList(lists[0]...)
		d.Memory64(lists[1]...)
		f := parse(t, d)
		for addr := range uint64(64) {
			var best *rng
			for i := range all {
				r := &all[i]
				if addr < r.start || addr >= r.start+uint64(len(r.data)) {
					continue
				}
				if best == nil || r.list < best.list || r.list == best.list && len(r.data) > len(best.data) {
					best = r
				}
			}
			want, got := "", read(f, addr, 1)
			if best != nil {
				want = string(best.data[:1])
			}
			if got != want {
				t.Fatalf("round %d: at %d %q, want %q of %v", round, addr, got, want, fmt.Sprint(all))
			}
		}
		last := uint64(0)
		for i, s := range f.Memory.Spans() {
			if len(s.Data) == 0 || i > 0 && s.Start < last {
				t.Fatalf("round %d: span %d at %d, after %d", round, i, s.Start, last)
			}
			last = s.Start + uint64(len(s.Data))
		}
	}
}

// BenchmarkMemoryIndex indexes a dump of many tiny ranges, as dbghelp and Wine write them.
func BenchmarkMemoryIndex(b *testing.B) {
	d := windows()
	list := make([]dumpbuild.Memory, 7177)
	for i := range list {
		list[i] = dumpbuild.Memory{Start: uint64(i*7919%7177) * 32, Data: fill(1, 4+i%20)}
	}
	d.MemoryList(list...)
	data := d.Bytes()
	b.ResetTimer()
	for range b.N {
		if _, err := minidump.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
