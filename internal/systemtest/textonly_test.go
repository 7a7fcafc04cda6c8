package systemtest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A report for the text, of which only the variables were read that the text shows, and in which the rounds of deep
// recursions are left out, gives the same text as a whole report.
func TestTextOnly(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	unread, leftOut := 0, 0
	for _, c := range fixture.Sample(t, append(fixture.Cases(t), fixture.Minidumps(t)...)) {
		for _, o := range []struct {
			locals corewalk.Locals
			text   report.TextOptions
		}{
			{corewalk.LocalsTop, report.TextOptions{HideInlines: true}},
			{corewalk.LocalsAll, report.TextOptions{MaxFrames: 6, AllLocals: true}},
		} {
			target := openCase(t, c)
			part, err1 := target.Analyze(context.Background(), corewalk.AnalyzeOptions{For: o.text, Locals: o.locals})
			whole, err2 := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: o.locals})
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(c.Name, err)
			}
			var got, want bytes.Buffer
			if err := errors.Join(report.WriteText(&got, part, o.text), report.WriteText(&want, whole, o.text)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s, %+v: (-whole +shown)\n%s", c.Name, o, diff)
			}
			for i := range part.Threads {
				for k := range part.Threads[i].Frames {
					f := &part.Threads[i].Frames[k]
					unread += len(whole.Threads[i].Frames[f.Index].Args) - len(f.Args)
					leftOut += f.LeftOut.Entries
				}
			}
		}
	}
	least := 10_000
	if !fixture.IsLong(t) {
		least = 4_000
	}
	if unread < least {
		t.Errorf("only %d variables were not read", unread)
	}
	if leftOut < 10_000 {
		t.Errorf("only %d frames were left out", leftOut)
	}
}
