package subject

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestStartedAt: a process started when it was started.
func TestStartedAt(t *testing.T) {
	const tick = 50 * time.Millisecond // the kernel tells hundredths, and both of what is subtracted are cut off
	before := time.Now()
	c := exec.Command("/proc/self/exe", "-test.run=^$", "-test.v")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	at := startedAt(c.Process.Pid) // until it is waited for, it is there
	after := time.Now()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if at.Before(before.Add(-tick)) || at.After(after.Add(tick)) {
		t.Errorf("it started between %v and %v, not at %v", before, after, at)
	}
	if at := startedAt(os.Getpid()); at.After(before.Add(tick)) {
		t.Errorf("this process started at %v", at)
	}
	if at := startedAt(0); !at.IsZero() {
		t.Errorf("there is no process 0, which started at %v", at)
	}
}
