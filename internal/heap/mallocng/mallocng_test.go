package mallocng_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/mallocng"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// Every block that a program holds is found with exactly its size, and what it gave back is free.
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
			t.Parallel()
			c.Compiler = "musl-gcc"
			p, held := heaptest.Crash(t, c.Program)
			h := mallocng.Find(p, mallocng.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			exactly := func(_ heap.Block, size uint64) uint64 { return size }
			if lists := heaptest.Check(t, h, held, heaptest.Rule{Most: exactly, Others: 20 + 4*c.Threads}); lists["free slot"] == 0 {
				t.Error("no slot is free")
			}
		})
	}
}

// A static program that gives nothing back has musl's simple malloc, whose blocks have no records.
func TestSimple(t *testing.T) {
	exe := fixture.Compile(t, "musl-gcc", "heap/keeps.c", "-static")
	if h := mallocng.Find(heaptest.Open(t, fixture.Crash(t, nil, exe)), mallocng.Options{}); h != nil {
		t.Error("a heap is found")
	}
}

// Blocks are found whatever they are aligned to, and who wrote past the end of one is named.
func TestOverrun(t *testing.T) {
	exe := fixture.Compile(t, "musl-gcc", "heap/overrun.c")
	log := filepath.Join(t.TempDir(), "log")
	h := mallocng.Find(heaptest.Open(t, fixture.Crash(t, nil, exe, log)), mallocng.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	held := heaptest.Logged(t, log)
	blocks := map[uint64]heap.Block{}
	h.Blocks(func(b heap.Block) bool { blocks[b.Start] = b; return true })
	for _, w := range held {
		if b := blocks[w.Addr]; b.Size != w.Size || b.Free {
			t.Errorf("%+v, want %+v", b, w)
		}
	}
	bad := held[len(held)-1]
	d := h.Damages()
	if len(d) != 1 || d[0].Before.Start != bad.Addr || d[0].Before.Size != 30 || d[0].At != bad.Addr+30 {
		t.Errorf("%+v, want one past the end of %+v", d, bad)
	}
}

func FuzzMemory(f *testing.F) {
	heaptest.Fuzz(f, heaptest.Recorded(f, "mallocng"), func(p heap.Process) heap.Allocator {
		if h := mallocng.Find(p, mallocng.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}
