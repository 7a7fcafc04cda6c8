package signature

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestKindOf: what happened, and what of it belongs to the first level.
func TestKindOf(t *testing.T) {
	throws := func(message string) *report.Crash {
		return &report.Crash{Kind: report.CrashException, Message: message}
	}
	for name, c := range map[string]struct {
		crash       *report.Crash
		kind, class string
		said        bool
	}{
		"no crash":               {nil, "none", "none", false},
		"class":                  {&report.Crash{Kind: "wild-read"}, "wild-read", "access", false},
		"foreseen":               {&report.Crash{Kind: "trap", Reason: "trap instruction (ud2)", Signal: "SIGILL"}, "trap", "arithmetic", false},
		"kind before all":        {&report.Crash{Kind: "div-zero", Reason: "stack overflow", Signal: "SIGFPE"}, "div-zero", "arithmetic", false},
		"overflow":               {&report.Crash{Reason: "stack overflow: 3 bytes", Signal: "SIGSEGV"}, "stack-overflow", "stack-overflow", false},
		"reason":                 {&report.Crash{Reason: "read at 0x10", Signal: "SIGSEGV", Exception: "X"}, "read at N", "read at N", false},
		"signal":                 {&report.Crash{Signal: "SIGSEGV", Exception: "EXCEPTION_X"}, "SIGSEGV", "SIGSEGV", false},
		"exception of an OS":     {&report.Crash{Exception: "EXCEPTION_X"}, "EXCEPTION_X", "EXCEPTION_X", false},
		"nothing known":          {&report.Crash{}, "unknown", "unknown", false},
		"message":                {&report.Crash{Kind: "abort", Message: "line 12: gone"}, "abort: line N: gone", "abort", false},
		"assertion":              {&report.Crash{Kind: "assertion", Message: "n > 3"}, "assertion: n > N", "assertion: n > N", false},
		"exception without type": {throws("it failed badly"), "exception: it failed badly", "exception", false},
		"exception with type":    {throws("instance of 'ns::Error<int>'"), "exception: instance of 'ns::Error<int>'", "exception: ns::Error", false},
		"author's words": {throws("instance of 'Error'\n  what():  no such order: 12"),
			`exception: instance of 'Error'\n what(): no such order: N`, "exception: Error: no such order", true},
	} {
		kind, class, said := kindOf(c.crash)
		if kind != c.kind || class != c.class || said != c.said {
			t.Errorf("%s: %q, %q, %v; want %q, %q, %v", name, kind, class, said, c.kind, c.class, c.said)
		}
	}
}

