package scudo_test

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/scudo"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// Every block that a program holds is found with its size, small and large, and what it gave back is free.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name, arch, options string
		heaptest.Program
	}{
		{"one thread", "x86_64", "", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", "x86_64", "", heaptest.Program{Threads: 8, Rounds: 20000}},
		{"few", "x86_64", "", heaptest.Program{Threads: 1, Rounds: 300}},
		{"quarantine", "x86_64", "quarantine_size_kb=256:thread_local_quarantine_size_kb=64:quarantine_max_chunk_size=2048", heaptest.Program{Threads: 2, Rounds: 5000}},
		{"given back at once, and guarded", "x86_64", "release_to_os_interval_ms=0:GWP_ASAN_SampleRate=20:GWP_ASAN_MaxSimultaneousAllocations=60", heaptest.Program{Threads: 2, Rounds: 20000}},
		{"32 bits", "i386", "GWP_ASAN_SampleRate=20", heaptest.Program{Threads: 1, Rounds: 20000, Flags: []string{"-m32"}}},
		{"32 bits, eight threads", "i386", "", heaptest.Program{Threads: 8, Rounds: 5000, Flags: []string{"-m32"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.Env = heaptest.Scudo(t, c.arch, c.options)
			p, held := heaptest.Crash(t, c.Program)
			h := scudo.Find(p, scudo.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			lists := heaptest.Check(t, h, held, heaptest.Rule{Most: func(_ heap.Block, size uint64) uint64 { return max(size, 1) }, Others: 20 + 4*c.Threads})
			if (c.options != "" && c.options[0] == 'q') != (lists["quarantine"] > 100) {
				t.Errorf("lists: %v", lists)
			}
			large, want := 0, 0
			h.Blocks(func(b heap.Block) bool {
				if b.Mapped {
					large++
				}
				return true
			})
			for _, x := range held {
				if !x.Free && x.Size > 131072 {
					want++
				}
			}
			if large < want || want == 0 && c.Rounds > 10000 {
				t.Errorf("%d large blocks, want %d", large, want)
			}
		})
	}
}

// TestRecorded: what is not right is a damage, and no block.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"scudo", "scudo32"} {
		p := heaptest.Recorded(t, name).Process()
		h := scudo.Find(p, scudo.Options{})
		if h == nil {
			t.Fatal("no heap")
		}
		word := uint64(p.Arch().WordSize)
		var first, second, big, guarded, freed heap.Block // two neighbours in use
		var last heap.Block
		whole := 0
		h.Blocks(func(b heap.Block) bool {
			whole++
			switch {
			case b.Mapped && b.Free:
				freed = b
			case b.Mapped && b.Size < 4096:
				guarded = b
			case b.Mapped:
				big = b
			case first.Size == 0 && !b.Free && last.Size > 40 && !last.Free && b.Start-last.Start < 300:
				first, second = last, b
			}
			last = b
			return true
		})
		if first.Size == 0 || big.Size == 0 || guarded.Size == 0 && freed.Size == 0 || len(h.Damages()) != 0 {
			t.Fatalf("%+v, %+v, %+v, %+v, %+v: %+v", first, second, big, guarded, freed, h.Damages())
		}
		at := second.Start - 2*word
		header, _ := p.ReadWord(at)
		if word == 4 {
			high, _ := p.ReadWord(at + 4)
			header |= high << 32
		}
		const class, state, size, offset = 1, 1 << 8, 1 << 12, 1 << 32
		for what, change := range map[string]uint64{
			"a wrong checksum":      header ^ 1<<48,
			"text":                  0x4141414141414141,
			"another class":         h.Signed(second.Start, header+class),
			"a size past its end":   h.Signed(second.Start, header|0xff<<20),
			"another beginning":     h.Signed(second.Start, header+offset),
			"a mark that lies":      0x44554353 | 0x7fff<<32,
			"a mark to no header":   0x44554353 | 1<<32,
			"given back (no fault)": h.Signed(second.Start, header&^(3*state)),
			"zero (no fault)":       0,
		} {
			words := map[uint64]uint64{at &^ 7: change}
			if at%8 != 0 {
				before, _ := p.ReadWord(at - 4)
				behind, _ := p.ReadWord(at + 8)
				words = map[uint64]uint64{at - 4: before | change<<32, at + 4: change>>32 | behind<<32}
			}
			h := scudo.Find(heaptest.Changed(p, words), scudo.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			b, ok := h.BlockAt(second.Start)
			d := h.Damages()
			n := 0
			h.Blocks(func(heap.Block) bool { n++; return true })
			if what[len(what)-1] == ')' {
				if !ok || !b.Free || len(d) != 0 || n != whole {
					t.Errorf("%s, %s: %+v, %v, %+v", name, what, b, ok, d)
				}
			} else if ok || len(d) != 1 || d[0].At != at || d[0].Before != first || n != whole-1 {
				t.Errorf("%s, %s: %+v, %v, %+v, %d of %d blocks", name, what, b, ok, d, n, whole)
			}
		}
		for what, words := range map[string]map[uint64]uint64{
			"a large block's header":           {(big.Start - 2*word) &^ 7: 0x4141414141414141},
			"a large block's mapping":          {(big.Start - 2*word - 4*word) &^ 7: 0x4141414141414141},
			"a large block's place in its map": {(big.Start - 2*word - 2*word) &^ 7: 0x4141414141414141},
		} {
			if b, ok := scudo.Find(heaptest.Changed(p, words), scudo.Options{}).BlockAt(big.Start + 9); ok {
				t.Errorf("%s, %s: %+v", name, what, b)
			}
		}
		if b, ok := h.BlockAt(big.Start + 9); !ok || b != big {
			t.Errorf("%s: %+v, %v", name, b, ok)
		}
	}
}

func FuzzMemory(f *testing.F) { fuzz(f, "scudo") }

func FuzzMemory32(f *testing.F) { fuzz(f, "scudo32") }

func fuzz(f *testing.F, name string) {
	heaptest.Fuzz(f, heaptest.Recorded(f, name).Cut(), func(p heap.Process) heap.Allocator {
		if h := scudo.Find(p, scudo.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}
