package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// ofPython makes frames of Python of those from a number on, in a file.
func ofPython(r *report.Report, from int, file string) *report.Report {
	frames := r.Threads[0].Frames
	for i := from; i < len(frames); i++ {
		frames[i].Language, frames[i].Trust, frames[i].Module, frames[i].Physical = "python", report.TrustRuntime, "/bin/python3.12", from
		frames[i].Source = report.Source{File: file, Line: 10 + i}
	}
	return r
}

// Functions that Python has no name for belong to the one that they are written in, and only newer versions tell in which function one is.
func TestNamesOfPython(t *testing.T) {
	for _, c := range []struct{ frames, want []string }{
		{[]string{"Tree.walk.<locals>.<lambda>", "Tree.walk", "run"}, []string{"Tree.walk", "run"}},
		{[]string{"<lambda>", "Tree.walk", "run"}, []string{"Tree.walk", "run"}},
		{[]string{"run.<locals>.<genexpr>", "run"}, []string{"run"}},
		{[]string{"outer.<locals>.inner", "outer", "run"}, []string{"inner", "outer", "run"}},
		{[]string{"<module>"}, []string{"<module>"}},
	} {
		r := ofPython(stackOf(report.CrashNullRead, c.frames...), 0, "/x/app.py")
		if s := Of(r); !slices.Equal(s.Frames, c.want) {
			t.Errorf("%q: %q, want %q", c.frames, s.Frames, c.want)
		}
	}
	r := ofPython(stackOf(report.CrashNullRead, "<lambda>", "run"), 0, "/x/app.py")
	r.Threads[0].Frames[1].Source.File = "/x/other.py"
	if s := Of(r); s.Frames[0] != "<lambda> in app.py" {
		t.Errorf("%q", s.Frames)
	}
}

// passedByPython is a crash in a function of C that Python called by ctypes; the steps are the calls that passed the address, the innermost first.
func passedByPython(kind string, value report.Addr, names ...string) *report.Report {
	r := ofPython(stackOf(kind, "img_area@/lib/libpix.so", "ffi_call@/lib/libffi.so.8", "area", "Painter.area", "run"), 2, "/x/app.py")
	b := &report.Blame{Value: value, Confidence: report.Likely, Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "i", Role: "argument", Entry: true, Function: "img_area"}}}
	for i, name := range names {
		f := &r.Threads[0].Frames[2+i]
		b.Steps = append(b.Steps, report.BlameStep{Kind: report.BlamePassed, Name: name, Function: f.Function, Source: f.Source, Physical: f.Physical})
	}
	r.Crash.Blame = b
	return r
}

// A bad address that Python passed to C is the mistake of the call that computed it.
func TestPassedByPython(t *testing.T) {
	for _, c := range []struct {
		name string
		r    *report.Report
		want string
	}{
		{"null", passedByPython(report.CrashNullRead, 0, "image", ""), "Painter.area"},
		{"a number", passedByPython(report.CrashWildRead, 0x3039, "image", ""), "Painter.area"},
		{"of the first call", passedByPython(report.CrashWildRead, 0x3039, ""), "area"},
		{"through all", passedByPython(report.CrashWildRead, 0x3039, "image", "scale", ""), "run"},
		{"not from Python", passedByPython(report.CrashWildRead, 0x3039), "img_area"},
	} {
		if s := Of(c.r); s.Frames[0] != c.want {
			t.Errorf("%s: %q, want %s first", c.name, s.Frames, c.want)
		}
	}
	for name, change := range map[string]func(*report.Report){
		"a guess":               func(r *report.Report) { r.Crash.Blame.Confidence = report.Possible },
		"another class":         func(r *report.Report) { r.Crash.Kind = report.CrashDivZero },
		"no frame of that name": func(r *report.Report) { r.Crash.Blame.Steps[1].Function = "other" },
		"nobody's value":        func(r *report.Report) { r.Crash.Blame.Steps = r.Crash.Blame.Steps[1:] },
		"another frame's value": func(r *report.Report) { r.Crash.Blame.Steps[0].Physical = 1 },
		"into an inlined call":  func(r *report.Report) { r.Threads[0].Frames[0].Inlined = true },
	} {
		r := passedByPython(report.CrashWildRead, 0x3039, "image", "")
		change(r)
		if s := Of(r); s.Frames[0] != "img_area" {
			t.Errorf("%s: %q, want img_area first", name, s.Frames)
		}
	}
	r := passedByPython(report.CrashWildRead, 0x3039, "image", "")
	r.Threads[0].Frames[2].Source.Line++
	if s := Of(r); s.Frames[0] != "area" {
		t.Errorf("a recursion of one function: %q", s.Frames)
	}
}

