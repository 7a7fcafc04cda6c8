package dwarfvars_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A recipe is how a program made for its variables is built, from the sources of
// the fixtures.
type recipe struct {
	language string // c, cxx, rust, go
	compiler string // gcc, clang, libcxx (clang with its library), rustc, go
	level    string // the optimisation, such as O2 or O2-lto
	dwarf    int    // version
	split    string // "", dwo or dwp: where the debug information is
	always   bool   // compared in every run of the test
}

// name is that of a subject: built-c-gcc-O2-dwarf5-dwo.
func (r recipe) name() string {
	name := fmt.Sprintf("built-%s-%s-%s-dwarf%d", r.language, r.compiler, r.level, r.dwarf)
	if r.split != "" {
		name += "-" + r.split
	}
	return name
}

// recipes are all programs that are compared where their compilers are installed.
func recipes() []recipe {
	var list []recipe
	for _, compiler := range []string{"gcc", "clang"} {
		for _, language := range []string{"c", "cxx"} {
			for _, level := range []string{"O0", "O1", "O2", "O2-lto"} {
				for _, dwarf := range []int{4, 5} {
					list = append(list, recipe{language: language, compiler: compiler, level: level, dwarf: dwarf})
				}
			}
			for _, dwarf := range []int{4, 5} {
				list = append(list,
					recipe{language: language, compiler: compiler, level: "O2", dwarf: dwarf, split: "dwo"},
					recipe{language: language, compiler: compiler, level: "O1", dwarf: dwarf, split: "dwp"})
			}
		}
	}
	for _, level := range []string{"O0", "O2"} {
		list = append(list, recipe{language: "cxx", compiler: "libcxx", level: level, dwarf: 5})
	}
	for _, dwarf := range []int{4, 5} {
		for _, level := range []string{"O0", "O1", "O2", "O2-lto"} {
			list = append(list, recipe{language: "rust", compiler: "rustc", level: level, dwarf: dwarf})
		}
		list = append(list,
			recipe{language: "rust", compiler: "rustc", level: "O1", dwarf: dwarf, split: "dwo"},
			recipe{language: "rust", compiler: "rustc", level: "O2", dwarf: dwarf, split: "dwp"})
	}
	for _, dwarf := range []int{4, 5} {
		list = append(list, recipe{language: "go", compiler: "go", level: "O0", dwarf: dwarf},
			recipe{language: "go", compiler: "go", level: "O2", dwarf: dwarf})
	}
	for i, r := range list {
		switch r.name() {
		case "built-c-gcc-O2-lto-dwarf5", "built-cxx-gcc-O1-dwarf5", "built-rust-rustc-O1-dwarf5", "built-go-go-O2-dwarf5":
			list[i].always = true
		}
	}
	return list
}

// build compiles the program and runs it until it dies. The test is skipped, and
// says why, where that cannot be done.
func (r recipe) build(t *testing.T) *subject {
	t.Helper()
	pattern, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
	if p := strings.TrimSpace(string(pattern)); p != "core" {
		t.Skipf("cores do not stay in the directory of the program: kernel.core_pattern is %q", p)
	}
	dir := t.TempDir()
	for _, step := range r.steps(t, false) {
		step.run(t, dir)
	}
	dies(t, dir, "unlimited")
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		t.Fatalf("the program left %d cores", len(cores))
	}
	return &subject{name: r.name(), core: cores[0], binary: filepath.Join(dir, "vars"), dir: dir, sysroot: ownLibraries(t, dir),
		debugDir: t.TempDir(), crashOnly: true, printed: r.printout(t)}
}

// ownLibraries copies the libraries of dir/vars to a system root of their own: one
// without the debug information that this machine may have of them.
func ownLibraries(t *testing.T, dir string) string {
	t.Helper()
	root := t.TempDir()
	out, _ := exec.Command("ldd", filepath.Join(dir, "vars")).Output() // fails for a static program
	for _, path := range strings.Fields(string(out)) {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, path), data, 0o644)
		}
		resolved, linkErr := filepath.EvalSymlinks(path)
		if err == nil && linkErr == nil && resolved != path { // the core names it so
			if err = os.MkdirAll(filepath.Join(root, filepath.Dir(resolved)), 0o755); err == nil {
				err = os.WriteFile(filepath.Join(root, resolved), data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var (
	printoutsMu sync.Mutex
	printouts   = map[string]printout{} // of each language and library
)

// printout answers what the program prints of itself: a build of its own.
func (r recipe) printout(t *testing.T) printout {
	t.Helper()
	printoutsMu.Lock()
	defer printoutsMu.Unlock()
	key := r.language + " " + r.compiler
	if printouts[key] != nil {
		return printouts[key]
	}
	r.level, r.dwarf, r.split = "O0", 5, ""
	dir := t.TempDir()
	for _, step := range r.steps(t, true) {
		step.run(t, dir)
	}
	p := parsePrintout(dies(t, dir, "0"))
	if len(p) == 0 {
		t.Fatal("the program printed no variable")
	}
	printouts[key] = p
	return p
}

// dies runs the program dir/vars, which has to die, and answers what it printed.
func dies(t *testing.T, dir, coreLimit string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "ulimit -c "+coreLimit+" && exec ./vars")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin", "LC_ALL=C", "GOTRACEBACK=crash", "GOMAXPROCS=1"}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err == nil {
		t.Fatal("the program did not die")
	}
	return out.String()
}

// A step is one command of a build.
type step struct {
	args []string
	env  []string
}

func (s step) run(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), s.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(s.args, " "), err, out)
	}
}

