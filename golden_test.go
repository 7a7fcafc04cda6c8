package corewalk_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

var update = flag.Bool("update", false, "rewrite the golden reports in testdata/cores")

// jsonCases are those whose whole report is kept as JSON too: one of each kind.
var jsonCases = []string{
	"amd64-abort", "amd64-bad-sp", "amd64-cxx-sort", "amd64-deleted", "amd64-inline-tail-O2", "amd64-mismatch",
	"amd64-null-call", "amd64-signal-altstack", "amd64-so-dlopen", "amd64-tail-ambiguous-O2",
}

// TestGoldenReports compares the report of every fixture with the one that was
// read and approved. The libraries are the shipped ones, so that the reports are
// the same on every machine.
func TestGoldenReports(t *testing.T) {
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			r := analyzeCase(t, c)
			r.Dump.Path, r.Dump.Time = filepath.Base(r.Dump.Path), time.Time{}
			var text bytes.Buffer
			if err := report.WriteText(&text, r, report.TextOptions{MaxFrames: 60}); err != nil {
				t.Fatal(err)
			}
			golden(t, c, "report.txt", text.Bytes())
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

// golden compares got, with the paths of this machine taken out, with a file of
// the case.
func golden(t *testing.T, c fixture.Case, name string, got []byte) {
	t.Helper()
	text := strings.NewReplacer(
		filepath.Dir(c.Core(t)), "CASE", filepath.Dir(c.Binary(t)), "CASE",
		c.Sysroot(t), "SYSROOT", c.Dir, "CASE",
	).Replace(string(got))
	path := filepath.Join(c.Dir, name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); read the new one, and -update keeps it:\n%s", path, diff)
	}
}
