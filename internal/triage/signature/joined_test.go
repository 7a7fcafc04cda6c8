package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// joiningReport is a process that was told to abort while its main thread waits for the end of a thread, which waits for the end of the next.
// The last is in a function.
func joiningReport(function string, joins int) *report.Report {
	r := stackOf("signal", "futex_wait"+libc, "pthread_join"+libc, "main")
	r.Threads[0].ID = 1
	for i := range joins {
		th := stackOf("", "futex_wait"+libc, "pthread_join"+libc, "worker", "start_thread"+libc).Threads[0]
		if i == joins-1 {
			th = stackOf("", "read"+libc, function, "worker", "start_thread"+libc).Threads[0]
		}
		th.ID, th.Crashed = i+2, false
		r.Threads = append(r.Threads, th)
		r.Tasks = append(r.Tasks, report.Task{Kind: "thread", ID: i + 1, Wait: &report.Wait{Kind: "join", Holders: []report.Holder{{Kind: "thread", ID: i + 2, Certainty: "certain"}}}})
	}
	return r
}

// TestJoined: two processes whose main threads wait for a thread's end are alike only if what that thread does is.
func TestJoined(t *testing.T) {
	want := Of(joiningReport("read_reply", 1))
	if want.Frames[0] != "read_reply" || len(want.Decisions) != 3 || want.Decisions[2].Action != Dropped || want.Decisions[2].First || want.Decisions[2].Why != "it waits for the end of another thread" {
		t.Errorf("%s, %+v", want.String(), want.Decisions)
	}
	if got := Of(joiningReport("read_reply", 3)); got.Hash != want.Hash {
		t.Errorf("behind more threads: %s, want %s", got.String(), want.String())
	}
	if got := Of(joiningReport("wait_for_flush", 1)); got.Hash == want.Hash {
		t.Errorf("%s is as another's", got.String())
	}
	short := joiningReport("read_reply", 1)
	short.Threads[1].Frames = short.Threads[1].Frames[1:2]
	if got := Of(short); got.Frames[0] != "read_reply" {
		t.Errorf("a stack of one frame: %s", got.String())
	}
	for name, change := range map[string]func(*report.Report){
		"another wait":            func(r *report.Report) { r.Tasks[0].Wait.Kind = "lock" },
		"no wait":                 func(r *report.Report) { r.Tasks[0].Wait = nil },
		"a thread that is gone":   func(r *report.Report) { r.Tasks[0].Wait.Holders[0].ID = 9 },
		"who is not known":        func(r *report.Report) { r.Tasks[0].Wait.Holders = nil },
		"a task of a runtime":     func(r *report.Report) { r.Tasks[0].Wait.Holders[0].Kind = "goroutine" },
		"a thread without frames": func(r *report.Report) { r.Threads[1].Frames = nil },
		"another task's wait":     func(r *report.Report) { r.Tasks[0].Kind = "goroutine" },
		"itself":                  func(r *report.Report) { r.Tasks[0].Wait.Holders[0].ID = 1 },
		"a ring": func(r *report.Report) {
			r.Tasks = append(r.Tasks, report.Task{Kind: "thread", ID: 2, Wait: &report.Wait{Kind: "join", Holders: []report.Holder{{Kind: "thread", ID: 1, Certainty: "certain"}}}})
		},
	} {
		r := joiningReport("read_reply", 1)
		change(r)
		if got := Of(r); got.Frames[0] != "main" {
			t.Errorf("%s: %s, want main", name, got.String())
		}
	}
	if id, ok := Joined(joiningReport("read_reply", 2)); id != 3 || !ok {
		t.Errorf("thread %d, %v; want 3", id, ok)
	}
	hung := hungReport("deposit", "withdraw")
	hung.Tasks = append(hung.Tasks, report.Task{Kind: "thread", ID: hung.Threads[0].ID, Wait: &report.Wait{Kind: "join", Holders: []report.Holder{{Kind: "thread", ID: 2}}}})
	for what, r := range map[string]*report.Report{"nobody waits": stackOf("signal", "main"), "no thread": {}, "a deadlock": hung} {
		if id, ok := Joined(r); ok {
			t.Errorf("%s: thread %d", what, id)
		}
	}
}

// TestMainGoroutine: a signal from outside may meet a thread that runs no goroutine. Then what the main goroutine does is what the dump is about.
func TestMainGoroutine(t *testing.T) {
	died := func(kind string, tasks []report.Task, frames ...string) *report.Report {
		r := stackOf(kind, frames...)
		for i := range r.Threads[0].Frames {
			r.Threads[0].Frames[i].Source.File = "/go/src/x.go"
		}
		r.Tasks = tasks
		return r
	}
	goroutine := func(kind string, id int, functions ...string) report.Task {
		return report.Task{Kind: kind, ID: id, Frames: stackOf("", functions...).Threads[0].Frames, End: report.EndBottom}
	}
	idle := []string{"runtime.raise", "runtime.sighandler", "!SIGABRT", "runtime.futex", "runtime.stopm", "runtime.mstart"}
	waits := []report.Task{goroutine("goroutine", 7, "main.other"), goroutine("goroutine", 1, "runtime.gopark", "main.acquire", "main.main")}
	for _, c := range []struct {
		name string
		r    *report.Report
		want string // the innermost function; "" if the signature is not the goroutine's
	}{
		{"idle", died("signal", waits, idle...), "main.acquire"},
		{"C called by the runtime", died("signal", waits, "runtime.raise", "runtime.sighandler", "!SIGABRT", "runtime.futex", "futex"+libc), "main.acquire"},
		{"a start without a name", died("signal", waits, append(slices.Clone(idle), "")...), "main.acquire"},
		{"a stack of one frame", died("signal", []report.Task{goroutine("goroutine", 1, "main.acquire")}, idle...), "main.acquire"},
		{"a stack that is not known", died("signal", []report.Task{goroutine("goroutine", 1)}, idle...), ""},
		{"outside of the start", died("signal", waits, append(slices.Clone(idle), "runtime.clone")...), "main.acquire"},
		{"aborted", died("abort", waits, idle...), "main.acquire"},
		{"runs a goroutine", died("signal", waits, "runtime.raise", "!SIGABRT", "main.busy", "main.main"), ""},
		{"a fault", died("null-read", waits, idle...), ""},
		{"no goroutine 1", died("signal", waits[:1], idle...), ""},
		{"another kind of task", died("signal", []report.Task{goroutine("coroutine", 1, "main.acquire")}, idle...), ""},
		{"no Go", died("signal", waits, "futex_wait"+libc), ""},
	} {
		s := Of(c.r)
		if is := len(s.Frames) > 0 && s.Frames[0] == "main.acquire"; is != (c.want != "") || OfGoroutine(c.r) != is {
			t.Errorf("%s: %q, of the goroutine %v", c.name, s.Frames, OfGoroutine(c.r))
		}
	}
	panics := died("signal", waits, idle...)
	panics.Crash.Panic = &report.Panic{Runtime: report.RuntimeGo, Value: "x"}
	if OfGoroutine(panics) {
		t.Error("of a panic it is the goroutine's")
	}
	hung := died("signal", waits, idle...)
	hung.Crash.Kind = report.CrashDeadlock
	hung.Deadlocks = []report.Deadlock{{Certainty: "certain", Tasks: []report.TaskRef{{Kind: "goroutine", ID: 1}, {Kind: "goroutine", ID: 7}}}}
	if OfGoroutine(hung) || OfGoroutine(&report.Report{}) {
		t.Error("of a deadlock, or of nothing, it is the goroutine's")
	}
}
