package analysis

import (
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestPlaceInStretch: a frame that executes calls of a language for a helper that failed gives the place to the call; the innermost frame
// failed itself, and others have nothing to do with the calls.
func TestPlaceInStretch(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to int
		frame    int
		want     string
	}{
		{"a helper called by the interpreter", 1, 3, 1, "doom"},
		{"the interpreter itself", 0, 2, 0, "eval"},
		{"the helper", 1, 3, 0, "memcpy"},
		{"what called the interpreter", 1, 2, 2, "main"},
	} {
		frames := []report.Frame{{Function: "memcpy"}, {Function: "eval", Physical: 1}, {Function: "main", Physical: 2}}
		if c.from == 0 {
			frames[0].Function = "eval"
		}
		at := c.frame
		thread := report.Thread{Crashed: true, Frames: frames}
		in := &naming{question: &question{Engine: &Engine{}, opts: Options{Locals: LocalsNone}}}
		moved := in.addCalls(&thread, []*unwind.Frame{{}, {}, {}}, []tasks.Stretch{{From: c.from, To: c.to, Calls: []tasks.Call{{Language: "python", Function: "doom"}}}}, "python", &at)
		if got := thread.Frames[*moved].Function; got != c.want {
			t.Errorf("%s: the place is %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPlaceInterrupted: a signal from outside that meets an interpreter meets the call that this executes; one that meets something else does not, and what
// failed in the interpreter did.
func TestPlaceInterrupted(t *testing.T) {
	const perl, other = "/usr/bin/perl", "/usr/lib/x/List/Util.so"
	for _, c := range []struct {
		name        string
		interrupted bool
		frames      []report.Frame
		at, from    int
		want        string
	}{
		{"its innermost function", true, []report.Frame{{Function: "eval", Module: perl}, {Function: "main", Module: perl}}, 0, 0, "doom"},
		{"functions that it calls", true, []report.Frame{{Function: "hash", Module: perl}, {Function: "sort", Module: perl}, {Function: "eval", Module: perl}}, 0, 2, "doom"},
		{"functions that helpers called", true, []report.Frame{{Function: "read", Module: "/lib/libc.so.6"}, {Function: "sort", Module: perl}, {Function: "eval", Module: perl}}, 1, 2, "doom"},
		{"a fault", false, []report.Frame{{Function: "hash", Module: perl}, {Function: "eval", Module: perl}}, 0, 1, "hash"},
		{"an extension", true, []report.Frame{{Function: "sum", Module: other}, {Function: "eval", Module: perl}}, 0, 1, "sum"},
		{"an extension that calls it", true, []report.Frame{{Function: "hash", Module: perl}, {Function: "sum", Module: other}, {Function: "eval", Module: perl}}, 0, 2, "hash"},
		{"another language's call", true, []report.Frame{{Function: "f", Module: perl, Language: "lua"}, {Function: "eval", Module: perl}}, 0, 1, "f"},
		{"no module", true, []report.Frame{{Function: "hash"}, {Function: "eval"}}, 0, 1, "hash"},
		{"no frame of it", true, []report.Frame{{Function: "hash", Module: perl}}, 0, 1, "hash"},
	} {
		walked := []*unwind.Frame{{}, {}, {}}[:max(len(c.frames), c.from)]
		for i := range c.frames {
			c.frames[i].Physical = i
		}
		thread := report.Thread{Crashed: true, Frames: c.frames}
		in := &naming{question: &question{Engine: &Engine{}, opts: Options{Locals: LocalsNone}}, outside: c.interrupted}
		moved := in.addCalls(&thread, walked, []tasks.Stretch{{From: c.from, To: c.from, Calls: []tasks.Call{{Language: "perl", Function: "doom"}}}}, "perl", &c.at)
		if got := thread.Frames[*moved].Function; got != c.want {
			t.Errorf("%s: the place is %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPlaceFarFromCall: an interpreter that called itself many times is the place, not the call for which it began.
func TestPlaceFarFromCall(t *testing.T) {
	for n, want := range map[int]string{maxBetween - 1: "doom", maxBetween: "repr"} {
		thread := report.Thread{Crashed: true}
		for i := range n + 1 {
			thread.Frames = append(thread.Frames, report.Frame{Function: "repr", Module: "/usr/bin/python3", Physical: i})
		}
		in := &naming{question: &question{Engine: &Engine{}, opts: Options{Locals: LocalsNone}}, outside: true}
		walked := make([]*unwind.Frame, n+1)
		for i := range walked {
			walked[i] = &unwind.Frame{}
		}
		moved := in.addCalls(&thread, walked, []tasks.Stretch{{From: n, To: n, Calls: []tasks.Call{{Language: "python", Function: "doom"}}}}, "python", new(int))
		if got := thread.Frames[*moved].Function; got != want {
			t.Errorf("%d frames between: the place is %s, want %s", n, got, want)
		}
	}
}

// TestLanguageCycle: a stack that calls of a language filled is told by these, one that their interpreter filled is not.
func TestLanguageCycle(t *testing.T) {
	call := func(name string) report.Frame { return report.Frame{Function: name, Language: "python"} }
	native := func(name string, folded bool) report.Frame { return report.Frame{Function: name, Folded: folded} }
	for _, c := range []struct {
		name  string
		round []report.Frame
		rest  []report.Frame
		want  string
		times int
	}{
		{"one function", []report.Frame{native("eval", true), call("f"), native("vector", true)}, nil, "f", 100},
		{"two, and what they call", []report.Frame{call("f"), native("map", false), call("g")}, nil, "f map g", 100},
		{"the interpreter itself", []report.Frame{native("repr", false), native("object_repr", false)}, []report.Frame{call("f")}, "", 0},
		{"no call", []report.Frame{native("f", false)}, nil, "", 0},
		{"less than half of the stack", []report.Frame{call("f")}, manyOthers(101), "", 0},
		{"just more than half", []report.Frame{call("f")}, manyOthers(99), "f", 100},
	} {
		var frames []report.Frame
		for range 100 {
			frames = append(frames, c.round...)
		}
		frames = append(frames, c.rest...)
		for i := range frames {
			frames[i].Index = i
		}
		cycle, times := languageCycle(frames)
		if got := strings.Join(cycle, " "); got != c.want || times != c.times {
			t.Errorf("%s: %q, %d times; want %q, %d", c.name, got, times, c.want, c.times)
		}
	}
}

// manyOthers are native functions none of which calls itself.
func manyOthers(n int) (out []report.Frame) {
	for i := range n {
		out = append(out, report.Frame{Function: "f" + strconv.Itoa(i)})
	}
	return out
}

// TestPlaceCompiled: the innermost frame is the call's if it is code of no module that the runtime's compiler made of it.
func TestPlaceCompiled(t *testing.T) {
	for _, c := range []struct {
		name   string
		module string
		kind   tasks.CallKind
		from   int // of the stretch
		calls  int
		place  string
		folded bool
	}{
		{"compiled", "", tasks.CallJIT, 0, 1, "leaf", true},
		{"of the interpreter", "", tasks.CallInterpreted, 0, 1, "made", false},
		{"of a module", "/usr/bin/php", tasks.CallJIT, 0, 1, "made", false},
		{"called by compiled code", "", tasks.CallJIT, 1, 1, "made", false},
		{"without calls", "", tasks.CallJIT, 0, 0, "made", false},
	} {
		at := 0
		thread := report.Thread{Crashed: true, Frames: []report.Frame{{Function: "made", Module: c.module}, {Function: "zend_execute", Module: "/usr/bin/php", Physical: 1}}}
		st := tasks.Stretch{From: c.from, To: 2, Calls: []tasks.Call{{Language: "php", Function: "leaf", Kind: c.kind}}[:c.calls]}
		in := &naming{question: &question{Engine: &Engine{}, opts: Options{Locals: LocalsNone}}}
		moved := in.addCalls(&thread, []*unwind.Frame{{}, {}}, []tasks.Stretch{st}, "php", &at)
		folded := false
		for _, f := range thread.Frames {
			folded = folded || f.Function == "made" && f.Folded
		}
		if got := thread.Frames[*moved].Function; got != c.place || folded != c.folded {
			t.Errorf("%s: the place is %s, want %s; folded %t", c.name, got, c.place, folded)
		}
	}
}
