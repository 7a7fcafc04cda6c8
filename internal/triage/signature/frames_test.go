package signature

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestDecisions: what becomes of each frame, and why. An asterisk marks the first level.
func TestDecisions(t *testing.T) {
	const noEnd = "no-caller" // the walk did not reach the end of the stack
	for _, c := range []struct {
		name, kind, end, frames string
		want                    []string
	}{
		{"an unknown signal arrived within abort", "null-read", "", "f|!unknown|abort@/lib/libc.so.6|g|main|_start", []string{
			`access via "abort" top 2 quit`, "cut f: above abort", "cut app+0x110 (001122334455): above abort", "cut abort: the C library's abort code",
			"kept g *", "kept main *", "dropped _start: outside of main"}},
		{"SIGALRM arrived within abort", "null-read", "", "f|!SIGALRM|abort@/lib/libc.so.6|g|main|_start", []string{
			`access via "" top 1`, "kept f *", "dropped app+0x110 (001122334455): signal trampoline", "dropped abort: interrupted by SIGALRM by chance",
			"dropped g: interrupted by SIGALRM by chance", "dropped main: interrupted by SIGALRM by chance", "dropped _start: interrupted by SIGALRM by chance"}},
		{"an unknown signal", "null-read", "", "f|!unknown|g|main", []string{
			`access via "" top 1`, "kept f *", "dropped app+0x110 (001122334455): signal trampoline", "kept g", "kept main"}},
		{"a handler that aborts", "abort", "", "abort@/lib/libc.so.6|on_segv|!SIGSEGV|f|g|main", []string{
			`access via "" top 1`, "cut abort: the C library's abort code", "cut on_segv: above app+0x120 (001122334455)",
			"cut app+0x120 (001122334455): signal delivery: SIGSEGV", "kept f *", "kept g", "kept main"}},
		{"a trampoline with a name", "abort", "", "abort@/lib/libc.so.6|on_segv|!SIGSEGV __restore_rt@/lib/libc.so.6|f|g|main", []string{
			`access via "" top 1`, "cut abort: the C library's abort code", "cut on_segv: above __restore_rt", "cut __restore_rt: signal delivery: SIGSEGV",
			"kept f *", "kept g", "kept main"}},
		{"a handler of abort's signal", "abort", "", "raise@/lib/libc.so.6|on_abort|!SIGABRT|f|main", []string{
			`abort via "" top 1`, "cut raise: the C library's abort code", "cut on_abort: above app+0x120 (001122334455)",
			"cut app+0x120 (001122334455): signal delivery: SIGABRT", "kept f *", "kept main"}},
		{"a stale abort", "null-read", "", "f|~abort|g|main", []string{
			`access via "" top 1`, "kept f *", "dropped abort: found by scanning the stack: may be stale", "kept g", "kept main"}},
		{"an assertion", "assertion", "", "abort@/lib/libc.so.6|__assert_fail@/lib/libc.so.6|f|g|main", []string{
			`__assert_fail via "__assert_fail" top 1`, "cut abort: the C library's abort code", "cut __assert_fail: the C library's abort code",
			"kept f *", "kept g", "kept main"}},
		{"an overflow below other machinery", "abort", "", "runtime.newstack|runtime.throw|main.f|main.main", []string{
			`stack-overflow via "runtime.throw" top 1`, "cut runtime.newstack: Go's panic code", "cut runtime.throw: Go's panic code",
			"kept main.f *", "kept main.main"}},
		{"abort without its machinery", "abort", "", "f|g|main", []string{`abort via "" top 1`, "kept f *", "kept g", "kept main"}},
		{"between machinery", "abort", "", "raise@/lib/libc.so.6|helper|__GI_abort@/lib/libc.so.6|f|g|main", []string{
			`abort via "abort" top 2 quit`, "cut raise: the C library's abort code", "cut helper: above __GI_abort", "cut __GI_abort: the C library's abort code",
			"kept f *", "kept g *", "kept main"}},
		{"a library aborts", "abort", "", "abort@/lib/libc.so.6|std::f|g|h|main", []string{
			`abort via "abort" top 1`, "cut abort: the C library's abort code", "dropped std::f: the C++ library", "kept g *", "kept h", "kept main"}},
		{"main aborts", "abort", "", "abort@/lib/libc.so.6|main", []string{`abort via "abort" top 1 quit`, "cut abort: the C library's abort code", "kept main *"}},

		// One name is enough if the walk reached the start, or for a recursion.
		{"one name, to the end", "null-read", report.EndBottom, "f", []string{`access via "" top 1`, "kept f *"}},
		{"one name, to a signal", "null-read", noEnd, "on_alarm|!SIGALRM|", []string{
			`access via "" top 1`, "kept on_alarm *", "dropped app+0x110 (001122334455): signal trampoline",
			"dropped app+0x120 (001122334455): interrupted by SIGALRM by chance"}},
		{"one name, to the start", "null-read", noEnd, "f|_start|g", []string{
			`access via "" top 1`, "kept f *", "dropped _start: the start of a program or thread", "dropped g: outside of _start"}},
		{"main", "null-read", noEnd, "main", []string{`access via "" top 1`, "kept main *"}},
		{"one name, and no names again and again", "null-read", noEnd, "f|@/opt/libx.so|@/opt/liby.so|@/opt/libx.so", []string{
			`access via "" top 3 weak`, "kept app+0x100 (001122334455) *", "kept libx.so+0x110 *", "kept liby.so+0x120 *",
			"collapsed libx.so+0x130: another round of the recursion of ?libx.so"}},
		{"one name, again and again", "null-read", noEnd, "f|f|f", []string{
			`access via "" top 1`, "kept f *", "collapsed f: another round of the recursion of f", "collapsed f: another round of the recursion of f"}},
		{"one name", "null-read", noEnd, "f", []string{`access via "" top 1 weak`, "kept app+0x100 (001122334455) *"}},
		{"one name, whose stack guard changed", "stack-buffer-overrun", noEnd, "__stack_chk_fail@/lib/libc.so.6|f", []string{
			`stack-buffer-overrun via "__stack_chk_fail" top 1`, "cut __stack_chk_fail: the C library's abort code", "kept f *"}},
		{"one name, whose stack guard changed, in position independent code for i386", "stack-buffer-overrun", noEnd, "__stack_chk_fail_local|f", []string{
			`stack-buffer-overrun via "__stack_chk_fail_local" top 1`, "cut __stack_chk_fail_local: the C library's abort code", "kept f *"}},
		{"a stack guard, and no name", "stack-buffer-overrun", noEnd, "__stack_chk_fail@/lib/libc.so.6||f", []string{
			`stack-buffer-overrun via "__stack_chk_fail" top 2 weak`, "cut __stack_chk_fail: the C library's abort code", "kept app+0x110 (001122334455) *", "kept app+0x120 (001122334455) *"}},
		{"two names", "null-read", noEnd, "f|g", []string{`access via "" top 1`, "kept f *", "kept g"}},

		// Frames without names.
		{"no name at all", "null-read", "", "@/|memcpy@/lib/libc.so.6|||||", []string{
			`access via "" top 3 weak`, "dropped 0x1000: not in any module", "dropped memcpy: the C library", "kept app+0x120 (001122334455) *",
			"kept app+0x130 (001122334455) *", "kept app+0x140 (001122334455) *",
			"collapsed app+0x150 (001122334455): another function without a name in the same module",
			"collapsed app+0x160 (001122334455): another function without a name in the same module"}},
		{"too few names", "null-read", noEnd, "||@/opt/libx.so|f", []string{
			`access via "" top 3 weak`, "kept app+0x100 (001122334455) *", "kept app+0x110 (001122334455) *", "kept libx.so+0x120 *",
			"dropped f: the signature is weak: it has the innermost places only"}},
		{"no innermost name", "null-read", "", "|f|main", []string{`access via "" top 1 weak`, "kept app+0x100 (001122334455) *", "kept f", "kept main"}},
		{"no names in between", "null-read", "", "f||@/lib/libx.so.1|@/lib/libx.so.1|@/lib/liby.so.1|main", []string{
			`access via "" top 1`, "kept f *", "kept app+0x110 (001122334455)", "kept libx.so.1+0x120",
			"collapsed libx.so.1+0x130: another function without a name in the same module", "kept liby.so.1+0x140", "kept main"}},
		{"a name in no module", "null-read", "", "jit@/|f|main", []string{`access via "" top 1`, "kept jit *", "kept f", "kept main"}},

		{"an overflow", "stack-overflow", "", "leaf|f|g|f|g|h|k|h|main", []string{
			`stack-overflow via "" top 2`, "dropped leaf: called where the stack happened to run out", "kept f *", "kept g *",
			"collapsed f: another round of the recursion", "collapsed g: another round of the recursion", "kept h",
			"collapsed k: another round of the recursion of h", "collapsed h: another round of the recursion of h", "kept main"}},
		{"an overflow that aborts", "stack-overflow", "", "abort@/lib/libc.so.6|f|f|f|main", []string{
			`stack-overflow via "abort" top 1 quit`, "cut abort: the C library's abort code", "kept f *",
			"collapsed f: another round of the recursion", "collapsed f: another round of the recursion", "kept main"}},
	} {
		r := stackOf(c.kind, strings.Split(c.frames, "|")...)
		if c.end != "" {
			r.Threads[0].End = c.end
		}
		s := Of(r)
		head := fmt.Sprintf("%s via %q top %d", s.Class, s.Via, s.Top)
		if s.Quit {
			head += " quit"
		}
		if s.Weak {
			head += " weak"
		}
		got := []string{head}
		for _, d := range s.Decisions {
			line := d.Action + " " + d.Name
			if d.Why != "" {
				line += ": " + d.Why
			}
			if d.First {
				line += " *"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// TestHeadersOfLibrary: clang names functions of the C++ library's headers without their namespaces if there is little debug information.
func TestHeadersOfLibrary(t *testing.T) {
	r := stackOf("null-read", "+size", "+_M_data", "headline", "main")
	for i, file := range []string{"/usr/include/c++/12/bits/stl_vector.h", "/usr/lib/gcc/x86_64-linux-gnu/12/include/c++/12/string"} {
		r.Threads[0].Frames[i].Source.File = file
	}
	if s := Of(r); !slices.Equal(s.Frames, []string{"headline", "main"}) {
		t.Errorf("%q", s.Frames)
	}
	r.Threads[0].Frames[0].Source.File, r.Threads[0].Frames[1].Inlined = "/src/include/size.h", false
	if s := Of(r); !slices.Equal(s.Frames, []string{"size", "_M_data", "headline", "main"}) {
		t.Errorf("of the program, and not inlined: %q", s.Frames)
	}
}

// TestActions: what each action of a rule does to a frame outside of the machinery.
func TestActions(t *testing.T) {
	for _, c := range []struct {
		action    action
		why, stop string
		started   bool
	}{
		{actDrop, "library", "", false},
		{actModule, "library", "", false},
		{actKeep, "", "", false},
		{actLast, "", "outside of f", true},
		{actStart, "library", "outside of f", true},
	} {
		r := stackOf("null-read", "f")
		b := builder{report: r, thread: &r.Threads[0], sig: &Signature{}, known: []meaning{{name: "f", rule: &rule{action: c.action, why: "library"}}}}
		if why, stop := b.irrelevant(0); why != c.why || stop != c.stop || b.started != c.started {
			t.Errorf("action %d: %q, %q, %v; want %q, %q, %v", c.action, why, stop, b.started, c.why, c.stop, c.started)
		}
	}
}

// TestMachineryClasses: the function by which a program ended itself replaces the classes that say no more.
func TestMachineryClasses(t *testing.T) {
	for _, kind := range []string{"abort", "exception", "assertion", "signal", "SIGABRT"} {
		if s := Of(stackOf(kind, "abort"+libc, "f", "main")); s.Class != "abort" {
			t.Errorf("%s: class %s", kind, s.Class)
		}
		if s := Of(stackOf(kind, "__stack_chk_fail"+libc, "f", "main")); s.Class != "__stack_chk_fail" {
			t.Errorf("%s: class %s", kind, s.Class)
		}
	}
	for _, kind := range []string{"watchdog", "seccomp", "SIGSEGV", "heap-corruption", "unknown", "none"} {
		if s := Of(stackOf(kind, "__stack_chk_fail"+libc, "f", "main")); s.Class != kind {
			t.Errorf("%s: class %s", kind, s.Class)
		}
	}
}

// TestNoCrash: without a crash nothing replaces the class.
func TestNoCrash(t *testing.T) {
	r := stackOf("", "abort"+libc, "f", "main")
	r.Crash = nil
	if s := Of(r); s.Class != "none" || s.Via != "abort" {
		t.Errorf("%+v", s)
	}
}

// TestWatching: a handler that ends the program because something took too long says nothing about why; any other handler does.
func TestWatching(t *testing.T) {
	for name, want := range map[string]string{"SIGQUIT": "f", "SIGALRM": "f", "SIGVTALRM": "f", "SIGPROF": "f", "SIGXCPU": "f", "SIGUSR1": "on_signal", "SIGIO": "on_signal"} {
		if s := Of(stackOf("abort", "abort"+libc, "on_signal", "!"+name+libc, "f", "main")); len(s.Frames) == 0 || s.Frames[0] != want {
			t.Errorf("%s: the first frame of %q, want %s", name, s.Frames, want)
		}
	}
}

// TestTraits: a function of Rust whose name begins as that of the Java virtual machine's own code does.
func TestTraits(t *testing.T) {
	const name = "<app::T as app::Draw>::draw"
	if s := Of(stackOf("null-read", name, "main")); !slices.Equal(s.Frames, []string{name, "main"}) {
		t.Errorf("the frames are %q", s.Frames)
	}
}

// TestSignals: the signals of crashes, with the class of the crash that a handler dealt with. The handler of
// any other signal is code of its own.
func TestSignals(t *testing.T) {
	for signal, class := range map[string]string{
		"SIGSEGV": "access", "SIGBUS": "access", "SIGFPE": "arithmetic", "SIGILL": "illegal-instruction", "SIGTRAP": "breakpoint", "SIGSYS": "seccomp",
		"SIGABRT": "watchdog", "SIGEMT": "watchdog", "SIGSTKFLT": "watchdog",
	} {
		s := Of(stackOf("watchdog", "handler", "!"+signal+libc, "f", "main"))
		if s.Class != class || !slices.Equal(s.Frames, []string{"f", "main"}) {
			t.Errorf("%s: class %s, frames %q; want %s", signal, s.Class, s.Frames, class)
		}
	}
	for _, signal := range []string{"SIGALRM", "SIGUSR1", "SIGPROF", "SIGTERM", "SIGQUIT", "SIGPIPE", "SIGIO", "SIGVTALRM", "SIGXCPU", "SIG34"} {
		s := Of(stackOf("watchdog", "handler", "!"+signal+libc, "f", "main"))
		if s.Class != "watchdog" || !slices.Equal(s.Frames, []string{"handler"}) {
			t.Errorf("%s: class %s, frames %q", signal, s.Class, s.Frames)
		}
	}
}

// TestPanicPlace: the place of a panic stands for the functions, unless it is in a function that does nothing but
// panic, for several callers.
func TestPanicPlace(t *testing.T) {
	panics := func(by string, noReturn bool) Signature {
		r := stackOf("abort", "abort"+libc, by, "app::take", "app::run", "main")
		r.Crash.Panic = &report.Panic{Runtime: report.RuntimeRust, File: "src/queue.rs", Line: 12, Column: 7}
		r.Threads[0].Frames[1].Source.File = "/rustc/library/core.rs"
		r.Threads[0].Frames[2].NoReturn = noReturn
		return Of(r)
	}
	if s := panics("core::option::unwrap_failed", true); s.Class != "panic queue.rs column 7: called `Option::unwrap()` on a `None` value" || s.Top != 0 || s.Quit {
		t.Errorf("%+v", s)
	}
	if s := panics("core::panicking::panic_fmt", false); s.Class != "panic queue.rs column 7" || s.Top != 0 || s.Quit {
		t.Errorf("with the program's message: %+v", s)
	}
	if s := panics("core::panicking::panic_fmt", true); s.Class != "core::panicking::panic_fmt" || s.Top != 2 || !s.Quit {
		t.Errorf("in a function that never returns: %+v", s)
	}
	r := stackOf("abort", "abort"+libc, "core::panicking::panic_fmt")
	r.Crash.Panic = &report.Panic{Runtime: report.RuntimeRust, File: "src/queue.rs", Line: 12, Column: 7}
	r.Threads[0].Frames[1].Source.File = "/rustc/library/core.rs"
	if s := Of(r); s.Class != "panic queue.rs column 7" || !s.Weak {
		t.Errorf("nothing below: %+v", s)
	}
	// A stripped program says as much, without any name.
	named := stackOf("exception", "abort"+libc, "core::panicking::panic_fmt", "app::take", "main")
	stripped := stackOf("exception", "abort"+libc, "", "", "", "")
	for _, r := range []*report.Report{named, stripped} {
		r.Crash.Panic = &report.Panic{Runtime: report.RuntimeRust, File: "src/queue.rs", Line: 12, Column: 7, Value: "no room for 3"}
		r.Threads[0].Frames[1].Source.File = "/rustc/library/core.rs"
	}
	if a, b := Of(named), Of(stripped); a.Hash != b.Hash || a.Class != "panic queue.rs column 7: no room" || a.Weak {
		t.Errorf("%+v\n%+v: want the same", a, b)
	}
	stripped.Crash.Panic.Column = 0
	if s := Of(stripped); !s.Weak {
		t.Errorf("nothing is said, and nothing has a name: %+v", s)
	}
}

// TestOwnWordsForFunction: two throws with the same words are one bug, whichever function they were merged into.
func TestOwnWordsForFunction(t *testing.T) {
	throws := func(function, words string) Signature {
		r := stackOf("exception", "__cxa_throw"+libc, function, "run", "main")
		r.Crash.Message = "instance of 'Error'\n  what():  " + words
		return Of(r)
	}
	a, b, c := throws("f", "no such order"), throws("g", "no such order"), throws("f", "no such item")
	if a.Hash != b.Hash || a.Strict == b.Strict || a.Hash == c.Hash || a.Top != 0 {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
}

// TestThrownByLibrary: the words of the C++ library do not tell who gave it a wrong value; the function that did does.
func TestThrownByLibrary(t *testing.T) {
	throws := func(frames ...string) Signature {
		r := stackOf("exception", frames...)
		r.Crash.Message = "instance of 'std::logic_error'\n  what():  construction from null is not valid"
		return Of(r)
	}
	const libstdcxx = "@/lib/libstdc++.so.6"
	a, b := throws("__cxa_throw"+libc, "std::__throw_logic_error"+libstdcxx, "user", "main"), throws("__cxa_throw"+libc, "std::__throw_logic_error"+libstdcxx, "host", "main")
	if a.Hash == b.Hash || a.Class != "exception: std::logic_error" || a.Top != 1 || a.Frames[0] != "user" {
		t.Errorf("%+v\n%+v", a, b)
	}
	if own := throws("__cxa_throw"+libc, "user", "main"); own.Class != "exception: std::logic_error: construction from null is not valid" || own.Top != 0 {
		t.Errorf("the program's own: %+v", own)
	}
	// Not what the library threw, but what came of it.
	if fault := Of(stackOf("null-read", "__cxa_throw"+libc, "std::__throw_logic_error"+libstdcxx, "user", "main")); fault.Class != "access" {
		t.Errorf("a fault: %+v", fault)
	}
}

// TestTold: what is known of a fault that a handler dealt with is not replaced by what its signal says.
func TestTold(t *testing.T) {
	for kind, want := range map[string]string{"stack-overflow": "stack-overflow", "wild-call": "call", "null-read": "access", "abort": "access"} {
		if s := Of(stackOf(kind, "raise"+libc, "!SIGSEGV __restore_rt", "walk", "walk", "main")); s.Class != want {
			t.Errorf("%s: class %s, want %s", kind, s.Class, want)
		}
	}
}

// TestSpots: the places of a weak signature.
func TestSpots(t *testing.T) {
	many := make([]int, 0, 3*(maxPeriod+2))
	for i := range cap(many) {
		many = append(many, i%(maxPeriod+2)+1)
	}
	for name, c := range map[string]struct {
		kind    string
		offsets []int
		want    []int
	}{
		"innermost":                 {"null-read", []int{9, 8, 7, 6}, []int{9, 8, 7}},
		"each once":                 {"null-read", []int{9, 9, 9, 8, 7}, []int{9, 8, 7}},
		"two":                       {"null-read", []int{9, 8}, []int{9, 8}},
		"recursion":                 {"stack-overflow", []int{5, 3, 2, 3, 2, 3, 2, 4}, []int{2, 3}},
		"recursion of one":          {"stack-overflow", []int{5, 3, 3, 3}, []int{3}},
		"no recursion":              {"stack-overflow", []int{5, 3, 3, 4, 2}, []int{5, 3, 4}},
		"the longest of recursions": {"stack-overflow", many, nil},
	} {
		r := stackOf(c.kind, make([]string, len(c.offsets))...)
		for i, o := range c.offsets {
			r.Threads[0].Frames[i].Offset = report.Addr(o)
		}
		var want []string
		for _, o := range c.want {
			want = append(want, fmt.Sprintf("app+%#x (001122334455)", o))
		}
		s := Of(r)
		if c.want == nil {
			if len(s.Frames) != maxPeriod || s.Top != maxPeriod || s.Module != "app" {
				t.Errorf("%s: %d places of %q, %d in the first level", name, len(s.Frames), s.Module, s.Top)
			}
		} else if !slices.Equal(s.Frames, want) || s.Top != len(want) || s.Module != "app" {
			t.Errorf("%s: %q of %q, %d in the first level; want %q", name, s.Frames, s.Module, s.Top, want)
		}
	}
}

// TestSpot: the place of a frame in one build.
func TestSpot(t *testing.T) {
	modules := []report.Module{{Path: "/lib/liba.so", BuildID: "0123456789ab"}, {Path: "/lib/libb.so", BuildID: "aabbccddeeff0011"},
		{Path: "/lib/liba.so", BuildID: "ffff"}, {Path: `C:\c.dll`, DebugID: "00aa"}, {Path: "/lib/d\n.so"}}
	b := builder{report: &report.Report{Modules: modules}}
	for module, want := range map[string]string{
		"/lib/liba.so": "liba.so+0x20 (0123456789ab)", "/lib/libb.so": "libb.so+0x20 (aabbccddeeff)", `C:\c.dll`: "c.dll+0x20 (00aa)",
		"/lib/d\n.so": `d\n.so+0x20`, "/lib/e.so": "e.so+0x20", "": "0x1000",
	} {
		if got := b.spot(&report.Frame{Module: module, Offset: 0x20, PC: 0x1000}); got != want {
			t.Errorf("spot in %q: %q, want %q", module, got, want)
		}
	}
}

// TestStrictPlaces: what of a frame is in the second level.
func TestStrictPlaces(t *testing.T) {
	strict := func(kind string, change func([]report.Frame), frames ...string) string {
		r := stackOf(kind, frames...)
		change(r.Threads[0].Frames)
		return Of(r).Strict
	}
	lineless := func(i int, line int) func([]report.Frame) {
		return func(f []report.Frame) { f[i].Source.Line = line }
	}
	for name, c := range map[string]struct {
		kind   string
		frames []string
		a, b   func([]report.Frame)
		same   bool
	}{
		"line": {"null-read", []string{"f", "g", "main"}, lineless(1, 1), lineless(1, 2), false},
		"first line, moved": {"null-read", []string{"f", "g", "main"}, lineless(1, 1), func(f []report.Frame) {
			f[1].Source.Line, f[1].Offset = 1, 0x999
		}, true},
		"no line, moved": {"null-read", []string{"f", "g", "main"}, lineless(1, 0), func(f []report.Frame) {
			f[1].Source.Line, f[1].Offset = 0, 0x999
		}, false},
		"file": {"null-read", []string{"f", "g", "main"}, lineless(1, 1), func(f []report.Frame) {
			f[1].Source = report.Source{File: "/src/other.c", Line: 1}
		}, false},
		"directory": {"null-read", []string{"f", "g", "main"}, lineless(1, 1), func(f []report.Frame) {
			f[1].Source = report.Source{File: "/elsewhere/app.c", Line: 1}
		}, true},
		"line of another build": {"null-read", []string{"f", "g", "main"}, func(f []report.Frame) {
			f[1].Mismatched, f[1].Source.Line = true, 1
		}, func(f []report.Frame) {
			f[1].Mismatched, f[1].Source.Line = true, 2
		}, true},
		"lines of a cycle":     {"stack-overflow", []string{"f", "g", "f", "g", "f", "g", "main"}, lineless(0, 1), lineless(0, 2), true},
		"lines below a cycle":  {"stack-overflow", []string{"f", "g", "f", "g", "f", "g", "main"}, lineless(6, 1), lineless(6, 2), false},
		"functions of a cycle": {"stack-overflow", []string{"f", "g", "f", "g", "main"}, lineless(0, 1), func(f []report.Frame) { f[0].Function, f[2].Function = "h", "h" }, false},
	} {
		if same := strict(c.kind, c.a, c.frames...) == strict(c.kind, c.b, c.frames...); same != c.same {
			t.Errorf("%s: the same: %v", name, same)
		}
	}
}

// TestAlone: dumps of which nothing is known have no signature in common.
func TestAlone(t *testing.T) {
	none := func(pid int) *report.Report { return &report.Report{Dump: report.Dump{PID: pid}} }
	empty := func(pid int) *report.Report {
		return &report.Report{Dump: report.Dump{PID: pid}, Threads: []report.Thread{{}}}
	}
	frame := func(thread int, pc, sp report.Addr) *report.Report {
		r := stackOf("null-read", "memcpy"+libc)
		r.Threads[0].ID, r.Threads[0].Frames[0].PC, r.Threads[0].Frames[0].SP = thread, pc, sp
		return r
	}
	seen := make(map[string]string)
	for name, r := range map[string]*report.Report{
		"process 1": none(1), "process 2": none(2), "a command": {Dump: report.Dump{PID: 1, Command: "app"}},
		"a frame": frame(1, 0x10, 0x20), "a thread": frame(2, 0x10, 0x20), "another PC": frame(1, 0x11, 0x20), "another stack": frame(1, 0x10, 0x21),
	} {
		s := Of(r)
		for _, h := range []string{s.Hash, "strict " + s.Strict} {
			if seen[h] != "" {
				t.Errorf("%s and %s have the signature %s", name, seen[h], h)
			}
			seen[h] = name
		}
		if !s.Weak {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if a, b := Of(empty(1)), Of(empty(2)); a.Hash == b.Hash || a.Hash != Of(empty(1)).Hash {
		t.Errorf("a thread without frames: %+v\n%+v", a, b)
	}
}

func TestModuleName(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"/usr/lib/libfoo.so.6":         "libfoo.so",
		"/usr/lib/libfoo-2.1.so.3.0":   "libfoo.so",
		"/usr/lib/libfoo_2.so":         "libfoo.so",
		"/usr/lib/libfoo-x2.so":        "libfoo-x2.so",
		`C:\Program Files\App\App.exe`: "app",
		"/opt/app-1.2.3":               "app",
		"/opt/app (deleted)":           "app",
		"ntdll.dll":                    "ntdll.dll",
		"/opt/tool_v":                  "tool_v",
		"/opt/a\n":                     `a\n`,
		"x.so.1":                       "x.so",
		"a-1":                          "a",
		"a-1-2":                        "a-1",
		"a.x-1":                        "a.x-1",
		// For which interpreter an extension was built.
		"/x/_json.cpython-311-x86_64-linux-gnu.so":   "_json.so",
		"/x/_json.cpython-313t-aarch64-linux-gnu.so": "_json.so",
		"/x/_json.cpython-39.so":                     "_json.so",
		"/x/_json.abi3.so":                           "_json.so",
		"/x/_json.x86_64-linux-gnu.so":               "_json.so",
		"/x/_json.pypy39-pp73-x86_64-linux-gnu.so":   "_json.so",
		`C:\x\_json.cp312-win_amd64.pyd`:             "_json.pyd",
		`C:\x\app.abi3.dll`:                          "app.abi3.dll",
		"/x/my.cpython.so":                           "my.cpython.so",
		"/x/my.cpython-311-x86_64-linux-gnu":         "my.cpython-311-x86_64-linux-gnu",
		"/usr/bin/python3.11":                        "python",
		"/usr/bin/python3":                           "python",
		"/usr/lib/libpython3.11.so.1.0":              "libpython.so",
		"/usr/lib/libpython3.6m.so.1.0":              "libpython.so",
		`C:\python312.dll`:                           "python.dll",
		"/usr/bin/python":                            "python",
		"/usr/bin/python3-shop":                      "python3-shop",
		"/usr/bin/mypython3.11":                      "mypython3.11",
		// Nothing is left out of a name that is all version or extension.
		".so.1":  ".so.1",
		".app-1": ".app",
		"-1":     "-1",
		"12":     "12",
		"1.2":    "1.2",
	} {
		if got := moduleName(in); got != want {
			t.Errorf("moduleName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestInlinedHeader: what a header of an interpreter had inlined says nothing about the bug; what has such a name elsewhere does.
func TestInlinedHeader(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/include/python3.11/object.h":              true,
		"./Include/object.h":                            true,
		"Include/object.h":                              true,
		"/b/Python-3.11.7/./Include/cpython/abstract.h": true,
		`C:\b\Include\object.h`:                         true,
		"/b/deps/v8/src/objects/objects-inl.h":          true,
		"/usr/include/ruby-3.1.0/ruby/internal/core.h":  true,
		"/b/shop-inl.h":                                 false,
		"/b/include/object.h":                           false,
		"/b/Include/object.c":                           false,
		"/b/Objects/object.h":                           false,
		"":                                              false,
	} {
		f := report.Frame{Function: "Py_DECREF", Inlined: true, Source: report.Source{File: file, Line: 3}}
		if got := inlinedHeader(&f); got != want {
			t.Errorf("%s: %t", file, got)
		}
		if f.Inlined = false; inlinedHeader(&f) != (want && !strings.HasSuffix(file, "-inl.h")) {
			t.Errorf("%s: not inlined", file)
		}
	}
	if f := (report.Frame{Function: "v8::internal::Map::size", Inlined: true, Source: report.Source{File: "map-inl.h"}}); !inlinedHeader(&f) {
		t.Error("a function of V8, by its name")
	}
	frames := []report.Frame{
		{Function: "Py_DECREF", Inlined: true, Module: "/x/shop.so", Trust: "context", Source: report.Source{File: "/usr/include/python3.11/object.h", Line: 3}},
		{Function: "sell", Module: "/x/shop.so", Trust: "context", Source: report.Source{File: "shop.c", Line: 3}},
		{Function: "main", Module: "/x/python3", Trust: "cfi"},
	}
	for i := range frames {
		frames[i].Index = i
	}
	r := &report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}
	if s := Of(r); s.Frames[0] != "sell" || s.Decisions[0].Action != Dropped {
		t.Errorf("%q", s.Frames)
	}
	if i, ok := Place(frames, false, func(*report.Frame) bool { return false }); !ok || i != 1 {
		t.Errorf("the place is frame %d", i)
	}
}

func TestIsVersion(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, ".": false, "0": true, "9": true, "1.2.30": true, "1.": true, "a": false, "1a": false, "a1": false, "1/": false, "1:": false, "1-2": false,
	} {
		if got := isVersion(in); got != want {
			t.Errorf("isVersion(%q) = %v", in, got)
		}
	}
}

// A function whose return leads nowhere is to blame, though nothing is left of the stack outside of it. What it called for that, or
// what it only reads, says nothing of its caller.
func TestSmashedReturn(t *testing.T) {
	for _, c := range []struct {
		kind, text, frames string
		weak               bool
	}{
		{"non-canonical-call", "ret", "f|@/", false},
		{"wild-call", "ret 8", "f|@/", false},
		{"control-flow", "retf", "f", false},
		{"non-canonical-call", "ret", "|f", true},
		{"non-canonical-call", "call rax", "f|@/", true},
		{"non-canonical-call", "retaining", "f|@/", true},
		{"wild-read", "ret", "f|@/", true}, // it could not read the stack
		{"wild-call", "ret", "abort@/lib/libc.so.6|f", true},
	} {
		r := stackOf(c.kind, strings.Split(c.frames, "|")...)
		r.Threads[0].End = "no-caller"
		r.Crash.Instruction = &report.Instruction{Text: c.text}
		if s := Of(r); s.Weak != c.weak {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}

// TestHandledByRuntime: a signal from outside that Go's runtime handled by itself says where the thread was, as one without a handler does. A handler of the
// program's own says more than what it interrupted.
func TestHandledByRuntime(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []string
		at     int // the frame that is the signal's delivery
		signal string
		want   string
	}{
		{"by the runtime", []string{"runtime.raise", "runtime.dieFromSignal", "runtime.sighandler", "runtime.sigtramp", "runtime.sigreturn__sigaction", "main.busy", "main.main"}, 4, "SIGQUIT", "main.busy"},
		{"by the program", []string{"runtime.raise", "runtime.dieFromSignal", "main.handler", "runtime.sigreturn__sigaction", "main.busy", "main.main"}, 3, "SIGTERM", "main.handler"},
		{"nothing but the signal", []string{"__restore_rt", "main.busy", "main.main"}, 0, "SIGQUIT", ""},
	} {
		r := stackOf("signal", c.frames...)
		r.Crash.Signal = "SIGABRT"
		r.Threads[0].Frames[c.at].Signal = c.signal
		r.Threads[0].End = report.EndBottom
		s := Of(r)
		if got := append(s.Frames, "")[0]; got != c.want && (c.want != "" || s.Decisions[1].Action == Cut) {
			t.Errorf("%s: %q, want %s: %+v", c.name, s.Frames, c.want, s.Decisions)
		}
	}
}
