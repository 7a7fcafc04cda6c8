package signature

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// The signature of a crash below Python has the Python calls, and not the interpreter's frames that execute them.
func TestCallsOfLanguage(t *testing.T) {
	frames := []report.Frame{
		{Function: "copy", Module: "/x/ext.so", Trust: "context"},
		{Function: "pay", Language: "python", Kind: report.KindInterpreted, Trust: report.TrustRuntime, Source: report.Source{File: "pay.py", Line: 3}},
		{Function: "shop", Language: "python", Kind: report.KindInterpreted, Trust: report.TrustRuntime, Source: report.Source{File: "pay.py", Line: 9}},
		{Function: "_PyEval_EvalFrameDefault", Module: "/x/libpython3.12.so", Trust: "cfi", Folded: true},
		{Function: "main", Module: "/x/python3", Trust: "cfi"},
	}
	for i := range frames {
		frames[i].Index, frames[i].Physical = i, i
	}
	r := &report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}
	s := Of(r)
	if want := []string{"copy", "pay", "shop", "main"}; !slices.Equal(s.Frames, want) {
		t.Errorf("the signature has %q, want %q", s.Frames, want)
	}
}

// Where Python runs, the interpreter's own functions say nothing of the bug, but its collector finds the damage of others.
func TestInterpreter(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  []string
	}{
		{[]string{"min_max@libpython3.12.so.1.0", "python less /x/app.py", "do_richcompare@python3.12", "python main /x/app.py"}, []string{"less", "main"}},
		{[]string{"encode@_json.cpython-312-x86_64-linux-gnu.so", "python main /x/app.py"}, []string{"encode", "main"}},
		{[]string{"update_refs@libpython3.12.so.1.0", "python main /x/app.py"}, []string{"update_refs", "main"}},
		{[]string{"min_max@libpython3.12.so.1.0", "serve@app"}, []string{"min_max", "serve"}},
		{[]string{"new_list@libpython3.12.so.1.0", "fill@_grid.cpython-312-x86_64-linux-gnu.so", "start@app"}, []string{"fill", "start"}},
	} {
		r := stackOfLanguage(report.CrashNullRead, c.lines...)
		frames := r.Threads[0].Frames[1:]
		for i := range frames {
			if name, module, ok := strings.Cut(frames[i].Function, "@"); ok {
				frames[i].Function, frames[i].Module = name, "/x/"+module
			}
		}
		r.Threads[0].Frames = frames
		if s := Of(r); !slices.Equal(s.Frames, c.want) {
			t.Errorf("%q: %q, want %q", c.lines, s.Frames, c.want)
		}
	}
}

// The names of PHP's functions do not depend on its version, nor on where files lie.
func TestCallsOfPHP(t *testing.T) {
	frame := func(function, file string) report.Frame {
		return report.Frame{Function: function, Language: "php", Kind: report.KindInterpreted, Trust: report.TrustRuntime, Source: report.Source{File: file, Line: 7}}
	}
	var signatures []Signature
	for _, frames := range [][]report.Frame{
		{frame("array_map", ""), frame("Shop->{closure}", "/srv/a/shop.php"), frame("NS\\{closure}", "/srv/a/shop.php"), frame("made", "/srv/a/x.php(3) : eval()'d code"), frame("{main}", "/srv/a/x.php")},
		{frame("array_map", ""), frame("Shop->{closure:Shop::run():7}", "/srv/b/shop.php"), frame("NS\\{closure:/srv/b/shop.php:2}", "/srv/b/shop.php"), frame("made", "/srv/b/x.php(9) : eval()'d code"), frame("{main}", "/srv/b/x.php")},
	} {
		for i := range frames {
			frames[i].Index, frames[i].Physical = i, i
		}
		signatures = append(signatures, Of(&report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}))
	}
	if want := []string{"array_map", "Shop->{closure}", "NS\\{closure}", "made", "{main}"}; !slices.Equal(signatures[0].Frames, want) || !slices.Equal(signatures[1].Frames, want) {
		t.Errorf("the signatures have %q and %q, want %q", signatures[0].Frames, signatures[1].Frames, want)
	}
	if signatures[0].Hash != signatures[1].Hash {
		t.Errorf("%s and %s", signatures[0].Hash, signatures[1].Hash)
	}
}

