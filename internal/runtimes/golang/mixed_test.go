package golang_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// TestMixedDeadlock: a goroutine has a mutex of Go and waits in C for one that the thread of
// another goroutine has, which waits for the first. Go's handlers of SIGQUIT take the threads out of their waits, one
// in another's handler: those of a core are found all the same.
func TestMixedDeadlock(t *testing.T) {
	fixture.Long(t)
	t.Setenv("CGO_ENABLED", "1")
	program := build(t, "go-mixed", releases(t)[0], "", "main.go")
	cmd := exec.Command(program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	time.Sleep(500 * time.Millisecond)
	ctx := context.Background()
	target, err := corewalk.Attach(ctx, cmd.Process.Pid, corewalk.WithHold())
	if err != nil {
		t.Skipf("cannot attach: %v", err)
	}
	defer target.Close()
	mixed(t, target)

	dir := t.TempDir()
	dies := fixture.Dies(dir, program)
	dies.Env = append(os.Environ(), "GOTRACEBACK=crash")
	if err := dies.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	dies.Process.Signal(os.Signal(quit))
	dies.Wait()
	dead, err := corewalk.Open(ctx, fixture.CoreIn(t, dir), corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	mixed(t, dead)
}

// mixed checks that two goroutines possibly wait for each other, one of them through its thread.
func mixed(t *testing.T, target *corewalk.Target) {
	t.Helper()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
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
	if behind := r.Deadlocks[0].Behind; len(behind) > 0 {
		t.Errorf("behind it: %v", behind)
	}
	if text := r.HangText(); r.Crash != nil && !strings.HasPrefix(text, "2 goroutines possibly wait for each other: ") {
		t.Error(text)
	}
}
