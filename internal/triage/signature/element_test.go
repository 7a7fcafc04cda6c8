package signature

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestBadNumber: of a function that gives the element with a number its caller counts, if there is no such element.
func TestBadNumber(t *testing.T) {
	python := func(r *report.Report) { r.Threads[0].Frames[1].Language = "python" }
	for name, c := range map[string]struct {
		kind   string
		frames string
		change func(*report.Report)
		want   string
	}{
		"an access":                    {report.CrashWildRead, "Grid::at move main", nil, "move main"},
		"a null, of an empty array":    {report.CrashNullRead, "Grid::at move main", nil, "move main"},
		"an assertion":                 {report.CrashAssertion, "abort@/lib/libc.so.6 std::__glibcxx_assert_fail +std::vector::operator[] +Grid::at move main", nil, "move main"},
		"another that gives it":        {report.CrashWildRead, "Log::cell Log::at move main", nil, "Log::at move main"},
		"an operator":                  {report.CrashWildRead, "Ring::operator[] last main", nil, "last main"},
		"one of a matrix":              {report.CrashWildRead, "Matrix::operator() trace main", nil, "trace main"},
		"a method of Go":               {report.CrashWildRead, "main.(*Grid).At main.move main.main", nil, "main.move main.main"},
		"Rust's trait":                 {report.CrashWildRead, "<app::Grid_as_core::ops::index::Index>::index app::move main", nil, "app::move main"},
		"another trait":                {report.CrashWildRead, "<app::Grid_as_app::Index>::index app::move main", nil, "<app::Grid as app::Index>::index app::move main"},
		"a library's function between": {report.CrashWildRead, "Grid::at +std::for_each move main", nil, "move main"},
		"another name":                 {report.CrashWildRead, "Grid::flat move main", nil, "Grid::flat move main"},
		"no caller":                    {report.CrashWildRead, "at", nil, "at"},
		"a caller without a name":      {report.CrashWildRead, "Grid::at @/bin/app main", func(r *report.Report) { r.Threads[0].Frames[1].Function = "" }, "Grid::at ?app main"},
		"it called what failed":        {report.CrashWildRead, "copy Grid::at main", nil, "copy Grid::at main"},
		"it ended the program itself":  {report.CrashAbort, "abort@/lib/libc.so.6 Grid::at move main", nil, "Grid::at move main"},
		"it panicked itself":           {report.CrashException, "runtime.gopanic main.(*Grid).At main.move main.main", nil, "main.(*Grid).At main.move main.main"},
		"the start of a thread":        {report.CrashWildRead, "Grid::at start_thread@/lib/libc.so.6", nil, "Grid::at"},
		"it ran out of stack":          {report.CrashStackOverflow, "Grid::at move main", nil, "Grid::at move main"},
		"a call":                       {report.CrashWildCall, "Grid::at move main", nil, "Grid::at move main"},
		"the block was overrun": {report.CrashWildRead, "Grid::at move main", func(r *report.Report) {
			r.Crash.Causes = []report.Cause{{Block: &report.CauseBlock{Fault: report.BlockReused, Size: 24, Type: "Cell"}}}
		}, "Grid::at move main"},
		"Python called it":             {report.CrashWildRead, "Grid::at move run", python, "move run"},
		"no crash":                     {"", "Grid::at move main", func(r *report.Report) { r.Crash = nil }, "Grid::at move main"},
		"what gave a null was dropped": {report.CrashNullRead, "width Grid::at main", givenTo("width", "Grid::at"), "Grid::at main"},
	} {
		r := stackOf(c.kind, strings.Fields(c.frames)...)
		for i := range r.Threads[0].Frames {
			f := &r.Threads[0].Frames[i]
			f.Function = strings.ReplaceAll(f.Function, "_as_", " as ")
		}
		if c.change != nil {
			c.change(r)
		}
		if s := Of(r); strings.Join(s.Frames, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, s.Frames, c.want)
		}
	}
}

// givenTo has a function passed a null by another one.
func givenTo(function, by string) func(*report.Report) {
	return func(r *report.Report) {
		r.Crash.Blame = &report.Blame{Confidence: report.Certain, Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "p", Role: "argument", Entry: true, Function: function},
			{Kind: report.BlamePassed, Function: by, Physical: 1}}}
	}
}

