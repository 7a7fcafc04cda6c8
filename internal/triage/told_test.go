package triage

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestToldToAbort: a program of Go that another process told to abort is known by what its main goroutine does, whichever thread got the signal.
func TestToldToAbort(t *testing.T) {
	exe := fixture.Compile(t, "go", "go-told/main.go")
	target, err := corewalk.Open(t.Context(), fixture.Crash(t, []string{"GOTRACEBACK=crash"}, exe), corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for _, likely := range []bool{false, true} {
		var d ledger.Dump
		a := analysis{names: new(signature.Cache), likely: likely, full: func(*signature.Signature) bool { return likely }}
		if _, err := a.analyze(t.Context(), target, &d); err != nil {
			t.Fatal(err)
		}
		if d.Weak || len(d.Frames) < 2 || d.Frames[1] != "main.(*pool).acquire" || !strings.HasPrefix(d.Reason, "SIGABRT received") {
			t.Errorf("likely %v: %q, frames %q, weak %v", likely, d.Reason, d.Frames, d.Weak)
		}
	}
}
