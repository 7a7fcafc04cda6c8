package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// inLine is where a frame of gdb's is.
var inLine = regexp.MustCompile(`(?m)^#\d+ .*? at \S*?([^/ ]+:\d+)$`)

// TestUnkind builds each unkind program in its small size: the generators write what compilers take, the programs die where they
// must, and the crashed stack has the functions and, as gdb says them, the lines.
func TestUnkind(t *testing.T) {
	fixture.Tools(t)
	t.Chdir(filepath.Join("..", ".."))
	for _, u := range unkinds() {
		t.Run(u.name, func(t *testing.T) {
			if _, err := exec.LookPath(u.compiler); err != nil {
				t.Skipf("%s is not installed (Debian: gcc, g++, clang, rustc)", u.compiler)
			}
			b, dir := &builder{src: "testdata/src/bench"}, t.TempDir()
			if err := u.compileAll(b, dir, u.less); err != nil {
				if strings.Contains(err.Error(), "zstd") {
					t.Skipf("the linker does not compress with zstd: %v", err)
				}
				t.Fatal(err)
			}
			program := filepath.Join(dir, "program")
			core := fixture.Crash(t, nil, program)
			target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(program))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var names, lines []string
			for _, f := range r.Threads[0].Frames {
				names = append(names, f.Function)
				lines = append(lines, fmt.Sprintf("%s:%d", path.Base(f.Source.File), f.Source.Line))
			}
			for _, want := range u.wanted(u.less) {
				if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, want) }) {
					t.Errorf("no frame %s in %q", want, names)
				}
			}
			if _, err := exec.LookPath("gdb"); err != nil || u.compiler == "go" { // gdb does not know which goroutine died
				return
			}
			line := gdb("bt", program, core)
			out, err := exec.Command(line[0], line[1:]...).Output()
			if err != nil {
				t.Fatal(err)
			}
			out = out[bytes.LastIndex(out, []byte("\n#0 "))+1:] // it also says where the program died
			at := inLine.FindAllSubmatch(out, -1)
			if len(at) < 3 {
				t.Fatalf("gdb knows %d lines: %.2000s", len(at), out)
			}
			rest := lines
			for _, m := range at { // in this order; we may have tail calls between them
				i := slices.Index(rest, string(m[1]))
				if i < 0 {
					t.Fatalf("gdb has a frame at %s, we have %q, and %q before", m[1], rest, lines[:len(lines)-len(rest)])
				}
				rest = rest[i+1:]
			}
		})
	}
}
