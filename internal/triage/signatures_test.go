package triage

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
	"github.com/corewalk/corewalk/report"
)

var update = flag.Bool("update", false, "rewrite testdata/signatures.txt")

// options returns the options with which a fixture is opened, following its case.json.
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

// checkKept: the frames decided as Kept are those of the signature, and the first Top of them are in the first
// level.
func checkKept(t *testing.T, name string, s *signature.Signature) {
	t.Helper()
	var kept, first []string
	for _, d := range s.Decisions {
		if d.Action == signature.Kept {
			kept = append(kept, d.Name)
		}
		if d.First {
			first = append(first, d.Name)
		}
	}
	// The cycle of a stack overflow has its own order.
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if !slices.Equal(sorted(kept), sorted(s.Frames)) {
		t.Errorf("%s: frames %q, decided to be kept %q", name, s.Frames, kept)
	}
	if !slices.Equal(sorted(first), sorted(s.Frames[:s.Top])) {
		t.Errorf("%s: first level %q, decided to be in it %q", name, s.Frames[:s.Top], first)
	}
}

// TestKept: the kept frames are the signature's frames, also for recursions and weak signatures.
func TestKept(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		frames []string
		want   []string // by frame number
	}{
		"recursion":       {"null-read", []string{"leaf", "walk", "walk", "walk", "main"}, []string{"leaf 0", "walk 1", "main 4"}},
		"mutual":          {"null-read", []string{"leaf", "f", "g", "f", "g", "main"}, []string{"leaf 0", "f 1", "g 2", "main 5"}},
		"two rounds":      {"null-read", []string{"a", "b", "c", "b", "d", "a", "main"}, []string{"a 0", "main 6"}},
		"round by itself": {"null-read", []string{"a", "b", "c", "b", "d", "main"}, []string{"a 0", "b 1", "d 4", "main 5"}},
		"overflow":        {report.CrashStackOverflow, []string{"leaf", "f", "g", "f", "g", "f", "g", "h", "k", "h", "main"}, []string{"f 1", "g 2", "h 7", "main 10"}},
		"nothing again":   {report.CrashStackOverflow, []string{"f", "g", "main"}, []string{"f 0", "g 1", "main 2"}},
	} {
		r := &report.Report{Crash: &report.Crash{Kind: c.kind}, Modules: []report.Module{{Path: "/bin/app", Main: true}}}
		r.Threads = []report.Thread{{ID: 1, Crashed: true, End: report.EndBottom}}
		for i, f := range c.frames {
			r.Threads[0].Frames = append(r.Threads[0].Frames, report.Frame{Index: i, Physical: i, PC: report.Addr(0x1000 + 16*i),
				Module: "/bin/app", Function: f, Trust: report.TrustCFI})
		}
		s := signature.Of(r)
		checkKept(t, name, &s)
		var kept []string
		for i, d := range s.Decisions {
			if d.Action == signature.Kept {
				kept = append(kept, fmt.Sprint(d.Name, " ", i))
			}
		}
		if !slices.Equal(kept, c.want) {
			t.Errorf("%s: kept %q, want %q", name, kept, c.want)
		}
	}
}

// TestFixtures compares the signatures of the fixtures with those that were read and approved, one line each.
// If many differ, Version must change.
func TestFixtures(t *testing.T) {
	const file = "testdata/signatures.txt"
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, ":")
		want[name] = line
	}
	var b strings.Builder
	left := false // by -run
	for _, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		ran := false
		t.Run(c.Name, func(t *testing.T) {
			ran = true
			line := lineOf(t, c)
			b.WriteString(line)
			switch {
			case *update:
			case want[c.Name] == "":
				t.Logf("no signature was approved yet; -update keeps this one: %s", line)
			case want[c.Name] != line:
				t.Errorf("differs; -update keeps the new one:\nwant %sgot  %s", want[c.Name], line)
			}
		})
		left = left || !ran
		delete(want, c.Name)
	}
	switch {
	case *update && left:
		t.Error("-update needs all of the test")
	case *update:
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		for name := range want {
			t.Errorf("%s: there is no such fixture", name)
		}
	}
}

// lineOf is the line of a fixture.
func lineOf(t *testing.T, c fixture.Case) string {
	t.Helper()
	target, err := corewalk.Open(context.Background(), c.Core(t), options(t, c)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	target.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := signature.Of(r)
	checkKept(t, c.Name, &s)
	mark := ""
	if s.Weak {
		mark = " (weak)"
	}
	frames := slices.Clone(s.Frames)
	if s.Top < len(frames) {
		frames[s.Top] = "| " + frames[s.Top] // where the first level ends
	}
	return fmt.Sprintf("%s: %s%s: %s [%s] %s\n", c.Name, s.Hash, mark, s.Kind, s.Class, strings.Join(frames[:min(len(frames), 9)], " < "))
}

// TestMergedFixtures: where a compiler made one call of abort of two, nobody knows which of the two it was, so the dumps
// of both are in one group, by either compiler. Two assertions of one function are two bugs: their words differ.
func TestMergedFixtures(t *testing.T) {
	hash := make(map[string]string)
	for _, name := range []string{"size", "text", "clang", "odd", "empty"} {
		_, line, _ := strings.Cut(lineOf(t, fixture.Get(t, "amd64-merged-"+name)), ": ")
		hash[name], _, _ = strings.Cut(line, ": ")
	}
	if hash["size"] != hash["text"] || hash["size"] != hash["clang"] || hash["odd"] == hash["empty"] || hash["odd"] == hash["size"] {
		t.Errorf("%v", hash)
	}
}
