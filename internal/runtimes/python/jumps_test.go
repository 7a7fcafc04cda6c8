package python_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestFatalOfCall: the text is what the function was called with, and no text at all if the call led to another function that jumped to it.
func TestFatalOfCall(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("its program is for x86-64")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "jumps")
	if out, err := exec.Command("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", program, "testdata/jumps.c").CombinedOutput(); err != nil {
		t.Skipf("gcc: %v: %s", err, out)
	}
	for want, args := range map[string][]string{"Fatal Python error: the text of the call": {"x"}, "Fatal Python error": nil} {
		run := t.TempDir()
		_ = fixture.Dies(run, program, args...).Run()
		r := analyze(t, fixture.CoreIn(t, run), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
		if r.Crash.Message != want {
			t.Errorf("%q, want %q", r.Crash.Message, want)
		}
	}
}
