package report

import (
	"strings"
	"testing"
)

// TestTextOfTasks: the heading of a task has its name, if no frame says it, and the line below it what it waits for, if the words of its
// runtime do not say that.
func TestTextOfTasks(t *testing.T) {
	frames := []Frame{at("serve", "a.c", 15)}
	for _, c := range []struct {
		name string
		task Task
		want string
	}{
		{"a name", Task{Kind: "fiber", ID: 16, Name: "worker 1"}, "Fiber 0x10 (worker 1), waiting\n  #0"},
		{"the name of a frame", Task{Kind: "coroutine", ID: 16, Name: "serve"}, "Coroutine 0x10, waiting\n  #0"},
		{"a join", Task{Kind: "async-task", ID: 16, Wait: &Wait{Kind: "join", Holders: []Holder{{Kind: "async-task", ID: 32}}}},
			"Async-task 0x10, waiting\n  waits for the end of async-task 0x20\n  #0"},
		{"a join with nobody", Task{Kind: "async-task", ID: 16, Wait: &Wait{Kind: "join"}}, "Async-task 0x10, waiting\n  #0"},
		{"input", Task{Kind: "async-task", ID: 16, Wait: &Wait{Kind: "io"}}, "Async-task 0x10, waiting\n  waits for input or output\n  #0"},
		{"input of a goroutine, whose state says it", Task{Kind: "goroutine", ID: 16, Status: "IO wait", Wait: &Wait{Kind: "io"}}, "Goroutine 16, IO wait\n  #0"},
		{"the runtime", Task{Kind: "goroutine", ID: 16, Status: "GC sweep wait", Wait: &Wait{Kind: "runtime", Object: &WaitObject{}}}, "Goroutine 16, GC sweep wait\n  #0"},
	} {
		c.task.State, c.task.Frames = "waiting", frames
		var b strings.Builder
		if err := WriteText(&b, &Report{Tasks: []Task{c.task}}, TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", c.name, c.want, got)
		}
	}
}
