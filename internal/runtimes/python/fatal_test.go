package python_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestFatal: the text with which the interpreter gave up is what it wrote itself, and the place is the call of Python, not ctypes or the
// function that ends the program.
func TestFatal(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	program, err := filepath.Abs("testdata/fatal.py")
	if err != nil {
		t.Fatal(err)
	}
	for version, python := range sampled(t) {
		for _, how := range []string{"text", "thread"} {
			t.Run(version+" "+how, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				out, _ := fixture.Dies(dir, python, program, how).CombinedOutput()
				_, said, ok := strings.Cut(string(out), "Fatal Python error: ")
				if !ok {
					t.Skipf("it died otherwise: %s", out)
				}
				said, _, _ = strings.Cut(said, "\n")
				r := analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				text, ok := strings.CutPrefix(r.Crash.Message, "Fatal Python error")
				if want := ": " + said; !ok || text != want && (text != "" || how != "text" && !stripped(r)) {
					t.Errorf("%q, want %q", r.Crash.Message, "Fatal Python error"+want)
				}
				if how == "text" && text == "" && !strings.Contains(version, "3.6") { // there the call to libffi keeps nothing that is certain
					t.Errorf("no text, want %q", said)
				}
				if f := r.Threads[0].Frames[*r.Crash.Frame]; how == "text" && f.Function != "doom" {
					t.Errorf("the report points to %s", f.Function)
				}
			})
		}
	}
}
