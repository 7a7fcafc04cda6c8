package analysis

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// TestHang: which crashes are hangs, by what ended the process and what its tasks wait for.
func TestHang(t *testing.T) {
	lock := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 5}, Wait: &tasks.Wait{Kind: tasks.WaitLock, Proved: true}}
	idle := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 5}, Wait: &tasks.Wait{Kind: tasks.WaitCondition, Proved: true}}
	timed := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 5}, Wait: &tasks.Wait{Kind: tasks.WaitLock, Proved: true, Timed: true}}
	unproved := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 5}, Wait: &tasks.Wait{Kind: tasks.WaitLock}}
	for _, c := range []struct {
		name, kind, deadlock string
		waits                *tasks.Task
		want                 string
	}{
		{"aborted in a certain deadlock", report.CrashAbort, "certain", nil, report.CrashDeadlock},
		{"killed in a certain deadlock", report.CrashSignal, "certain", nil, report.CrashDeadlock},
		{"a watchdog in a possible one", report.CrashWatchdog, "possible", nil, report.CrashHang},
		{"aborted in a possible one", report.CrashAbort, "possible", nil, report.CrashAbort},
		{"a bad access in a certain one", report.CrashWildRead, "certain", nil, report.CrashWildRead},
		{"an assertion in a certain one", report.CrashAssertion, "certain", nil, report.CrashAssertion},
		{"killed, waits for a lock", report.CrashSignal, "", lock, report.CrashHang},
		{"aborted, waits for a lock", report.CrashAbort, "", lock, report.CrashAbort},
		{"killed, idle", report.CrashSignal, "", idle, report.CrashSignal},
		{"killed, waits with a limit", report.CrashSignal, "", timed, report.CrashSignal},
		{"killed, perhaps waits", report.CrashSignal, "", unproved, report.CrashSignal},
		{"killed", report.CrashSignal, "", nil, report.CrashSignal},
	} {
		in := &question{Engine: &Engine{}}
		if c.waits != nil {
			in.tasks.all = append(in.tasks.all, c.waits)
		}
		r := &report.Report{Crash: &report.Crash{Kind: c.kind, Thread: 5}}
		if c.deadlock != "" {
			r.Deadlocks = []report.Deadlock{{Certainty: c.deadlock, Tasks: []report.TaskRef{{Kind: "thread", ID: 6}}}}
		}
		if r.Crash.Kind = (&crash{question: in}).hang(r.Crash, r.Deadlocks, r.Awaited); r.Crash.Kind != c.want {
			t.Errorf("%s: %s, want %s", c.name, r.Crash.Kind, c.want)
		}
		if hangs := c.want == report.CrashDeadlock || c.want == report.CrashHang; (r.Hang() != nil) != (hangs && c.deadlock != "") {
			t.Errorf("%s: the deadlock that explains it is %v", c.name, r.Hang())
		}
	}
}

