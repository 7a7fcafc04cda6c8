package signature

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// stackOf makes a report of frames, innermost first: "name", or "name@module", "name@/" if there is none;
// "!SIGSEGV" and "!SIGSEGV name" are trampolines, "~name" was found by scanning, "+name" is inlined, "" has no
// name.
func stackOf(kind string, frames ...string) *report.Report {
	r := &report.Report{Crash: &report.Crash{Kind: kind}, Threads: []report.Thread{{ID: 1, Crashed: true, End: report.EndBottom}}}
	r.Modules = []report.Module{{Path: "/bin/app", BuildID: "00112233445566778899aabbccddeeff", Main: true}}
	r.Dump.PID = 1
	for i, s := range frames {
		f := report.Frame{Index: i, Physical: i, PC: report.Addr(0x1000 + 16*i), SP: report.Addr(0x7000 + 16*i), Trust: report.TrustCFI, Offset: report.Addr(0x100 + 16*i)}
		name, module, ok := strings.Cut(s, "@/")
		switch f.Module = "/bin/app"; {
		case module != "":
			f.Module = "/" + module
		case ok:
			f.Module = ""
		}
		switch {
		case strings.HasPrefix(name, "!"):
			f.Signal, f.Function, _ = strings.Cut(name[1:], " ")
		case strings.HasPrefix(name, "~"):
			f.Function, f.Trust = name[1:], report.TrustScan
		case strings.HasPrefix(name, "+"):
			f.Function, f.Inlined = name[1:], true
		default:
			f.Function = name
		}
		if f.Function != "" && f.Module == "/bin/app" {
			f.Source = report.Source{File: "/src/app.c", Line: 10 + i}
		}
		r.Threads[0].Frames = append(r.Threads[0].Frames, f)
	}
	return r
}

const libc = "@/lib/libc.so.6"

func TestFrames(t *testing.T) {
	start := []string{libc, "__libc_start_main" + libc, "_start"}
	for name, c := range map[string]struct {
		kind   string
		frames []string
		want   []string
	}{
		"abort":           {"abort", []string{libc, "raise" + libc, "abort" + libc, "give_up", "work", "main"}, []string{"give_up", "work", "main"}},
		"libc in between": {"null-read", []string{"compare", libc, "qsort_r" + libc, "rank", "main"}, []string{"compare", "rank", "main"}},
		"inlined":         {"null-read", []string{"+f", "+g", "h", "main"}, []string{"f", "g", "h", "main"}},
		"clone":           {"null-read", []string{"f.part.0", "+f", "g.isra.0", "main"}, []string{"f", "g", "main"}},
		"scan":            {"null-read", []string{"f", "~stale", "g", "main"}, []string{"f", "g", "main"}},
		"handler":         {"null-read", []string{"dump_stack", "on_segv", "!SIGSEGV" + libc, "f", "main"}, []string{"f", "main"}},
		"in a handler":    {"null-read", []string{"log_it", "on_alarm", "!SIGALRM" + libc, "busy", "main"}, []string{"log_it", "on_alarm"}},
		"unknown signal":  {"null-read", []string{"log_it", "on_some", "!unknown" + libc, "busy", "main"}, []string{"log_it", "on_some", "busy", "main"}},
		"unknown, quits":  {"abort", []string{"abort" + libc, "on_some", "!unknown" + libc, "f", "main"}, []string{"f", "main"}},
		"watchdog":        {"abort", []string{"abort" + libc, "bark", "on_alarm", "!SIGALRM" + libc, "busy", "main"}, []string{"busy", "main"}},
		"told to quit":    {"abort", []string{"raise" + libc, "abort" + libc, "on_quit", "!SIGQUIT" + libc, "epoll_wait" + libc, "loop", "main"}, []string{"loop", "main"}},
		"told to end":     {"abort", []string{"abort" + libc, "clean_up", "on_term", "!SIGTERM" + libc, "busy", "main"}, []string{"clean_up", "on_term"}},
		"handler's bug":   {"assertion", []string{"abort" + libc, "__assert_fail" + libc, "log_it", "on_alarm", "!SIGALRM" + libc, "busy", "main"}, []string{"log_it", "on_alarm"}},
		"terminate":       {"exception", []string{"abort" + libc, "my_terminate", "std::terminate@/lib/libstdc++.so.6", "__cxa_throw@/lib/libstdc++.so.6", "parse", "main"}, []string{"parse", "main"}},
		"go":              {"null-read", []string{"runtime.raise", "!SIGABRT", "runtime.raise", "runtime.gopanic", "runtime.sigpanic", "main.(*queue).pop", "main.main", "runtime.main", "runtime.goexit"}, []string{"main.(*queue).pop", "main.main"}},
		"recursion":       {"null-read", []string{"leaf", "walk", "walk", "walk", "main"}, []string{"leaf", "walk", "main"}},
		"mutual":          {"null-read", []string{"leaf", "f", "g", "f", "g", "f", "main"}, []string{"leaf", "f", "main"}},
		"main alone":      {"null-read", []string{"main"}, []string{"main"}},
		"before main":     {"null-read", []string{"f", "main", "", "own_start"}, []string{"f", "main"}},
		"no code":         {"null-call", []string{"@/", "invoke", "main"}, []string{"invoke", "main"}},
		"nameless middle": {"null-read", []string{"f", "@/lib/libx.so.1", "@/lib/libx.so.1", "main"}, []string{"f", "?libx.so", "main"}},
	} {
		r := stackOf(c.kind, append(c.frames, start...)...)
		s := Of(r)
		if !reflect.DeepEqual(s.Frames, c.want) || s.Weak {
			t.Errorf("%s: %q (weak: %v), want %q\n%+v", name, s.Frames, s.Weak, c.want, s.Decisions)
		}
		for i, d := range s.Decisions {
			if d.Frame != i || d.Action == "" || d.Name == "" || d.Why == "" && d.Action != Kept {
				t.Errorf("%s: frame %d: decision %+v", name, i, d)
			}
		}
	}
}