// Java's stubs are in no signature, nor what tells one run's classes from another's.
func TestCallsOfJava(t *testing.T) {
	frames := []report.Frame{
		{Function: "Unsafe_GetInt", Module: "/x/libjvm.so", Trust: "context"},
		{Function: "Shop.lambda$pay$3(int)", Language: "java", Kind: report.KindInterpreted, Trust: "cfi"},
		{Function: "Shop$$Lambda$14+0x00007ff29c006860.apply(int)", Language: "java", Kind: report.KindJIT, Trust: "cfi"},
		{Function: "<call stub>", Language: "java", Kind: report.KindJIT, Trust: "cfi"},
		{Function: "JavaMain", Module: "/x/libjli.so", Trust: "cfi"},
	}
	for i := range frames {
		frames[i].Index, frames[i].Physical = i, i
	}
	r := &report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}
	s := Of(r)
	if want := []string{"Unsafe_GetInt", "Shop.lambda$pay", "Shop$$Lambda.apply"}; !slices.Equal(s.Frames, want) {
		t.Errorf("the signature has %q, want %q", s.Frames, want)
	}
}

// V8's own functions and Node's loader are in no signature, nor is what throws.
func TestCallsOfJavaScript(t *testing.T) {
	frames := []report.Frame{
		{Function: "v8::base::OS::Abort", Module: "/x/node", Trust: "context"},
		{Function: "v8::internal::Isolate::ThrowInternal", Module: "/x/node", Trust: "cfi"},
		{Function: "v8::internal::ErrorUtils::ThrowLoadFromNullOrUndefined", Module: "/x/node", Trust: "cfi"},
		{Function: "v8::internal::LoadIC::Load", Module: "/x/node", Trust: "cfi"},
		{Function: "Builtins_LoadIC", Module: "/x/node", Trust: "cfi", Folded: true},
		{Function: "pay", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "/x/shop.js", Line: 3}},
		{Function: "map", Language: "javascript", Kind: report.KindJIT, Trust: "cfi"},
		{Function: "shop", Language: "javascript", Kind: report.KindJIT, Trust: "cfi", Source: report.Source{File: "/x/shop.js", Line: 9}},
		{Function: "emit", Language: "javascript", Kind: report.KindJIT, Trust: "cfi", Source: report.Source{File: "node:events", Line: 9}},
		{Function: "Module._compile", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "node:internal/modules/cjs/loader", Line: 9}},
		{Function: "run", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "node:internal/main/run_main_module", Line: 9}},
		{Function: "node::StartExecution", Module: "/x/node", Trust: "cfi"},
		{Function: "main", Module: "/x/node", Trust: "cfi"},
	}
	for i := range frames {
		frames[i].Index, frames[i].Physical = i, i
	}
	r := &report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}
	s := Of(r)
	if want := []string{"pay", "shop"}; !slices.Equal(s.Frames, want) {
		t.Errorf("the signature has %q, want %q", s.Frames, want)
	}
}