// TestThrown: the type of an exception in the messages of C++ libraries.
func TestThrown(t *testing.T) {
	for in, want := range map[string]string{
		"": "",
		"terminate called without an active exception":                                    "",
		"terminate called after throwing an instance of 'std::vector<int>'":               "std::vector",
		"terminate called after throwing an instance of 'int'\n  what():  'x'":            "int",
		"terminate called after throwing an instance of 'cut off":                         "",
		"libc++abi: terminating due to uncaught exception of type ns::Error: out of 'it'": "ns::Error",
		"uncaught exception of type int":                                                  "int",
		"uncaught exception of type : words":                                              "",
	} {
		if got := thrown(in); got != want {
			t.Errorf("thrown(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestOwnWords: the words that a program's author wrote into an exception.
func TestOwnWords(t *testing.T) {
	for _, c := range []struct{ exception, message, want string }{
		{"Error", "no text", ""},
		{"Error", "what():  no such order", "no such order"},
		{"Error", "what():  no  such order: 12", "no such order"},
		{"Error", "what():  bad order 12 of 13", "bad order"},
		{"Error", "what():  order 12", ""},
		{"Error", "what():  oneword", ""},
		{"Error", "what():  : value", ""},
		{"Error", "what():", ""},
		{"std::bad_alloc", "what():  out of memory", ""},
		{"std::bad", "what():  out of memory", "out of memory"},
		{"Error", "what():  the std::vector is empty", ""},
		{"Error", `what():  no file 'x'`, "no file"},
		{"Error", `what():  no file "x"`, "no file"},
		{"Error", "what():  no file `x'", "no file"},
		{"Error", "what():  no file (x)", "no file"},
		{"Error", "what():  no file [x]", "no file"},
		{"Error", "what():  no file {x}", "no file"},
		{"Error", "what():  no file <x>", "no file"},
		{"Error", "what():  no file =x", "no file"},
		{"Error", "what():  no file |x", "no file |x"},
	} {
		if got := ownWords(c.exception, &report.Crash{Message: c.message}); got != c.want {
			t.Errorf("ownWords(%q, %q) = %q, want %q", c.exception, c.message, got, c.want)
		}
	}
}

// TestRustPlace: where a Rust library panicked for the program.
func TestRustPlace(t *testing.T) {
	for _, c := range []struct {
		p    *report.Panic
		want string
	}{
		{nil, ""},
		{&report.Panic{Runtime: report.RuntimeRust, File: "src/a/queue.rs", Line: 12, Column: 7}, "queue.rs column 7"},
		{&report.Panic{Runtime: report.RuntimeRust, File: "queue.rs", Column: 1}, "queue.rs column 1"},
		{&report.Panic{Runtime: report.RuntimeRust, File: "queue.rs", Line: 12}, ""},
		{&report.Panic{Runtime: report.RuntimeRust, Line: 12, Column: 7}, ""},
		{&report.Panic{Runtime: "go", File: "queue.go", Line: 12, Column: 7}, ""},
	} {
		if got := rustPlace(c.p); got != c.want {
			t.Errorf("rustPlace(%+v) = %q, want %q", c.p, got, c.want)
		}
	}
}

// TestCondition: the condition of glibc's message alone is part of the first level.
func TestCondition(t *testing.T) {
	for in, want := range map[string]string{
		"app: app.c:N: check: Assertion `n > N' failed.": "n > N",
		"Assertion `c != 'x'' failed.":                   "c != 'x'",
		"Assertion `n' failed.":                          "n",
		"Assertion `' failed.":                           "Assertion `' failed.",
		"Assertion `cut off":                             "Assertion `cut off",
		"Assertion n > N failed: it's gone":              "Assertion n > N failed: it's gone",
		"n > N":                                          "n > N",
	} {
		if got := condition(in); got != want {
			t.Errorf("condition(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"double free or corruption (fasttop)": "double free or corruption (fasttop)",
		"read of 8 bytes at 0x7f00deadbeef, which is not mapped": "read of N bytes at N, which is not mapped",
		"cannot open /home/u/data/x.txt: error 13":               "cannot open x.txt: error N",
		`cannot open C:\Users\u\x.txt`:                           "cannot open C:x.txt",
		"utf8_decode failed at deadbeef01":                       "utf8_decode failed at N",
		"index out of bounds: the len is 3 but the index is 99":  "index out of bounds: the len is N but the index is N",
		"line one\nline   two":                                   `line one\nline two`,
		strings.Repeat("x", 500):                                 strings.Repeat("x", 400),
		strings.Repeat("x!", 120):                                strings.Repeat("x!", 100),
		strings.Repeat("!", 199) + "xy!":                         strings.Repeat("!", 199) + "xy",
		"  spaces  around  ":                                     "spaces around",
		// Numbers: what starts with a digit, whichever it is.
		"0 9 10ms 3.5e4 a1 x0 _9": "N N N N a1 x0 _9",
		"7zip":                    "N",
		// Addresses and hashes have eight digits of base 16 at least, and a decimal one.
		"abcdef01":   "N",
		"ABCDEF09":   "N",
		"fedcba9":    "fedcba9",
		"f0000000":   "N",
		"a9999999":   "N",
		"abcdefab":   "abcdefab",
		"g0000000":   "g0000000",
		"abcdefg1":   "abcdefg1",
		"abcdefG1":   "abcdefG1",
		"abcdef`1":   "abcdef`N",
		"abcdef_1":   "abcdef_1",
		"abcde.01":   "abcde.01",
		"aAfF9123":   "N",
		"abcdefab0c": "N",
		// Paths: their last part.
		"/":                "/",
		"a/":               "a/",
		"a/b":              "a/b",
		"/a/b":             "/a/b",
		"/usr/lib/libc.so": "libc.so",
		"/proc/12/maps":    "maps",
		"/proc/self/12":    "N",
		`\`:                `\`,
		// A name goes on in letters of every kind, digits, "_" and ".".
		"azAZ09_.f00d":      "azAZ09_.f00d",
		"f00dface{f00dface": "N{N",
		"f00dface@f00dface": "N@N",
		"f00dface[f00dface": "N[N",
		"f00dface:f00dface": "N:N",
		"f00dfaceéf00dface": "f00dfaceéf00dface",
		"Àf00dface":         "Àf00dface",
		"ä1":                "ä1",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTemplate: the program's constants tell the words of an exception from the values, where its text does not.
func TestTemplate(t *testing.T) {
	of := func(what, template string) string {
		return ownWords("Error", &report.Crash{Thrown: []report.Thrown{{What: &what, Template: template}}})
	}
	for _, c := range [][3]string{
		{"cannot write abcd", "cannot write …", "cannot write"},
		{"cannot write abcd", "", "cannot write abcd"},
		{"line 4: no = in 'x'", "line …: no = in '…'", "line no in"},
		{"line 4: no", "line …", ""}, // one word is no place: then what the text looks like
		{"map::at: key not found", "map::at: key not found", ""},
	} {
		if got := of(c[0], c[1]); got != c[2] {
			t.Errorf("%q, %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestPanicWords: what a panic says up to the first value.
func TestPanicWords(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "5 of 2": "", "used 5 of 2": ": used", "index out of bounds: the len is 3": ": index out", "bad size for cache": ": bad size", "no file 'x'": ": no file",
		"range end index 9 out of range for slice of length 3": ": range of a slice", "range start index 4 out of range for slice of length 3": ": range of a slice",
		"slice index starts at 4 but ends at 3": ": range of a slice", "range of 3": ": range of",
		"called `Option::unwrap()` on a `None` value":                   ": called `Option::unwrap()` on a `None` value",
		"called `Result::unwrap()` on an `Err` value: ParseIntError {}": ": called `Result::unwrap()` on an `Err` value: ParseIntError",
		"called `Result::unwrap()` on an `Err` value: Gone { id: 1 }":   ": called `Result::unwrap()` on an `Err` value",
		"called `Result::unwrap()` on an `Err` value: RecvError":        ": called `Result::unwrap()` on an `Err` value: RecvError",
	} {
		if got := panicWords(&report.Panic{Value: said}, ""); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// TestRefusal: a report that has lost what Rust's library said knows it by the function that refused.
func TestRefusal(t *testing.T) {
	for via, want := range map[string]string{
		"core::panicking::panic_const::panic_const_div_by_zero":      ": attempt to",
		"core::panicking::panic_const::panic_const_async_fn_resumed": "",
		"core::option::unwrap_failed":                                ": called `Option::unwrap()` on a `None` value",
		"core::panicking::panic_bounds_check":                        ": index out",
		"core::panicking::panic_fmt":                                 "",
	} {
		if got := panicWords(new(report.Panic), via); got != want {
			t.Errorf("%s: %q, want %q", via, got, want)
		}
	}
	if got := panicWords(&report.Panic{Value: "bad size"}, "core::option::unwrap_failed"); got != ": bad size" {
		t.Errorf("what was said counts: %q", got)
	}
}

// TestOfRust: functions are of Rust's library by their file, in the compiler's own sources.
func TestOfRust(t *testing.T) {
	for file, want := range map[string]bool{
		"/rustc/1159e78c4747b02ef996e55082b704c09b970588/library/alloc/src/slice.rs":      true,
		"/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/option.rs": true,
		`C:\rustc\1159e78c4747b02ef996e55082b704c09b970588\library\core\src\option.rs`:    true,
		"/rustc/1159e78c4747b02ef996e55082b704c09b970588/compiler/rustc_middle/src/ty.rs": false,
		"/home/me/library/src/slice.rs": false,
		"":                              false,
	} {
		if got := ofRust(&report.Frame{Source: report.Source{File: file}}); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

// TestOneBugOneClass: one bug shows in several ways, whose classes are the same.
func TestOneBugOneClass(t *testing.T) {
	class := func(change func(*report.Report), kind string, frames ...string) string {
		r := stackOf(kind, frames...)
		change(r)
		return Of(r).Class
	}
	as := func(*report.Report) {}
	say := func(signal, reason string) func(*report.Report) {
		return func(r *report.Report) { r.Crash.Signal, r.Crash.Reason = signal, reason }
	}
	panics := func(runtime, value string) func(*report.Report) {
		return func(r *report.Report) { r.Crash.Panic = &report.Panic{Runtime: runtime, Value: value} }
	}
	const own = "sent by the program to itself"
	for _, c := range []struct{ name, got, want string }{
		{"past the end of a file", class(as, "bus-truncated", "f", "main"), "access"},
		{"a handler raised the signal again", class(say("SIGBUS", own), "signal", "f", "main"), "access"},
		{"from elsewhere", class(say("SIGBUS", "sent from process 3"), "signal", "f", "main"), "signal"},
		{"of no fault", class(say("SIGTERM", own), "signal", "f", "main"), "signal"},
		{"raised by the program", class(say("SIGBUS", own), "signal", "raise"+libc, "f", "main"), "raise"},
		{"the allocator did not notice", class(as, "wild-read", "_int_free"+libc, "free"+libc, "f", "main"), "heap-corruption"},
		{"no frame", class(as, "wild-read"), "access"},
		{"below the allocator's caller", class(as, "wild-read", "f", "free"+libc, "main"), "access"},
		{"nil, raised again", class(panics(report.RuntimeGo, `runtime.errorString("invalid memory address or nil pointer dereference")`), "exception", "f", "main"), "access"},
		{"a check of Rust", class(panics(report.RuntimeRust, "null pointer dereference occurred"), "exception", "f", "main"), "access"},
		{"another check of Rust", class(panics(report.RuntimeRust, "misaligned pointer dereference: address must be a multiple of 0x8"), "exception", "f", "main"), "access"},
		{"what Go does not say", class(panics(report.RuntimeGo, "null pointer dereference occurred"), "exception", "f", "main"), "exception"},
		{"another panic", class(panics(report.RuntimeGo, "no file"), "exception", "f", "main"), "exception"},
		{"std::__terminate", class(as, "abort", "abort"+libc, "std::__terminate", "f", "main"), "std::terminate"},
		{"std::terminate", class(as, "abort", "abort"+libc, "std::terminate", "f", "main"), "std::terminate"},
		{"CPython since 3.9", class(as, "abort", "abort"+libc, "_Py_FatalErrorFunc", "f", "main"), "Py_FatalError"},
		{"an exception of which nothing was printed", class(func(r *report.Report) { r.Crash.Thrown = []report.Thrown{{Type: "a::Error<int>"}} }, "exception", "abort"+libc, "_Unwind_Resume", "f", "main"), "exception: a::Error"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

// TestUnquoted: what is in quotation marks is a value.
func TestUnquoted(t *testing.T) {
	for text, want := range map[string]string{
		"no dash in 'nine to five'": "no dash in  ", "no dash in 'nine to": "no dash in  ", `a "b c" d 'e'`: "a   d  ", "the program's own text": "the program's own text",
		"it's 'x' it isn't": "it's   it isn't", "": "", "'": " ", "''": " ", "`a` b": "  b",
	} {
		if got := unquoted(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestGoType: a panic with a text is another than one with an error, of whatever type that is.
func TestGoType(t *testing.T) {
	for typ, want := range map[string]string{"*fmt.wrapError": "exception", "string": "exception: text", "": "exception", "runtime.boundsError": "exception"} {
		if _, class, said := kindOf(&report.Crash{Kind: report.CrashException, Panic: &report.Panic{Runtime: report.RuntimeGo, Type: typ, Value: "x"}}); class != want || said {
			t.Errorf("%s: %q, want %q", typ, class, want)
		}
	}
	if _, class, _ := kindOf(&report.Crash{Kind: report.CrashException, Panic: &report.Panic{Runtime: report.RuntimeRust, Type: "string", Value: "x"}}); class != "exception" {
		t.Errorf("of Rust: %q", class)
	}
}

// TestOnNullObject: who calls a member function on a null object uses the null itself, and its caller may have passed it.
func TestOnNullObject(t *testing.T) {
	given := func(name, function string) report.BlameStep {
		return report.BlameStep{Kind: report.BlameVariable, Name: name, Role: "argument", Function: function, Entry: true}
	}
	for _, c := range []struct {
		steps []report.BlameStep
		want  string
	}{
		{[]report.BlameStep{given("this", "id"), given("p", "label")}, "lend"},
		{[]report.BlameStep{given("this", "id"), {Kind: report.BlameRead, Name: "r->p", Function: "label"}}, "label"},
		{[]report.BlameStep{given("p", "id"), given("p", "label")}, "label"},
		{[]report.BlameStep{given("this", "id"), given("this", "label"), given("p", "lend")}, "lend"},
	} {
		r := stackOf("null-read", "id", "label", "lend", "main")
		for i := range r.Threads[0].Frames {
			r.Threads[0].Frames[i].Physical = 0
		}
		r.Threads[0].End = report.EndBottom
		r.Crash.Blame = &report.Blame{Steps: c.steps}
		if s := Of(r); len(s.Frames) == 0 || s.Frames[0] != c.want {
			t.Errorf("%+v: %q, want %s", c.steps, s.Frames, c.want)
		}
	}
}

// TestWaitsUntold: whether a wait is a hang or just a signal while a thread waited, other threads decide by chance.
func TestWaitsUntold(t *testing.T) {
	for _, c := range []struct {
		kind  string
		wait  *report.Wait
		class string
	}{
		{report.CrashSignal, &report.Wait{Kind: "lock"}, report.CrashHang},
		{report.CrashSignal, &report.Wait{Kind: "join"}, report.CrashHang},
		{report.CrashSignal, &report.Wait{Kind: "lock", Timed: true}, report.CrashSignal},
		{report.CrashSignal, &report.Wait{Kind: "condition"}, report.CrashSignal},
		{report.CrashSignal, nil, report.CrashSignal},
		{"null-read", &report.Wait{Kind: "lock"}, "access"},
	} {
		r := stackOf(c.kind, "count", "shunt", "main")
		r.Threads[0].ID = 7
		r.Tasks = []report.Task{{Kind: "thread", ID: 8, Wait: &report.Wait{Kind: "lock"}}, {Kind: "thread", ID: 7, Wait: c.wait}}
		if s := Of(r); s.Class != c.class {
			t.Errorf("%s, %+v: %s, want %s", c.kind, c.wait, s.Class, c.class)
		}
	}
}

// TestToldWhy: the words with which a function was told to end the program tell two reasons apart that one function has, and say more than who called it.
func TestToldWhy(t *testing.T) {
	told := func(text string, frames ...string) Signature {
		r := stackOf(report.CrashAbort, append([]string{"abort@/lib/libc.so.6"}, frames...)...)
		r.Crash.Told = text
		return Of(r)
	}
	heavy := told("parcel of %d grams is too heavy\n", "fail", "check", "main")
	if heavy.Class != "abort: parcel of grams is too heavy" || heavy.Top != 0 || heavy.Frames[0] != "fail" {
		t.Errorf("%+v", heavy)
	}
	for name, c := range map[string]struct {
		s    Signature
		same bool
	}{
		"another reason":      {told("parcel of %d grams is nothing\n", "fail", "check", "main"), false},
		"another caller":      {told("parcel of %d grams is too heavy\n", "fail", "weigh", "main"), true},
		"another number":      {told("parcel of %-5.2Lf grams is too heavy\n", "fail", "check", "main"), true},
		"another function":    {told("parcel of %d grams is too heavy\n", "die", "check", "main"), true},
		"nothing known":       {told("", "fail", "check", "main"), false},
		"a signal's handler":  {told("parcel of %d grams is too heavy\n", "fail", "!SIGSEGV@/lib/libc.so.6", "check", "main"), false},
		"a value of the text": {told("parcel of 12 grams is too heavy\n", "fail", "check", "main"), true},
	} {
		if (c.s.Hash == heavy.Hash) != c.same {
			t.Errorf("%s: %s, %s", name, c.s.Class, c.s.String())
		}
	}
	for _, text := range []string{"", "%s: %d\n", "no", "%s:%d: %s", "0x12 12 ok", "bad"} {
		if s := told(text, "fail", "check", "main"); s.Class != "abort" || s.Top != 2 {
			t.Errorf("%q: %q, %d", text, s.Class, s.Top)
		}
	}
	a, b := told("heavy", "fail", "check", "main"), told("heavy", "fail", "weigh", "main")
	if other := told("heavy", "die", "check", "main"); a.Hash != b.Hash || a.Hash == other.Hash || a.Top != 1 || !a.Quit {
		t.Errorf("one word: %+v, %+v, %+v", a, b, other)
	}
	if s := told("dead 12", "fail", "check", "main"); s.Class != "abort: dead" {
		t.Errorf("%q", s.Class)
	}
	if s := told("/x/parcel.c", "fail", "check", "main"); s.Class != "abort: parcel c" {
		t.Errorf("%q", s.Class)
	}
	r := stackOf(report.CrashNullRead, "weigh", "check", "main")
	r.Crash.Told = "parcel is too heavy"
	if s := Of(r); s.Class != "access" {
		t.Errorf("%q of a program that did not end itself", s.Class)
	}
}

// TestUncaughtError: errors of JavaScript of another type, or of nothing's members, are other bugs of one function; V8's functions on the way do not count.
func TestUncaughtError(t *testing.T) {
	raised := func(language, typ, message string) *report.Crash {
		return &report.Crash{Kind: report.CrashBreakpoint, Raised: []report.Raised{{Language: language, Type: typ, Message: message}}}
	}
	message := raised("javascript", "RangeError", "cart has 3 items")
	message.Message = "told otherwise"
	abort := raised("javascript", "RangeError", "cart has 3 items")
	abort.Kind = report.CrashAbort
	for name, c := range map[string]struct {
		crash *report.Crash
		class string
	}{
		"a value":          {raised("javascript", "RangeError", "cart has 3 items"), "exception: RangeError"},
		"of null":          {raised("javascript", "TypeError", "Cannot read properties of null (reading 'items')"), "exception: TypeError: of null or undefined"},
		"of undefined":     {raised("javascript", "TypeError", "Cannot set property 'items' of undefined"), "exception: TypeError: of null or undefined"},
		"other words":      {raised("javascript", "TypeError", "f is not a function"), "exception: TypeError"},
		"no type":          {raised("javascript", "", "cart has 3 items"), "breakpoint"},
		"another language": {raised("python", "RangeError", "cart has 3 items"), "breakpoint"},
		"no error":         {&report.Crash{Kind: report.CrashBreakpoint}, "breakpoint"},
		"a message":        {message, "breakpoint"},
		"another end":      {abort, "abort"},
	} {
		if _, class, said := kindOf(c.crash); class != c.class || said {
			t.Errorf("%s: %q, want %q", name, class, c.class)
		}
	}
	r := stackOf(report.CrashBreakpoint, "v8::internal::Object::SetProperty", "rename", "main")
	if s := Of(r); s.Frames[0] != "v8::internal::Object::SetProperty" {
		t.Errorf("%q", s.Frames)
	}
	r.Crash.Raised = raised("javascript", "TypeError", "bad").Raised
	if s := Of(r); s.Frames[0] != "rename" {
		t.Errorf("%q", s.Frames)
	}
	if kind, _, _ := kindOf(raised("javascript", "RangeError", "cart has 3 items")); kind != "breakpoint: RangeError: cart has N items" {
		t.Errorf("%q", kind)
	}
}

// A joined call has the place of a function that was inlined there: whose it is, the function tells that made it.
func TestJoinedInLibrary(t *testing.T) {
	r := stackOf("null-read", "app::load", "app::run", "main")
	r.Threads[0].Frames[0].Source = report.Source{File: "/rustc/1/library/core/src/result.rs", Line: 1233}
	if s := Of(r); s.Frames[0] != "app::run" {
		t.Errorf("%q", s.Frames)
	}
	r.Threads[0].Frames[0].Merged = &report.Merged{Lost: true, Places: []report.MergedPlace{{Inlined: []string{"core::result::Result<T,E>::unwrap"}}}}
	if s := Of(r); s.Frames[0] != "app::load" {
		t.Errorf("joined: %q", s.Frames)
	}
}
