package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
)

// liesOfEach is how many lies are told of each core; torture tells the others.
const liesOfEach = 30

// A word that leads to memory without an end, or says that there is as much as can be, costs no more than is allowed, whichever of those that a report reads.
func TestLies(t *testing.T) {
	fixture.Long(t)
	for _, b := range lieBases(tb{dir: t.TempDir()}, fixture.Cases(t)) {
		t.Run(b.name, func(t *testing.T) {
			r, err := b.ready(t.TempDir())
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