// TestOverflowPhases: a recursion has one signature, wherever the stack ran out and however deep it was.
func TestOverflowPhases(t *testing.T) {
	cycle := []string{"walk", "visit", "each"}
	var first string
	for top := range 3 {
		for depth := 8; depth < 33; depth += 3 {
			for _, leaf := range [][]string{nil, {"memset" + libc, "buffer"}} {
				frames := append([]string{}, leaf...)
				for i := range depth + (3 - top) {
					frames = append(frames, cycle[(top+i)%3])
				}
				// The recursion starts in the same way: walk is called first.
				for frames[len(frames)-1] != "walk" {
					frames = frames[:len(frames)-1]
				}
				s := Of(stackOf(report.CrashStackOverflow, append(frames, "main", "_start")...))
				if first == "" {
					first = s.Hash
				}
				if s.Hash != first || s.Top != 3 || s.Weak {
					t.Fatalf("%d, %d, %v: %s, want %s\n%q", top, depth, leaf, s.Hash, first, s.Frames)
				}
			}
		}
	}
	other := Of(stackOf(report.CrashStackOverflow, "walk", "visit", "walk", "visit", "walk", "main"))
	if other.Hash == first {
		t.Error("another cycle has the same signature")
	}
	// No regular cycle: an overflow in a parser.
	a := Of(stackOf(report.CrashStackOverflow, "value", "array", "value", "object", "value", "array", "value", "array", "value", "main"))
	b := Of(stackOf(report.CrashStackOverflow, "array", "value", "object", "value", "object", "value", "array", "value", "main"))
	if a.Hash != b.Hash {
		t.Errorf("an irregular recursion: %q and %q", a.Frames, b.Frames)
	}
}

func TestWeak(t *testing.T) {
	stripped := func(build string) Signature {
		r := stackOf("null-read", "", "", "")
		r.Modules[0].BuildID = build
		return Of(r)
	}
	a, b, other := stripped("aabbccddeeff0011"), stripped("aabbccddeeff0011"), stripped("ffeeddccbbaa0011")
	if !a.Weak || a.Hash != b.Hash || a.Hash == other.Hash {
		t.Errorf("%+v\n%+v\n%+v", a, b, other)
	}
	if len(a.Frames) != 3 || a.Frames[0] != "app+0x100 (aabbccddeeff)" {
		t.Errorf("frames %q", a.Frames)
	}
	// The innermost place is all that tells bugs in the module apart.
	if s := Of(stackOf("null-read", "", "f", "main")); s.Frames[0] != "app+0x100 (001122334455)" {
		t.Errorf("frames %q", s.Frames)
	}
	// A recursion without names, caught in two phases.
	var hashes []string
	for phase := range 2 {
		r := stackOf(report.CrashStackOverflow, make([]string, 40)...)
		for i := range r.Threads[0].Frames {
			r.Threads[0].Frames[i].Offset = report.Addr(0x100 + 0x10*((i+phase)%2))
		}
		s := Of(r)
		hashes = append(hashes, s.Hash)
		if !s.Weak || len(s.Frames) != 2 {
			t.Errorf("%+v", s.Frames)
		}
	}
	if hashes[0] != hashes[1] {
		t.Errorf("phases: %v", hashes)
	}
	// One name, and a walk that did not reach the end of the stack.
	r := stackOf("null-read", "f")
	r.Threads[0].End = "no-caller"
	if s := Of(r); !s.Weak {
		t.Errorf("%+v", s)
	}
	// Only the C library: no two such dumps are the same.
	one := stackOf("null-read", "memcpy"+libc, libc, "__libc_start_main"+libc)
	two := stackOf("null-read", "memcpy"+libc, libc, "__libc_start_main"+libc)
	two.Dump.PID = 2
	x, y := Of(one), Of(two)
	if !x.Weak || x.Hash == y.Hash || x.Strict == y.Strict || x.Hash != Of(one).Hash {
		t.Errorf("%+v\n%+v", x, y)
	}
	// The names in a mismatched file belong to another build.
	r = stackOf("null-read", "f", "g", "main")
	for i := range r.Threads[0].Frames {
		r.Threads[0].Frames[i].Mismatched = true
	}
	if s := Of(r); !s.Weak {
		t.Errorf("%+v", s)
	}
}