// What Node ends for a rejected promise is told apart by what made the error, if no function of the program is on the stack.
func TestRejections(t *testing.T) {
	of := func(raised report.Raised, more ...report.Frame) Signature {
		frames := append([]report.Frame{
			{Function: "node::Abort", Module: "/x/node", Trust: "context"},
			{Function: "throwUnhandledRejectionsMode", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "node:internal/process/promises", Line: 3}},
			{Function: "processPromiseRejections", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "node:internal/process/promises", Line: 9}},
		}, more...)
		for i := range frames {
			frames[i].Index, frames[i].Physical = i, i
		}
		return Of(&report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashAbort, Raised: []report.Raised{raised}}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}})
	}
	parse := report.Raised{Language: "javascript", Type: "SyntaxError", Function: "parse", File: "/x/shop.js", Line: 3, Message: "at position 1"}
	later, load, none := parse, parse, parse
	later.Line, later.Message, later.File = 4, "at position 2", "/y/shop.js"
	load.Function = "load"
	none.Function = ""
	if a, b := of(parse), of(later); a.Hash != b.Hash || a.Class != "abort: SyntaxError in parse of shop.js" {
		t.Errorf("%s %s, %s %s: want the same", a.Class, a.Hash, b.Class, b.Hash)
	}
	if a, b, c := of(parse), of(load), of(none); a.Hash == b.Hash || a.Hash == c.Hash {
		t.Error("errors of other functions are the same")
	}
	java := parse
	java.Language = "java"
	if a, b := of(java), of(none); a.Hash != b.Hash {
		t.Error("an error of Java is told apart as one of JavaScript")
	}
	quiet := Of(&report.Report{Crash: &report.Crash{Kind: report.CrashAbort, Raised: []report.Raised{parse}}})
	if strings.Contains(quiet.Class, "parse") {
		t.Errorf("%s, of a report without a stack", quiet.Class)
	}
	for what, f := range map[string]report.Frame{
		"V8's own function": {Function: "then", Language: "javascript", Kind: report.KindJIT, Trust: "cfi"},
		"native code":       {Function: "uv_run", Module: "/x/node", Trust: "cfi", Source: report.Source{File: "/x/uv.c", Line: 9}},
	} {
		if a, b := of(parse, f), of(load, f); a.Hash == b.Hash {
			t.Errorf("with %s on the stack, what made the error does not count", what)
		}
	}
	// uv_run begins Node's loop: what runs in it is native code of its own.
	loop := report.Frame{Function: "on_timer", Module: "/x/node", Trust: "cfi", Source: report.Source{File: "/x/timer.c", Line: 9}}
	if s := of(parse, loop); s.Top != 0 {
		t.Errorf("with what made the error, %d functions count", s.Top)
	}
	user := report.Frame{Function: "mine", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "/x/mine.js", Line: 9}}
	if a, b := of(parse, user), of(load, user); a.Hash != b.Hash {
		t.Error("with a function of the program on the stack, what made the error counts")
	}
}

// stackOfLanguage is a program that aborts below frames, innermost first, of "python NAME FILE", "javascript NAME FILE" or a native "NAME"; "?" has no name.
func stackOfLanguage(kind string, lines ...string) *report.Report {
	frames := []report.Frame{{Function: "abort", Module: "/lib/libc.so.6", Trust: "cfi"}}
	for _, line := range lines {
		words := strings.Fields(line)
		f := report.Frame{Function: strings.TrimPrefix(words[0], "?"), Module: "/x/node", Trust: "cfi"}
		if len(words) == 3 {
			f = report.Frame{Function: words[1], Language: words[0], Kind: report.KindInterpreted, Trust: report.TrustRuntime, Source: report.Source{File: words[2], Line: 3}}
		}
		frames = append(frames, f)
	}
	for i := range frames {
		frames[i].Index, frames[i].Physical = i, i
	}
	return &report.Report{Crash: &report.Crash{Thread: 1, Kind: kind}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}
}

// The library that comes with a language says nothing of the bug, unless the stack has nothing else.
func TestLibraries(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"PyThread_acquire_lock_timed", "python Condition.wait /usr/lib/python3.11/threading.py", "python take /x/app.py"}, "take"},
		{[]string{"lock_acquire", "python take /usr/lib/python3.11/site-packages/app/app.py"}, "take"},
		{[]string{"python _call <frozen", "python take /x/app.py"}, "_call < take"}, // no file of that form
		{[]string{"python wait /usr/lib/python3.11/threading.py", "python run /usr/lib/python3.11/threading.py"}, "wait < run"},
		{[]string{"?", "python wait /usr/lib/python3.11/threading.py", "python run /usr/lib/python3.11/threading.py"}, "node+0x0 < wait < run"},
		{[]string{"javascript emit node:events", "javascript shop /x/shop.js"}, "shop"},
		{[]string{"javascript emit node:events", "javascript tick node:process"}, "emit < tick"},
		{[]string{"javascript <anonymous> /x/shop.js", "javascript total /x/shop.js"}, "total"},
		{[]string{"javascript emit node:events", "javascript load node:internal/modules/cjs/loader", "javascript run node:internal/main/run_main_module"}, "emit"},
		{[]string{"python <anonymous> /x/a.py", "python total /x/a.py"}, "<anonymous> < total"},
		{[]string{"javascript <anonymous> /x/shop.js", "javascript map node:x", "javascript total /x/shop.js"}, "total"},
		{[]string{"javascript <anonymous> /x/shop.js", "javascript total /x/other.js"}, "<anonymous> in shop.js < total"},
		{[]string{"javascript <anonymous> /x/shop.js", "javascript <anonymous> /x/shop.js"}, "<anonymous> in shop.js"},
		{[]string{"javascript <anonymous> /x/a.js", "javascript <anonymous> /x/b.js", "javascript total /x/a.js"}, "<anonymous> in b.js < total"},
	} {
		if s := Of(stackOfLanguage(report.CrashNullRead, c.lines...)); strings.Join(s.Frames, " < ") != c.want {
			t.Errorf("%q: %q, want %q", c.lines, s.Frames, c.want)
		}
	}
	for file, want := range map[string]bool{
		"/root/.pyenv/versions/3.10.13/lib/python3.10/queue.py": true, "/usr/lib/python3/dist-packages/x.py": false,
		"/usr/lib/python3.13t/threading.py": true, "/x/python3.11/app.py": false, "/x/lib/pythonic/app.py": false,
		`C:\Python311\Lib\threading.py`: true, `C:\Python311\Lib\site-packages\x.py`: false, `C:\app\Lib\x.py`: false,
		"/x/lib/python3.12.zip/threading.py": true, "<frozen importlib._bootstrap>": true, "<string>": false,
	} {
		if got := ofLibrary(&report.Frame{Language: "python", Source: report.Source{File: file}}); got != want {
			t.Errorf("of the library: %s %v", file, got)
		}
	}
	if ofLibrary(&report.Frame{Source: report.Source{File: "/usr/lib/python3.11/x.py"}}) || ofLibrary(&report.Frame{Language: "java", Source: report.Source{File: "node:x"}}) {
		t.Error("a function of no language or another one is of Python's or Node's library")
	}
}

