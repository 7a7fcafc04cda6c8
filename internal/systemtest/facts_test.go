package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// asked are reports of many kinds: of one thread and of all, with few variables and with all, for text and for JSON.
func asked(died unwind.ThreadID) []corewalk.AnalyzeOptions {
	one := []unwind.ThreadID{died}
	return []corewalk.AnalyzeOptions{
		{},
		{Threads: one, Locals: corewalk.LocalsNone},
		{Threads: one, Locals: corewalk.LocalsNone, NoTasks: true, MaxFrames: 3},
		{Locals: corewalk.LocalsNone, NoBlame: true},
		{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}, Include: corewalk.Include{Code: true, Memory: true}},
		{For: report.TextOptions{}},
		{For: report.ForJSON{}},
		{Threads: one},
	}
}

// TestReportsOfFacts: what a report says does not depend on the reports that were asked for before.
func TestReportsOfFacts(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	for i, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		if i%6 != 0 && c.Name != "amd64-passed-O2" && !fixture.IsLong(t) { // there frames are evaluated with the registers of a fault
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			target := openCase(t, c)
			died, _ := target.ProcessState().DefaultThread()
			options := asked(died)
			want := make([]string, len(options))
			for i, o := range options {
				r, err := target.Analyze(t.Context(), o)
				want[i] = written(t, r, err)
			}
			rounds := 1
			if fixture.IsLong(t) {
				rounds = 6
			}
			for round := range rounds {
				facts, err := target.Facts(corewalk.FactsOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer facts.Close()
				var asked []int
				for _, i := range rand.New(rand.NewPCG(uint64(i), uint64(round))).Perm(len(options)) {
					asked = append(asked, i)
					r, err := facts.Analyze(context.Background(), options[i])
					if got := written(t, r, err); got != want[i] {
						t.Errorf("options %v: %s", asked, difference(got, want[i]))
					}
				}
			}
		})
	}
}

// TestCutStacks: what is said of a stack does not depend on how much of it was walked and named before.
func TestCutStacks(t *testing.T) {
	t.Parallel()
	for i, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		if i%6 != 1 && c.Name != "amd64-passed-O2" && !fixture.IsLong(t) {
			continue
		}
		target := openCase(t, c)
		died, err := target.ProcessState().DefaultThread()
		if err != nil {
			continue
		}
		told := func(parts ...int) string {
			facts, err := target.Facts(corewalk.FactsOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer facts.Close()
			for _, n := range parts {
				s := facts.Thread(died)
				if _, _, err := s.Entries(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				s.EntryVariables(n)
			}
			s := facts.Thread(died)
			list, _, err := s.Entries(t.Context(), 400)
			if err != nil {
				t.Fatal(err)
			}
			list = slices.Clone(list[:min(len(list), 40)])
			for k := range list {
				list[k].Args, list[k].Locals = s.EntryVariables(k)
			}
			return written(t, &report.Report{Threads: []report.Thread{{Frames: list}}}, nil)
		}
		want := told()
		for _, parts := range [][]int{{0}, {1, 2, 3}, {5, 20}} {
			if got := told(parts...); got != want {
				t.Errorf("%s after %v: %s", c.Name, parts, difference(got, want))
			}
		}
	}
}

// written is a report as JSON, or the error.
func written(t *testing.T, r *report.Report, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// difference is where two texts differ.
func difference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	from := max(0, n-200)
	return fmt.Sprintf("got ...%.400s\nwant ...%.400s", got[from:], want[from:])
}

// TestFactsKeepLittle: of a stack too deep to be kept nothing stays when its report is made.
func TestFactsKeepLittle(t *testing.T) {
	target := openCase(t, fixture.Get(t, "amd64-recursion-12000"))
	for _, o := range []corewalk.AnalyzeOptions{{Locals: corewalk.LocalsAll}, {Locals: corewalk.LocalsNone}} {
		keepsLittle(t, target, o)
	}
}

func keepsLittle(t *testing.T, target *corewalk.Target, o corewalk.AnalyzeOptions) {
	t.Helper()
	if _, err := target.Analyze(t.Context(), o); err != nil { // what is known of files stays
		t.Fatal(err)
	}
	facts, err := target.Facts(corewalk.FactsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	before, _ := held(t)
	r, err := facts.Analyze(t.Context(), o)
	if err != nil || len(r.Threads[0].Frames) < 12000 {
		t.Fatal(err)
	}
	r = nil
	if after, _ := held(t); after > before+1<<20 {
		t.Errorf("%d bytes stay", after-before)
	}
}