func TestLevels(t *testing.T) {
	base := Of(stackOf("null-read", "f", "g", "h", "i", "main"))
	for name, c := range map[string]struct {
		r            *report.Report
		hash, strict bool // equal to base's
	}{
		"the same":              {stackOf("null-read", "f", "g", "h", "i", "main"), true, true},
		"another way far out":   {stackOf("null-read", "f", "g", "h", "k", "main"), true, false},
		"another kind of class": {stackOf("wild-write", "f", "g", "h", "i", "main"), true, false},
		"another class":         {stackOf("div-zero", "f", "g", "h", "i", "main"), false, false},
		"another function":      {stackOf("null-read", "e", "g", "h", "i", "main"), false, false},
		"another program":       {stackOf("null-read", "f@/bin/b", "g@/bin/b", "h@/bin/b", "i@/bin/b", "main@/bin/b"), false, false},
	} {
		s := Of(c.r)
		if (s.Hash == base.Hash) != c.hash || (s.Strict == base.Strict) != c.strict {
			t.Errorf("%s: %+v\nbase %+v", name, s, base)
		}
	}
	moved := stackOf("null-read", "f", "g", "h", "i", "main")
	for i := range moved.Threads[0].Frames {
		f := &moved.Threads[0].Frames[i]
		f.PC += 0x5000
		f.Source.Line++
	}
	if s := Of(moved); s.Hash != base.Hash || s.Strict == base.Strict {
		t.Errorf("lines that moved: %+v", s)
	}
}

func TestMessages(t *testing.T) {
	with := func(kind, message string) Signature {
		r := stackOf(kind, "check", "main")
		r.Crash.Message = message
		return Of(r)
	}
	a := with(report.CrashAssertion, "app: app.c:12: check: Assertion `n > 0' failed.")
	b := with(report.CrashAssertion, "app: app.c:19: check: Assertion `n > 0' failed.")
	c := with(report.CrashAssertion, "app: app.c:12: check: Assertion `n < max' failed.")
	if a.Hash != b.Hash || a.Hash == c.Hash {
		t.Errorf("assertions: %+v\n%+v\n%+v", a, b, c)
	}
	x, y := with(report.CrashAbort, "free(): invalid pointer"), with(report.CrashAbort, "double free or corruption (out)")
	if x.Hash != y.Hash || x.Strict == y.Strict {
		t.Errorf("%+v\n%+v", x, y)
	}
	if x.Kind != "abort: free(): invalid pointer" {
		t.Errorf("kind %q", x.Kind)
	}
}

// TestClasses: what the frames say about what happened.
func TestClasses(t *testing.T) {
	for want, r := range map[string]*report.Report{
		"access":                      stackOf("abort", "abort"+libc, "on_segv", "!SIGSEGV"+libc, "f", "main"),
		"abort":                       stackOf("abort", "raise"+libc, "abort"+libc, "f", "main"),
		"core::option::unwrap_failed": stackOf("abort", "abort"+libc, "core::panicking::panic_fmt", "core::option::unwrap_failed", "<a::B as c::D>::e", "a::main"),
		"stack-overflow":              stackOf("abort", "runtime.raise", "runtime.throw", "runtime.newstack", "runtime.morestack", "main.f", "main.f", "main.main"),
		"heap-corruption":             stackOf("heap-corruption", "abort"+libc, "malloc_printerr"+libc, "free"+libc, "f", "main"),
	} {
		for i := range r.Threads[0].Frames {
			if f := &r.Threads[0].Frames[i]; strings.Contains(f.Function, "core::") {
				f.Source.File = "/rustc/library/core.rs"
			}
		}
		if s := Of(r); s.Class != want {
			t.Errorf("class %q, want %q\n%+v", s.Class, want, s.Decisions)
		}
	}
	quits := Of(stackOf("abort", "abort"+libc, "die", "check", "run", "main"))
	if !quits.Quit || quits.Top != 2 || quits.String() != "abort in die < check" || quits.Stack()[0] != "(abort in app die < check)" {
		t.Errorf("%+v", quits)
	}
	fails := Of(stackOf("null-read", "f", "check", "run", "main"))
	if fails.Quit || fails.Top != 1 || fails.Stack()[0] != "(access in app)" {
		t.Errorf("%+v", fails)
	}
}

