package systemtest

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestInlinedGo: what an inlined method of Go reads of its receiver is its own mistake, a receiver that is nil is its caller's, also where debugging information has
// lost the receiver.
func TestInlinedGo(t *testing.T) {
	for _, flags := range [][]string{nil, {"-gcflags=-l"}} {
		exe := fixture.Compile(t, "go", "go-inlined/main.go", flags...)
		for way, want := range map[string]string{"start": "main.(*job).start", "launch": "main.(*job).launch", "retries": "main.(*job).retries", "contact": "main.(*job).contact"} {
			r := analyzeCore(t, fixture.Crash(t, []string{"GOTRACEBACK=crash"}, exe, way, "x"), exe)
			if s := signature.Of(r); len(s.Frames) == 0 || s.Frames[0] != want {
				t.Errorf("%v %s: %q, want %s: %+v", flags, way, s.Frames, want, r.Crash.Blame)
			}
		}
	}
}
