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
		{"a process of Erlang", Task{Kind: "process", ID: 5 | 2<<28, Name: "shop", Wait: &Wait{Kind: "future", Object: &WaitObject{Address: 16, Type: "answer"},
			Holders: []Holder{{Kind: "process", ID: 7, Certainty: "possible"}}}}, "Process <0.5.2> (shop), waiting\n  waits for answer at 0x10, possibly by process <0.7.0>\n  #0"},
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

// TestTextOfTaskNames: the heading of several tasks with one stack has their names, in short.
func TestTextOfTaskNames(t *testing.T) {
	for _, c := range []struct{ first, second, third, want string }{
		{"ann", "bob", "", "Async-tasks 0x10, 0x11, 0x12 (ann, bob): 3 with this stack, waiting\n"},
		{"worker-2", "worker-1", "worker-3", "Async-tasks 0x10, 0x11, 0x12 (worker-1 .. worker-3): 3 with this stack, waiting\n"},
		{"ann", "ann", "ann", "Async-tasks 0x10, 0x11, 0x12 (ann): 3 with this stack, waiting\n"},
		{"serve", "serve", "serve", "Async-tasks 0x10, 0x11, 0x12: 3 with this stack, waiting\n"}, // the name of a frame
	} {
		r := &Report{}
		for i, name := range []string{c.first, c.second, c.third} {
			r.Tasks = append(r.Tasks, Task{Kind: "async-task", ID: 16 + i, Name: name, State: "waiting", Frames: []Frame{at("serve", "a.c", 15)}})
		}
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, c.want) {
			t.Errorf("want %q in\n%s", c.want, got)
		}
	}
}

// TestTextOfNotes: what a runtime knows of a thread is below its heading, with the thread's number if others have the same stack.
func TestTextOfNotes(t *testing.T) {
	threads := []Thread{
		{ID: 7, Notes: []string{"has the GIL", "garbage is being collected"}, Frames: []Frame{at("serve", "a.c", 15)}},
		{ID: 8, Frames: []Frame{at("serve", "a.c", 15)}},
	}
	for n, want := range map[int]string{1: "Thread 7\n  has the GIL; garbage is being collected\n  #0", 2: "\n  7 has the GIL; garbage is being collected\n  #0"} {
		var b strings.Builder
		if err := WriteText(&b, &Report{Threads: threads[:n]}, TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestTextOfHolders: how those who can end a wait are written.
func TestTextOfHolders(t *testing.T) {
	holders := func(kind, certainty string, n int) (all []Holder) {
		for i := range n {
			all = append(all, Holder{Kind: kind, ID: i + 1, Certainty: certainty})
		}
		return all
	}
	door := &WaitObject{Name: "door", Type: "mutex", Address: 16}
	mixed := append(holders("goroutine", "possible", 1), holders("thread", "possible", 1)...)
	taken := holders("thread", "certain", 1)
	taken[0].AcquiredAt = &AcquiredAt{Function: "enter", Certainty: "possible"}
	for _, c := range []struct {
		wait Wait
		want string
	}{
		{Wait{Kind: "lock", Object: door, Holders: taken, Timed: true, Note: "the thread that crashed"},
			"waits for door (mutex at 0x10), with a time limit, held by thread 1 (possibly taken in enter) (the thread that crashed)"},
		{Wait{Kind: "lock", Object: door, Holders: holders("thread", "possible", 2)}, "waits for door (mutex at 0x10), possibly held by thread 1, thread 2"},
		{Wait{Kind: "lock", Object: door, Holders: holders("thread", "certain", 6)},
			"waits for door (mutex at 0x10), held by thread 1, thread 2, thread 3, thread 4, and 2 more"},
		{Wait{Kind: "condition", Object: door, Holders: holders("thread", "possible", 1)}, "waits for door (mutex at 0x10), which thread 1 has, too"},
		{Wait{Kind: "condition", Object: door, Holders: holders("thread", "possible", 3)}, "waits for door (mutex at 0x10), which threads 1, 2 and 3 have, too"},
		{Wait{Kind: "condition", Object: door, Holders: mixed}, "waits for door (mutex at 0x10), which goroutine 1 and thread 1 have, too"},
		{Wait{Kind: "condition", Object: door, Holders: holders("thread", "possible", 4)}, "waits for door (mutex at 0x10), which threads 1, 2, 3 and 4 have, too"},
		{Wait{Kind: "condition", Object: door, Holders: holders("thread", "possible", 5)},
			"waits for door (mutex at 0x10), which threads 1, 2, 3, 4 and others have, too"},
		{Wait{Kind: "future", Object: door, Holders: holders("async-task", "certain", 2)}, "waits for door (mutex at 0x10), by async-tasks 0x1 and 0x2"},
		{Wait{Kind: "future", Object: door, Holders: holders("async-task", "possible", 1)}, "waits for door (mutex at 0x10), possibly by async-task 0x1"},
	} {
		if got := waitText(&c.wait, func(Source) string { return "" }); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestTextOfTitle: of a daemon that writes its state over its arguments, that is shown; empty arguments are, too.
func TestTextOfTitle(t *testing.T) {
	for want, args := range map[string][]string{
		"command: 'db: waiting'\n":    {"db: waiting", "", "", ""},
		"command: db '' ''\n":         {"db", "", ""},
		"command: 'my db' '' -x ''\n": {"my db", "", "-x", ""},
	} {
		var b strings.Builder
		if err := WriteText(&b, &Report{Process: &Process{Arguments: args}}, TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestKinds: kinds of tasks, of which there are several.
func TestKinds(t *testing.T) {
	for kind, want := range map[string]string{"goroutine": "goroutines", "process": "processes"} {
		if got := kinds(kind); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
