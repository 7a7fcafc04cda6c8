//go:build linux

package livestate

import (
	"testing"
	"time"
)

// BenchmarkSnapshot tells how long a process of a hundred idle threads stands still.
func BenchmarkSnapshot(b *testing.B) {
	cmd, _ := child(b, "threads")
	p, err := Attach(cmd.Process.Pid)
	if err != nil {
		b.Skip(err)
	}
	defer p.Close()
	var pause, longest time.Duration
	for b.Loop() {
		s, err := p.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		if len(s.threads) < 100 {
			b.Fatalf("%d threads", len(s.threads))
		}
		pause += s.Pause()
		longest = max(longest, s.Pause())
	}
	b.ReportMetric(float64(pause.Microseconds())/float64(b.N), "µs-pause/op")
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
}

// BenchmarkAttach is attaching to a process of a hundred threads and detaching.
func BenchmarkAttach(b *testing.B) {
	cmd, _ := child(b, "threads")
	for b.Loop() {
		p, err := Attach(cmd.Process.Pid)
		if err != nil {
			b.Skip(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
