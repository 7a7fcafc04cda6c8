//go:build linux

package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A heartbeat is a process of a hundred threads that tells how long it was kept from
// running.
type heartbeat struct {
	pid   int
	in    io.Writer
	lines *bufio.Scanner
}

func startHeartbeat(b *testing.B) *heartbeat {
	b.Helper()
	exe := filepath.Join(b.TempDir(), "heartbeat")
	if out, err := exec.Command("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-o", exe, filepath.Join(fixture.Root(b), "testdata", "src", "heartbeat.c")).CombinedOutput(); err != nil {
		b.Skipf("cannot build the program: %v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	fixture.Bind(b, cmd.Process.Pid)
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	h := &heartbeat{cmd.Process.Pid, in, bufio.NewScanner(out)}
	if !h.lines.Scan() || h.lines.Text() != "ready" {
		b.Fatalf("the program says %q", h.lines.Text())
	}
	return h
}

// longest is the longest pause since it was last asked for, in microseconds.
func (h *heartbeat) longest(b *testing.B) int {
	b.Helper()
	fmt.Fprintln(h.in)
	if !h.lines.Scan() {
		b.Fatal("the program has ended")
	}
	n, err := strconv.Atoi(h.lines.Text())
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkPeersLive runs the whole command and its peers on a process of a hundred
// threads, and tells for how long that stood still: as it felt itself, the median of
// the runs.
func BenchmarkPeersLive(b *testing.B) {
	self := filepath.Join(b.TempDir(), "corewalk")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", self, "github.com/corewalk/corewalk/cmd/corewalk").CombinedOutput(); err != nil {
		b.Skipf("cannot build the command: %v\n%s", err, out)
	}
	h := startHeartbeat(b)
	pid := strconv.Itoa(h.pid)
	for _, p := range []struct {
		name string
		args []string
	}{
		{"nothing", []string{"sleep", "0.1"}},
		{"corewalk", []string{self, "live", pid}},
		{"corewalk-hold", []string{self, "live", "--hold", pid}},
		{"corewalk-sampling", []string{self, "live", "--every", "20ms", "--for", "500ms", pid}},
		{"eu-stack", []string{"eu-stack", "-n", "0", "-p", pid}},
		{"gdb", []string{"gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt", "-p", pid}},
	} {
		if _, err := exec.LookPath(p.args[0]); err != nil {
			b.Logf("%s is not installed", p.args[0])
			continue
		}
		b.Run(p.name, func(b *testing.B) {
			h.longest(b)
			var pauses []int
			for b.Loop() {
				cmd := exec.Command(p.args[0], p.args[1:]...)
				cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=")
				if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
					b.Fatal(err)
				}
				pauses = append(pauses, h.longest(b))
			}
			slices.Sort(pauses)
			b.ReportMetric(float64(pauses[len(pauses)/2])/1000, "ms-still")
			b.ReportMetric(float64(pauses[len(pauses)-1])/1000, "ms-longest")
		})
	}
}
