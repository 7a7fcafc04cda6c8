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
	want := map[string]string{"reader": "waits for an entry that it called", "sleeper": "waits in a delay statement", "parent": "waits for the tasks that depend on it",
		"child": "waits in a delay statement", "many(1)": "waits for a call of one of its entries", "many(2)": "waits for a call of one of its entries",
		"one": "waits for a call of one of its entries", "": ""}
	for _, flag := range []string{"-shared", "-static"} { // the run-time library
		program := adaProgram(t, "tasks", "-O2", "-bargs", flag)
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

// adaProgram builds a program of testdata/src/languages.
func adaProgram(t *testing.T, name string, flags ...string) string {
	t.Helper()
	path, err := exec.LookPath("gnatmake")
	if err != nil {
		t.Skip("gnatmake is not installed (Debian: gnat)")
	}
	source := filepath.Join(fixture.Root(t), "testdata/src/languages", name+".adb")
	return filepath.Join(fixture.Made(t, append([]string{name}, flags...), []string{path, source}, func(dir string) {
		cmd := exec.Command(path, append([]string{"-q", "-g", source, "-o", filepath.Join(dir, "program")}, flags...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}), "program")
}

// TestAdaProtected: of a deadlock the protected objects are named, and where the tasks call them.
func TestAdaProtected(t *testing.T) {
	fixture.Tools(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := adaProgram(t, "protect", level)
		r := analyzeCore(t, fixture.Crash(t, nil, program), program)
		if len(r.Deadlocks) != 1 || len(r.Deadlocks[0].Tasks) != 2 {
			t.Fatalf("%s: %+v", level, r.Deadlocks)
		}
		d := r.Deadlocks[0]
		got := map[string]string{}
		for i := range d.Tasks {
			got[d.Objects[i].Name] = d.Places[i].Function
		}
		if want := map[string]string{"protect.b": "protect__b__innerP", "protect.a": "protect__a__innerP"}; !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", level, got, want)
		}
	}
}
