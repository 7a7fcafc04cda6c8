package systemtest

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// withoutRounds is report.ForJSON, but tasks share nothing and values are no trees.
type withoutRounds struct{ report.ForJSON }

func (withoutRounds) Needs() report.Needs {
	n := report.Whole{}.Needs()
	n.LeftOut = report.LeftOutRecursion
	return n
}

// A report without the variables of the middle rounds of a recursion is the whole report, but for those variables, and
// says so in each frame that lacks them and in no other.
func TestLeaveRounds(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	total := 0
	for _, c := range fixture.Sample(t, append(fixture.Cases(t), fixture.Minidumps(t)...)) {
		target := openCase(t, c)
		part, err1 := target.Analyze(context.Background(), corewalk.AnalyzeOptions{For: withoutRounds{}})
		whole, err2 := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(c.Name, err)
		}
		for i := range part.Threads {
			middle := map[int]bool{}
			for k := range report.InRounds(whole.Threads[i].Frames) {
				middle[k] = true
			}
			marked := map[int]bool{}
			for k := range part.Threads[i].Frames {
				f, w := &part.Threads[i].Frames[k], &whole.Threads[i].Frames[k]
				if f.VariablesLeftOut == report.LeftOutRecursion {
					marked[k], total = true, total+len(w.Args)
					f.Args, f.Locals, f.VariablesLeftOut = w.Args, w.Locals, ""
				}
			}
			if !maps.Equal(middle, marked) {
				t.Errorf("%s, thread %d: of %d frames of middle rounds, %d lack their variables", c.Name, i, len(middle), len(marked))
			}
		}
		if diff := cmp.Diff(whole, part); diff != "" {
			t.Errorf("%s: (-whole +part)\n%s", c.Name, diff)
		}
	}
	if total < 10_000 {
		t.Errorf("only %d variables were not read", total)
	}
}
