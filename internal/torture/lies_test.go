package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
)

// liesOfEach is how many lies are told of each core; torture tells the others.
const liesOfEach = 30

// A word that leads to memory without an end, or says that there is as much as can be, costs no more than is allowed, whichever of those that a report reads.
func TestLies(t *testing.T) {
	fixture.Long(t)
	for _, b := range append(lieBases(tb{dir: t.TempDir()}, fixture.Cases(t)), builtLies(t)...) {
		t.Run(b.name, func(t *testing.T) {
			r, err := b.ready(t.TempDir())
			if errors.Is(err, errNothing) {
				t.Skip("of another word size or byte order")
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			kinds := len(lieWords(0))
			step := max(1, r.words*kinds/liesOfEach) | 1
			told, believed := 0, 0
			worst, most := time.Duration(0), uint64(0)
			for i := 0; i < r.words*kinds; i += step {
				took, bytes := time.Duration(math.MaxInt64), uint64(0)
				edits := r.lie(i/kinds, i%kinds)
				for tries := 0; tries < 2 && took > limitTime; tries++ {
					r.reads = &corestate.Reads{}
					before, cpu := allocated(), processorTime()
					written.Store(0)
					if err := r.run(edits, rand.New(rand.NewPCG(3, 0))); err != nil {
						t.Fatal(err)
					}
					took, bytes = min(took, processorTime()-cpu), allocated()-before
				}
				if r.believed() {
					believed++
				}
				told++
				worst, most = max(worst, took), max(most, bytes)
				if took > limitTime || bytes > limitAllocs || written.Load() > limitOutput {
					t.Errorf("%v, %d MB allocated, %d MB written, with word %d of %d and lie %d", took, bytes>>20, written.Load()>>20, i/kinds, r.words, i%kinds)
				}
			}
			t.Logf("%d words; of %d lies %d are believed; %d tasks; at most %v, %d MB", r.words, told, believed, len(r.last.Tasks), worst, most>>20)
		})
	}
}

// builtLies are programs whose tasks are found through the memory that a compiler's own library lays out.
func builtLies(t *testing.T) (list []base) {
	add := func(name string, build func(t *testing.T) string, args ...string) {
		// Not here: without a compiler, only this one is skipped.
		t.Run("build "+name, func(t *testing.T) {
			exe := build(t)
			data, err := os.ReadFile(fixture.Crash(t, nil, exe, args...))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, base{kind: "lies", name: name, ready: func(dir string) (*ready, error) {
				empty := filepath.Join(dir, "none")
				return lyingReady(data, dir, corewalk.FactsOptions{}, []corewalk.Option{corewalk.WithExecutable(exe)}, corewalk.WithDebugDir(empty))
			}})
		})
	}
	add("coroutines of C++", func(t *testing.T) string {
		return fixture.Compile(t, "g++", "tasks/coroutines.cpp", "-std=c++20", "-pthread", "-g")
	})
	add("futures of Rust", func(t *testing.T) string {
		return fixture.Compile(t, "rustc", "tasks/futures.rs", "--crate-name", "futures", "--edition", "2021", "-g")
	})
	for _, kind := range []string{"current_thread", "multi_thread"} {
		add("tokio "+kind, func(t *testing.T) string {
			return fixture.Cargo(t, "tasks/executor_tokio.rs", "tokio", `{ version = "1", features = ["rt-multi-thread", "time", "sync", "macros", "net"] }`, false)
		}, kind)
	}
	return list
}
