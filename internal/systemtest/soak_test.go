//go:build linux

package systemtest

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/livestate"
)

// resident is this program's memory, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
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
	var files, memory, frames, whole int
	var longest time.Duration
	warm := min(max(rounds/10, 20), rounds/2)
	for i := range rounds {
		if i == warm {
			files, memory = openFiles(t), resident(t)
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
	if n := resident(t); n > memory+16<<20 {
		t.Errorf("%d bytes of memory, %d after %d rounds", n, memory, warm)
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
	t.Logf("%d rounds: %d stacks to their bottom, %d frames; the longest pause %v", rounds, whole, frames, longest)
}
