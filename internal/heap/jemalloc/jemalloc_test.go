package jemalloc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/jemalloc"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

const library, debian = "libjemalloc.so.2", "libjemalloc2"

// most is the size of the next class.
func most(_ heap.Block, size uint64) uint64 { return max(size+size/4, size+15, 8) }

// Every block that a program holds is found with its size, and what it gave back is free, though threads keep it.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		conf string
		heaptest.Program
	}{
		{"one thread", "", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", "", heaptest.Program{Threads: 8, Rounds: 20000}},
		{"few", "", heaptest.Program{Threads: 1, Rounds: 300}},
		{"no caches", "tcache:false", heaptest.Program{Threads: 2, Rounds: 5000}},
		{"one arena", "narenas:1", heaptest.Program{Threads: 4, Rounds: 5000}},
		{"given back at once", "dirty_decay_ms:0,muzzy_decay_ms:0", heaptest.Program{Threads: 2, Rounds: 20000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.Env = heaptest.Preload(t, library, debian)
			if c.conf != "" {
				c.Env = append(c.Env, "MALLOC_CONF="+c.conf)
			}
			p, held := heaptest.Crash(t, c.Program)
			h := jemalloc.Find(p, jemalloc.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			lists := heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads})
			if c.conf != "tcache:false" && c.Rounds > 300 && lists["thread cache"] < 20*c.Threads {
				t.Errorf("lists: %v", lists)
			}
		})
	}
}

// The same holds for other releases.
func TestReleases(t *testing.T) {
	heaptest.CheckReleases(t, "COREWALK_JEMALLOC", find, most)
}

func find(p heap.Process) heap.Allocator {
	if h := jemalloc.Find(p, jemalloc.Options{}); h != nil {
		return h
	}
	return nil
}

// Recordings of processes have as many blocks in use as these held, and some of the C library's.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]int{"jemalloc": heaptest.Held64 + 3, "jemalloc57": heaptest.Held64 + 2, "jemalloc64k": heaptest.Held64 + 2, "jemalloc32": heaptest.Held32 + 2, "jemalloc32_52": heaptest.Held32 + 4} {
		t.Run(name, func(t *testing.T) { heaptest.CheckRecorded(t, name, find, want) })
	}
}

// A block that was given back twice is twice in the cache of its thread.
func TestTwice(t *testing.T) {
	env := heaptest.Preload(t, library, debian)
	exe := fixture.Compile(t, "gcc", "heap/twice.c")
	log := filepath.Join(t.TempDir(), "log")
	h := jemalloc.Find(heaptest.Open(t, fixture.Crash(t, env, exe, log)), jemalloc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	held := heaptest.Logged(t, log)
	bad := held[len(held)-1]
	d := h.Damages()
	if len(d) != 1 || d[0].Of.Start != bad.Addr || !d[0].Of.Free || d[0].Of.List != "thread cache" {
		t.Errorf("%+v, want %+v twice", d, bad)
	}
}

func FuzzMemory(f *testing.F) { fuzz(f, "jemalloc") }

func Fuzz57(f *testing.F) { fuzz(f, "jemalloc57") }

func Fuzz32(f *testing.F) { fuzz(f, "jemalloc32") }

func fuzz(f *testing.F, name string) {
	heaptest.Fuzz(f, heaptest.Recorded(f, name), func(p heap.Process) heap.Allocator {
		if h := jemalloc.Find(p, jemalloc.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}