// TestHangOfNobody: a thread that waits for a lock makes a hang only if nothing that runs holds the lock, or may.
func TestHangOfNobody(t *testing.T) {
	key := func(id uint64) tasks.Key { return tasks.Key{Kind: tasks.KindThread, ID: id} }
	by := func(c tasks.Certainty, ids ...uint64) (all []tasks.Holder) {
		for _, id := range ids {
			all = append(all, tasks.Holder{Key: key(id), Certainty: c})
		}
		return all
	}
	lock := func(id uint64, w tasks.Wait) *tasks.Task {
		w.Kind, w.Proved = tasks.WaitLock, true
		return &tasks.Task{Key: key(id), State: tasks.StateWaiting, Wait: &w}
	}
	asleep := func(id uint64) *tasks.Task {
		return &tasks.Task{Key: key(id), State: tasks.StateWaiting, Wait: &tasks.Wait{Kind: tasks.WaitSignal}}
	}
	goroutine := tasks.Key{Kind: tasks.KindGoroutine, ID: 7}
	joins := func(id uint64, timed bool, of ...uint64) *tasks.Task {
		return &tasks.Task{Key: key(id), State: tasks.StateWaiting, Wait: &tasks.Wait{Kind: tasks.WaitJoin, Proved: true, Timed: timed, Holders: by(tasks.Certain, of...)}}
	}
	perhaps := joins(5, false, 6)
	perhaps.Wait.Holders[0].Certainty = tasks.Possible
	for _, c := range []struct {
		name  string
		tasks []*tasks.Task // thread 6 runs if it is not listed
		want  bool
	}{
		{"held by one that runs", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 6)})}, false},
		{"possibly held by one that runs", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Possible, 6)})}, false},
		{"held by one that sleeps", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 6)}), asleep(6)}, true},
		{"held by one that sleeps, another runs", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 8)}), asleep(8)}, true},
		{"possibly held by one that sleeps, another runs", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Possible, 8)}), asleep(8)}, false},
		{"possibly held by one that sleeps", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Possible, 8)}), asleep(8), asleep(6)}, true},
		{"held by one that waits for one that runs", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 8)}), lock(8, tasks.Wait{Holders: by(tasks.Certain, 6)})}, false},
		{"held by one that waits for one that sleeps", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 8)}), lock(8, tasks.Wait{Holders: by(tasks.Certain, 6)}), asleep(6)}, true},
		{"a circle", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 8)}), lock(8, tasks.Wait{Holders: by(tasks.Certain, 5)})}, true},
		{"nameless, one runs", []*tasks.Task{lock(5, tasks.Wait{})}, false},
		{"nameless, nobody runs", []*tasks.Task{lock(5, tasks.Wait{}), asleep(6)}, true},
		{"held by one of many, one runs", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Certain, 8), Open: true}), asleep(8)}, false},
		{"of one that has ended, one runs", []*tasks.Task{lock(5, tasks.Wait{Abandoned: true})}, true},
		{"of another process", []*tasks.Task{lock(5, tasks.Wait{Holders: by(tasks.Possible, 77)}), asleep(6)}, false},
		{"of the thread for whose end it waits", []*tasks.Task{joins(5, false, 6), lock(6, tasks.Wait{})}, true},
		{"behind two such threads", []*tasks.Task{joins(5, false, 8), joins(8, false, 6), lock(6, tasks.Wait{})}, true},
		{"of such a thread, held by one that runs", []*tasks.Task{joins(5, false, 8), lock(8, tasks.Wait{Holders: by(tasks.Certain, 6)})}, false},
		{"of such a thread, for a time", []*tasks.Task{joins(5, true, 6), lock(6, tasks.Wait{})}, false},
		{"of one of several threads", []*tasks.Task{joins(5, false, 6, 8), lock(6, tasks.Wait{}), asleep(8)}, false},
		{"of such a thread, possibly", []*tasks.Task{perhaps, lock(6, tasks.Wait{})}, false},
		{"for whose end it waits runs", []*tasks.Task{joins(5, false, 6)}, false},
		{"a ring of joins", []*tasks.Task{joins(5, false, 8), joins(8, false, 5), asleep(6)}, false},
		{"held by a goroutine that runs", []*tasks.Task{lock(5, tasks.Wait{Holders: []tasks.Holder{{Key: goroutine, Certainty: tasks.Certain}}}), asleep(6), {Key: goroutine, State: tasks.StateRunnable}}, false},
		{"held by a goroutine that is dead", []*tasks.Task{lock(5, tasks.Wait{Holders: []tasks.Holder{{Key: goroutine, Certainty: tasks.Certain}}}), asleep(6), {Key: goroutine, State: tasks.StateDead}}, true},
	} {
		in := &question{Engine: &Engine{}}
		in.tasks.all, in.tasks.ids = c.tasks, []uint64{5, 6}
		r := &report.Report{Crash: &report.Crash{Kind: report.CrashSignal, Thread: 5}}
		for _, t := range c.tasks { // as listTasks leaves them
			if t.Wait != nil {
				w := &report.Wait{Kind: string(t.Wait.Kind), Timed: t.Wait.Timed}
				for _, by := range t.Wait.Holders {
					w.Holders = append(w.Holders, report.Holder{Kind: string(by.Key.Kind), ID: int(by.Key.ID), Certainty: string(by.Certainty)})
				}
				r.Tasks = append(r.Tasks, report.Task{Kind: string(t.Key.Kind), ID: int(t.Key.ID), Wait: w})
			}
		}
		if kind := (&crash{question: in}).hang(r.Crash, r.Deadlocks, r.Awaited); (kind == report.CrashHang) != c.want {
			t.Errorf("%s: %s", c.name, kind)
		}
	}
}

// TestNoteCrashed: who waits for a lock of the thread that crashed is told so.
func TestNoteCrashed(t *testing.T) {
	for kind, want := range map[string]string{report.CrashWildRead: "the thread that crashed", report.CrashAbort: "the thread that crashed", report.CrashSignal: ""} {
		held := func(by uint64) *tasks.Task {
			return &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 9}, Wait: &tasks.Wait{Holders: []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: by}}}}}
		}
		a, b := held(5), held(6)
		noteCrashed(&report.Crash{Kind: kind, Thread: 5}, []*tasks.Task{a, b})
		if a.Wait.Note != want || b.Wait.Note != "" {
			t.Errorf("%s: %q and %q", kind, a.Wait.Note, b.Wait.Note)
		}
	}
}