// tool answers the first of some programs that is installed.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed (make deps installs it on Debian)", names[0])
	return ""
}

// steps are the commands that make vars; with show it prints its variables.
func (r recipe) steps(t *testing.T, show bool) []step {
	t.Helper()
	src := filepath.Join(fixture.Root(t), "testdata", "src")
	switch r.language {
	case "rust":
		return r.rustSteps(t, src, show)
	case "go":
		return r.goSteps(t, src, show)
	}
	return r.cSteps(t, src, show)
}

func (r recipe) cSteps(t *testing.T, src string, show bool) []step {
	t.Helper()
	level, lto, _ := strings.Cut(r.level, "-")
	names, source := []string{"gcc"}, "vars.c"
	if r.language == "cxx" {
		names, source = []string{"g++"}, "vars.cpp"
	}
	if r.compiler != "gcc" {
		names = []string{"clang-19", "clang"}
		if r.language == "cxx" {
			names = []string{"clang++-19", "clang++"}
		}
	}
	args := []string{tool(t, names...), "-" + level, "-g", fmt.Sprintf("-gdwarf-%d", r.dwarf), "-w"}
	if r.language == "cxx" {
		args = append(args, "-std=c++20")
	}
	if r.compiler == "libcxx" {
		if _, err := os.Stat("/usr/lib/llvm-19/include/c++/v1/vector"); err != nil {
			t.Skip("libc++-19-dev is not installed (Debian: libc++-dev)")
		}
		args = append(args, "-stdlib=libc++", "-static-libstdc++", "-fstandalone-debug")
	}
	if lto != "" {
		args = append(args, "-flto")
		if r.compiler == "clang" {
			tool(t, "ld.lld-19", "ld.lld")
			args = append(args, "-fuse-ld=lld")
		}
	}
	if r.split != "" {
		args = append(args, "-gsplit-dwarf")
	}
	if show {
		args = append(args, "-DSHOW")
	}
	steps := []step{{args: append(args, filepath.Join(src, source), "-o", "vars")}}
	if r.split == "dwp" {
		// That of binutils 2.40 knows no DWARF 5.
		packer := tool(t, "llvm-dwp-19", "llvm-dwp")
		steps = append(steps, step{args: []string{"/bin/sh", "-c", packer + " -e vars -o vars.dwp && rm *.dwo"}})
	}
	return steps
}

func (r recipe) rustSteps(t *testing.T, src string, show bool) []step {
	t.Helper()
	level, lto, _ := strings.Cut(r.level, "-")
	args := []string{tool(t, "rustc"), "--edition", "2021", "-A", "warnings", "-g", "-C", "panic=abort", "-C", "linker=gcc",
		"-C", "opt-level=" + strings.TrimPrefix(level, "O"), "-C", fmt.Sprintf("dwarf-version=%d", r.dwarf)}
	if lto != "" {
		args = append(args, "-C", "lto=fat")
	}
	switch r.split {
	case "dwo":
		args = append(args, "-C", "split-debuginfo=unpacked")
	case "dwp":
		args = append(args, "-C", "split-debuginfo=packed")
	}
	if show {
		args = append(args, "--cfg", "show")
	}
	return []step{{args: append(args, filepath.Join(src, "vars.rs"), "-o", "vars")}}
}

func (r recipe) goSteps(t *testing.T, src string, show bool) []step {
	t.Helper()
	command := tool(t, "go")
	env := []string{"GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
	args := []string{command, "build", "-trimpath", "-buildvcs=false"}
	if r.dwarf == 4 {
		env = append(env, "GOEXPERIMENT=nodwarf5")
	}
	if r.level == "O0" {
		args = append(args, "-gcflags=all=-N -l")
	}
	if show {
		args = append(args, "-tags=show")
	}
	return []step{
		{args: []string{"/bin/sh", "-c", "cp '" + filepath.Join(src, "govars") + "'/*.go . && printf 'module fixtures/govars\\n\\ngo 1.22\\n' >go.mod"}},
		{args: append(args, "-o", "vars", "."), env: env},
	}
}
