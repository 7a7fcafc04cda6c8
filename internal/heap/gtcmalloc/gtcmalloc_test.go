package gtcmalloc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/gtcmalloc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// most is the size of the next class, or page.
func most(_ heap.Block, size uint64) uint64 { return max(size+size/3+64, size+(1<<13)-1) }

// perProcessor makes the C library leave to the allocator what caches of processors need; else threads have caches.
const perProcessor = "GLIBC_TUNABLES=glibc.pthread.rseq=0"

// Every block that a program holds is found with its size, and what it gave back is free, though processors and threads keep it; with debugging information,
// and, of releases that the table has, with symbols only. So are blocks that were chosen to be sampled, or to be guarded.
func TestReleases(t *testing.T) {
	for _, dir := range filepath.SplitList(os.Getenv(gtcmalloc.Releases)) {
		for name, c := range map[string]heaptest.Program{
			"one":       {Threads: 1, Rounds: 20000},
			"many":      {Threads: 8, Rounds: 20000},
			"few":       {Threads: 1, Rounds: 300},
			"symbols":   {Threads: 8, Rounds: 20000, Flags: []string{"-Wl,-S"}},
			"sampled":   {Threads: 8, Rounds: 20000, Source: "heap/sampled.c"},
			"sampled 1": {Threads: 1, Rounds: 5000, Source: "heap/sampled.c"},
		} {
			for caches, env := range map[string][]string{"threads": nil, "processors": {perProcessor}} {
				t.Run(filepath.Base(dir)+"/"+name+"/"+caches, func(t *testing.T) {
					c := c
					c.Env, c.Flags = env, append(gtcmalloc.Linked(dir), c.Flags...)
					core, held := c.Crash(t)
					h, err := gtcmalloc.Find(heaptest.OpenDescribed(t, core), gtcmalloc.Options{})
					if h == nil {
						t.Fatal(err)
					}
					lists := heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads})
					if c.Rounds > 300 && (lists["processor cache"] > 20) != (caches == "processors") || lists["thread cache"] == 0 && caches == "threads" {
						t.Errorf("lists: %v", lists)
					}
					if sampled, guarded := h.Chosen(); c.Source != "" && (sampled < 10 || guarded < 5) {
						t.Errorf("%d blocks are sampled, %d guarded", sampled, guarded)
					}
				})
			}
		}
	}
}
