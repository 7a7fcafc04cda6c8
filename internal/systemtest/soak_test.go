//go:build linux

package systemtest

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/livestate"
)

// held is what this program holds: bytes of its heap that are reachable, and mappings of
// files. What the system counts as its memory says less: it keeps what was freed, and the
// detector of races keeps more the longer it runs.
func held(t *testing.T) (heap uint64, mapped int) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return stats.HeapAlloc, strings.Count(string(maps), " /")
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// A program under load is attached to, walked and let go again and again, COREWALK_SOAK
// times (100 by default): it must lose nothing, and nothing may be left behind here.
func TestSoakUnderLoad(t *testing.T) {
	exe := fixture.Compile(t, "gcc", "load.c", "-g", "-O1", "-pthread")
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the program says %q", lines.Text())
	}
	rounds := 100
	if n, err := strconv.Atoi(os.Getenv("COREWALK_SOAK")); err == nil {
		rounds = n
	}
	var files, mapped, frames, whole int
	var heap uint64
	var longest time.Duration
	warm := min(max(rounds/10, 20), rounds/2)
	for i := range rounds {
		if i == warm {
			files = openFiles(t)
			heap, mapped = held(t)
		}
		target, err := corewalk.Attach(context.Background(), cmd.Process.Pid)
		if errors.Is(err, livestate.ErrPermission) && os.Getenv("CI_NEEDS_PTRACE") == "" {
			t.Skipf("this machine forbids ptrace: %v", err)
		}
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		m, err := target.Moment(context.Background())
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		for _, s := range m.Stacks {
			frames += len(s.Frames)
			if s.Err == nil {
				whole++
			}
		}
		longest = max(longest, m.Pause)
		if err := target.Close(); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open, %d were after %d rounds", n, files, warm)
	}
	h, m := held(t)
	if h > heap+1<<20 {
		t.Errorf("%d bytes of the heap are in use, %d were after %d rounds", h, heap, warm)
	}
	if m > mapped {
		t.Errorf("%d files are mapped, %d were after %d rounds", m, mapped, warm)
	}
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "alarms 1 signals 1 threads 1 forks 1" {
		t.Errorf("at its end the program says %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
	t.Logf("%d rounds: %d stacks to their bottom, %d frames; the longest pause %v; heap %d, %d at the beginning", rounds, whole, frames, longest, h, heap)
}
