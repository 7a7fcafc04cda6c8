package systemtest

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A thread whose signal handler allocates memory while malloc has its lock waits for itself: certainly, if debug information of
// the C library says which arena was passed to malloc, and possibly without.
func TestMallocInHandler(t *testing.T) {
	t.Parallel()
	exe := fixture.Compile(t, "gcc", "tasks/malloc_handler.c", "-g", "-O1", "-pthread")
	core := fixture.Crash(t, nil, exe)
	for _, debug := range []bool{false, true} {
		options := []corewalk.Option{corewalk.WithExecutable(exe)}
		if !debug {
			options = append(options, corewalk.WithDebugDir(t.TempDir()))
		}
		target, err := corewalk.Open(context.Background(), core, options...)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		th := &r.Threads[0]
		kinds := map[string]string{"certain": report.CrashDeadlock, "possible": report.CrashHang} // another thread sent the signal
		certainty := "possible"
		for _, f := range th.Frames {
			for _, a := range f.Args {
				if a.Name == "av" {
					certainty = "certain"
				}
			}
		}
		var w *report.Wait
		for i := range r.Tasks {
			if r.Tasks[i].ID == th.ID {
				w = r.Tasks[i].Wait
			}
		}
		if w == nil || w.Object == nil || w.Object.Type != "malloc's arena" || len(w.Holders) != 1 || w.Holders[0].ID != th.ID || w.Holders[0].Certainty != certainty {
			t.Errorf("%v: %+v of thread %d", debug, w, th.ID)
		} else if r.Crash.Kind != kinds[certainty] || len(r.Deadlocks) != 1 || r.Deadlocks[0].Certainty != certainty {
			t.Errorf("%v: %s, deadlocks %+v", debug, r.Crash.Kind, r.Deadlocks)
		}
	}
}
