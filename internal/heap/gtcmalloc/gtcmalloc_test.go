package gtcmalloc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/gtcmalloc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// releases are directories, each with the archives of a release of the allocator and of Abseil, libtcm.a and libabsl.a, with debugging information.
const releases = "COREWALK_GTCMALLOC"

// linked are the compiler's flags for a program with a release.
func linked(dir string) []string {
	return []string{"-Wl,--whole-archive", filepath.Join(dir, "libtcm.a"), "-Wl,--no-whole-archive", filepath.Join(dir, "libabsl.a"), "-lstdc++", "-lm"}
}

// most is the size of the next class, or page.
func most(_ heap.Block, size uint64) uint64 { return max(size+size/3+64, size+(1<<13)-1) }

// perProcessor makes the C library leave to the allocator what caches of processors need; else threads have caches.
const perProcessor = "GLIBC_TUNABLES=glibc.pthread.rseq=0"

// Every block that a program holds is found with its size, and what it gave back is free, though processors and threads keep it.
func TestReleases(t *testing.T) {
	for _, dir := range filepath.SplitList(os.Getenv(releases)) {
		for _, env := range [][]string{nil, {perProcessor}} {
			for _, c := range []heaptest.Program{{Threads: 1, Rounds: 20000}, {Threads: 8, Rounds: 20000}, {Threads: 1, Rounds: 300}} {
				t.Run(fmt.Sprintf("%s/%d/%d/%d", filepath.Base(filepath.Dir(dir)), len(env), c.Threads, c.Rounds), func(t *testing.T) {
					c.Env, c.Flags = env, linked(dir)
					core, held := c.Crash(t)
					p, names := heaptest.OpenDescribed(t, core)
					h, err := gtcmalloc.Find(p, names, gtcmalloc.Options{})
					if h == nil {
						t.Fatal(err)
					}
					heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads})
				})
			}
		}
	}
}
