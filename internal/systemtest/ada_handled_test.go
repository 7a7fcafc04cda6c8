package systemtest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestAdaHandled: the exception that a program of one procedure handles is told: only the procedure's linkage name tells that it is one of Ada.
func TestAdaHandled(t *testing.T) {
	fixture.Tools(t)
	t.Parallel()
	path, err := exec.LookPath("gnatmake")
	if err != nil {
		t.Skip("gnatmake is not installed (Debian: gnat)")
	}
	source := filepath.Join(fixture.Root(t), "testdata/src/languages/handled.adb")
	for _, flag := range []string{"-O0", "-O2"} {
		program := filepath.Join(fixture.Made(t, []string{"handled.adb", flag}, []string{path, source}, func(dir string) {
			cmd := exec.Command(path, "-q", "-g", flag, source, "-o", filepath.Join(dir, "handled"))
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}), "handled")
		r := analyzeCore(t, fixture.Crash(t, nil, program), program)
		if c := r.Crash; len(c.Raised) != 1 || !c.Raised[0].Handled || c.Raised[0].Type != "HANDLED.CLOSED" || c.Raised[0].Message != "no stock for 7" ||
			c.Reason != "abort called while handling HANDLED.CLOSED : no stock for 7" {
			t.Errorf("%s: %q, %+v", flag, c.Reason, c.Raised)
		}
	}
}
