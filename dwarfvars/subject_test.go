package dwarfvars_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

var (
	showAll  = flag.Bool("show", false, "print every variable compared with gdb")
	update   = flag.Bool("update", false, "rewrite the golden files")
	onlyCase = flag.String("case", "", "compare only cases whose names hold this")
	matrix   = flag.Bool("matrix", false, "compare with gdb all programs that can be built here, not a handful")
)

// A subject is a core with what it takes to open it, alike for gdb and for us:
// neither has files that the other lacks.
type subject struct {
	name     string // such as amd64-vars-c-O2
	core     string
	binary   string
	dir      string // where companions of the binary are
	sysroot  string // with the libraries
	debugDir string
	search   []string
	// crashOnly: the threads that did not die differ from run to run.
	crashOnly bool
	printed   printout // what the program itself says of its variables; may be nil
}

// ofFixture answers a fixture, opened as its case.json says.
func ofFixture(t testing.TB, c fixture.Case) *subject {
	t.Helper()
	s := &subject{name: c.Name, core: c.Core(t), binary: c.Binary(t), dir: c.Dir, sysroot: c.Sysroot(t), debugDir: t.TempDir()}
	for i := 0; i+1 < len(c.Args); i += 2 {
		dir := filepath.Join(c.Dir, c.Args[i+1])
		switch c.Args[i] {
		case "--debug-dir":
			s.debugDir = dir
		case "--search":
			s.search = append(s.search, dir)
		}
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "printed.txt"))
	if err == nil {
		s.printed = parsePrintout(string(text))
	} else if madeForVariables(c.Name) {
		t.Errorf("%v: the printout of a program made for its variables", err)
	}
	return s
}

// madeForVariables tells the programs that print their own variables.
func madeForVariables(fixture string) bool { return strings.Contains(fixture, "-vars-") }

// open opens the core.
func (s *subject) open(t testing.TB) *corewalk.Target {
	t.Helper()
	opts := []corewalk.Option{corewalk.WithSysroot(s.sysroot), corewalk.WithExecutable(s.binary),
		corewalk.WithSearch(s.dir), corewalk.WithDebugDir(s.debugDir)}
	for _, dir := range s.search {
		opts = append(opts, corewalk.WithSearch(dir))
	}
	target, err := corewalk.Open(context.Background(), s.core, opts...)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// openCase opens a fixture.
func openCase(t testing.TB, c fixture.Case) *corewalk.Target {
	t.Helper()
	return ofFixture(t, c).open(t)
}
