//go:build linux

package corewalk

import (
	"context"
	"os/exec"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestSamplerWalks: what waits is walked once, however often it is sampled.
func TestSamplerWalks(t *testing.T) {
	cmd := exec.Command(fixture.Compile(t, "go", "go-many/main.go"), "80")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	target, err := Attach(context.Background(), cmd.Process.Pid)
	if err != nil {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	defer target.Close()
	s, err := target.NewSampler()
	if err != nil || !s.HasTasks() {
		t.Fatalf("%v, tasks %v", err, s.HasTasks())
	}
	for i := range 5 {
		before := s.walks
		m, err := s.Next(context.Background())
		if err != nil || len(m.Tasks) < 81 {
			t.Fatalf("%v, %d tasks", err, len(m.Tasks))
		}
		if again := s.walks - before; i == 0 && again < 81 || i > 0 && again > 5 { // the runtime's own may go on
			t.Errorf("moment %d: %d stacks walked", i, again)
		}
		for _, k := range m.Tasks {
			if !k.Whole {
				t.Errorf("moment %d: the stack of %s ends early", i, k.Task.Key)
			}
		}
	}
}
