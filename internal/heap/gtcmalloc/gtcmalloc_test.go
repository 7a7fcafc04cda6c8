package gtcmalloc_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/gtcmalloc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/procmem"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// most is the size of the next class, or page.
func most(_ heap.Block, size uint64) uint64 { return max(size+size/3+64, size+(1<<13)-1) }

// perProcessor makes the C library leave to the allocator what caches of processors need; else threads have caches.
const perProcessor = "GLIBC_TUNABLES=glibc.pthread.rseq=0"

// Every block that a program holds is found with its size, and what it gave back is free, though processors and threads keep it; with debugging information,
// and, of releases that the table has, with symbols only. So are blocks that were chosen to be sampled, or to be guarded.
func TestReleases(t *testing.T) {
	for _, dir := range heaptest.GoogleReleases() {
		for name, c := range map[string]heaptest.Program{
			"one":     {Threads: 1, Rounds: 20000},
			"many":    {Threads: 8, Rounds: 20000},
			"few":     {Threads: 1, Rounds: 300},
			"symbols": {Threads: 8, Rounds: 20000, Flags: []string{"-Wl,-S"}},
			"sampled": {Threads: 8, Rounds: 20000, Source: "heap/sampled.c"},
		} {
			for caches, env := range map[string][]string{"threads": nil, "processors": {perProcessor}} {
				t.Run(filepath.Base(dir)+"/"+name+"/"+caches, func(t *testing.T) {
					c := c
					c.Env, c.Flags = env, append(heaptest.Google(dir), c.Flags...)
					core, held := c.Crash(t)
					h, err := gtcmalloc.Find(heaptest.OpenDescribed(t, core), gtcmalloc.Options{})
					if h == nil {
						t.Fatal(err)
					}
					lists := heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads})
					if c.Rounds > 300 && (lists["processor cache"] > 0) != (caches == "processors") || lists["thread cache"] == 0 && caches == "threads" {
						t.Errorf("lists: %v", lists)
					}
					if sampled, guarded := h.Chosen(); c.Source != "" && (sampled < 10 || guarded < 5 && filepath.Base(dir) != "2023-10") { // which guards few blocks that one stack allocates
						t.Errorf("%d blocks are sampled, %d guarded", sampled, guarded)
					}
				})
			}
		}
	}
}

// At whichever moment a program is stopped, what it holds is in use and has its size, and next to nothing else is.
func TestMoments(t *testing.T) {
	for _, dir := range heaptest.GoogleReleases() {
		for caches, env := range map[string][]string{"threads": nil, "processors": {perProcessor}} {
			for _, threads := range []int{1, 8} {
				for seed := range 6 {
					t.Run(fmt.Sprintf("%s/%s/%d/%d", filepath.Base(dir), caches, threads, seed), func(t *testing.T) {
						exe := fixture.Compile(t, "gcc", "heap/moments.c", append([]string{"-O1", "-pthread"}, heaptest.Google(dir)...)...)
						log := filepath.Join(t.TempDir(), "log")
						core := fixture.Crash(t, env, exe, log, fmt.Sprint(seed), fmt.Sprint(threads), fmt.Sprint(3000+7919*seed*seed))
						p := heaptest.OpenDescribed(t, core)
						h, err := gtcmalloc.Find(p, gtcmalloc.Options{})
						if h == nil {
							t.Fatal(err)
						}
						table := heaptest.Logged(t, log)[0]
						held := map[uint64]bool{}
						mem := procmem.Of(p)
						for i := range table.Size {
							at := mem.Word(table.Addr + 16*i)
							if at == 0 {
								continue
							}
							size := mem.Word(table.Addr + 16*i + 8)
							held[at] = true
							if b, ok := h.BlockAt(at); !ok || b.Free || b.Own || b.Start != at || b.Size < size || b.Size > most(b, size) {
								t.Errorf("%#x of %d bytes: %+v, %v", at, size, b, ok)
							}
						}
						others, used := 0, 0
						h.Blocks(func(b heap.Block) bool {
							if !b.Free && !b.Own {
								if used++; !held[b.Start] {
									others++
								}
							}
							return true
						})
						d := h.Damages()
						if others > 20+6*threads+limit*min(threads, 2) || len(d) > min(threads, 2) {
							t.Errorf("%d of %d blocks in use nobody holds; %+v", others, used, d)
						}
						t.Logf("%d held, %d in use, of others %d, damages %d", len(held), used, others, len(d))
					})
				}
			}
		}
	}
}

