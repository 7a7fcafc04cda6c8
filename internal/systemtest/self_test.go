//go:build linux && (amd64 || arm64)

package systemtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// own builds and runs a program of testdata/src, and returns the lines that it prints. env is for the build: without it, the packages of these tests are
// not compiled once more.
func own(t *testing.T, program string, env ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("not run: go is not installed (Debian: golang-go)")
	}
	dir := t.TempDir()
	fixture.Programs(t, dir, env, "testdata/src/"+program)
	out, err := exec.Command(filepath.Join(dir, program)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// lineOf is where a program's source has a text.
func lineOf(t *testing.T, program, text string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixture.Root(t), "testdata", "src", program, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(string(b), "\n") {
		if strings.Contains(l, text) {
			return "main.go:" + strconv.Itoa(i+1)
		}
	}
	t.Fatalf("%s does not have %q", program, text)
	return ""
}

// A goroutine's own recursion, with the lines of the calls, although its stack has
// moved since.
func TestSelf(t *testing.T) {
	t.Run("built as the tests", func(t *testing.T) { self(t) })
	t.Run("without C", func(t *testing.T) {
		fixture.Long(t)
		self(t, "CGO_ENABLED=0")
	})
}

func self(t *testing.T, env ...string) {
	t.Helper()
	got := own(t, "goself", env...)
	call := "main.descend " + lineOf(t, "goself", "descend(n - 1)")
	want := []string{"first party true threads 1", "main.descend " + lineOf(t, "goself", "the youngest frame"), call, call, call,
		"main.start " + lineOf(t, "goself", "descend(3)")}
	for i, w := range want {
		if i >= len(got) || got[i] != w && !strings.HasPrefix(got[i], w+" ") {
			t.Fatalf("line %d is not %q:\n%s", i+1, w, strings.Join(got, "\n"))
		}
	}
	if last := got[len(got)-2:]; !strings.HasPrefix(last[0], "runtime.goexit ") || last[1] != "end bottom" {
		t.Errorf("ends with %q", last)
	}
}

// Through C and back.
func TestSelfThroughC(t *testing.T) {
	for _, tool := range []string{"gcc", "go"} {
		fixture.Tools(t)
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("not run: %s is not installed (make deps installs it on Debian)", tool)
		}
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("not run: Go's way from C is known on x86-64 only")
	}
	got := own(t, "goselfcgo", "CGO_ENABLED=1")
	want := []string{"main.callback", "runtime.cgocallback", "crosscall2", "callback", "twice", "once", "runtime.asmcgocall", "runtime.cgocall", "main.ask", "main.main", "runtime.main", "runtime.goexit", "end bottom"}
	for _, line := range got {
		if len(want) > 0 && line == want[0] {
			want = want[1:]
		}
	}
	if len(want) > 0 || got[0] != "main.callback" {
		t.Errorf("%q is missing from\n%s", want, strings.Join(got, "\n"))
	}
}

// One who calls Self is the youngest frame, and there is one thread.
func TestSelfFrames(t *testing.T) {
	target, err := corewalk.Self(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if target.Core() != nil || target.Live() != nil || !target.ProcessState().IsFirstParty() {
		t.Error("is more than itself")
	}
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	// The tests' own binary has no symbols: the runtime tells the names. How the walk
	// ends is TestSelf's matter.
	s, _ := w.WalkStack(unwind.NullThread)
	var names []string
	for _, f := range s.Frames {
		names = append(names, runtime.FuncForPC(uintptr(f.LookupAddr())).Name())
	}
	if len(names) < 3 || !strings.HasSuffix(names[0], ".TestSelfFrames") || names[1] != "testing.tRunner" {
		t.Errorf("%q", names)
	}
}
