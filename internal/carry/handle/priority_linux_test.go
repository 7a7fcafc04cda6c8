package handle

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGiveWay: all threads have the lower priority, and so has a program that is started.
func TestGiveWay(t *testing.T) {
	const inside = "COREWALK_TEST_GIVE_WAY"
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGiveWay$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	giveWay()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		tid, _ := strconv.Atoi(task.Name())
		if p, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil && p != 20-afterwards { // the system call's own numbers
			t.Errorf("thread %d of %d: %d", tid, len(list), p)
		}
	}
	if out, err := exec.Command("nice").Output(); err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(afterwards) {
		t.Errorf("a program: %s, %v", out, err)
	}
}
