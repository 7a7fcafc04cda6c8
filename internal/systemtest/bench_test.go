package systemtest

import (
	"context"
	"io"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// benchCases are fixtures of different kinds of work.
var benchCases = []string{"amd64-recursion-O0", "amd64-recursion-12000", "amd64-threads", "amd64-cxx-sort"}

// BenchmarkReport is the whole of a report but the start of the program: open,
// analyse, print.
func BenchmarkReport(b *testing.B) {
	for _, name := range benchCases {
		c := fixture.Get(b, name)
		core, bin, root := c.Core(b), c.Binary(b), c.Sysroot(b)
		empty := b.TempDir()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t, err := corewalk.Open(context.Background(), core, corewalk.WithSysroot(root), corewalk.WithExecutable(bin), corewalk.WithDebugDir(empty))
				if err != nil {
					b.Fatal(err)
				}
				r, err := t.Analyze(context.Background(), corewalk.AnalyzeOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if err := report.WriteText(io.Discard, r, report.TextOptions{}); err != nil {
					b.Fatal(err)
				}
				t.Close()
			}
		})
	}
}

// BenchmarkWalk is the walk of a stack of 12,005 frames alone, without symbols.
func BenchmarkWalk(b *testing.B) {
	t := openCase(b, fixture.Get(b, "amd64-recursion-12000"))
	w, err := t.NewWalker()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		s, err := w.WalkStack(unwind.NullThread)
		if err != nil {
			b.Fatal(err)
		}
		n = len(s.Frames)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/frame")
}
