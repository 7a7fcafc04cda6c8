// Package judged runs the interpreters that tests compare corewalk with: those of this machine, and of others whose files are in a directory.
package judged

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// An Interpreter is one of this machine, or of a directory that is the root of another.
type Interpreter struct {
	Version   string // what it says of itself
	Root, Exe string
}

// A Search says which interpreters there are.
type Search struct {
	Env     string   // the variable that lists more: /opt/ruby/bin/ruby, or with the directory that is its root and two slashes /srv/trixie//usr/bin/ruby3.3
	Names   []string // of this machine
	Version []string // the arguments with which one says its version
	Missing string   // what to install
}

// All returns the interpreters that there are. Without any the test is skipped.
func (s *Search) All(t *testing.T) (list []Interpreter) {
	t.Helper()
	fixture.Tools(t)
	for _, p := range filepath.SplitList(os.Getenv(s.Env)) {
		root, exe, other := strings.Cut(p, "//")
		if !other {
			root, exe = "", p
		} else {
			exe = "/" + exe
		}
		list = append(list, Interpreter{Root: root, Exe: exe})
	}
	for _, name := range s.Names {
		if p, err := exec.LookPath(name); err == nil {
			list = append(list, Interpreter{Exe: p})
		}
	}
	for i := range list {
		out, err := list[i].Command("", s.Version...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", list[i].Exe, err, out)
		}
		list[i].Version = strings.TrimSpace(string(out))
	}
	if len(list) == 0 {
		t.Skip("not installed: " + s.Missing)
	}
	return list
}

// Command runs an interpreter in a directory, which is below its root.
func (p *Interpreter) Command(dir string, args ...string) *exec.Cmd {
	if p.Root == "" {
		return fixture.Dies(dir, p.Exe, args...)
	}
	inside := "/" + strings.TrimPrefix(strings.TrimPrefix(dir, p.Root), "/")
	return fixture.Dies(dir, "chroot", append([]string{p.Root, "/bin/sh", "-c", `cd "$1"; shift; exec "$@"`, "sh", inside, p.Exe}, args...)...)
}

// Dir makes a directory that an interpreter sees, with programs of testdata.
func (p *Interpreter) Dir(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	if p.Root != "" {
		var err error
		if dir, err = os.MkdirTemp(filepath.Join(p.Root, "tmp"), "judge"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	for _, name := range programs {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Dump runs a program until it dies, with nothing of the environment of whoever runs the test, and returns the core.
func (p *Interpreter) Dump(t *testing.T, program string, args ...string) string {
	t.Helper()
	dir := p.Dir(t, program)
	cmd := p.Command(dir, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/bin", "LANG=C.UTF-8"}
	_ = cmd.Run() // it dies
	return fixture.CoreIn(t, dir)
}

// files shares what was read of files between the tests.
var files = sync.OnceValue(func() corewalk.Option { return corewalk.WithCache(corewalk.NewCache(context.Background(), 0)) })

// Analyze reads a core of an interpreter.
func (p *Interpreter) Analyze(t *testing.T, core string, o corewalk.AnalyzeOptions) *report.Report {
	t.Helper()
	opts := []corewalk.Option{files()}
	if p.Root != "" {
		opts = []corewalk.Option{corewalk.WithSysroot(p.Root)}
	}
	target, err := corewalk.Open(t.Context(), core, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// First is the beginning of a list, in lines.
func First(list []string, n int) string { return strings.Join(list[:min(n, len(list))], "\n") }
