package tasks_test

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestBind: goroutine 1 is in C on thread 10, which waits for a lock of thread 20; that is kept for goroutine 2, which waits for 1.
func TestBind(t *testing.T) {
	goroutine := func(id uint64) tasks.Key { return tasks.Key{Kind: tasks.KindGoroutine, ID: id} }
	lock := func(k tasks.Key) *tasks.Wait {
		return &tasks.Wait{Kind: tasks.WaitLock, Proved: true, Holders: []tasks.Holder{{Key: k, Certainty: tasks.Certain}}}
	}
	all := func() []*tasks.Task {
		return []*tasks.Task{
			{Key: tasks.Key{Kind: tasks.KindThread, ID: 10}, Thread: 10, State: tasks.StateWaiting, Wait: lock(tasks.Key{Kind: tasks.KindThread, ID: 20})},
			{Key: goroutine(1), Thread: 10, State: tasks.StateSyscall},
			{Key: goroutine(2), Thread: -1, Locked: true, LockedTo: 20, State: tasks.StateWaiting, Wait: lock(goroutine(1))},
		}
	}
	if d := tasks.NewGraph(all()).Deadlocks(); len(d) != 0 {
		t.Errorf("%d deadlocks of what is not bound", len(d))
	}
	d := tasks.NewGraph(tasks.Bind(all())).Deadlocks()
	if len(d) != 1 || d[0].Certainty != tasks.Certain || ids(d[0].Tasks) != "1 20 2" || len(d[0].Behind) != 0 { // thread 10 runs goroutine 1, and waits for nothing else
		t.Errorf("deadlocks %+v", d)
	}
	runs := all()
	runs[2].Thread = 20
	if d := tasks.NewGraph(tasks.Bind(runs)).Deadlocks(); len(d) != 0 {
		t.Error("a thread that runs its goroutine waits for it")
	}
}

// TestNotBound: what Bind leaves alone, and the task that it adds.
func TestNotBound(t *testing.T) {
	thread := func(id uint64) tasks.Key { return tasks.Key{Kind: tasks.KindThread, ID: id} }
	goroutine := func(id uint64) tasks.Key { return tasks.Key{Kind: tasks.KindGoroutine, ID: id} }
	held := func(k tasks.Key) *tasks.Wait {
		return &tasks.Wait{Kind: tasks.WaitLock, Proved: true, Holders: []tasks.Holder{{Key: k, Certainty: tasks.Certain}}}
	}
	asleep := func() *tasks.Task {
		return &tasks.Task{Key: thread(10), Thread: 10, State: tasks.StateWaiting, Wait: held(thread(20))}
	}
	for name, c := range map[string]struct {
		task *tasks.Task
		want bool // it waits for what the thread waits for
	}{
		"in a call":          {&tasks.Task{Key: goroutine(1), Thread: 10, State: tasks.StateSyscall}, true},
		"on no thread":       {&tasks.Task{Key: goroutine(1), Thread: -1, State: tasks.StateSyscall}, false},
		"on another thread":  {&tasks.Task{Key: goroutine(1), Thread: 11, State: tasks.StateSyscall}, false},
		"running":            {&tasks.Task{Key: goroutine(1), Thread: 10, State: tasks.StateRunning}, false},
		"waits for its own":  {&tasks.Task{Key: goroutine(1), Thread: 10, State: tasks.StateSyscall, Wait: held(goroutine(7))}, false},
		"a thread by itself": {&tasks.Task{Key: thread(11), Thread: 10, State: tasks.StateSyscall}, false},
	} {
		first := asleep()
		all := tasks.Bind([]*tasks.Task{first, c.task})
		w := c.task.Wait
		if got := w != nil && w.Holders[0].Key == thread(20); got != c.want || len(all) != 2 {
			t.Errorf("%s: %+v, %d tasks", name, w, len(all))
		}
		if c.want && w == first.Wait {
			t.Errorf("%s: they share one Wait", name)
		}
	}
	for name, c := range map[string]struct {
		by     tasks.Key // holds what thread 10 waits for
		locked unwind.ThreadID
		runs   unwind.ThreadID
		added  int
	}{
		"kept":                    {thread(20), 20, -1, 1},
		"kept, and running there": {thread(20), 20, 20, 0},
		"not kept":                {thread(20), 0, -1, 0},
		"another is kept":         {thread(20), 21, -1, 0},
		"a goroutine of that id":  {goroutine(20), 20, -1, 0},
	} {
		all := tasks.Bind([]*tasks.Task{{Key: thread(10), Thread: 10, State: tasks.StateWaiting, Wait: held(c.by)},
			{Key: goroutine(2), Thread: c.runs, LockedTo: c.locked, Runtime: "go", State: tasks.StateWaiting}})
		if len(all) != 2+c.added {
			t.Errorf("%s: %d tasks", name, len(all))
			continue
		}
		if c.added > 0 {
			th := all[2]
			if th.Key != thread(20) || th.Thread != 20 || th.State != tasks.StateWaiting || th.Runtime != "go" || th.Wait == nil ||
				th.Wait.Kind != tasks.WaitRuntime || th.Wait.Reason != "runs nothing but goroutine 2" || !th.Wait.Proved || th.Wait.Holders[0].Key != goroutine(2) {
				t.Errorf("%s: %+v", name, th)
			}
		}
	}
	// A thread that is among all, and waits for somebody already, keeps that; one that waits for nobody known does not.
	for _, c := range []struct {
		wait *tasks.Wait
		want tasks.Key
	}{{held(thread(5)), thread(5)}, {&tasks.Wait{Kind: tasks.WaitAddress}, goroutine(2)}, {nil, goroutine(2)}} {
		th := &tasks.Task{Key: thread(20), Thread: 20, State: tasks.StateWaiting, Wait: c.wait}
		all := tasks.Bind([]*tasks.Task{{Key: thread(10), State: tasks.StateWaiting, Wait: held(thread(20))}, th, {Key: goroutine(2), Thread: -1, LockedTo: 20}})
		if len(all) != 3 || th.Wait.Holders[0].Key != c.want {
			t.Errorf("%+v, want %v", th.Wait, c.want)
		}
	}
}
