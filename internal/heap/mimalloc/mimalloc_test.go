package mimalloc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/mimalloc"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

const library, debian = "libmimalloc.so.2.0", "libmimalloc2.0"

// most is the next class, or half megabyte.
func most(_ heap.Block, size uint64) uint64 {
	if size > 128<<10 {
		return (size + 512<<10 - 1) &^ (512<<10 - 1)
	}
	return max(size+size/4, size+15, 8)
}

// Every block that a program holds is found with its size, and what it gave back is free, whichever list it is on.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		heaptest.Program
	}{
		{"one thread", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", heaptest.Program{Threads: 8, Rounds: 20000}},
		{"few", heaptest.Program{Threads: 1, Rounds: 300}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.Env = append(c.Env, heaptest.Preload(t, library, debian)...)
			p, held := heaptest.Crash(t, c.Program)
			h := mimalloc.Find(p, mimalloc.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			lists := heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads})
			if c.Rounds > 300 && lists["local free list"] < 10*c.Threads {
				t.Errorf("lists: %v", lists)
			}
		})
	}
}

// The same holds for other releases.
func TestReleases(t *testing.T) {
	heaptest.CheckReleases(t, "COREWALK_MIMALLOC", find, most)
}

func find(p heap.Process) heap.Allocator {
	if h := mimalloc.Find(p, mimalloc.Options{Blocks: 1 << 20}); h != nil {
		return h
	}
	return nil
}

// Recordings of processes with other releases have as many blocks in use as these held, and some of the C library's or their own.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]int{"mimalloc": heaptest.Held64 + 2, "mimalloc21": heaptest.Held64 + 2, "mimalloc24": heaptest.Held64 + 2, "mimalloc30": heaptest.Held64 + 2,
		"mimalloc34": heaptest.Held64 + 2, "mimalloc36": heaptest.Held64 + 4, // 3.6 has records of threads among them
		"mimalloc32": heaptest.Held32 + 2, "mimalloc32_34": heaptest.Held32 + 2} {
		t.Run(name, func(t *testing.T) { heaptest.CheckRecorded(t, name, find, want) })
	}
}

// A block that was given back twice is twice in the list of its page.
func TestTwice(t *testing.T) {
	env := heaptest.Preload(t, library, debian)
	exe := fixture.Compile(t, "gcc", "heap/twice.c")
	log := filepath.Join(t.TempDir(), "log")
	h := mimalloc.Find(heaptest.Open(t, fixture.Crash(t, env, exe, log)), mimalloc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	held := heaptest.Logged(t, log)
	bad := held[len(held)-1]
	d := h.Damages()
	if len(d) != 1 || d[0].Of.Start != bad.Addr || !d[0].Of.Free || d[0].Of.List != "local free list" {
		t.Errorf("%+v, want %+v twice", d, bad)
	}
}

func FuzzMemory(f *testing.F) { fuzz(f, "mimalloc") }

func FuzzMemory32(f *testing.F) { fuzz(f, "mimalloc32") }

func FuzzThree32(f *testing.F) { fuzz(f, "mimalloc32_34") }

func FuzzThree(f *testing.F) { fuzz(f, "mimalloc36") }

func fuzz(f *testing.F, name string) {
	heaptest.Fuzz(f, heaptest.Recorded(f, name), func(p heap.Process) heap.Allocator {
		if h := mimalloc.Find(p, mimalloc.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}

// TestSpans: what the program has is in the parts of memory that are told, which are apart; little else is.
func TestSpans(t *testing.T) {
	for _, name := range []string{"mimalloc", "mimalloc24", "mimalloc34", "mimalloc36", "mimalloc32", "mimalloc32_34"} {
		h := mimalloc.Find(heaptest.Recorded(t, name).Process(), mimalloc.Options{})
		if h == nil {
			t.Fatal("no heap")
		}
		all, used := h.Spans()
		within := func(list [][2]uint64, b heap.Block) bool {
			i := heap.Within(list, b.Start, func(r *[2]uint64) (start, end uint64) { return r[0], r[1] })
			return i >= 0 && b.End() <= list[i][1]
		}
		h.Blocks(func(b heap.Block) bool {
			if !within(all, b) || !b.Free && !within(used, b) {
				t.Errorf("%s: %+v is in none", name, b)
			}
			return true
		})
		total := [2]uint64{}
		for i, list := range [][][2]uint64{all, used} {
			for k, r := range list {
				if r[0] >= r[1] || k > 0 && r[0] < list[k-1][1] {
					t.Errorf("%s: %#x overlap", name, list)
				}
				total[i] += r[1] - r[0]
			}
		}
		if total[1] == 0 || total[1]*2 > total[0] {
			t.Errorf("%s: %d bytes of %d are in use", name, total[1], total[0])
		}
	}
}
