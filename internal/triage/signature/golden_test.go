package signature_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

var update = flag.Bool("update", false, "rewrite testdata/fixtures.txt")

// options open a fixture as its case.json says.
func options(t *testing.T, c fixture.Case) []corewalk.Option {
	if len(c.Images) > 0 {
		opts := []corewalk.Option{corewalk.WithDebugDir(t.TempDir())}
		for _, dir := range c.Search(t) {
			opts = append(opts, corewalk.WithSearch(dir))
		}
		return opts
	}
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)), corewalk.WithSearch(c.Dir)}
	debugDir := t.TempDir()
	for i := 0; i+1 < len(c.Args); i += 2 {
		dir := filepath.Join(c.Dir, c.Args[i+1])
		if c.Args[i] == "--debug-dir" {
			debugDir = dir
		} else {
			opts = append(opts, corewalk.WithSearch(dir))
		}
	}
	return append(opts, corewalk.WithDebugDir(debugDir))
}

// TestFixtures compares the signatures of the fixtures with those that were read and
// approved: a line for each. A difference for many means that Version must change.
func TestFixtures(t *testing.T) {
	var b strings.Builder
	for _, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		target, err := corewalk.Open(c.Core(t), options(t, c)...)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
		target.Close()
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		s := signature.Of(r)
		mark := ""
		if s.Weak {
			mark = " (weak)"
		}
		frames := slices.Clone(s.Frames)
		if s.Top < len(frames) {
			frames[s.Top] = "| " + frames[s.Top] // where the first level ends
		}
		fmt.Fprintf(&b, "%s: %s%s: %s [%s] %s\n", c.Name, s.Hash, mark, s.Kind, s.Class, strings.Join(frames[:min(len(frames), 9)], " < "))
	}
	const file = "testdata/fixtures.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for line := range strings.Lines(b.String()) {
		name, _, _ := strings.Cut(line, ":")
		got[name] = line
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, ":")
		if got[name] != line {
			t.Errorf("%s differs; -update keeps the new one:\nwant %sgot  %s", name, line, got[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Logf("%s: no signature was approved yet; -update keeps this one", name)
	}
}
