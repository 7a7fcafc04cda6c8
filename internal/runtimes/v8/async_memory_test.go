package v8

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// asyncRecordings are of testdata/async.js, and of testdata/idle.js.
var asyncRecordings = []string{"node18-async.zst", "node20-async.zst", "node22-async.zst", "node24-async.zst"}
var idleRecordings = []string{"node18-idle.zst", "node20-idle.zst", "node22-idle.zst", "node24-idle.zst"}

// listed writes async functions in lines, sorted; each with what it awaits.
func listed(tb testing.TB, j *JavaScript) (out []string) {
	for task, err := range j.Tasks(context.Background()) {
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		var line []string
		for _, f := range task.Suspended {
			line = append(line, fmt.Sprintf("%s %s:%d %v", f.Function, path.Base(f.File), f.Line, f.Approximate))
		}
		what := "nothing"
		if w := task.Wait; w != nil {
			what = fmt.Sprintf("%s %s %v %s %v %d", w.Object.Type, w.Kind, w.Proved, w.Object.Detail, w.All, len(w.Holders))
		}
		out = append(out, strings.Join(line, " < ")+" waits for "+what)
	}
	slices.Sort(out)
	return out
}

func (r *recorded) tasks(tb testing.TB) []string { return listed(tb, r.script()) }

// TestAsyncRecordings finds async functions in recorded memory of real programs.
func TestAsyncRecordings(t *testing.T) {
	for _, name := range slices.Concat(asyncRecordings, idleRecordings) {
		t.Run(name, func(t *testing.T) {
			r := read(t, name)
			got := r.tasks(t)
			if !slices.Equal(got, r.Tasks) || len(got) < 7 {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(r.Tasks, "\n"))
			}
		})
	}
}

// suspendedIn are the async functions of a recording some of whose words are others, by the name of the one that nothing awaits.
func (r *recorded) suspendedIn(t *testing.T, words map[uint64]uint64) map[string]*tasks.Task {
	out := map[string]*tasks.Task{}
	for task, err := range r.changed(words).script().Tasks(context.Background()) {
		if err != nil {
			t.Error(err)
			continue
		}
		out[task.Suspended[len(task.Suspended)-1].Function] = task
	}
	return out
}

// TestAsyncGuards: what does not look like a suspended function in every way is none, and circles end.
func TestAsyncGuards(t *testing.T) {
	for _, name := range asyncRecordings {
		t.Run(name, func(t *testing.T) { asyncGuards(t, read(t, name)) })
	}
}

func asyncGuards(t *testing.T, r *recorded) {
	all := r.suspendedIn(t, nil)
	arrow, outer := all["arrow"], all["outer"]
	if arrow == nil || outer == nil || arrow.Wait == nil {
		t.Fatalf("functions are missing: %v", all)
	}
	g := arrow.ID
	for name, words := range map[string]map[uint64]uint64{
		"it runs":                     {g + 64: 1<<64 - 2<<32},
		"its state is no number":      {g + 64: g + 1},
		"it is behind its bytecode":   {g + 48: 1 << 50},
		"its place is no number":      {g + 48: g + 1},
		"what it saved is no array":   {g + 72: g + 1},
		"it has saved too few values": {r.word(g+72) - 1 + 8: 0},
		"it has saved too many":       {r.word(g+72) - 1 + 8: 100 << 32},
		"its function is none":        {g + 24: g + 1},
		"it has no map":               {g: 0},
	} {
		if f := r.suspendedIn(t, words)["arrow"]; f != nil {
			t.Errorf("%s, but it is listed: %+v", name, f.Suspended)
		}
	}
	p := uint64(arrow.Wait.Object.Address)
	for name, words := range map[string]map[uint64]uint64{
		"the promise is fulfilled":    {p + 32: 1 << 32},
		"it is no promise":            {p: 0},
		"its reactions are something": {p + 24: p + 1},
	} {
		if f := r.suspendedIn(t, words)["arrow"]; f != nil && f.Wait != nil {
			t.Errorf("%s, but awaited", name)
		}
	}
	reaction := r.word(p + 24)
	circle := r.suspendedIn(t, map[uint64]uint64{reaction - 1 + 8: reaction, reaction - 1 + 16: reaction})
	if circle["order"] == nil {
		t.Error("a circle of reactions hides the functions that await other promises")
	}
}

