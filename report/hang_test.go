package report

import "testing"

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
