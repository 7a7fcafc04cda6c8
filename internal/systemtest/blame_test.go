package systemtest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// blameBuilds are the builds of the programs that die of bad values.
var blameBuilds = []string{"gcc-O0", "gcc-O2", "clang-O0", "clang-O2"}

// blameVerdicts are the words that testdata/blame/told.txt has for what is told, each
// line of it being read against the source: the expression and where its value came
// from; less than that, but nothing that is not so; nothing; something that is not so.
var blameVerdicts = []string{"exact", "partial", "nothing", "wrong"}

// TestBlame compares what is told of bad values with testdata/blame/told.txt. A line
// that -update changes gets the verdict "unread", which does not pass.
func TestBlame(t *testing.T) {
	t.Parallel()
	told := filepath.Join(fixture.Root(t), "testdata", "blame", "told.txt")
	old, err := os.ReadFile(told)
	if err != nil && !*update {
		t.Fatal(err)
	}
	verdicts := map[string]string{} // build, way and words: verdict
	for line := range strings.Lines(string(old)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(f) == 4 && !strings.HasPrefix(line, "#") {
			verdicts[f[0]+" "+f[1]+" "+f[3]] = f[2]
		}
	}
	var now strings.Builder
	now.WriteString("# What the report says of testdata/src/blame: build, way, verdict, words. See TestBlame.\n")
	counts := map[string]int{}
	left := false // by -run
	for _, build := range blameBuilds {
		blameCores(t, build, func(program, way, core string) {
			ran := false
			t.Run(build+" "+way, func(t *testing.T) {
				ran = true
				words := blameWords(t, build, program, core)
				verdict, ok := verdicts[build+" "+way+" "+words]
				if !ok {
					verdict = "unread"
					t.Errorf("not read yet: %s", words)
				} else if !slices.Contains(blameVerdicts, verdict) || verdict == "wrong" {
					t.Errorf("%s: %s", verdict, words)
				}
				counts[verdict]++
				fmt.Fprintf(&now, "%s %s %s %s\n", build, way, verdict, words)
			})
			left = left || !ran
		})
	}
	t.Log(counts)
	switch {
	case *update && left:
		t.Error("-update needs all of the test")
	case *update:
		if err := os.WriteFile(told, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case !left && now.String() != string(old):
		t.Error("told.txt has lines that are not told, or in another order")
	}
}

// blameWords is what a report says of the bad value.
func blameWords(t *testing.T, build, program, core string) string {
	t.Helper()
	bin := fixture.Case{Dir: filepath.Join(fixture.Root(t), "testdata", "blame", build)}.File(t, program)
	root := fixture.Get(t, "amd64-null-call").Sysroot(t)
	target, err := corewalk.Open(context.Background(), core, corewalk.WithSysroot(root), corewalk.WithExecutable(bin), corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Crash == nil {
		t.Fatalf("%s: no crash", core)
	}
	if r.Crash.Blame == nil {
		return "-"
	}
	var js bytes.Buffer
	if err := report.WriteJSON(&js, r); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s [%s]", r.Crash.Causes[0].Text, r.Crash.Blame.Confidence)
}

// blameCores calls do for every core of a build.
func blameCores(tb testing.TB, build string, do func(program, way, core string)) {
	tb.Helper()
	f, err := os.Open(filepath.Join(fixture.Root(tb), "testdata", "blame", build, "cores.tar.zst"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	dir := tb.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		program, way, ok := strings.Cut(filepath.Base(h.Name), ".")
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		core := filepath.Join(dir, way)
		if err := os.WriteFile(core, data, 0o600); err != nil {
			tb.Fatal(err)
		}
		do(program, way, core)
		os.Remove(core)
	}
}

// BenchmarkBlame analyses a small core whose bad value is traced through four frames.
func BenchmarkBlame(b *testing.B) {
	blameCores(b, "gcc-O2", func(program, way, core string) {
		if way != "passed" {
			return
		}
		bin := fixture.Case{Dir: filepath.Join(fixture.Root(b), "testdata", "blame", "gcc-O2")}.File(b, program)
		root := fixture.Get(b, "amd64-null-call").Sysroot(b)
		for b.Loop() {
			target, err := corewalk.Open(context.Background(), core, corewalk.WithSysroot(root), corewalk.WithExecutable(bin), corewalk.WithDebugDir(b.TempDir()))
			if err != nil {
				b.Fatal(err)
			}
			if r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{}); err != nil || r.Crash.Blame == nil {
				b.Fatal("no blame", err)
			}
			target.Close()
		}
	})
}
