package oldmalloc_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/oldmalloc"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		heaptest.Program
	}{
		{"one thread", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", heaptest.Program{Threads: 8, Rounds: 20000}},
		{"few", heaptest.Program{Threads: 1, Rounds: 300}},
		{"static", heaptest.Program{Flags: []string{"-static"}, Threads: 2, Rounds: 5000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.Program = heaptest.OldMusl(t, "COREWALK_MUSL", c.Program)
			p, held := heaptest.Crash(t, c.Program)
			h := oldmalloc.Find(p, oldmalloc.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			most := func(b heap.Block, size uint64) uint64 {
				if b.Mapped {
					return size + 4096 + 31
				}
				return max(size+31+16, 16)
			}
			if lists := heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads}); lists["bin"] == 0 {
				t.Error("no block is free")
			}
		})
	}
}

// recorded opens the recording of a process. bytes are those of a word.
func recorded(t *testing.T, name string) (p heap.Process, word uint64) {
	p = heaptest.Recorded(t, name).Process()
	return p, uint64(p.Arch().WordSize)
}

// change is a process some of whose words, of its own size, are others.
func change(p heap.Process, words map[uint64]uint64) heap.Process {
	if p.Arch().WordSize == 8 {
		return heaptest.Changed(p, words)
	}
	pairs := map[uint64]uint64{}
	for at, v := range words {
		pair := at &^ 7
		if _, ok := pairs[pair]; !ok {
			low, _ := p.ReadWord(pair)
			high, _ := p.ReadWord(pair + 4)
			pairs[pair] = low | high<<32
		}
		shift := 8 * (at & 7)
		pairs[pair] = pairs[pair]&^(0xffffffff<<shift) | v&0xffffffff<<shift
	}
	return heaptest.Changed(p, pairs)
}

func all(t *testing.T, p heap.Process) (h *oldmalloc.Heap, blocks []heap.Block) {
	t.Helper()
	h = oldmalloc.Find(p, oldmalloc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	h.Blocks(func(b heap.Block) bool { blocks = append(blocks, b); return true })
	return h, blocks
}

// Recordings of processes of 64 and 32 bits have as many blocks in use as these held, and one of the C library's.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]int{"oldmalloc": 1334 + 1, "oldmalloc32": 1368 + 1} {
		h, blocks := all(t, heaptest.Recorded(t, name).Process())
		used := 0
		for _, b := range blocks {
			if !b.Free {
				used++
			} else if b.List != "bin" {
				t.Errorf("%s: %+v is in no list", name, b)
			}
			if got, ok := h.BlockAt(b.Start + b.Size/2); !ok || got != b {
				t.Errorf("%s: at %#x: %+v, want %+v", name, b.Start+b.Size/2, got, b)
			}
		}
		if d := h.Damages(); used != want || len(d) != 0 {
			t.Errorf("%s: %d blocks in use, want %d; damages %+v", name, used, want, d)
		}
	}
}

// Whoever wrote past the end of a block is named, and whose record was damaged; all other blocks are found.
func TestDamages(t *testing.T) {
	for _, name := range []string{"oldmalloc", "oldmalloc32"} {
		p, w := recorded(t, name)
		_, blocks := all(t, p)
		i := 200
		for ; blocks[i].Free || blocks[i+1].Free || blocks[i].End()+2*w != blocks[i+1].Start || blocks[i+2].Start != blocks[i+1].End()+2*w; i++ {
		}
		x, y := blocks[i], blocks[i+1]
		record := x.End() // of y
		size, _ := p.ReadWord(record + w)
		for _, c := range []struct {
			name  string
			words map[uint64]uint64
			want  heap.Damage
			lost  int // blocks
		}{
			{"what repeats the size", map[uint64]uint64{record: 0x41414141}, heap.Damage{At: record, Size: int(w), Before: x, Of: heap.Block{Start: y.Start}}, 0},
			{"the whole record", map[uint64]uint64{record: 0x41414141, record + w: 0x42424242}, heap.Damage{At: record, Size: int(2 * w), Before: x, Of: y}, 1},
			{"the size", map[uint64]uint64{record + w: size + 8*w}, heap.Damage{At: record + w, Size: int(w), Of: y}, 1},
			{"a wild size", map[uint64]uint64{record + w: 0x41414141}, heap.Damage{At: record + w, Size: int(w), Of: y}, 1},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				h, got := all(t, change(p, c.words))
				d := h.Damages()
				if len(d) != 1 {
					t.Fatalf("%+v", d)
				}
				if d := d[0]; d.At != c.want.At || d.Size != c.want.Size || d.Before != c.want.Before || d.Of != c.want.Of || d.Why == "" || d.Written {
					t.Errorf("%+v, want %+v", d, c.want)
				}
				if lost := len(blocks) - len(got); lost != c.lost {
					t.Errorf("%d blocks are lost, want %d", lost, c.lost)
				}
			})
		}
	}
}

