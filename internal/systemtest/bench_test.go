package systemtest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// BenchmarkPeers runs the whole command and its peers, as far as they are
// installed, over the same cores. A directory in COREWALK_BIG with a program
// "w4" and its "core" is measured too (docs/performance.md).
func BenchmarkPeers(b *testing.B) {
	dir := b.TempDir()
	self := filepath.Join(dir, "corewalk")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", self, "github.com/corewalk/corewalk/cmd/corewalk").CombinedOutput(); err != nil {
		b.Skipf("cannot build the command: %v\n%s", err, out)
	}
	for _, name := range benchCases {
		c := fixture.Get(b, name)
		b.Run(name, func(b *testing.B) { benchPeers(b, self, c.Core(b), c.Binary(b), c.Sysroot(b)) })
	}
	if big := os.Getenv("COREWALK_BIG"); big != "" {
		b.Run("big", func(b *testing.B) { benchPeers(b, self, filepath.Join(big, "core"), filepath.Join(big, "w4"), "/") })
	}
}

func benchPeers(b *testing.B, self, core, bin, root string) {
	for _, p := range []struct {
		name string
		args []string
	}{
		{"corewalk", []string{self, "--sysroot", root, core, bin}},
		{"eu-stack", []string{"eu-stack", "-n", "0", "--core=" + core, "--executable=" + bin}},
		{"eu-stack-iv", []string{"eu-stack", "-n", "0", "-i", "-v", "--core=" + core, "--executable=" + bin}},
		{"gdb", []string{"gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set sysroot " + root, "-ex", "bt", bin, core}},
	} {
		if _, err := exec.LookPath(p.args[0]); err != nil {
			b.Logf("%s is not installed", p.args[0])
			continue
		}
		b.Run(p.name, func(b *testing.B) {
			peak := int64(0)
			for b.Loop() {
				cmd := exec.Command(p.args[0], p.args[1:]...)
				cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=")
				if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
					b.Fatal(err)
				}
				peak = max(peak, peakMemory(cmd))
			}
			b.ReportMetric(float64(peak)/1024, "peak-MiB")
		})
	}
}
