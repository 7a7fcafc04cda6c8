package triage

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestToldToAbort: a program of Go that another process told to abort is known by what its main goroutine does, whichever thread got the signal.
func TestToldToAbort(t *testing.T) {
	exe := fixture.Compile(t, "go", "go-told/main.go")
	for full, d := range bothWays(t, exe, fixture.Crash(t, []string{"GOTRACEBACK=crash"}, exe)) {
		if d.Weak || len(d.Frames) < 2 || d.Frames[1] != "main.(*pool).acquire" || !strings.HasPrefix(d.Reason, "SIGABRT received") {
			t.Errorf("with a report %v: %q, frames %q, weak %v", full == 1, d.Reason, d.Frames, d.Weak)
		}
	}
}