// TestAsleep: the runtime's word makes certain what is not known to go on by itself.
func TestAsleep(t *testing.T) {
	wait := func(id uint64, w tasks.Wait) *tasks.Task {
		return &tasks.Task{Key: tasks.Key{Kind: tasks.KindGoroutine, ID: id}, State: tasks.StateWaiting, Wait: &w}
	}
	ref := func(id int) report.TaskRef { return report.TaskRef{Kind: "goroutine", ID: id} }
	healthy := wait(4, tasks.Wait{Kind: tasks.WaitReceive})
	running := &tasks.Task{Key: tasks.Key{Kind: tasks.KindGoroutine, ID: 5}, State: tasks.StateRunnable}
	gc := &tasks.Task{Key: tasks.Key{Kind: tasks.KindGoroutine, ID: 6}, State: tasks.StateRunning, System: true}
	for _, c := range []struct {
		name  string
		other *tasks.Task
		panic *report.Panic
		want  string
	}{
		{"asleep", healthy, &report.Panic{Runtime: "go", Fatal: true, Value: "all goroutines are asleep - deadlock!"}, "certain 2, certain asleep 2"},
		{"the runtime's own runs", gc, &report.Panic{Runtime: "go", Fatal: true, Value: "all goroutines are asleep - deadlock!"}, "certain 2, certain asleep 1"},
		{"one runs", running, &report.Panic{Runtime: "go", Fatal: true, Value: "all goroutines are asleep - deadlock!"}, "possible 2"},
		{"one has a time limit", wait(4, tasks.Wait{Kind: tasks.WaitReceive, Timed: true}), &report.Panic{Runtime: "go", Fatal: true, Value: "all goroutines are asleep - deadlock!"}, "possible 2"},
		{"a panic says so", healthy, &report.Panic{Runtime: "go", Value: "all goroutines are asleep - deadlock!"}, "possible 2"},
		{"another error", healthy, &report.Panic{Runtime: "go", Fatal: true, Value: "concurrent map writes"}, "possible 2"},
		{"no panic", healthy, nil, "possible 2"},
	} {
		in := &question{Engine: &Engine{}}
		in.tasks.all = []*tasks.Task{wait(1, tasks.Wait{Kind: tasks.WaitForever}), wait(2, tasks.Wait{Kind: tasks.WaitLock}), wait(3, tasks.Wait{Kind: tasks.WaitLock}), c.other}
		r := &report.Report{Crash: &report.Crash{Kind: report.CrashException, Panic: c.panic}, Deadlocks: []report.Deadlock{{Certainty: "possible", Tasks: []report.TaskRef{ref(2), ref(3)}}}}
		r.Deadlocks = in.asleep(r.Crash, nil, r.Deadlocks)
		r.Crash.Kind = (&crash{question: in}).hang(r.Crash, r.Deadlocks, r.Awaited)
		got := ""
		for i, d := range r.Deadlocks {
			if i > 0 {
				got += ", "
			}
			got += d.Certainty
			if d.Asleep {
				got += " asleep"
			}
			got += fmt.Sprint(" ", len(d.Tasks))
		}
		if got != c.want || (r.Crash.Kind == report.CrashDeadlock) != (c.want != "possible 2") {
			t.Errorf("%s: %s, kind %s; want %s", c.name, got, r.Crash.Kind, c.want)
		}
	}
}

// TestAsleepThroughReaders: a circle in which one may hold nothing that the one before waits for is likely at most, whatever the runtime says.
func TestAsleepThroughReaders(t *testing.T) {
	key := func(id uint64) tasks.Key { return tasks.Key{Kind: tasks.KindGoroutine, ID: id} }
	ref := func(id int) report.TaskRef { return report.TaskRef{Kind: "goroutine", ID: id} }
	asleep := &report.Crash{Kind: report.CrashException, Panic: &report.Panic{Runtime: "go", Fatal: true, Value: "all goroutines are asleep - deadlock!"}}
	for _, c := range []struct {
		holder tasks.Holder // of what 1 waits for
		want   tasks.Certainty
	}{
		{tasks.Holder{Key: key(2), Certainty: tasks.Certain}, tasks.Certain},
		{tasks.Holder{Key: key(2), Certainty: tasks.Possible}, tasks.Likely},  // one of several readers
		{tasks.Holder{Key: key(3), Certainty: tasks.Possible}, tasks.Certain}, // not of the circle
	} {
		in := &question{Engine: &Engine{}}
		for i, next := range []tasks.Holder{c.holder, {Key: key(1), Certainty: tasks.Certain}} {
			in.tasks.all = append(in.tasks.all, &tasks.Task{Key: key(uint64(i) + 1), State: tasks.StateWaiting, Wait: &tasks.Wait{Kind: tasks.WaitLock, Holders: []tasks.Holder{next}}})
		}
		got := in.asleep(asleep, nil, []report.Deadlock{{Certainty: string(tasks.Possible), Tasks: []report.TaskRef{ref(1), ref(2)}}})
		if len(got) != 1 || got[0].Certainty != string(c.want) {
			t.Errorf("%+v: %+v, want %s", c.holder, got, c.want)
		}
	}
}
