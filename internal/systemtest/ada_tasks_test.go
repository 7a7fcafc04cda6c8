package systemtest

import (
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestAdaTasks: threads have the names of the tasks of Ada that they are, and say what these wait for: what gdb's "info tasks" says, too.
func TestAdaTasks(t *testing.T) {
	fixture.Tools(t)
	t.Parallel()
	path, err := exec.LookPath("gnatmake")
	if err != nil {
		t.Skip("gnatmake is not installed (Debian: gnat)")
	}
	source := filepath.Join(fixture.Root(t), "testdata/src/languages/tasks.adb")
	want := map[string]string{"reader": "waits for an entry that it called", "sleeper": "waits in a delay statement", "parent": "waits for the tasks that depend on it",
		"child": "waits in a delay statement", "many(1)": "waits for a call of one of its entries", "many(2)": "waits for a call of one of its entries",
		"one": "waits for a call of one of its entries", "": ""}
	for _, flag := range []string{"-shared", "-static"} { // the run-time library
		program := filepath.Join(fixture.Made(t, []string{"tasks.adb", flag}, []string{path, source}, func(dir string) {
			cmd := exec.Command(path, "-q", "-g", "-O2", source, "-o", filepath.Join(dir, "tasks"), "-bargs", flag)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}), "tasks")
		r := analyzeCore(t, fixture.Crash(t, nil, program), program)
		got := map[string]string{}
		for i := range r.Threads {
			got[r.Threads[i].Name] = strings.Join(r.Threads[i].Notes, "; ")
		}
		delete(got, "tasks") // what the kernel calls the first, whose calls do not show that there are tasks
		delete(got, "main_task")
		got[""] = ""
		if !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", flag, got, want)
		}
	}
}
