package systemtest

import (
	"os/exec"
	"path/filepath"
	"slices"
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
	for _, flag := range []string{"-O0", "-O2", "-E"} { // the last has it keep the calls in which exceptions were raised
		program := filepath.Join(fixture.Made(t, []string{"handled.adb", flag}, []string{path, source}, func(dir string) {
			args := []string{"-q", "-g", flag, source, "-o", filepath.Join(dir, "handled")}
			if flag == "-E" {
				args = append(slices.Delete(args, 2, 3), "-bargs", flag)
			}
			cmd := exec.Command(path, args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}), "handled")
		r := analyzeCore(t, fixture.Crash(t, nil, program), program)
		if c := r.Crash; len(c.Raised) != 1 || !c.Raised[0].Handled || c.Raised[0].Type != "HANDLED.CLOSED" || c.Raised[0].Message != "no stock for 7" ||
			c.Reason != "abort called while handling HANDLED.CLOSED : no stock for 7" {
			t.Errorf("%s: %q, %+v", flag, c.Reason, c.Raised)
		} else if x := c.Raised[0]; flag == "-E" && (filepath.Base(x.File) != "handled.adb" || x.Line != 8) || flag != "-E" && x.File != "" {
			t.Errorf("%s: raised at %s:%d", flag, x.File, x.Line)
		}
	}
}
