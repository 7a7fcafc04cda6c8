package systemtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestOutsideModule builds a program of another module, which makes its own process,
// stepper, lookup and source of files, with nothing but the public packages, and compares
// what it prints. What the build needs is what this module needs: no network is used.
func TestOutsideModule(t *testing.T) {
	t.Parallel()
	program := outside(t)
	c := fixture.Get(t, "amd64-pie")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"made"}, `#0 inner by registers
#1 middle by FrameFunc
#2 outer by FrameFunc
#3 root by Listed
bottom
`},
		{[]string{"core", c.Core(t), filepath.Dir(c.Binary(t))}, `program pack, debug information: true
#0 fill
   t = 0x0
   c = green
   t = 0x0
   c = green
#1 visit
   first = 0x7ffcc7761730
   depth = <optimised out>
   t = <optimised out>
#2 main
   argc = <value on entry not known>
   argv = 0x7ffcc7761868
   last = {next = 0x0, colour = red, name = "last", weight = {whole = 7, half = {7, 0}}}
   first = {next = 0x55c11923b020 <last.0>, colour = blue, name = "first", weight = {whole = 1, half = {1, 0}}}
`},
		{[]string{"format", c.Core(t), filepath.Dir(c.Binary(t))}, `null-write: write of 4 bytes at null+0x8
0 store t=0x0 c=green
1 fill
2 visit
3 main
4 
5 __libc_start_main
6 _start
`},
	} {
		out, err := exec.Command(program, tt.args...).CombinedOutput()
		if err != nil || string(out) != tt.want {
			t.Errorf("outside %s: %v\n%s\nwant:\n%s", strings.Join(tt.args, " "), err, out, tt.want)
		}
	}
}

// outside returns the program, which is built once.
func outside(t *testing.T) string {
	t.Helper()
	return fixture.Once(t, "outside", func(tmp string) string { return buildOutside(t, tmp) })
}

func buildOutside(t *testing.T, tmp string) (program string) {
	t.Helper()
	const root, dir = "../..", "../../testdata/outside"
	var mod, sum []byte
	for _, f := range []struct {
		path string
		to   *[]byte
	}{{filepath.Join(root, "go.mod"), &mod}, {filepath.Join(root, "go.sum"), &sum}} {
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		*f.to = data
	}
	own, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The requirements of the module that is used, so that none are looked for.
	require := bytes.Index(mod, []byte("\nrequire"))
	if require < 0 {
		t.Fatal("go.mod requires nothing")
	}
	modfile := filepath.Join(tmp, "go.mod")
	kept, unlock := fixture.Linked(t, "outside "+fixture.Root(t))
	defer unlock()
	program = filepath.Join(kept, "outside")
	for path, data := range map[string][]byte{modfile: append(own, mod[require:]...), filepath.Join(tmp, "go.sum"): sum} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-mod=mod", "-modfile="+modfile, "-o", program, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestOutsideRuntime runs the worked example of a runtime, of a language that a program of C interprets and compiles: its calls, with their
// variables, its error and its fiber are in the report, and its interpreter is not.
func TestOutsideRuntime(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the toy's compiler makes code of x86-64 for Linux")
	}
	fixture.Tools(t)
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: install gcc")
	}
	text, err := os.ReadFile("../../testdata/outside/toy.go")
	if n := bytes.Count(text, []byte("\n")); err != nil || n > 100 {
		t.Errorf("the example has %d lines (%v): it is to be read at once", n, err)
	}
	program := outside(t)
	dir := t.TempDir()
	toy := filepath.Join(dir, "toy")
	if out, err := exec.Command(cc, "-g", "-O1", "-o", toy, "../../testdata/src/toy.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fixture.Dies(dir, toy).Run()
	out, err := exec.Command(program, "toy", fixture.CoreIn(t, dir)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at := 0
	for _, want := range []string{"toy: Trouble in shop.toy:50: none left", "inner(n=5) at shop.toy:50", "<compiled>", "middle(n=4) at shop.toy:40", "middle(n=3) at shop.toy:30",
		"middle(n=2) at shop.toy:20", "outer(n=1) at shop.toy:10", "main() at toy.c:", "await of a socket", "produce() at shop.toy:7"} {
		i := strings.Index(string(out[at:]), want)
		if i < 0 {
			t.Fatalf("no %q where it should be in\n%s", want, out)
		}
		at += i
	}
	if strings.Contains(string(out), "toy_execute") || strings.Count(string(out), "Trouble in") != 1 || strings.Contains(string(out), "Fibers") {
		t.Errorf("the interpreter is shown, or something twice:\n%s", out)
	}
}