// limit is how many blocks a thread has in its hands while it moves them between caches.
const limit = 128

func find(p heap.Process) heap.Allocator {
	if h, _ := gtcmalloc.Find(p, gtcmalloc.Options{}); h != nil {
		return h
	}
	return nil
}

// recordings are of 2026 and 2022, with caches of processors, and of 2021, with those of threads. All have symbols only.
var recordings = map[string]struct {
	used             int
	sampled, guarded int
	all              string
}{
	"gtcmalloc":   {heaptest.Held64 + 4, 27, 9, "map[:1338 processor cache:251 span:1798 transfer cache:97] 396176 b4e0b2ae"},
	"gtcmalloc21": {heaptest.Held64 + 3, 16, 0, "map[:1337 own:12 span:1049 thread cache:167] 206320 2ceed558"},
	"gtcmalloc22": {heaptest.Held64 + 3, 18, 0, "map[:1337 own:14 processor cache:471 span:1747 transfer cache:64] 672512 03ab2ccf"},
}

// Recordings of processes have as many blocks in use as these held, and some of the C library's. Some are sampled, or guarded. Whoever asks about one block
// before all are known is told the same.
func TestRecorded(t *testing.T) {
	for name, want := range recordings {
		t.Run(name, func(t *testing.T) {
			heaptest.CheckRecorded(t, name, find, want.used)
			open := func() *gtcmalloc.Heap {
				h, err := gtcmalloc.Find(heaptest.Recorded(t, name).Process(), gtcmalloc.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			h, one := open(), open()
			lists, sum, n := map[string]int{}, crc32.NewIEEE(), 0
			for b := range h.Blocks {
				what := b.List
				if b.Own {
					what = "own"
				}
				lists[what]++
				fmt.Fprintln(sum, b)
				if n++; n%20 == 0 && b.List != "free span" {
					for _, at := range []uint64{b.Start, b.End() - 1} {
						if got, ok := one.BlockAt(at); !ok || got != b {
							t.Errorf("%#x: %+v, want %+v", at, got, b)
						}
					}
				}
			}
			size := uint64(0)
			for _, r := range h.Records() {
				size += r[1] - r[0]
				fmt.Fprintln(sum, r)
			}
			if got := fmt.Sprintf("%v %d %08x", lists, size, sum.Sum32()); got != want.all {
				t.Errorf("%s, want %s", got, want.all)
			}
			if sampled, guarded := h.Chosen(); sampled != want.sampled || guarded != want.guarded {
				t.Errorf("%d blocks are sampled, %d guarded", sampled, guarded)
			}
			if d := h.Damages(); len(d) > 0 {
				t.Errorf("%+v", d)
			}
		})
	}
}

func FuzzMemory(f *testing.F) { fuzz(f, "gtcmalloc") }

func FuzzMemory21(f *testing.F) { fuzz(f, "gtcmalloc21") }

func FuzzMemory22(f *testing.F) { fuzz(f, "gtcmalloc22") }

func fuzz(f *testing.F, name string) {
	heaptest.Fuzz(f, heaptest.Recorded(f, name), func(p heap.Process) heap.Allocator {
		if h, _ := gtcmalloc.Find(p, gtcmalloc.Options{Blocks: 1 << 13}); h != nil {
			return h
		}
		return nil
	})
}