// An object that is none leads CPython to a bad access or a bad call, as its type happens to be.
func TestCallInInterpreter(t *testing.T) {
	fire := "fire@/x/_grid.cpython-312-x86_64-linux-gnu.so"
	of := func(kind string, frames ...string) string {
		r := stackOf(kind, frames...)
		ofPython(r, len(frames)-1, "/x/app.py")
		s := Of(r)
		return s.Hash
	}
	want := of(report.CrashNullRead, "PyObject_CallFunction@/bin/python3.12", fire, "run")
	if got := of(report.CrashNullCall, "@/", "PyObject_CallFunction@/bin/python3.12", fire, "run"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if of(report.CrashNullCall, "@/", fire, "run") == of(report.CrashNullRead, fire, "run") {
		t.Error("a bad call of the extension is as a bad access")
	}
	if of(report.CrashNullCall, "@/", "run") != of(report.CrashNullRead, "PyObject_CallFunction@/bin/python3.12", "run") {
		t.Error("a bad call of the interpreter that has no frame is not as a bad access")
	}
}

// The thread that sent the signal counts if the one that got it waits for what the sender has; a watchdog's does not.
func TestKiller(t *testing.T) {
	report1 := func() *report.Report {
		r := stackOf("signal", "futex_wait"+libc, "main")
		r.Crash.Reason, r.Crash.Signal, r.Threads[0].ID = sentByItself+" by kill, not by abort", "SIGABRT", 1
		th := stackOf("", "kill"+libc, "give_up", "worker", "start_thread"+libc).Threads[0]
		th.ID, th.Crashed = 2, false
		r.Threads = append(r.Threads, th)
		r.Tasks = []report.Task{{Kind: "thread", ID: 1, Wait: &report.Wait{Kind: "lock", Holders: []report.Holder{{Kind: "thread", ID: 2, Certainty: "certain"}}}}}
		return r
	}
	direct := stackOf("signal", "kill"+libc, "give_up", "worker", "start_thread"+libc)
	direct.Crash.Reason = report1().Crash.Reason
	if a, b := Of(report1()), Of(direct); a.Hash != b.Hash || a.Frames[0] != "give_up" {
		t.Errorf("%s, want %s", a.String(), b.String())
	}
	for name, change := range map[string]func(*report.Report){
		"sent from outside":   func(r *report.Report) { r.Crash.Reason = "sent by process 7" },
		"a holder that waits": func(r *report.Report) { r.Threads[1].Frames[0].Function = "read" },
		"a likely holder":     func(r *report.Report) { r.Tasks[0].Wait.Holders[0].Certainty = "likely" },
		"no holder":           func(r *report.Report) { r.Tasks[0].Wait.Holders = nil },
	} {
		r := report1()
		change(r)
		if s := Of(r); s.Frames[0] != "main" {
			t.Errorf("%s: %s, want main", name, s.String())
		}
	}
}

// A thread that waits for the end of another is told by what that does: by a hang if that waits for a lock.
func TestClassOfJoin(t *testing.T) {
	r := joiningReport("read_reply", 1)
	r.Crash.Signal, r.Crash.Reason = "SIGABRT", "sent by process 7"
	alone := stackOf("signal", "read"+libc, "read_reply", "worker", "start_thread"+libc)
	alone.Crash.Signal, alone.Crash.Reason = r.Crash.Signal, r.Crash.Reason
	if a, b := Of(r), Of(alone); a.Hash != b.Hash {
		t.Errorf("%s of %s, want %s of %s", a.Class, a.String(), b.Class, b.String())
	}
	r.Tasks = append(r.Tasks, report.Task{Kind: "thread", ID: 2, Wait: &report.Wait{Kind: "lock"}})
	if s := Of(r); s.Class != report.CrashHang {
		t.Errorf("behind a lock: class %s", s.Class)
	}
}

// Which of two exceptions std::stoi throws depends on its text.
func TestConverter(t *testing.T) {
	of := func(typ, what string) string {
		r := stackOf(report.CrashException, "abort"+libc, "__cxa_throw@/lib/libstdc++.so.6", "std::__throw_out_of_range@/lib/libstdc++.so.6", "parse", "main")
		r.Crash.Message = "terminate called after throwing an instance of '" + typ + "'\n  what():  " + what
		r.Crash.Thrown = []report.Thrown{{Type: typ, What: &what}}
		s := Of(r)
		return s.Hash
	}
	if of("std::out_of_range", "stoi") != of("std::invalid_argument", "stoi") {
		t.Error("two signatures of stoi")
	}
	if of("std::out_of_range", "stoi") == of("std::out_of_range", "stod") || of("std::out_of_range", "vector::at") == of("std::length_error", "vector::at") {
		t.Error("one signature of two")
	}
}

// A fault within free is the heap's also where a handler dealt with it.
func TestHandledInFree(t *testing.T) {
	a := Of(stackOf(report.CrashWildRead, "__libc_free"+libc, "drop", "main"))
	b := Of(stackOf(report.CrashSignal, "raise"+libc, "!SIGSEGV __restore_rt", "__libc_free"+libc, "drop", "main"))
	if a.Class != report.CrashHeapCorruption || a.Hash != b.Hash {
		t.Errorf("%s of %s, %s of %s", a.Class, a.String(), b.Class, b.String())
	}
}

// What is left on the stack of a promise that was rejected is Node's, in turn one part of it or another.
func TestMadeElsewhereModule(t *testing.T) {
	of := func(function, file string) Signature {
		r := stackOf(report.CrashAbort, "abort"+libc, function)
		f := &r.Threads[0].Frames[1]
		f.Language, f.Trust, f.Source = "javascript", report.TrustRuntime, report.Source{File: file, Line: 3}
		r.Crash.Raised = []report.Raised{{Language: "javascript", Type: "Error", Function: "fetchStock", File: "/x/shop.js"}}
		return Of(r)
	}
	a, b := of("strictUnhandledRejectionsMode", "node:internal/process/promises"), of("processTimers", "node:internal/timers")
	if a.Module != "shop.js" || a.Module != b.Module {
		t.Errorf("modules %q and %q", a.Module, b.Module)
	}
}

// Since 3.11 CPython makes a call of Python without a frame of its own: the function of the C library got its null from the caller's caller all the same.
func TestPassedWithinPython(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []report.BlameStep
		want  string
	}{
		{"by its caller", []report.BlameStep{{Kind: report.BlamePassed, Name: "a", Function: "compare"}, {Kind: report.BlamePassed, Function: "check"}}, "check"},
		{"computed there", []report.BlameStep{{Kind: report.BlamePassed, Function: "compare"}}, "compare"},
	} {
		r := ofPython(stackOf(report.CrashNullRead, "strcmp@/lib/libc.so.6", "ffi_call@/lib/libffi.so.8", "compare", "check", "run"), 2, "/x/app.py")
		b := &report.Blame{Confidence: report.Likely, Steps: []report.BlameStep{{Kind: report.BlameArgument, Name: "argument 1", Role: "argument", Entry: true, Function: "strcmp"}}}
		for _, s := range c.steps {
			s.Physical = r.Threads[0].Frames[2].Physical
			b.Steps = append(b.Steps, s)
		}
		r.Crash.Blame = b
		if s := Of(r); s.Frames[0] != c.want {
			t.Errorf("%s: %q, want %s first", c.name, s.Frames, c.want)
		}
	}
}

// A bad call by another library than CPython is none of CPython's, whoever called that.
func TestCallInExtension(t *testing.T) {
	r := stackOf(report.CrashNullCall, "@/", "fire@/x/libfire.so", "PyObject_CallFunction@/bin/python3.12", "run")
	ofPython(r, 3, "/x/app.py")
	if s := Of(r); s.Class != "call" {
		t.Errorf("%q", s.Class)
	}
	r = stackOf(report.CrashNullCall, "@/", "run", "main@/x/libfire.so")
	ofPython(r, 1, "/x/app.py")
	r.Threads[0].Frames[1].Module = "" // calls of Python have none where the interpreter's own are not known
	if s := Of(r); s.Class != "access" {
		t.Errorf("called by Python: %q", s.Class)
	}
}
