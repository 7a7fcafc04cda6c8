package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// figures are what a worker tells the driver after each burst.
type figures struct {
	Burst int // that has ended
	Kind  string
	Whole bool // the inputs of this kind are whole reports, not parts of one
	// Of this burst:
	Inputs             int
	Panics, Recovered  int
	OverTime, OverSize int
	Fresh              int           // parts of the program that ran for the first time
	Time               time.Duration // of the processor, for all inputs
	WorstTime          time.Duration
	WorstBytes         uint64
	OverOutput         int
	WorstOutput        uint64
	SlowInput          *input `json:",omitempty"`
}

func (f *figures) add(g *figures) {
	f.Inputs += g.Inputs
	f.Panics += g.Panics
	f.Recovered += g.Recovered
	f.OverTime += g.OverTime
	f.OverSize += g.OverSize
	f.Fresh += g.Fresh
	f.Time += g.Time
	if g.WorstTime >= f.WorstTime {
		f.WorstTime, f.SlowInput = g.WorstTime, g.SlowInput
	}
	f.WorstBytes = max(f.WorstBytes, g.WorstBytes)
	f.OverOutput += g.OverOutput
	f.WorstOutput = max(f.WorstOutput, g.WorstOutput)
}

// A tally is what was counted in one run, or in several.
type tally struct {
	Kinds    map[string]*figures
	Verdicts map[string]int // by what and where
	Deaths   int            // of worker processes
	Took     time.Duration
}

func newTally() *tally { return &tally{Kinds: map[string]*figures{}, Verdicts: map[string]int{}} }

func (t *tally) count(f *figures) {
	k := t.Kinds[f.Kind]
	if k == nil {
		k = &figures{Kind: f.Kind, Whole: f.Whole}
		t.Kinds[f.Kind] = k
	}
	k.add(f)
}

func (t *tally) add(u *tally) {
	for _, f := range u.Kinds {
		t.count(f)
	}
	for key, n := range u.Verdicts {
		t.Verdicts[key] += n
	}
	t.Deaths += u.Deaths
	t.Took += u.Took
}

// inputs counts them all.
func (t *tally) inputs() (n int) {
	for _, f := range t.Kinds {
		n += f.Inputs
	}
	return n
}

// readTally reads what -figures keeps; nothing if there is no such file yet.
func readTally(path string) (*tally, error) {
	t := newTally()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// write replaces the file of -figures.
func (t *tally) write(path string) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// print writes a table: kinds of parts, then kinds of whole reports, each with its sum.
func (t *tally) print(w io.Writer) {
	fmt.Fprintf(w, "%-14s %10s %7s %10s %10s %12s %12s %9s %11s %9s %11s %10s\n", "kind", "inputs", "panics", "recovered", "over time", "over memory", "over output", "mean time", "worst time", "worst MB", "written MB", "new code")
	line := func(f *figures) {
		fmt.Fprintf(w, "%-14s %10d %7d %10d %10d %12d %12d %9v %11v %9d %11d %10d\n", f.Kind, f.Inputs, f.Panics, f.Recovered, f.OverTime, f.OverSize, f.OverOutput,
			(f.Time / time.Duration(max(1, f.Inputs))).Round(time.Microsecond), f.WorstTime.Round(time.Millisecond), f.WorstBytes>>20, f.WorstOutput>>20, f.Fresh)
	}
	sums := map[bool]*figures{false: {Kind: "all parts"}, true: {Kind: "all reports"}}
	all := &figures{Kind: "all"}
	rank := map[bool]int{true: 1}
	for _, f := range slices.SortedFunc(maps.Values(t.Kinds), func(a, b *figures) int {
		return cmp.Or(cmp.Compare(rank[a.Whole], rank[b.Whole]), cmp.Compare(a.Kind, b.Kind))
	}) {
		line(f)
		sums[f.Whole].add(f)
		all.add(f)
	}
	line(sums[false])
	line(sums[true])
	line(all)
	fmt.Fprintf(w, "%d worker processes died, %d ways to fail, %.0f inputs/s\n", t.Deaths, len(t.Verdicts), float64(all.Inputs)/max(t.Took, time.Second).Seconds())
	for _, key := range slices.Sorted(maps.Keys(t.Verdicts)) {
		fmt.Fprintf(w, "%8d %s\n", t.Verdicts[key], key)
	}
}
