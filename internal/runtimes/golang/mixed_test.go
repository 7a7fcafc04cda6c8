package golang_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// TestMixedDeadlock: a goroutine has a mutex of Go and waits in C for one that the thread of
// another goroutine has, which waits for the first. The process lives: Go's handlers of signals would take
// the thread out of its wait.
func TestMixedDeadlock(t *testing.T) {
	fixture.Long(t)
	t.Setenv("CGO_ENABLED", "1")
	cmd := exec.Command(build(t, "go-mixed", releases(t)[0], "", "main.go"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	time.Sleep(500 * time.Millisecond)
	ctx := context.Background()
	target, err := corewalk.Attach(ctx, cmd.Process.Pid, corewalk.WithHold())
	if err != nil {
		t.Skipf("cannot attach: %v", err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Deadlocks) != 1 || r.Deadlocks[0].Certainty != string(tasks.Possible) {
		t.Fatalf("%d deadlocks", len(r.Deadlocks))
	}
	kinds := map[string]int{}
	for _, task := range r.Deadlocks[0].Tasks {
		kinds[task.Kind]++
	}
	if kinds["goroutine"] != 2 || kinds["thread"] != 1 {
		t.Errorf("in the deadlock: %v", kinds)
	}
}
