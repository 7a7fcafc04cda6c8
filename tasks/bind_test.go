package tasks_test

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
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
	if len(d) != 1 || d[0].Certainty != tasks.Certain || ids(d[0].Tasks) != "1 20 2" || ids(d[0].Behind) != "10" {
		t.Errorf("deadlocks %+v", d)
	}
	runs := all()
	runs[2].Thread = 20
	if d := tasks.NewGraph(tasks.Bind(runs)).Deadlocks(); len(d) != 0 {
		t.Error("a thread that runs its goroutine waits for it")
	}
}
