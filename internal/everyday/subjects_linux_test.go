package everyday

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A subject is a core, and the files of its program in one state.
type subject struct {
	name    string
	dir     string   // has all of it
	core    string   // its path
	program string   // where the core says that its program was, or beside the core
	files   []string // flags that say where files are
	dies    string   // a program to start that dies; "" if it is not of this machine
	gap     bool     // the state hides why the program died, so that the status says so
	cut     bool     // the state may hide that: what is left of the file says whether it is the program's
	alone   int      // the status of the report of a copy of the core, beside which nothing lies
	whole   int      // the status of the plain report
}

// A program is one that dies.
type program struct {
	name string
	// build returns the path of the program, and of another build of it.
	build func(t *testing.T) (path, other string)
	args  func(t *testing.T, dir string) []string
	env   []string
}

var programs = []program{
	{name: "c", build: compiled("gcc", "vars.c", []string{"-g", "-O1"}, []string{"-g", "-O0"})},
	{name: "c++", build: compiled("g++", "vars.cpp", []string{"-std=c++20", "-g", "-O2"}, []string{"-std=c++20", "-g", "-O1"})},
	{name: "rust", build: compiled("rustc", "vars.rs", []string{"--edition=2021", "-g", "-O"}, []string{"--edition=2021", "-g"})},
	{name: "go", build: compiled("go", "gonil/main.go", nil, []string{"-gcflags=-N -l"}), env: []string{"GOTRACEBACK=crash"}},
	{name: "python", build: interpreter, args: script},
	{name: "threads", build: compiled("gcc", "thread_crash.c", []string{"-g", "-O2", "-pthread"}, []string{"-g", "-O1", "-pthread"})},
}

func compiled(compiler, source string, flags, others []string) func(*testing.T) (string, string) {
	return func(t *testing.T) (string, string) {
		t.Helper()
		return fixture.Compile(t, compiler, source, flags...), fixture.Compile(t, compiler, source, others...)
	}
}

// interpreter is CPython itself; another build of it is not at hand.
func interpreter(t *testing.T) (string, string) {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if out, err := exec.Command(name, "-c", "import sys, os; print(os.path.realpath(sys.executable))").Output(); err == nil {
			return strings.TrimSpace(string(out)), ""
		}
	}
	t.Skip("python3 is not installed (Debian: python3)")
	return "", ""
}

func script(t *testing.T, dir string) []string {
	t.Helper()
	path := filepath.Join(dir, "walk.py")
	text := "import os\n\ndef walk(depth, seen):\n    seen.append(depth)\n    if depth == 3:\n        os.abort()\n    walk(depth + 1, seen)\n\nwalk(0, [])\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

// A state is one of the files of a program after it has died.
type state struct {
	name string
	gap  bool
	cut  bool
	// make brings it about. other is another build of the program.
	make func(t *testing.T, program, other string)
}

var states = []state{
	{name: "as built", make: func(*testing.T, string, string) {}},
	{name: "stripped", make: func(t *testing.T, program, _ string) { tool(t, "strip", program) }},
	{name: "moved away", make: func(t *testing.T, program, _ string) { rename(t, program, program+".moved") }},
	{name: "replaced by another program", gap: true, make: func(t *testing.T, program, _ string) { copyFile(t, "/bin/sh", program) }},
	{name: "replaced by another build", gap: true, make: func(t *testing.T, program, other string) {
		if other == "" {
			t.Skip("there is no other build of the interpreter")
		}
		copyFile(t, other, program)
	}},
	{name: "debug file apart", make: apart("none")},
	{name: "debug file apart, zlib", make: apart("zlib")},
	{name: "debug file apart, zstd", make: apart("zstd")},
	{name: "compressed with zlib", make: func(t *testing.T, program, _ string) { tool(t, "objcopy", "--compress-debug-sections=zlib", program) }},
	{name: "cut short", cut: true, make: func(t *testing.T, program, _ string) {
		if st, err := os.Stat(program); err != nil || os.Truncate(program, st.Size()/2) != nil {
			t.Fatal(err)
		}
	}},
	{name: "a pipe in its place", make: func(t *testing.T, program, _ string) {
		rename(t, program, program+".moved")
		if err := syscall.Mkfifo(program, 0o600); err != nil {
			t.Fatal(err)
		}
	}},
}

// apart puts debug information into a file of its own, compressed as objcopy says.
func apart(kind string) func(*testing.T, string, string) {
	return func(t *testing.T, program, _ string) {
		t.Helper()
		dir := filepath.Join(filepath.Dir(program), ".debug")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.Base(program)+".debug")
		tool(t, "objcopy", "--only-keep-debug", program, file)
		tool(t, "objcopy", "--compress-debug-sections="+kind, file)
		tool(t, "strip", program)
		tool(t, "objcopy", "--add-gnu-debuglink="+file, program)
	}
}

func tool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("%s is not installed: Debian's binutils", args[0])
	}
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// copyFile puts a copy of a program in the place of another file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to+".new", data, 0o755)
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// die has a program die in a directory of its own, and puts its files into a state.
func die(t *testing.T, dir string, p program, s state) *subject {
	t.Helper()
	path, other := p.build(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := &subject{name: p.name + ", " + s.name, dir: dir, core: filepath.Join(dir, "core"), program: filepath.Join(dir, "program"), gap: s.gap, cut: s.cut}
	copyFile(t, path, out.program)
	if p.args == nil && p.env == nil {
		out.dies = path
	}
	var args []string
	if p.args != nil {
		args = p.args(t, dir)
	}
	cmd := fixture.Dies(dir, out.program, args...)
	cmd.Env = append(os.Environ(), p.env...)
	_ = cmd.Run() // fails: the program dies
	rename(t, fixture.CoreIn(t, dir), out.core)
	s.make(t, out.program, other)
	return out
}

// recorded are cores of testdata whose programs lie beside them, so that nothing has to be built. What debug information this machine has of its own
// libraries is not theirs.
var recorded = []struct{ name, fixture string }{
	{"c", "amd64-vars-c-O2"}, {"c++", "amd64-vars-cxx-O2"}, {"rust", "amd64-vars-rust-O2"}, {"go", "amd64-go-nil"}, {"threads", "amd64-thread-crash"},
}

var recordedStates = []state{
	{name: "beside its core"},
	{name: "compressed"},
	{name: "not there"},
	{name: "another program beside its core", gap: true},
}

// placed puts a recorded core and its program into a directory.
func placed(t *testing.T, dir, name, which string, s state) *subject {
	t.Helper()
	c := fixture.Get(t, which)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := &subject{name: "recorded " + name + ", " + s.name, dir: dir, core: filepath.Join(dir, "core"), program: filepath.Join(dir, c.Program), gap: s.gap,
		files: []string{"--sysroot", c.Sysroot(t)}}
	copyFile(t, c.Core(t), out.core)
	switch s.name {
	case "beside its core":
		copyFile(t, c.Binary(t), out.program)
	case "compressed":
		file, _ := fixture.PackDebug(t, c.Binary(t))
		if err := os.WriteFile(out.program, file, 0o755); err != nil {
			t.Fatal(err)
		}
	case "another program beside its core":
		copyFile(t, fixture.Get(t, "amd64-threads").Binary(t), out.program)
	}
	return out
}