func TestNoStack(t *testing.T) {
	for i, r := range []*report.Report{{}, {Crash: &report.Crash{Signal: "SIGSEGV"}}, {Threads: []report.Thread{{}}}, stackOf("abort", "abort"+libc)} {
		if s := Of(r); !s.Weak || s.Hash == "" || s.Strict == "" {
			t.Errorf("%d: %+v", i, s)
		}
	}
}

// TestCrashedThread: which thread's stack is taken.
func TestCrashedThread(t *testing.T) {
	threads := func(crashed ...int) *report.Report {
		r := &report.Report{Threads: make([]report.Thread, 3)}
		for i := range r.Threads {
			r.Threads[i] = stackOf("null-read", fmt.Sprint("f", i), "main").Threads[0]
			r.Threads[i].ID, r.Threads[i].Crashed = 10+i, false
		}
		for _, i := range crashed {
			r.Threads[i].Crashed = true
		}
		return r
	}
	said, both, unknown := threads(), threads(1), threads()
	said.Crash = &report.Crash{Kind: "null-read", Thread: 12}
	both.Crash = said.Crash
	unknown.Crash = &report.Crash{Kind: "null-read", Thread: 99}
	for name, c := range map[string]struct {
		r    *report.Report
		want string
	}{
		"marked": {threads(1), "none in f1"}, "the first marked": {threads(2, 1), "none in f1"}, "the crash's": {said, "null-read in f2"},
		"marked, and the crash's": {both, "null-read in f1"}, "none": {threads(), "none in f0"}, "the crash's is missing": {unknown, "null-read in f0"},
		"no threads": {&report.Report{}, "none"},
	} {
		if s := Of(c.r); s.String() != c.want {
			t.Errorf("%s: %s, want %s", name, s.String(), c.want)
		}
	}
}

// TestHash: the identifiers that ledgers keep. If they change, so must Version.
func TestHash(t *testing.T) {
	for want, parts := range map[string][]string{
		"v11:f2939f903016e5bb": {"ab", "c"}, // printf '\0\0\0\2ab\0\0\0\1c' | sha256sum
		"v11:e3b0c44298fc1c14": nil,
		"v11:df3f619804a92fdb": {""},
	} {
		if got := hash(parts); got != want {
			t.Errorf("hash of %q: %s, want %s", parts, got, want)
		}
	}
	s := Of(stackOf("null-read", "f", "g", "main"))
	if want := hash([]string{"access", "app", "f"}); s.Hash != want {
		t.Errorf("first level %s, want %s", s.Hash, want)
	}
	if want := hash([]string{"null-read", "app", "f at app app.c:10", "g at app app.c:11", "main at app app.c:12"}); s.Strict != want {
		t.Errorf("second level %s, want %s", s.Strict, want)
	}
}

// FuzzOf makes stacks from bytes: no stack is too odd for a signature.
func FuzzOf(f *testing.F) {
	names := []string{"main", "f", "g", "", "abort" + libc, libc, "!SIGSEGV", "!SIGALRM", "!unknown", "~f", "_start", "runtime.gopanic", "a<b>::c"}
	f.Add([]byte{1, 2, 1, 2, 0}, true)
	f.Add([]byte{5, 4, 6, 7, 8, 9, 10, 11, 12}, false)
	f.Fuzz(func(t *testing.T, data []byte, overflow bool) {
		var frames []string
		for _, b := range data {
			frames = append(frames, names[int(b)%len(names)])
		}
		kind := report.CrashNullRead
		if overflow {
			kind = report.CrashStackOverflow
		}
		s := Of(stackOf(kind, frames...))
		if len(s.Decisions) != len(frames) || s.Top > len(s.Frames) || s.Hash == "" {
			t.Fatalf("%+v", s)
		}
		for i, d := range s.Decisions {
			if d.Frame != i || d.Action == "" {
				t.Fatalf("frame %d: %+v", i, d)
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	r := stackOf("abort", libc, "raise"+libc, "abort"+libc, "give_up", "std::vector<int>::at", "ns::work<int>", "qsort_r"+libc, "run", "main", "__libc_start_main"+libc, "_start")
	b.ReportAllocs()
	for b.Loop() {
		Of(r)
	}
}

func BenchmarkOfOverflow(b *testing.B) {
	var frames []string
	for i := range 8000 {
		frames = append(frames, fmt.Sprintf("f%d", i%3))
	}
	r := stackOf(report.CrashStackOverflow, append(frames, "main", "_start")...)
	b.ReportAllocs()
	for b.Loop() {
		Of(r)
	}
}