// TestBadNumberTold: a panic of Rust has the place of the function that gives the element; its caller tells the bugs apart, also where its call is merged with others.
func TestBadNumberTold(t *testing.T) {
	panicked := func(frames ...string) *report.Report {
		r := stackOf(report.CrashException, append([]string{"abort" + libc, "core::panicking::panic_bounds_check"}, frames...)...)
		for i := range r.Threads[0].Frames[1:] {
			r.Threads[0].Frames[1+i].Symbol = "_RNvCs1234_3app"
		}
		r.Crash.Panic = &report.Panic{Runtime: report.RuntimeRust, File: "/src/log.rs", Line: 4, Column: 9, Value: "index out of bounds: the len is 3 but the index is 7"}
		return r
	}
	one, two := Of(panicked("+app::Log::at", "app::check", "main")), Of(panicked("+app::Log::at", "app::apply", "main"))
	if one.Hash == two.Hash || one.Top != 1 || !slices.Equal(one.Frames, []string{"app::check", "main"}) {
		t.Errorf("%q of top %d, and %q", one.Frames, one.Top, two.Frames)
	}
	merged := func(places ...string) *report.Report {
		r := panicked("app::handle", "main")
		m := &report.Merged{Lost: true}
		for _, p := range places {
			verdict, inlined, _ := strings.Cut(p, ":")
			m.Places = append(m.Places, report.MergedPlace{Inlined: strings.Fields(inlined), Verdict: verdict})
		}
		r.Threads[0].Frames[2].Merged = m
		return r
	}
	for name, c := range map[string]struct {
		places []string
		same   bool
	}{
		"one":                     {[]string{":app::Log::at app::check", ":app::Log::trim"}, true},
		"two of one caller":       {[]string{":app::Log::at app::check", ":core::index app::Log::at app::check app::run"}, true},
		"of two callers":          {[]string{":app::Log::at app::apply", ":app::Log::at app::check"}, false},
		"one of these refuted":    {[]string{":app::Log::at app::check", report.PlaceRefuted + ":app::Log::at app::apply"}, true},
		"the frame's function":    {[]string{":app::Log::at", ":app::Log::trim"}, false},
		"no element":              {[]string{":app::check", ":app::Log::trim"}, false},
		"an element of a library": {[]string{":core::at app::check", ":app::Log::trim"}, false},
	} {
		if s := Of(merged(c.places...)); (s.Hash == one.Hash) != c.same {
			t.Errorf("%s: %q of top %d", name, s.Frames, s.Top)
		}
	}
	if s := Of(merged(":app::Log::at", ":app::Log::trim")); s.Top != 1 || s.Frames[0] != "app::handle" {
		t.Errorf("into the frame's function: %q of top %d", s.Frames, s.Top)
	}
	for _, said := range []string{"range end index 9 out of range for slice of length 3", "called `Option::unwrap()` on a `None` value"} {
		r := panicked("+app::Log::at", "app::check", "main")
		r.Crash.Panic.Value = said
		if s := Of(r); s.Frames[0] != "app::check" {
			t.Errorf("%s: %q", said, s.Frames)
		}
	}
	for _, r := range []*report.Report{panicked("+app::Log::at", "app::check", "main"), merged(":app::Log::at app::check", ":app::Log::trim")} {
		if r.Crash.Panic.Value = "attempt to divide by zero"; Of(r).Frames[0] == "app::check" {
			t.Errorf("of another reason: %q", Of(r).Frames)
		}
	}
	if s := Of(merged(":<alloc::vec::Vec<T> as core::ops::index::Index<I>>::index app::check", ":app::Log::trim")); s.Frames[0] == "app::check" {
		t.Errorf("an element of a vector: %q", s.Frames)
	}
	r := merged(":app::Log::at app::check", ":app::Log::trim")
	r.Crash.Panic = nil
	if s := Of(r); s.Frames[0] == "app::check" {
		t.Errorf("no panic: %q", s.Frames)
	}
}

// TestGoRefusals: Go 1.26 has one function for all numbers that it refuses, which older ones tell apart.
func TestGoRefusals(t *testing.T) {
	of := func(function, value string) string {
		r := stackOf(report.CrashException, "runtime.raise", "runtime.gopanic", function, "main.get", "main.main")
		r.Crash.Panic = &report.Panic{Runtime: report.RuntimeGo, Type: "runtime.boundsError", Value: "runtime error: " + value}
		return Of(r).Class
	}
	for _, c := range []struct{ function, value, want string }{
		{"runtime.panicIndex", "index out of range [3] with length 2", goIndex},
		{"runtime.panicIndexU", "index out of range [3] with length 2", goIndex},
		{"runtime.panicSliceB", "slice bounds out of range [3:2]", goSlice},
		{"runtime.panicSlice3AlenU", "slice bounds out of range [::3] with length 2", goSlice},
		{"runtime.panicSliceConvert", "cannot convert slice with length 2 to array or pointer to array with length 4", goConvert},
		{"runtime.panicBounds", "index out of range [-1]", goIndex},
		{"runtime.panicBounds", "slice bounds out of range [:9] with capacity 4", goSlice},
		{"runtime.panicBounds", "cannot convert slice with length 2 to array or pointer to array with length 4", goConvert},
		{"runtime.panicBounds", "else", "runtime.panicBounds"},
		{"runtime.panicdivide", "integer divide by zero", "runtime.panicdivide"},
	} {
		if got := of(c.function, c.value); got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.function, c.value, got, c.want)
		}
	}
	for _, f := range []string{"runtime.throw", "runtime.fatal", "internal/runtime/maps.fatal"} { // which of them it is depends on the version
		if s := Of(stackOf(report.CrashException, "runtime.raise", f, "main.get", "main.main")); s.Class != goThrow {
			t.Errorf("%s: %s", f, s.Class)
		}
	}
	r := stackOf(report.CrashException, "runtime.raise", "runtime.gopanic", "runtime.panicBounds", "main.get", "main.main")
	if s := Of(r); s.Class != "runtime.panicBounds" {
		t.Errorf("without a text: %s", s.Class)
	}
}

