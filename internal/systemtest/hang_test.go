package systemtest

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestHangOfHolders: a process that was ended while it waited for a lock hung if who holds it sleeps, not if that thread works.
func TestHangOfHolders(t *testing.T) {
	t.Parallel()
	exe := fixture.Compile(t, "gcc", "tasks/locks.c", "-g", "-O1", "-pthread")
	for holder, want := range map[string]string{"idle": report.CrashHang, "busy": report.CrashWatchdog} {
		target, err := corewalk.Open(context.Background(), fixture.Crash(t, nil, exe, "held", holder), corewalk.WithExecutable(exe))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Crash == nil || r.Crash.Kind != want {
			t.Errorf("%s: %+v, want the kind %s", holder, r.Crash, want)
		}
	}
}
