package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// hungReport is a program that was aborted while threads wait for each other, each in a function of its own; the
// first has the smallest number. Another thread waits behind them.
func hungReport(functions ...string) *report.Report {
	r := stackOf("deadlock", libc, "abort"+libc, "watch", "main")
	d := report.Deadlock{Certainty: "certain"}
	for i, f := range append(functions, "behind") {
		th := stackOf("", "futex_wait"+libc, "pthread_mutex_lock"+libc, f, "start_thread"+libc).Threads[0]
		th.ID, th.Crashed = i+2, false
		r.Threads = append(r.Threads, th)
		r.Tasks = append(r.Tasks, report.Task{Kind: "thread", ID: th.ID, Wait: &report.Wait{Kind: "lock"}})
		if i < len(functions) {
			d.Tasks = append(d.Tasks, report.TaskRef{Kind: "thread", ID: th.ID})
		}
	}
	r.Deadlocks = []report.Deadlock{d}
	return r
}

// TestCycle: of a deadlock only the cycle counts, in no order.
func TestCycle(t *testing.T) {
	want := Of(hungReport("deposit", "withdraw"))
	if want.Weak || want.Class != report.CrashDeadlock || want.Module != "app" || want.String() != "deadlock in deposit and withdraw" {
		t.Fatalf("%s, weak %v, module %s", want.String(), want.Weak, want.Module)
	}
	later := hungReport("withdraw", "deposit")
	later.Threads[0], later.Threads[1] = later.Threads[1], later.Threads[0] // another thread was found first
	slices.Reverse(later.Deadlocks[0].Tasks)
	elsewhere := hungReport("deposit", "withdraw")
	elsewhere.Threads[0] = stackOf("", libc, "abort"+libc, "other", "main").Threads[0]
	alive := hungReport("deposit", "withdraw")
	alive.Crash = nil
	for name, r := range map[string]*report.Report{"in another order": later, "found in another order": hungReport("withdraw", "deposit"), "aborted elsewhere": elsewhere, "not aborted": alive} {
		if got := Of(r); got.Hash != want.Hash || got.Strict != want.Strict {
			t.Errorf("%s: %s %s, want %s %s", name, got.String(), got.Hash, want.String(), want.Hash)
		}
	}
	if got := Of(hungReport("deposit", "withdraw", "withdraw")); got.Hash != want.Hash || got.Strict == want.Strict {
		t.Errorf("with one thread more: %s %s", got.String(), got.Hash)
	}
	joins := hungReport("deposit", "withdraw")
	joins.Tasks[0].Wait.Kind = "join"
	possible := hungReport("deposit", "withdraw")
	possible.Crash.Kind = report.CrashHang
	gone := hungReport("deposit", "withdraw")
	gone.Deadlocks = nil
	for name, r := range map[string]*report.Report{
		"another function": hungReport("deposit", "audit"), "one thread": hungReport("deposit"), "a join": joins,
		"no deadlock": gone,
	} {
		if got := Of(r); got.Hash == want.Hash {
			t.Errorf("%s: %s has the same signature", name, got.String())
		}
	}
	if got := Of(possible); got.Hash != want.Hash || got.Strict == want.Strict {
		t.Errorf("only possible, as memory proves less of it in another build: %s %s", got.String(), got.Hash)
	}
	// Waits in functions of one name are one only if they are of one kind, in one module.
	same := Of(hungReport("deposit", "deposit"))
	kinds := hungReport("deposit", "deposit")
	kinds.Tasks[1].Wait.Kind = "join"
	joined := hungReport("deposit", "deposit")
	joined.Tasks[0].Wait.Kind, joined.Tasks[1].Wait.Kind = "join", "join"
	if Of(kinds).Hash == Of(joined).Hash {
		t.Error("two kinds: the signature is that of the second")
	}
	modules := hungReport("deposit", "deposit")
	for i := range modules.Threads[2].Frames {
		if f := &modules.Threads[2].Frames[i]; f.Function == "deposit" {
			f.Module = "/usr/lib/libbank.so"
		}
	}
	for name, r := range map[string]*report.Report{"two kinds": kinds, "two modules": modules} {
		if got := Of(r); got.Hash == same.Hash {
			t.Errorf("%s: %s has the signature of one", name, got.String())
		}
	}
	if got := Of(hungReport("deposit", "deposit", "withdraw")); !slices.Equal(got.Frames, []string{"deposit", "withdraw"}) {
		t.Errorf("frames %q: each function is named once", got.Frames)
	}
	if got := Of(hungReport("deposit", "withdraw")); len(got.Decisions) == 0 || got.Decisions[0].Why != "a deadlock is known by the functions that wait in it" {
		t.Errorf("decisions %+v", got.Decisions)
	}
	absent := hungReport("deposit", "withdraw")
	absent.Deadlocks[0].Tasks[1].ID = 99
	if got := Of(absent); !got.Weak {
		t.Errorf("%s is sure, though one of its tasks is not there", got.String())
	}
	first := hungReport("deposit", "withdraw")
	for i := range first.Threads[1].Frames {
		first.Threads[1].Frames[i].Function, first.Threads[1].Frames[i].Module = "", "/usr/bin/app"
	}
	if got := Of(first); !got.Weak {
		t.Errorf("%s is sure, though the first of its waits has no name", got.String())
	}
	// Tasks that are no threads have stacks of their own, and the same numbers as threads.
	routines := hungReport("deposit", "withdraw")
	for i := range routines.Tasks {
		routines.Tasks[i].Kind, routines.Tasks[i].Frames, routines.Tasks[i].End = "goroutine", stackOf("", "park", "main.work", "main.start").Threads[0].Frames, report.EndBottom
	}
	for i := range routines.Deadlocks[0].Tasks {
		routines.Deadlocks[0].Tasks[i].Kind = "goroutine"
	}
	if got := Of(routines); slices.Contains(got.Frames, "deposit") || len(got.Frames) != 1 {
		t.Errorf("frames %q are of threads with the goroutines' numbers", got.Frames)
	}
	// Before them come threads with their numbers; and no thread at all is in the report.
	mixed := hungReport("deposit", "withdraw")
	for i := range 2 {
		g := report.Task{Kind: "goroutine", ID: mixed.Tasks[i].ID, Frames: stackOf("", "park", "main.work", "main.start").Threads[0].Frames, End: report.EndBottom, Wait: &report.Wait{Kind: "channel-send"}}
		mixed.Tasks = append(mixed.Tasks, g)
		mixed.Deadlocks[0].Tasks[i].Kind = "goroutine"
	}
	mixed.Threads = nil
	sends := Of(mixed)
	for i := range mixed.Tasks {
		mixed.Tasks[i].Wait = &report.Wait{Kind: map[bool]string{true: "channel-send", false: "join"}[mixed.Tasks[i].Kind == "goroutine"]}
	}
	if got := Of(mixed); sends.Weak || got.Hash != sends.Hash || len(sends.Frames) != 1 || sends.Frames[0] != "park" {
		t.Errorf("goroutines that are numbered as threads: %s %s %q and %s", sends.String(), sends.Hash, sends.Frames, got.Hash)
	}
	unwaited := hungReport("deposit", "withdraw")
	unwaited.Tasks[0].Wait = nil
	if got := Of(unwaited); got.Hash == want.Hash {
		t.Error("a task that waits for nothing known is one that waits for a lock")
	}
	elsewhereInIt := hungReport("deposit", "withdraw")
	for i := range elsewhereInIt.Threads[1].Frames {
		if f := &elsewhereInIt.Threads[1].Frames[i]; f.Function == "deposit" {
			f.Offset += 0x20
			f.Source.Line += 7
		}
	}
	if got := Of(elsewhereInIt); got.Hash != want.Hash || got.Strict == want.Strict {
		t.Errorf("in another line: %s %s, strictly %s", got.String(), got.Hash, got.Strict)
	}
	nameless := hungReport("deposit", "withdraw")
	for i := range nameless.Threads[2].Frames {
		nameless.Threads[2].Frames[i].Function, nameless.Threads[2].Frames[i].Module = "", "/usr/bin/app"
	}
	if got := Of(nameless); !got.Weak {
		t.Errorf("%s is sure, though one of its waits has no name", got.String())
	}
	if one, two := Of(hungReport("deposit")), Of(hungReport("deposit", "deposit")); one.Hash == two.Hash {
		t.Error("a thread that waits for itself is two that wait for each other")
	}
}