// TestAnonymous: the first level does not have a namespace without a name, which debugging information with lines only leaves out.
func TestAnonymous(t *testing.T) {
	for _, f := range []string{"(anonymous namespace)::title", "app::(anonymous namespace)::title"} {
		if a, b := Of(stackOf(report.CrashNullRead, f, "main")), Of(stackOf(report.CrashNullRead, "title", "main")); a.Hash != b.Hash || a.Frames[0] == "title" {
			t.Errorf("%s: %q", f, a.Frames)
		}
	}
	if a, b := Of(stackOf(report.CrashNullRead, "(anonymous namespace)::Rule::title", "main")), Of(stackOf(report.CrashNullRead, "title", "main")); a.Hash == b.Hash {
		t.Error("a class in it is left out")
	}
}

// TestPrinted: what a function wrote before it ended the program, and at which of its lines it did, tell why it did.
func TestPrinted(t *testing.T) {
	of := func(printed string, line int) Signature {
		r := stackOf(report.CrashAbort, "abort"+libc, "check", "run", "main")
		r.Crash.Printed, r.Crash.EndedAt = printed, line
		return Of(r)
	}
	if s := of("port %d is too large\n", 0); s.Class != "abort: port is too large" || s.Top != 0 {
		t.Errorf("class %s, top %d", s.Class, s.Top)
	}
	if s := of("", 7); s.Class != "abort: line 7 of the function" || s.Top != 1 {
		t.Errorf("class %s, top %d", s.Class, s.Top)
	}
	if s := of("too large", 7); s.Class != "abort: too large" {
		t.Errorf("both: class %s", s.Class)
	}
	if s := of("", 0); s.Class != "abort" || s.Top != 2 {
		t.Errorf("neither: class %s, top %d", s.Class, s.Top)
	}
	r := stackOf(report.CrashNullRead, "check", "run", "main")
	r.Crash.EndedAt = 7
	if s := Of(r); s.Class != "access" {
		t.Errorf("a fault: class %s", s.Class)
	}
}

// TestTextBlock: a text that was overrun is told by who points to it, not by its size.
func TestTextBlock(t *testing.T) {
	of := func(b report.CauseBlock) string {
		r := stackOf(report.CrashHeapCorruption, "abort"+libc, "append", "main")
		r.Crash.Causes = []report.Cause{{Block: &b}}
		return Of(r).Class
	}
	if got := of(report.CauseBlock{Fault: report.BlockOverrun, Size: 40, Text: "name"}); got != "overrun block: text of name" {
		t.Error(got)
	}
	if got := of(report.CauseBlock{Fault: report.BlockOverrun, Size: 40, Text: "name", Elements: "int"}); got != "overrun block: int" {
		t.Error(got)
	}
	if got := of(report.CauseBlock{Fault: report.BlockFreed, Size: 40, Type: "Order", Text: "name"}); got != "freed block of 40 bytes: Order" {
		t.Error(got)
	}
}

// TestCalledInPython: since CPython 3.11 several calls of Python share a frame. A null that a library's function passed on was passed to that, not to its caller.
func TestCalledInPython(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		outer    int
		want     string
	}{
		"the library's function":           {"string_at", 1, "raw_name run"},
		"the caller of the function":       {"run", 1, "run"},
		"a caller with a frame of its own": {"run", 2, "raw_name run"},
	} {
		r := stackOfLanguage(report.CrashNullRead, "strlen", "python string_at /usr/lib/python3.11/ctypes/__init__.py", "python raw_name /x/app.py", "python run /x/app.py")
		r.Threads[0].Frames = r.Threads[0].Frames[1:]
		for i := range r.Threads[0].Frames {
			r.Threads[0].Frames[i].Physical = min(i, 1)
		}
		r.Threads[0].Frames[3].Physical = c.outer
		r.Crash.Blame = &report.Blame{Confidence: report.Likely, Steps: []report.BlameStep{{Kind: report.BlamePassed, Name: "ptr", Function: c.function, Physical: 1}}}
		if s := Of(r); strings.Join(s.Frames, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, s.Frames, c.want)
		}
	}
}
