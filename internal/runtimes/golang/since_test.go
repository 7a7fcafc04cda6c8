package golang

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// TestSince: how long goroutines have waited counts up to the latest time that the collector wrote down; it is not known of those
// that it has not found waiting, and of those that do not wait.
func TestSince(t *testing.T) {
	const second = 1e9
	l := &links{}
	for _, s := range []struct {
		state tasks.State
		since uint64
	}{
		{tasks.StateWaiting, 100 * second}, {tasks.StateWaiting, 40 * second}, {tasks.StateSyscall, 99.5 * second},
		{tasks.StateWaiting, 0}, {tasks.StateRunnable, 30 * second}, {tasks.StateRunning, 10 * second},
	} {
		l.seen = append(l.seen, stack{task: &tasks.Task{State: s.state}, since: s.since})
	}
	l.since()
	for i, want := range []float64{0, 60, 0.5, 0, 0, 0} {
		if got := l.seen[i].task.Seconds; got != want {
			t.Errorf("goroutine %d: %v s, want %v", i, got, want)
		}
	}
	l = &links{seen: []stack{{task: &tasks.Task{State: tasks.StateWaiting}}}}
	if l.since(); l.seen[0].task.Seconds != 0 {
		t.Error("a time although nothing was written down")
	}
}