// TestItself: a thread that waits for a lock that it holds itself has the signature of a hang in its function, whether memory says who holds the lock or not.
func TestItself(t *testing.T) {
	certain := hungReport("deposit")
	nameless := hungReport("deposit")
	nameless.Deadlocks = nil
	nameless.Crash.Kind = report.CrashHang
	nameless.Threads = slices.Clone(nameless.Threads)
	nameless.Threads[0], nameless.Threads[1] = nameless.Threads[1], nameless.Threads[0]
	nameless.Threads[0].Crashed, nameless.Threads[1].Crashed = true, false
	alive := hungReport("deposit")
	alive.Crash = nil
	want := Of(certain)
	if want.String() != "deadlock in deposit" || want.Class != report.CrashHang || want.Decisions[0].Why != "another thread waits for itself" {
		t.Errorf("%s, class %s, %+v", want.String(), want.Class, want.Decisions)
	}
	for name, r := range map[string]*report.Report{"its holder is not known": nameless, "not aborted": alive} {
		if got := Of(r); got.Hash != want.Hash {
			t.Errorf("%s: %s %s, want %s", name, got.String(), got.Hash, want.Hash)
		}
	}
	possible := hungReport("deposit")
	possible.Crash.Kind = report.CrashHang
	for kind, r := range map[string]*report.Report{report.CrashDeadlock: alive, report.CrashHang: possible} {
		if got := Of(r); got.Kind != kind {
			t.Errorf("kind %s, want %s", got.Kind, kind)
		}
	}
	if got := Of(hungReport("audit")); got.Hash == want.Hash {
		t.Error("two functions have one signature")
	}
	if id, ok := Joined(certain); !ok || id != 2 {
		t.Errorf("the signature is of thread %d, %v; want 2", id, ok)
	}
	routine := hungReport("deposit")
	routine.Tasks[0].Kind, routine.Deadlocks[0].Tasks[0].Kind = "goroutine", "goroutine"
	routine.Tasks[0].Frames = routine.Threads[1].Frames
	asleep := hungReport("deposit")
	asleep.Deadlocks[0].Asleep = true
	gone := hungReport("deposit")
	gone.Deadlocks[0].Tasks[0].ID = 99
	empty := hungReport("deposit")
	empty.Threads[1].Frames = nil
	short := hungReport("deposit")
	short.Threads[1].Frames = short.Threads[1].Frames[2:3]
	if got := Of(short); got.Class != report.CrashHang {
		t.Errorf("a stack of one frame: class %s", got.Class)
	}
	for name, r := range map[string]*report.Report{"a goroutine": routine, "asleep": asleep, "gone": gone, "without frames": empty} {
		want := "deadlock with itself"
		if name == "asleep" { // how many others sleep, too, is chance
			want = report.CrashDeadlock
		}
		if got := Of(r); got.Class != want {
			t.Errorf("%s: class %s", name, got.Class)
		}
	}
}