// TestAsyncDamaged damages the memory in which async functions are. The search must end, and not take much longer.
func TestAsyncDamaged(t *testing.T) {
	rounds := 60
	if !fixture.IsLong(t) {
		rounds /= 3
	}
	for _, name := range slices.Concat(asyncRecordings, idleRecordings) {
		r := read(t, name)
		r.tasks(t)
		usual := r.reads
		pages := slices.Sorted(maps.Keys(r.Pages))
		rng := rand.New(rand.NewPCG(3, 4))
		for range rounds {
			words := map[uint64]uint64{}
			for range 1 + rng.IntN(40) {
				at := pages[rng.IntN(len(pages))] + rng.Uint64N(page)&^7
				switch v := r.Pages[at&^(page-1)][at%page:]; rng.IntN(4) {
				case 0:
					words[at] = ^uint64(0)
				case 1:
					words[at] = at + 1 // a circle
				case 2:
					words[at] = pages[rng.IntN(len(pages))] + rng.Uint64N(page)&^7 + 1
				default:
					words[at] = binary.LittleEndian.Uint64(v) ^ 1<<rng.IntN(64)
				}
			}
			c := r.changed(words)
			c.tasks(t)
			if c.reads > 20*usual+100_000 {
				t.Fatalf("%s: %d reads, usually %d, with %#x", name, c.reads, usual, words)
			}
		}
	}
}

// FuzzAsync changes one word of the memory in which async functions are.
func FuzzAsync(f *testing.F) {
	var all []*recorded
	for _, name := range slices.Concat(asyncRecordings, idleRecordings) {
		all = append(all, read(f, name))
	}
	f.Add(uint(0), uint(3), uint(8), uint64(1))
	f.Add(uint(3), uint(9), uint(64), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, which, number, offset uint, v uint64) {
		r := all[which%uint(len(all))]
		pages := slices.Sorted(maps.Keys(r.Pages))
		c := r.changed(map[uint64]uint64{pages[number%uint(len(pages))] + uint64(offset)%page&^7: v})
		c.tasks(t)
	})
}

// Each guard keeps what is no Isolate, or none of its handles, from being searched.
func TestIsolateGuards(t *testing.T) {
	for _, name := range idleRecordings {
		t.Run(name, func(t *testing.T) { isolateGuards(t, read(t, name)) })
	}
}

func isolateGuards(t *testing.T, r *recorded) {
	// The Isolate, its handles, their space, its first block.
	var at, handles, space, block uint64
	var inIsolate, inHandles uint64 // where the next is
	for p := range r.Pages {
		for self := p; self < p+page; self += 16 {
			if r.word(self+isolateSelf) != self || r.word(self) == self {
				continue
			}
			for a := self; a < self+isolateSize; a += 8 {
				h := r.word(a)
				for i := uint64(8); i <= 8*handlesSpace && h >= firstAddress && r.word(h) == self; i += 8 {
					if s := r.word(h + i); s >= firstAddress && r.word(s) == h && block == 0 {
						at, inIsolate, inHandles, handles, space, block = self, a, h+i, h, s, r.word(s+8)
					}
				}
			}
		}
	}
	if block == 0 {
		t.Fatal("no handles")
	}
	found := func(words map[uint64]uint64) int {
		n := 0
		for _, err := range r.changed(words).script().Tasks(context.Background()) {
			if err == nil {
				n++
			}
		}
		return n
	}
	all := found(nil)
	if all < 20 {
		t.Fatalf("%d functions", all)
	}
	weak := map[uint64]uint64{}
	owned := map[uint64]uint64{}
	for b, i := block, 0; b != 0 && i < 100; b, i = r.word(b+blockHandles*handleSize), i+1 {
		for h := b; h < b+blockHandles*handleSize; h += handleSize {
			if w := r.word(h + 8); w>>24&handleStates == handleStrong {
				weak[h+8] = w&^(handleStates<<24) | 2<<24
			}
		}
		owned[b+blockHandles*handleSize+8] = at
	}
	inner := map[uint64]uint64{}
	for b := block; b != 0; b = r.word(b + blockHandles*handleSize) {
		inner[b+blockHandles*handleSize+16] = handles
	}
	for what, words := range map[string]map[uint64]uint64{
		"an Isolate that does not say that it is one": {at + isolateSelf: at + 16},
		"the head of an empty list":                   {at: at},
		"handles of another":                          {handles: at + 16},
		"a space of other handles":                    {space: at},
		"blocks of other handles":                     owned,
		"blocks of another space":                     inner,
		"weak handles":                                weak,
		"handles that are no address":                 {inIsolate: 7},
		"a space that is no address":                  {inHandles: 7},
	} {
		if n := found(words); n != 0 {
			t.Errorf("%s: %d functions", what, n)
		}
	}
	if n := found(map[uint64]uint64{block + blockHandles*handleSize: block}); n > all { // a circle
		t.Errorf("a circle of blocks: %d functions", n)
	}
}