// A block that was written to while it was free is named by its ring; a bin that leads nowhere is no block that was written to.
func TestWritten(t *testing.T) {
	for _, name := range []string{"oldmalloc", "oldmalloc32"} {
		p, w := recorded(t, name)
		_, blocks := all(t, p)
		// One that others are before and behind in its ring.
		i := slices.IndexFunc(blocks, func(b heap.Block) bool {
			next, _ := p.ReadWord(b.Start)
			prev, _ := p.ReadWord(b.Start + w)
			return b.Free && slices.ContainsFunc(blocks, func(o heap.Block) bool { return o.Start == next+2*w }) &&
				slices.ContainsFunc(blocks, func(o heap.Block) bool { return o.Start == prev+2*w })
		})
		b := blocks[i]
		first := b.Start // where the ring's bin has its first pointer
		for slices.ContainsFunc(blocks, func(o heap.Block) bool { return o.Start == first }) {
			prev, _ := p.ReadWord(first + w)
			first = prev + 2*w
		}
		for what, c := range map[string]struct{ at, value uint64 }{"next": {b.Start, 0x41414141}, "prev": {b.Start + w, 0x42424242}, "first": {first, 0x43434343}} {
			h, got := all(t, change(p, map[uint64]uint64{c.at: c.value}))
			d := h.Damages()
			if len(d) == 0 || d[0].At != c.at {
				t.Errorf("%s/%s: %+v", name, what, d)
				continue
			}
			if d := d[0]; d.Written != (what != "first") || what != "first" && d.Of.Start != b.Start {
				t.Errorf("%s/%s: %+v", name, what, d)
			}
			if len(got) != len(blocks) {
				t.Errorf("%s/%s: %d blocks, want %d", name, what, len(got), len(blocks))
			}
		}
	}
}

// Blocks are found whatever they are aligned to, and who wrote past the end of one is named.
func TestOverrun(t *testing.T) {
	c := heaptest.OldMusl(t, "COREWALK_MUSL", heaptest.Program{})
	exe := fixture.Compile(t, c.Compiler, "heap/overrun.c", c.Flags...)
	log := filepath.Join(t.TempDir(), "log")
	h, blocks := all(t, heaptest.Open(t, fixture.Crash(t, nil, exe, log)))
	held := heaptest.Logged(t, log)
	for _, w := range held {
		if !slices.ContainsFunc(blocks, func(b heap.Block) bool { return b.Start == w.Addr && b.Size >= w.Size && !b.Free }) {
			t.Errorf("%+v is not found", w)
		}
	}
	bad := held[len(held)-1]
	if d := h.Damages(); len(d) > 1 || len(d) == 1 && d[0].Before.Start != bad.Addr {
		t.Errorf("%+v, want one past the end of %+v", d, bad)
	}
}

func FuzzMemory(f *testing.F) {
	heaptest.Fuzz(f, heaptest.Recorded(f, "oldmalloc"), func(p heap.Process) heap.Allocator {
		if h := oldmalloc.Find(p, oldmalloc.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}
