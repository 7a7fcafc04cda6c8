package systemtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// oldSources copies the fixtures' sources and makes them older than every program, whatever
// the time of the checkout.
func oldSources(t *testing.T) string {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixture.Root(t), "testdata", "src"))); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1_000_000_000, 0)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Source, instructions and memory around the frames: inlined and tail calls; Thumb, of
// which the lowest bit of a code pointer is no part of the address; delay slots, after
// which calls return.
func TestGoldenAround(t *testing.T) {
	sources := oldSources(t)
	for _, name := range []string{"amd64-inline-tail-O2", "arm-thumb-crash-O1", "mips-crash-O0", "s390x-crash-O0", "amd64-tail-bad-O2"} {
		t.Run(name, func(t *testing.T) {
			c := fixture.Get(t, name)
			opts := corewalk.AnalyzeOptions{Include: corewalk.Include{Source: 2, Code: true, Memory: true}}
			r, err := openCase(t, c, corewalk.WithSearch(sources)).Analyze(context.Background(), opts)
			if err != nil {
				t.Fatal(err)
			}
			validReport(t, r)
			portable(r)
			r.Modules = nil
			var text bytes.Buffer
			if err := report.WriteText(&text, r, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			golden(t, c, "around.txt", text.Bytes())
		})
	}
}

// Each way in which a source file is not shown has its words, and a newer file is marked.
func TestSourceGaps(t *testing.T) {
	c := fixture.Get(t, "amd64-inline-tail-O2")
	old := oldSources(t)
	text, err := os.ReadFile(filepath.Join(old, "inline_tail.c"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(data []byte, when time.Time) string {
		dir := t.TempDir()
		path := filepath.Join(dir, "inline_tail.c")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	past, future := time.Unix(1_000_000_000, 0), time.Now().Add(24*time.Hour)
	for _, tt := range []struct {
		name    string
		dir     string
		want    string // in the text of the report
		listing bool
	}{
		{"found", put(text, past), "> 21          *(volatile long *)p = v;", true},
		{"newer", put(text, future), "inline_tail.c is newer than the program", true},
		{"missing", t.TempDir(), "Source file not found: /", false},
		{"shorter", put([]byte("int x;\n"), past), "another version", false},
		{"not text", put(append(text, 0), past), "not a text file", false},
	} {
		r, err := openCase(t, c, corewalk.WithSearch(tt.dir)).Analyze(context.Background(), corewalk.AnalyzeOptions{Include: corewalk.Include{Source: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := report.WriteText(&out, r, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		l := r.Threads[0].Frames[0].Listing
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(tt.want), " ")) || (l != nil) != tt.listing {
			t.Errorf("%s: %v, %s", tt.name, l, out.String())
		}
		if l != nil && l.Newer != (tt.name == "newer") {
			t.Errorf("%s: newer %v", tt.name, l.Newer)
		}
	}
}

// Without a request nothing of it is in the report.
func TestNothingAround(t *testing.T) {
	r := analyzeCase(t, fixture.Get(t, "amd64-inline-tail-O2"))
	for _, f := range r.Threads[0].Frames {
		if f.Listing != nil || f.Code != nil {
			t.Errorf("%+v", f)
		}
	}
	if r.Memory != nil {
		t.Errorf("%+v", r.Memory)
	}
}