// A function of a language above that ends the program is told apart by its caller, as one of C is: what leads down to the abort does not count.
func TestQuittingOfLanguage(t *testing.T) {
	r := stackOfLanguage(report.CrashAbort, "os_abort_impl", "os_abort", "glue", "python fatal /x/app.py", "python connect /x/app.py")
	r.Threads[0].Frames[3].Folded = true
	other := stackOfLanguage(report.CrashAbort, "os_abort_impl", "os_abort", "glue", "python fatal /x/app.py", "python migrate /x/app.py")
	other.Threads[0].Frames[3].Folded = true
	if a, b := Of(r), Of(other); a.Hash == b.Hash || !a.Quit || a.Top != 2 || a.Via != "abort" {
		t.Errorf("%+v", a)
	}
	stripped := stackOfLanguage(report.CrashAbort, "glue", "python fatal /x/app.py", "python connect /x/app.py")
	stripped.Threads[0].Frames[1].Folded = true
	if a, b := Of(r), Of(stripped); a.Hash != b.Hash {
		t.Errorf("with and without the name os_abort: %+v, %+v", a, b)
	}
	native := stackOf("abort", "abort"+libc, "std::f", "g", "h", "main")
	if s := Of(native); s.Quit || s.Top != 1 {
		t.Errorf("of C++: %+v", s)
	}
}

// Where V8 ran out of memory says nothing: the function of the program above does. Of another crash it does.
func TestOutOfHeap(t *testing.T) {
	lines := []string{"v8::internal::JSObject::CreateDataProperty", "javascript hoard /x/a.js", "javascript main /x/a.js"}
	if s := Of(stackOfLanguage(report.CrashOutOfMemory, lines...)); s.Frames[0] != "hoard" {
		t.Errorf("%q", s.Frames)
	}
	if s := Of(stackOfLanguage(report.CrashNullRead, lines...)); s.Frames[0] != "v8::internal::JSObject::CreateDataProperty" {
		t.Errorf("not out of memory: %q", s.Frames)
	}
}

// A function of JavaScript or Python is of its file, a method of Java of its class: which native code executes it does not matter.
func TestModuleOfLanguage(t *testing.T) {
	for _, c := range []struct{ line, want string }{{"javascript hoard /x/a.js", "a.js"}, {"python hoard /y/b.py", "b.py"}, {"java Shop.hoard(int) Shop.java", ""}} {
		interpreted, compiled := stackOfLanguage(report.CrashNullRead, c.line, c.line), stackOfLanguage(report.CrashNullRead, c.line, c.line)
		compiled.Threads[0].Frames[1].Module, compiled.Threads[0].Frames[1].Kind = "/x/node", report.KindJIT
		if a, b := Of(interpreted), Of(compiled); a.Hash != b.Hash || a.Module != c.want {
			t.Errorf("%s: module %q, %s and %s", c.line, a.Module, a.Hash, b.Hash)
		}
	}
}
