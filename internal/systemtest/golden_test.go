package systemtest

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

var update = flag.Bool("update", false, "rewrite the golden reports in testdata")

// jsonCases are those whose whole report is kept as JSON too: one of each kind.
var jsonCases = []string{
	"amd64-abort", "amd64-bad-sp", "amd64-cxx-sort", "amd64-deleted", "amd64-inline-tail-O2", "amd64-mismatch",
	"amd64-null-call", "amd64-signal-altstack", "amd64-so-dlopen", "amd64-tail-ambiguous-O2", "amd64-mingw-deep", "amd64-clang-O2-fault",
}

// structuredCases are those whose variables' trees are kept too: C with values on
// entry, C++ with types of a library, containers of C++, values of Rust, arrays of Ada.
var structuredCases = []string{"amd64-unbounded", "amd64-passed-O2", "amd64-widget", "amd64-cxx-sort", "amd64-rust-segv"}

// TestGoldenStructured compares the variables of the crashing thread, taken apart.
func TestGoldenStructured(t *testing.T) {
	for _, name := range structuredCases {
		t.Run(name, func(t *testing.T) {
			c := fixture.Get(t, name)
			var how corewalk.FactsOptions
			how.Values.MaxString = 4 // so that some are cut
			r, err := openCase(t, c).AnalyzeWith(context.Background(), how, corewalk.AnalyzeOptions{For: report.Whole{Trees: true}})
			if err != nil {
				t.Fatal(err)
			}
			portable(r, filepath.Dir(c.Core(t)), "CASE", filepath.Dir(c.Binary(t)), "CASE", c.Sysroot(t), "SYSROOT", c.Dir, "CASE")
			kept := report.Report{Schema: r.Schema}
			for _, th := range r.Threads {
				if !th.Crashed {
					continue
				}
				th.Frames = slices.DeleteFunc(th.Frames, func(f report.Frame) bool { return len(f.Args)+len(f.Locals) == 0 })
				th.Registers = report.Registers{}
				kept.Threads = append(kept.Threads, th)
			}
			var js bytes.Buffer
			if err := report.WriteJSON(&js, &kept); err != nil {
				t.Fatal(err)
			}
			golden(t, c, "variables.json", js.Bytes())
		})
	}
}

// TestGoldenReports compares the report of every fixture with the one that was
// read and approved, and its stacks with those that were checked by hand. The libraries are the shipped ones, so that the reports are
// the same on every machine.
func TestGoldenReports(t *testing.T) {
	t.Parallel()
	for _, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		t.Run(c.Name, func(t *testing.T) {
			if testing.Short() { // the race detector takes ten times as long
				c.SampleOnly(t)
			}
			if c.Name == "amd64-recursion-12000" && !*update { // takes a third of all; the sample has a shorter one
				fixture.Long(t)
			}
			r := analyzeCase(t, c)
			validReport(t, r)
			asChecked(t, c, r)
			paths := []string{filepath.Dir(c.Core(t)), "CASE", filepath.Dir(c.Binary(t)), "CASE", c.Sysroot(t), "SYSROOT", c.Dir, "CASE"}
			for i, dir := range c.Search(t) {
				paths = append(paths, dir, c.Images[i])
			}
			portable(r, paths...)
			var text bytes.Buffer
			if err := report.WriteText(&text, r, report.TextOptions{MaxFrames: 60, AllLocals: true}); err != nil {
				t.Fatal(err)
			}
			golden(t, c, "report.txt", text.Bytes())
			checkWidth(t, r)
			if !slices.Contains(jsonCases, c.Name) {
				return
			}
			var js bytes.Buffer
			if err := report.WriteJSON(&js, r); err != nil {
				t.Fatal(err)
			}
			golden(t, c, "report.json", js.Bytes())
		})
	}
}

// checkWidth: no line of the text of a report is wider than it may be.
func checkWidth(t *testing.T, r *report.Report) {
	t.Helper()
	var columns runewidth.Condition
	for _, opts := range []report.TextOptions{{Width: 60, AllLocals: true, ShowRegisters: true}, {Width: 80, Paths: report.PathsFull}} {
		var text bytes.Buffer
		if err := report.WriteText(&text, r, opts); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := columns.StringWidth(strings.TrimSuffix(line, "\n")); n > opts.Width {
				t.Errorf("%d columns in %d: %s", n, opts.Width, line)
			}
		}
	}
}

// TestGoldenMismatched compares the reports of a core whose program is there in
// another build only, refused and used all the same.
func TestGoldenMismatched(t *testing.T) {
	c := fixture.Get(t, "amd64-mismatch")
	dir := t.TempDir() // without the right build beside it
	data, err := os.ReadFile(filepath.Join(c.Dir, "version.other"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "version.other")
	if err := os.WriteFile(other, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, force := range map[string]bool{"report-refused.txt": false, "report-forced.txt": true} {
		opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(t.TempDir()), corewalk.WithExecutable(other)}
		if force {
			opts = append(opts, corewalk.WithForceMismatched())
		}
		target, err := corewalk.Open(context.Background(), c.Core(t), opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		portable(r, dir, "DIR", c.Sysroot(t), "SYSROOT")
		var text bytes.Buffer
		if err := report.WriteText(&text, r, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		golden(t, c, name, text.Bytes())
	}
}

// portable takes out of r what differs from machine to machine: paths, in pairs
// with what to put there, and when the dump's file was written.
func portable(r *report.Report, paths ...string) {
	replace := strings.NewReplacer(paths...).Replace
	r.Dump.Path, r.Dump.Time = filepath.Base(r.Dump.Path), time.Time{}
	for i := range r.Modules {
		m := &r.Modules[i]
		m.File, m.DebugFile = replace(m.File), replace(m.DebugFile)
	}
	for i := range r.Warnings {
		r.Warnings[i].Message = replace(r.Warnings[i].Message)
	}
}

// golden compares got with a file of the case.
func golden(t *testing.T, c fixture.Case, name string, got []byte) {
	t.Helper()
	path := filepath.Join(c.Dir, name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); read the new one, and -update keeps it:\n%s", path, diff)
	}
}
