package golang_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// TestAsleep: what Go's runtime says of itself is certain, and each goroutine says what it waits for. A panic that says
// the same proves nothing.
func TestAsleep(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds programs: set COREWALK_LONG=1")
	}
	for _, release := range releases(t) {
		for _, ldflags := range []string{"", "-s -w"} {
			t.Run(release+ldflags, func(t *testing.T) {
				program := build(t, "go-asleep", release, ldflags, "main.go")
				for name, want := range map[string]string{
					"wait":  "deadlock; certain asleep main.main main.(*job).collect",
					"cycle": "deadlock; certain main.(*job).north main.(*job).south and 1 behind; certain asleep main.main",
					"says":  "exception",
				} {
					core, _ := kill(t, program, name)
					if got := hangs(t, core, program); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
			})
		}
	}
}

// hangs says what kind of crash a core is of, and which functions of its deadlocks wait.
func hangs(t *testing.T, core, program string) string {
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := r.Crash.Kind
	for _, d := range r.Deadlocks {
		out += "; " + d.Certainty
		if d.Asleep {
			out += " asleep"
		}
		for i, p := range d.Places {
			out += " " + p.Function
			if k := find(r, d.Tasks[i]); k == nil || k.Wait == nil {
				out += fmt.Sprintf("(%v waits for nothing)", d.Tasks[i])
			}
		}
		if len(d.Behind) > 0 { // who has an object that the circle has, too
			out += fmt.Sprintf(" and %d behind", len(d.Behind))
		}
	}
	if h := r.HangText(); (h != "") != (r.Crash.Kind == report.CrashDeadlock) {
		t.Errorf("headline %q", h)
	}
	return out
}

func find(r *report.Report, ref report.TaskRef) *report.Task {
	for i := range r.Tasks {
		if r.Tasks[i].Kind == ref.Kind && r.Tasks[i].ID == ref.ID {
			return &r.Tasks[i]
		}
	}
	return nil
}
