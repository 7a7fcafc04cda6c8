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

	"github.com/corewalk/corewalk/tasks"
)

// asyncRecordings are of testdata/async.js.
var asyncRecordings = []string{"node18-async.zst", "node20-async.zst", "node22-async.zst", "node24-async.zst"}

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
			what = fmt.Sprintf("%s %s %v", w.Object.Type, w.Kind, w.Proved)
		}
		out = append(out, strings.Join(line, " < ")+" waits for "+what)
	}
	slices.Sort(out)
	return out
}

func (r *recorded) tasks(tb testing.TB) []string { return listed(tb, r.script()) }

// TestAsyncRecordings finds async functions in recorded memory of real programs.
func TestAsyncRecordings(t *testing.T) {
	for _, name := range asyncRecordings {
		t.Run(name, func(t *testing.T) {
			r := read(t, name)
			got := r.tasks(t)
			if !slices.Equal(got, r.Tasks) || len(got) < 8 {
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
	for _, name := range asyncRecordings {
		r := read(t, name)
		r.tasks(t)
		usual := r.reads
		pages := slices.Sorted(maps.Keys(r.Pages))
		rng := rand.New(rand.NewPCG(3, 4))
		for range 60 {
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
	for _, name := range asyncRecordings {
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
