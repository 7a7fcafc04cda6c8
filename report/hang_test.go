package report

import (
	"strings"
	"testing"
)

// TestAwaited follows threads that wait for each other's ends.
func TestAwaited(t *testing.T) {
	join := func(id int, of ...int) Task {
		w := &Wait{Kind: "join"}
		for _, n := range of {
			w.Holders = append(w.Holders, Holder{Kind: "thread", ID: n, Certainty: "certain"})
		}
		return Task{Kind: "thread", ID: id, Wait: w}
	}
	lock := Task{Kind: "thread", ID: 3, Wait: &Wait{Kind: "lock", Object: &WaitObject{Type: "pthread_mutex_t", Address: 0x5000}}}
	routine := join(1, 2)
	routine.Kind = "goroutine"
	ofRoutine := join(1, 2)
	ofRoutine.Wait.Holders[0].Kind = "goroutine"
	timed, possible := join(1, 3), join(1, 3)
	timed.Wait.Timed, possible.Wait.Holders[0].Certainty = true, "possible"
	for _, c := range []struct {
		name  string
		tasks []Task
		want  int
		text  string
	}{
		{"nobody", nil, 1, ""},
		{"one", []Task{join(1, 3), lock}, 3, "thread 3 waits for pthread_mutex_t at 0x5000"},
		{"behind two", []Task{lock, join(2, 3), join(1, 2)}, 3, "thread 3 waits for pthread_mutex_t at 0x5000"},
		{"one of two", []Task{join(1, 2, 3), lock}, 1, "thread 1 waits for the end of thread 2, thread 3"},
		{"not known", []Task{join(1)}, 1, "thread 1 waits for the end of another thread"},
		{"for a time", []Task{timed, lock}, 1, "thread 1 waits for the end of thread 3"},
		{"possibly", []Task{possible, lock}, 1, "thread 1 waits for the end of thread 3"},
		{"a ring", []Task{join(1, 2), join(2, 1)}, 1, "thread 1 waits for the end of thread 2"},
		{"another kind of task", []Task{routine}, 1, ""},
		{"the end of another kind of task", []Task{ofRoutine}, 1, "thread 1 waits for the end of goroutine 2"},
	} {
		r := &Report{Crash: &Crash{Kind: CrashHang, Thread: 1}, Tasks: c.tasks}
		if got := r.Awaited(1); got != c.want {
			t.Errorf("%s: thread %d, want %d", c.name, got, c.want)
		}
		if got := r.HangText(); got != c.text {
			t.Errorf("%s: %q, want %q", c.name, got, c.text)
		}
	}
}

// TestSleepers: where goroutines sleep for ever is named, and not where the scheduler found it; of others the frame that failed.
func TestSleepers(t *testing.T) {
	frame := 0
	asleep := &Panic{Runtime: RuntimeGo, Fatal: true, Value: asleepText}
	deadlock := Deadlock{Certainty: "certain", Asleep: true, Tasks: []TaskRef{{Kind: "goroutine", ID: 1}, {Kind: "goroutine", ID: 7}},
		Objects: make([]WaitObject, 2), Places: []WaitPlace{{}, {Function: "main.wait", Source: Source{File: "/src/main.go", Line: 7}}}}
	for _, c := range []struct {
		panic     *Panic
		deadlocks []Deadlock
		want      string
	}{
		{asleep, []Deadlock{deadlock}, "  main.wait at main.go:7, goroutine 7, found by thread 3 (1 of 1)\n"},
		{&Panic{Runtime: RuntimeGo, Fatal: true, Value: "other"}, []Deadlock{deadlock}, "  runtime.raise, thread 3 (1 of 1)\n"},
		{asleep, nil, "  runtime.raise, thread 3 (1 of 1)\n"},
		{asleep, []Deadlock{{Certainty: "certain", Tasks: deadlock.Tasks, Objects: deadlock.Objects, Places: make([]WaitPlace, 2)}}, "  runtime.raise, thread 3 (1 of 1)\n"},
	} {
		r := &Report{Crash: &Crash{Kind: CrashDeadlock, Thread: 3, Frame: &frame, Panic: c.panic}, Deadlocks: c.deadlocks,
			Threads: []Thread{{ID: 3, Frames: []Frame{{Function: "runtime.raise"}}}}}
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{}); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%v\n%s\nwant %s", err, b.String(), c.want)
		}
	}
}
