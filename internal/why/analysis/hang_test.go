package analysis

import (
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
		in := &inspection{}
		if c.waits != nil {
			in.tasks.all = append(in.tasks.all, c.waits)
		}
		r := &report.Report{Crash: &report.Crash{Kind: c.kind, Thread: 5}}
		if c.deadlock != "" {
			r.Deadlocks = []report.Deadlock{{Certainty: c.deadlock, Tasks: []report.TaskRef{{Kind: "thread", ID: 6}}}}
		}
		if in.hang(r); r.Crash.Kind != c.want {
			t.Errorf("%s: %s, want %s", c.name, r.Crash.Kind, c.want)
		}
		if hangs := c.want == report.CrashDeadlock || c.want == report.CrashHang; (r.Hang() != nil) != (hangs && c.deadlock != "") {
			t.Errorf("%s: the deadlock that explains it is %v", c.name, r.Hang())
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
