package signature

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// builderOf looks at a report as Of does, before it decides anything.
func builderOf(r *report.Report, class string) *builder {
	b := &builder{report: r, thread: &r.Threads[0], sig: &Signature{Class: class}}
	b.known = new(Cache).meanings(b.thread.Frames)
	b.sig.Decisions = make([]Decision, len(b.thread.Frames))
	return b
}

// TestMeaningOfLanguages: functions above the native code are known by their file, and closures of PHP and Perl by what they are in.
func TestMeaningOfLanguages(t *testing.T) {
	for language, want := range map[string]string{
		"python": "f of b.x", "javascript": "f of b.x", "lua": "f of b.x", "ruby": "f of b.x", "erlang": "f of b.x", "perl": "f::{closure} of b.x", "php": "f::{closure} of b.x",
		"java": "f of ", "": "f of app",
	} {
		file := "/a/b.x"
		if language == "php" {
			file += "(3) : eval()'d code"
		}
		m := new(Cache).learn(&report.Frame{Function: "f::{closure}", Language: language, Module: "/bin/app", Source: report.Source{File: file}})
		if got := m.name + " of " + m.module; got != want && language != "python" {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
		if language == "python" && m.module != "b.x" {
			t.Errorf("python: of %q", m.module)
		}
	}
}

// TestSmallNames: names that begin with what is left out of them, and those of other languages.
func TestSmallNames(t *testing.T) {
	for got, want := range map[string]string{
		phpName("{closure:/x/a.php:3}"): "{closure}", pythonName(".<locals>.f"): "f", machine("os_abort_impl"): "abort",
		strings.Join(writtenInGo([]string{"main", "main", "f"}), "."):              "main.f",
		strings.Join(writtenInGo([]string{"main", "main", "f", "func"}), "."):      "main.f.func",
		strings.Join(writtenInGo([]string{"main", "main", "func", "f"}), "."):      "main.main.func.f",
		strings.Join(writtenInGo([]string{"main", "main", "deferwrap", "f"}), "."): "main.main.deferwrap.f",
		strings.Join(writtenInGo([]string{"main", "main", "gowrap", "f"}), "."):    "main.main.gowrap.f",
		strings.Join(writtenInGo([]string{"main", "main", "", "f"}), "."):          "main.main..f",
		strings.Join(writtenInGo([]string{"main", "main"}), "."):                   "main.main",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for s, want := range map[string]string{"closure #1 in f": "f.{closure}", "thunk for @escaping () -> () in closure #1 in f": "thunk for @escaping () -> () in closure #1 in f", "f #x": "", "f in g": ""} {
		if got, ok := normalizeSwift(s); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v, want %q", s, got, ok, want)
		}
	}
	for language, module := range map[string]string{"python": "/bin/python3.12", "perl": "/usr/bin/perl"} {
		if f := (&report.Frame{Function: "f", Language: language, Module: module}); interprets(f) || perlInterprets(f) {
			t.Errorf("a call of %s is the interpreter's own", language)
		}
	}
	if unnamedPython(&report.Frame{Function: "<lambda>", Language: "javascript"}) || unnamedPython(&report.Frame{Function: "<lambda>"}) {
		t.Error("a function of another language is one of Python without a name")
	}
	b := builderOf(stackOf("null-read", "f"), "access")
	for name, want := range map[string]string{"::a::b": "::a::b", "x::a::b": "a::b", "a::b": "a::b"} {
		if e := b.entry(name, 0); e.bare != want {
			t.Errorf("%s: %s, want %s", name, e.bare, want)
		}
	}
}

// TestSmallQuestions: what is asked of reports that lack what it is about.
func TestSmallQuestions(t *testing.T) {
	if damage(nil, "access") != "" || converter(&report.Crash{Thrown: []report.Thrown{{Type: "std::out_of_range"}}}) != "" {
		t.Error("damage of no crash, or a text that is not known")
	}
	if accesses(&report.Panic{Runtime: report.RuntimeRust, Value: "invalid memory address or nil pointer dereference"}) {
		t.Error("a panic of Rust with Go's text is an access")
	}
	if got := refusal("core::panicking::panic_const::panic_const_coroutine_resumed"); got != "" {
		t.Errorf("a coroutine that was resumed: %q", got)
	}
	alive := stackOf("", "f")
	alive.Crash, alive.Threads[0].End = nil, ""
	if s := Of(alive); !s.Weak {
		t.Errorf("a live program with one function: %+v", s)
	}
	step := report.BlameStep{Name: "self", Role: "argument"}
	local := step
	local.Role = "local"
	for _, c := range []struct {
		steps []report.BlameStep
		want  bool
	}{{nil, false}, {[]report.BlameStep{step}, true}, {[]report.BlameStep{local}, false}} {
		if got := object(&report.Blame{Steps: c.steps}); got != c.want {
			t.Errorf("%+v: %v", c.steps, got)
		}
	}
	zero := report.Addr(0)
	c := report.Crash{Kind: "null-read", Blame: &report.Blame{Value: 8, Steps: []report.BlameStep{{Kind: report.BlameVariable, Value: &zero}}}}
	if nullAccess(&c) {
		t.Error("a variable that is null is the address of a member of null")
	}
}

// TestKillerGuards: which thread sent the signal, and to whom nobody else matters.
func TestKillerGuards(t *testing.T) {
	of := func() *report.Report {
		r := stackOf("signal", "futex_wait"+libc, "main")
		r.Crash.Reason, r.Crash.Signal, r.Threads[0].ID = sentByItself+" by kill, not by abort", "SIGABRT", 1
		for i, frames := range [][]string{{"kill" + libc}, {"read" + libc, "idle"}} {
			th := stackOf("", frames...).Threads[0]
			th.ID, th.Crashed = i+2, false
			r.Threads = append(r.Threads, th)
		}
		r.Tasks = []report.Task{{Kind: "thread", ID: 1, Wait: &report.Wait{Kind: "lock", Holders: []report.Holder{{Kind: "thread", ID: 2, Certainty: "certain"}}}}}
		return r
	}
	r := of()
	if by := killer(r, &r.Threads[0]); by != &r.Threads[1] {
		t.Errorf("%+v", by)
	}
	if why := Of(r).Decisions[0].Why; why != "another thread, for which it waits, sent the signal" {
		t.Errorf("the thread that waits: %s", why)
	}
	for name, change := range map[string]func(*report.Report){
		"a goroutine waits":       func(r *report.Report) { r.Tasks[0].Kind = "goroutine" },
		"another thread waits":    func(r *report.Report) { r.Tasks[0].ID = 3 },
		"nobody waits":            func(r *report.Report) { r.Tasks[0].Wait = nil },
		"a goroutine has it":      func(r *report.Report) { r.Tasks[0].Wait.Holders[0].Kind = "goroutine" },
		"a thread without frames": func(r *report.Report) { r.Threads[1].Frames = nil },
	} {
		r := of()
		change(r)
		if by := killer(r, &r.Threads[0]); by != nil {
			t.Errorf("%s: thread %d", name, by.ID)
		}
	}
	r = joiningReport("read_reply", 1)
	r.Tasks[0].Wait.Kind = "lock"
	th := &r.Threads[0]
	if !waits(r, th) || waits(r, nil) {
		t.Error("who waits for a lock")
	}
	r.Tasks[0].Kind = "goroutine"
	if waits(r, th) {
		t.Error("a goroutine with a thread's number waits for it")
	}
	r.Tasks[0].Kind, r.Crash.Kind = "thread", "null-read"
	if waits(r, th) {
		t.Error("a thread that crashed waits")
	}
}

// TestCutOfSignals: where a runtime handled a signal from outside, the stack is that of a program without a handler; an innermost frame of a signal is none.
func TestCutOfSignals(t *testing.T) {
	plain := Of(stackOf("signal", "busy", "main"))
	handled := Of(stackOf("signal", "raise"+libc, "abort"+libc, "!SIGTERM "+libc, "busy", "main"))
	if plain.Hash != handled.Hash || handled.Via != "" {
		t.Errorf("%s of %s by %q, want %s of %s", handled.Class, handled.String(), handled.Via, plain.Class, plain.String())
	}
	first := Of(stackOf("signal", "!SIGTERM ", "busy", "main"))
	if d := first.Decisions[0]; d.Action != Dropped {
		t.Errorf("a signal's frame that nothing runs in is %s: %s", d.Action, d.Why)
	}
}

// TestWeakGuards: one function is enough if the walk has reached the start, or its own guard was overwritten; not if its stack may be anything.
func TestWeakGuards(t *testing.T) {
	of := func(frames ...string) Signature {
		r := stackOf("stack-smashing", frames...)
		r.Threads[0].End = ""
		return Of(r)
	}
	if s := of("__stack_chk_fail"+libc, "f"); s.Weak {
		t.Errorf("f has a guard: %+v", s)
	}
	if s := of("__stack_chk_fail"+libc, "~stale", "f"); !s.Weak {
		t.Errorf("f is behind what may be stale: %+v", s)
	}
	r := stackOfLanguage(report.CrashNullRead, "javascript emit node:events")
	r.Threads[0].End = ""
	if s := Of(r); !s.Weak {
		t.Errorf("one function of a library: %+v", s)
	}
	r = stackOf("heap-corruption", "leave@/lib/libchat.so.1", "main")
	r.Modules = append([]report.Module{{Path: "/lib/libchat.so.1"}}, r.Modules...)
	r.Crash.Causes = []report.Cause{{Block: &report.CauseBlock{Fault: report.BlockOverrun, Size: 24}}}
	if s := Of(r); s.Module != "app" {
		t.Errorf("of module %q", s.Module)
	}
}

// TestPerlGuards: Perl's own functions count where no sub of the program runs.
func TestPerlGuards(t *testing.T) {
	for _, c := range []struct {
		frames   []string
		language string // of the second
		file     string
		want     []string
	}{
		{[]string{"Perl_sv_free@/usr/bin/perl", "work", "main"}, "", "/src/a.c", []string{"Perl_sv_free", "work", "main"}},
		{[]string{"Perl_sv_free@/usr/bin/perl", "unpack", "main"}, "perl", "", []string{"Perl_sv_free", "main"}},
		{[]string{"Perl_sv_free@/usr/bin/perl", "Shop::pay", "main"}, "perl", "", []string{"Perl_sv_free", "Shop::pay", "main"}},
		{[]string{"Perl_sv_free@/usr/bin/perl", "Shop::pay", "main"}, "perl", "/x/a.pl", []string{"Shop::pay", "main"}},
		{[]string{"f", "eval x", "main"}, "lua", "/x/a.lua", []string{"f", "x", "main"}},
	} {
		r := stackOf("null-read", c.frames...)
		f := &r.Threads[0].Frames[1]
		f.Language, f.Source.File = c.language, c.file
		if s := Of(r); !slices.Equal(s.Frames, c.want) {
			t.Errorf("%q: %q, want %q", c.frames, s.Frames, c.want)
		}
	}
	r := stackOfLanguage(report.CrashNullRead, "javascript <anonymous> /x/shop.js", "python total /x/shop.js")
	if s := Of(r); s.Frames[0] != "<anonymous> in shop.js" {
		t.Errorf("written in a function of another language: %q", s.Frames)
	}
}

// TestSoughtPastOnce: an inlined search went on behind the end of an array, once.
func TestSoughtPastOnce(t *testing.T) {
	sought := report.BlameStep{Kind: report.BlameVariable, Name: "p", Role: "local", Function: "find", Sought: true}
	for _, c := range []struct {
		frames []string
		at     int // the function that searches
		want   []string
	}{
		{[]string{"+find", "draw", "main"}, 0, []string{"draw", "main"}},
		{[]string{"+find", "+outer", "draw", "main"}, 0, []string{"outer", "draw", "main"}},
		{[]string{"g", "+find", "draw", "main"}, 1, []string{"g", "find", "draw", "main"}},
	} {
		r := stackOf("wild-read", c.frames...)
		frames := r.Threads[0].Frames
		for i := range frames {
			if i > 0 && frames[i-1].Inlined {
				frames[i].Physical = frames[i-1].Physical
			} else if i > 0 {
				frames[i].Physical = frames[i-1].Physical + 1
			}
		}
		s := sought
		s.Physical = frames[c.at].Physical
		r.Crash.Blame = &report.Blame{Value: 8, Steps: []report.BlameStep{s}}
		got := Of(r)
		if !slices.Equal(got.Frames, c.want) || c.at == 0 && got.Decisions[0].Why != soughtPast {
			t.Errorf("%q: %q, %+v", c.frames, got.Frames, got.Decisions[0])
		}
	}
}

// TestReceivedGuards: by which steps a null came from outside.
func TestReceivedGuards(t *testing.T) {
	passed := report.BlameStep{Kind: report.BlamePassed, Function: "draw", Physical: 1}
	for _, c := range []struct {
		name   string
		frames []string
		steps  []report.BlameStep
		want   string
	}{
		{"a member of what was passed", []string{"width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameOffset, Name: "p", Function: "width"}, passed}, "draw"},
		{"passed by another function of the same call", []string{"width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameVariable, Name: "p", Function: "width"}, {Kind: report.BlamePassed, Function: "other"}}, "width"},
		{"the caller of one that is kept", []string{"width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameVariable, Name: "p", Function: "width"}, {Kind: report.BlameRead, Name: "p", Function: "draw", Physical: 1, Entry: true}}, "width draw"},
		{"another call's result, which has a name", []string{"+width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameReturned, Name: "s->next", Function: "find", Outside: 1}}, "draw"},
	} {
		r := stackOf("null-read", c.frames...)
		if r.Threads[0].Frames[0].Inlined {
			r.Threads[0].Frames[1].Physical, r.Threads[0].Frames[2].Physical = 0, 1
		}
		r.Crash.Blame = &report.Blame{Steps: c.steps}
		if s := Of(r); !strings.HasPrefix(strings.Join(s.Frames, " "), c.want) {
			t.Errorf("%s: %q, want %s first", c.name, s.Frames, c.want)
		}
	}
	r := ofPython(stackOf("null-read", "compare", "check"), 0, "/x/app.py")
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "a", Function: "other"}}}
	if s := Of(r); s.Frames[0] != "compare" {
		t.Errorf("a variable of another function of Python: %q", s.Frames)
	}
	r = stackOf("null-read", "main")
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameReturned, Function: "title"}, {Kind: report.BlameReturned, Function: "title", Within: "title"}}}
	if s := Of(r); s.Frames[0] != "title" {
		t.Errorf("moved out of a function that the second step tells: %q", s.Frames)
	}
}

// TestPythonGuards: what Python passed, and who called the interpreter.
func TestPythonGuards(t *testing.T) {
	given := func() *builder { return builderOf(passedByPython(report.CrashWildRead, 0x3039, "image", ""), "access") }
	if b := given(); !b.givenByPython(0) || b.fromPython() != 1 {
		t.Error("the address is not from Python")
	}
	for name, change := range map[string]func(*builder){
		"one is kept":       func(b *builder) { b.kept = make([]entry, 1) },
		"another was given": func(b *builder) { b.nulled = true },
		"another kind": func(b *builder) {
			b.report.Crash.Blame.Steps[1].Kind = report.BlameVariable
			b.report.Crash.Blame.Steps[2].Kind = report.BlameVariable
		},
		"another frame": func(b *builder) {
			b.report.Crash.Blame.Steps[1].Physical, b.report.Crash.Blame.Steps[2].Physical = 7, 7
		},
	} {
		b := given()
		change(b)
		if b.givenByPython(0) {
			t.Errorf("%s: given by Python", name)
		}
	}
	for name, c := range map[string]struct {
		change func(*builder)
		want   bool
	}{
		"handed on":         {func(*builder) {}, true},
		"one is kept":       {func(b *builder) { b.kept = make([]entry, 1) }, false},
		"nothing was given": {func(b *builder) { b.nulled = false }, false},
		"not of Python":     {func(b *builder) { b.thread.Frames[2].Language = "" }, false},
		"another function":  {func(b *builder) { b.thread.Frames[2].Function = "other" }, false},
	} {
		b := given()
		b.nulled = true
		if name == "not of Python" { // which leads nowhere by itself
			b.thread.Frames = append(slices.Clone(b.thread.Frames), b.thread.Frames[2])
		}
		c.change(b)
		if got := b.handedOn(2); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	b := given()
	b.nulled, b.thread.Frames[3].Source.Line = true, b.thread.Frames[2].Source.Line
	if b.handedOn(3) {
		t.Error("another function at the line handed it on")
	}
	s := Of(passedByPython(report.CrashWildRead, 0x3039, "image", ""))
	if s.Decisions[0].Why != givenAddress || s.Decisions[2].Why != handedOn {
		t.Errorf("%+v", s.Decisions[:3])
	}

	const extension, interpreter = "fire@/x/_grid.cpython-312-x86_64-linux-gnu.so", "PyObject_CallFunction@/bin/python3.12"
	for _, c := range []struct {
		frames []string
		want   bool
	}{
		{[]string{interpreter, extension}, true},
		{[]string{extension}, false},
		{[]string{"~" + interpreter, extension}, false},
		{[]string{interpreter, "@" + strings.TrimPrefix(extension, "fire@")}, false},
	} {
		if got := builderOf(stackOf("null-read", c.frames...), "access").byExtension(0); got != c.want {
			t.Errorf("%q: %v", c.frames, got)
		}
	}
	for _, c := range []struct {
		class  string
		frames []string
		want   string
	}{
		{"arithmetic", []string{interpreter}, "arithmetic"},
		{"call", []string{"@/", interpreter}, "access"},
		{"call", []string{"@/"}, "call"},
	} {
		b := builderOf(stackOf("null-call", c.frames...), c.class)
		if b.inInterpreter(0); b.sig.Class != c.want {
			t.Errorf("%s of %q: %s", c.class, c.frames, b.sig.Class)
		}
	}
	r := stackOf(report.CrashNullCall, "run", "main@/x/libfire.so")
	r.Threads[0].Frames[0].Module, r.Threads[0].Frames[0].Language = "", "python"
	b = builderOf(r, "call")
	if b.inInterpreter(0); b.sig.Class != "access" {
		t.Errorf("a call of Python without a module: %s", b.sig.Class)
	}
}
