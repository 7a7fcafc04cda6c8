package golang_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestAlike: goroutines with the same stack, of which the names are looked up once, have addresses of their own.
func TestAlike(t *testing.T) {
	fixture.Long(t)
	core, program, _ := crash(t, releases(t)[0], "", "1000")
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{For: report.Whole{Trees: true}})
	if err != nil {
		t.Fatal(err)
	}
	var own, shared bytes.Buffer
	s, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{For: report.ForJSON{Rounds: true}})
	if err = errors.Join(err, report.WriteJSON(&own, r), report.WriteJSON(&shared, s)); err != nil {
		t.Fatal(err)
	}
	if own.String() != shared.String() {
		t.Error("tasks that share frames are written differently")
	}
	if !slices.ContainsFunc(s.Tasks, func(t report.Task) bool { return t.Places != nil }) {
		t.Error("no task shares frames")
	}
	frames := 0
	for _, task := range r.Tasks {
		for _, f := range task.Frames {
			if f.Stepper != "Debug" || f.Inlined || f.ReturnAddressLocation.IsZero() {
				continue
			}
			frames++
			if want := f.SP - 8; f.ReturnAddressLocation.Address != want {
				t.Fatalf("%s %d, frame %d: return address at %s, want %s below its stack pointer", task.Kind, task.ID, f.Index, f.ReturnAddressLocation, want)
			}
		}
	}
	if frames < 2000 {
		t.Errorf("only %d frames", frames)
	}
}