// Of goroutines that all sleep, those that only wait for the end of others do not count: there may be any number of them.
func TestBystanders(t *testing.T) {
	asleep := func(kinds ...string) *report.Report {
		functions := []string{"wait", "receive"}[:len(kinds)]
		r := hungReport(functions...)
		r.Deadlocks[0].Asleep = true
		for i, k := range kinds {
			r.Tasks[i].Wait.Kind = k
		}
		return r
	}
	if s := Of(asleep("barrier", "channel-receive")); !slices.Equal(s.Frames, []string{"receive"}) {
		t.Errorf("a wait group counts: %q", s.Frames)
	}
	if s := Of(asleep("join", "channel-receive")); !slices.Equal(s.Frames, []string{"receive"}) {
		t.Errorf("a join counts: %q", s.Frames)
	}
	if s := Of(asleep("barrier", "barrier")); !slices.Equal(s.Frames, []string{"receive", "wait"}) {
		t.Errorf("nothing else: %q", s.Frames)
	}
	if a, b := Of(asleep("channel-receive", "channel-receive")), Of(asleep("forever", "channel-receive")); a.Hash != b.Hash {
		t.Error("a channel that is nil makes another bug")
	}
	circle := asleep("barrier", "channel-receive")
	circle.Deadlocks[0].Asleep = false
	if s := Of(circle); !slices.Equal(s.Frames, []string{"receive", "wait"}) {
		t.Errorf("of a circle: %q", s.Frames)
	}
}

// Two kinds of waits in one function are two parts of the signature, of one function.
func TestFunctionOnce(t *testing.T) {
	r := hungReport("take", "take")
	r.Tasks[0].Wait.Kind = "join"
	if s := Of(r); !slices.Equal(s.Frames, []string{"take"}) || s.Top != 1 {
		t.Errorf("%q, of which %d", s.Frames, s.Top)
	}
}
