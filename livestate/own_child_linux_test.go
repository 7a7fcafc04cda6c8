package livestate

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestStoppedChild: the thread that traces a process may have started it. If somebody has stopped it before it is
// traced, the kernel reports that stop again and again to who looks at it, and gives it to nobody who only traces.
func TestStoppedChild(t *testing.T) {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			done <- err
			return
		}
		pid := cmd.Process.Pid
		fixture.Bind(t, pid)
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			done <- err
			return
		}
		for readStatus(pid).state != 'T' {
			runtime.Gosched()
		}
		tr := newTracer(pid)
		tr.tid = unix.Gettid()
		if tid, _, _ := peek(); tid != pid {
			t.Errorf("the kernel reports %d, not the stopped child %d: nothing is tested", tid, pid)
		}
		tr.drain()
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Skip(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("looks for events without end")
	}
}
