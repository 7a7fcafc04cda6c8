package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestGivenNull: who passes a null, or calls a member function on a null object, is to blame, whichever of the two the compiler lets fail.
func TestGivenNull(t *testing.T) {
	frames := []string{"Shape::area", "draw", "main"}
	blame := func(name, function string, value report.Addr) *report.Blame {
		role := "argument"
		if name == "p" {
			role = "local"
		}
		return &report.Blame{Value: value, Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: name, Role: role, Function: function, Entry: role == "argument"}}}
	}
	for _, c := range []struct {
		name   string
		kind   string
		frames []string
		blame  *report.Blame
		first  string
	}{
		{"on a null object", "null-read", frames, blame("this", "Shape::area", 0), "draw"},
		{"a lambda of the function", "null-read", frames, blame("this", "Shape::area()::{lambda()#1}::operator()() const", 0), "draw"},
		{"a lambda as its variables know it", "null-read", []string{"draw()::{lambda()#1}::operator()() const", "Pool::with", "draw", "main"}, blame("this", "operator()", 0), "Pool::with"},
		{"a function that is no lambda", "null-read", frames, blame("this", "operator()", 0), "Shape::area"},
		{"no blame", "null-read", frames, nil, "Shape::area"},
		{"nothing known", "null-read", frames, &report.Blame{}, "Shape::area"},
		{"another variable", "null-read", frames, blame("p", "Shape::area", 0), "Shape::area"},
		{"of another function", "null-read", frames, blame("this", "draw", 0), "Shape::area"},
		{"a bad object", "null-read", frames, blame("this", "Shape::area", 8), "Shape::area"},
		{"another kind", "null-call", frames, blame("this", "Shape::area", 0), "Shape::area"},
		{"not the address", "wild-read", frames, blame("this", "Shape::area", 0), "Shape::area"},
		{"no caller", "null-read", frames[:1], blame("this", "Shape::area", 0), "Shape::area"},
	} {
		r := stackOf(c.kind, c.frames...)
		r.Crash.Blame = c.blame
		r.Threads[0].End = report.EndBottom
		if s := Of(r); len(s.Frames) == 0 || s.Frames[0] != c.first {
			t.Errorf("%s: %q, want %s", c.name, s.Frames, c.first)
		} else if d := s.Decisions[0]; (c.first == c.frames[0]) != (d.Action == Kept) || (d.Why == "") != (d.Action == Kept) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	r := stackOf("null-read", "draw", "Shape::area", "main")
	r.Crash.Blame = blame("this", "Shape::area", 0)
	if s := Of(r); !slices.Equal(s.Frames, []string{"draw", "Shape::area", "main"}) {
		t.Errorf("not the innermost: %q", s.Frames)
	}
	r = stackOf("null-read", "Shape::area", "", "main")
	r.Crash.Blame = blame("this", "Shape::area", 0)
	if s := Of(r); !slices.Contains(s.Frames, "Shape::area") {
		t.Errorf("a caller without a name: %q", s.Frames)
	}
}

// TestGivenPossibly: a null whose name is only a guess was passed if that is the argument of a call, as it was called.
func TestGivenPossibly(t *testing.T) {
	entry := report.BlameStep{Kind: report.BlameVariable, Name: "b", Role: "argument", Function: "capacity", Entry: true}
	local, changed := entry, entry
	local.Role, changed.Entry = "local", false
	for name, c := range map[string]struct {
		steps []report.BlameStep
		want  string
	}{
		"as it was called": {[]report.BlameStep{entry}, "room"},
		"a local":          {[]report.BlameStep{local}, "capacity"},
		"of another time":  {[]report.BlameStep{changed}, "capacity"},
		"passed later":     {[]report.BlameStep{changed, {Kind: report.BlamePassed, Function: "main", Physical: 1}}, "capacity"},
		"nothing":          {nil, "capacity"},
	} {
		r := stackOf("null-read", "+capacity", "room", "main")
		r.Threads[0].Frames[1].Physical = 0
		r.Crash.Blame = &report.Blame{Confidence: report.Possible, Steps: c.steps}
		if s := Of(r); s.Frames[0] != c.want {
			t.Errorf("%s: %q, want %s", name, s.Frames, c.want)
		}
	}
}

// TestGivenNullSteps: the null must have come from the caller as it is; and one caller is taken.
func TestGivenNullSteps(t *testing.T) {
	variable := func(name, role, function string, physical int) report.BlameStep {
		return report.BlameStep{Kind: report.BlameVariable, Name: name, Role: role, Function: function, Physical: physical}
	}
	given := func(name, function string) report.BlameStep {
		s := variable(name, "argument", function, 0)
		s.Entry = true
		return s
	}
	passed := report.BlameStep{Kind: report.BlamePassed, Function: "draw", Physical: 1}
	read := report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "width", Physical: 0}
	for _, c := range []struct {
		name   string
		frames []string
		steps  []report.BlameStep
		want   []string
	}{
		{"passed", []string{"width", "draw", "main"}, []report.BlameStep{given("p", "width"), passed}, []string{"draw", "main"}},
		{"passed, and no argument has a name", []string{"width", "draw", "main"}, []report.BlameStep{passed}, []string{"draw", "main"}},
		{"what the caller did is not known", []string{"width", "draw", "main"}, []report.BlameStep{given("p", "width")}, []string{"draw", "main"}},
		{"where it came from is not known", []string{"width", "draw", "main"}, []report.BlameStep{variable("p", "argument", "width", 0)}, []string{"width", "draw", "main"}},
		{"copied to another argument", []string{"width", "draw", "main"}, []report.BlameStep{variable("p", "argument", "width", 0),
			{Kind: report.BlameArgument, Name: "q", Role: "argument", Function: "width", Entry: true}, passed}, []string{"draw", "main"}},
		{"a caller without a name for what it passed", []string{"width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameArgument, Name: "argument 1", Role: "argument", Entry: true}}, []string{"width", "draw", "main"}},
		{"handed on twice", []string{"width", "draw", "main"}, []report.BlameStep{given("p", "width"), passed,
			{Kind: report.BlamePassed, Function: "main", Physical: 2}}, []string{"draw", "main"}},
		{"a constant in a local variable", []string{"+width", "draw", "main"}, []report.BlameStep{variable("p", "local", "width", 0), {Kind: report.BlameSet, Function: "draw"}}, []string{"width", "draw", "main"}},
		{"a constant in an argument", []string{"+width", "draw", "main"}, []report.BlameStep{variable("p", "argument", "width", 0), {Kind: report.BlameSet, Function: "draw"}}, []string{"draw", "main"}},
		{"stored in the parameter later", []string{"width", "draw", "main"}, []report.BlameStep{variable("p", "argument", "width", 0), read}, []string{"width", "draw", "main"}},
		{"read", []string{"width", "draw", "main"}, []report.BlameStep{read}, []string{"width", "draw", "main"}},
		{"through a library", []string{"memcpy@/lib/libc.so.6", "width", "draw", "main"}, []report.BlameStep{variable("src", "argument", "memcpy", 0),
			{Kind: report.BlamePassed, Name: "p", Role: "argument", Function: "width", Physical: 1, Entry: true}, {Kind: report.BlamePassed, Function: "draw", Physical: 2}}, []string{"draw", "main"}},
		{"a library's of the same name", []string{"width@/lib/libc.so.6", "width", "draw", "main"}, []report.BlameStep{given("p", "width"),
			{Kind: report.BlamePassed, Name: "p", Role: "local", Function: "width", Physical: 1}}, []string{"width", "draw", "main"}},
		{"a library's own argument", []string{"memcpy@/lib/libc.so.6", "width", "draw", "main"}, []report.BlameStep{variable("src", "argument", "memcpy", 0),
			{Kind: report.BlamePassed, Name: "p", Role: "local", Function: "width", Physical: 1}}, []string{"width", "draw", "main"}},
		{"without scopes", []string{"shop::Shape::width", "draw", "main"}, []report.BlameStep{given("this", "width")}, []string{"draw", "main"}},
		{"read deeper, then passed", []string{"memcpy@/lib/libc.so.6", "width", "draw", "main"}, []report.BlameStep{variable("src", "argument", "memcpy", 0), read,
			{Kind: report.BlamePassed, Name: "p", Role: "argument", Function: "width", Physical: 1, Entry: true}}, []string{"width", "draw", "main"}},
		{"read outside, nothing passed", []string{"width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameRead, Name: "p", Function: "draw", Physical: 1}}, []string{"width", "draw", "main"}},
		{"an argument that the caller read", []string{"width", "draw", "main"}, []report.BlameStep{variable("p", "argument", "width", 0), {Kind: report.BlameReturned, Function: "width"}}, []string{"width", "draw", "main"}},
		{"a read that is called an argument", []string{"width", "draw", "main"}, []report.BlameStep{{Kind: report.BlameRead, Name: "p", Role: "argument", Function: "width"}}, []string{"width", "draw", "main"}},
		{"called by a library's", []string{"width", "qsort@/lib/libc.so.6", "draw", "main"}, []report.BlameStep{given("p", "width")}, []string{"draw", "main"}},
		{"called by a library's, and nothing else", []string{"width", "start_thread@/lib/libc.so.6"}, []report.BlameStep{given("p", "width")}, []string{"width"}},
		{"what is called once the thread started is none", []string{"width", "start_thread@/lib/libc.so.6", "draw"}, []report.BlameStep{given("p", "width")}, []string{"width"}},
		{"of another function", []string{"shop::Shape::bandwidth", "draw", "main"}, []report.BlameStep{given("this", "width")}, []string{"shop::Shape::bandwidth", "draw", "main"}},
	} {
		r := stackOf("null-read", c.frames...)
		r.Crash.Blame = &report.Blame{Steps: c.steps}
		if s := Of(r); !slices.Equal(s.Frames, c.want) {
			t.Errorf("%s: %q, want %q", c.name, s.Frames, c.want)
		}
	}
	r := stackOf("null-read", "", "draw", "main")
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{given("argument 1", "")}}
	if s := Of(r); len(s.Frames) == 0 || s.Frames[0] == "draw" {
		t.Errorf("a function without a name: %q", s.Frames)
	}
	// Inlined, the function has no arguments of its own: a variable around it holds the null.
	r = stackOf("null-read", "+width", "draw", "main")
	r.Threads[0].Frames[1].Physical, r.Threads[0].Frames[2].Physical = 0, 1
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{variable("p", "local", "draw", 0), {Kind: report.BlameRead, Function: "draw"}}}
	if s := Of(r); !slices.Equal(s.Frames, []string{"draw", "main"}) {
		t.Errorf("inlined: %q", s.Frames)
	}
	r.Crash.Blame.Steps = []report.BlameStep{{Kind: report.BlamePassed, Function: "width"}, {Kind: report.BlameRead, Name: "*row", Function: "draw"}}
	if s := Of(r); !slices.Equal(s.Frames, []string{"draw", "main"}) {
		t.Errorf("read around it: %q", s.Frames)
	}
	for _, name := range []string{"s.audit", "s->audit", "[rbx+8]"} {
		r.Crash.Blame.Steps = []report.BlameStep{variable(name, "local", "draw", 0)}
		if s := Of(r); s.Frames[0] != "width" {
			t.Errorf("%s: %q", name, s.Frames)
		}
	}
	// The outermost frame is inlined: there is nothing around it.
	r.Threads[0].Frames = append(r.Threads[0].Frames[:1:1], report.Frame{Index: 1, Physical: 1, Function: "draw", Module: "/x/app", Inlined: true})
	r.Crash.Blame.Steps = []report.BlameStep{variable("p", "local", "main", 0)}
	if s := Of(r); !slices.Equal(s.Frames, []string{"width", "draw"}) {
		t.Errorf("nothing around it: %q", s.Frames)
	}
	r = stackOf("null-read", "+width", "draw", "main")
	r.Threads[0].Frames[1].Physical, r.Threads[0].Frames[2].Physical = 0, 1
	r.Crash.Blame = &report.Blame{}
	r.Crash.Blame.Steps = []report.BlameStep{variable("p", "local", "draw", 0)}
	r.Crash.Blame.Steps[0].Function = "main"
	if s := Of(r); !slices.Equal(s.Frames, []string{"width", "draw", "main"}) {
		t.Errorf("of a function that it is not inlined into: %q", s.Frames)
	}
	// GCC has the callers of a copy read what the function reads in the source: the copy's argument has no name. Without debugging information none has.
	for _, c := range []struct {
		line       int
		read, want string
	}{{1, "p->title", "width"}, {1, "s.title", "width"}, {1, "*rows", "draw"}, {0, "p->title", "draw"}} {
		r = stackOf("null-read", "width", "draw", "main")
		r.Threads[0].Frames[0].Source.Line = c.line
		r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameArgument, Name: "argument 1", Role: "argument", Function: "width", Entry: true}, passed,
			{Kind: report.BlameRead, Name: c.read, Function: "draw", Physical: 1}}}
		if s := Of(r); s.Frames[0] != c.want {
			t.Errorf("%s read by the caller, line %d: %q", c.read, c.line, s.Frames)
		}
	}
	// The compiler passed to its copy what the function of the source reads itself, whatever is known of the caller.
	for symbol, want := range map[string]string{"width.isra.0": "width", "width.part.0": "width", "width.constprop.0": "draw"} {
		for n := 1; n <= 2; n++ {
			r = stackOf("null-read", "width", "draw", "main")
			r.Threads[0].Frames[0].Symbol = symbol
			r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameArgument, Name: "argument 2", Role: "argument", Function: "width", Entry: true}, passed}[:n]}
			if s := Of(r); s.Frames[0] != want {
				t.Errorf("%s, %d steps: %q", symbol, n, s.Frames)
			}
		}
	}
}

// TestGivenNullMember: the address of a member of a null that was passed is the caller's mistake as well.
func TestGivenNullMember(t *testing.T) {
	zero, eight := report.Addr(0), report.Addr(8)
	for _, c := range []struct {
		name string
		of   *report.Addr
		want string
	}{
		{"of null", &zero, "merge"},
		{"of another address", &eight, "append"},
		{"of what is not known", nil, "append"},
	} {
		r := stackOf("null-read", "append", "merge", "main")
		r.Crash.Blame = &report.Blame{Value: 0x18, Steps: []report.BlameStep{
			{Kind: report.BlameVariable, Name: "last", Role: "local", Function: "append"},
			{Kind: report.BlameOffset, Name: "parent", Role: "argument", Function: "append", Offset: 0x18, Value: c.of, Entry: true},
			{Kind: report.BlamePassed, Function: "merge", Physical: 1},
		}}
		if s := Of(r); len(s.Frames) == 0 || s.Frames[0] != c.want {
			t.Errorf("%s: %q, want %s", c.name, s.Frames, c.want)
		}
	}
}

// TestMovedUse: a pointer that did not leave an inlined function was used there, wherever the compiler put the instruction.
func TestMovedUse(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   string
		within string
		frames []string
		want   []string
	}{
		{"out of a function", "null-read", "title", []string{"main"}, []string{"title", "main"}},
		{"out of a lambda", "null-read", "age()::{lambda()#1}::operator()() const", []string{"main"}, []string{"age", "main"}},
		{"a call", "null-call", "title", []string{"main"}, []string{"title", "main"}},
		{"it is there", "null-read", "title", []string{"title", "main"}, []string{"title", "main"}},
		{"it is around", "null-read", "title", []string{"+name", "title", "main"}, []string{"title", "main"}},
		{"nothing known", "null-read", "", []string{"main"}, []string{"main"}},
		{"a library's", "null-read", "std::get", []string{"main"}, []string{"main"}},
		{"another kind", "div-zero", "title", []string{"main"}, []string{"main"}},
	} {
		r := stackOf(c.kind, c.frames...)
		r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameReturned, Function: "title", Within: c.within}}}
		if s := Of(r); !slices.Equal(s.Frames, c.want) {
			t.Errorf("%s: %q, want %q", c.name, s.Frames, c.want)
		}
	}
	r := stackOf("null-read", "draw", "main")
	r.Threads[0].Frames[1].Physical = 1
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameReturned, Within: "title", Physical: 1}}}
	if s := Of(r); !slices.Equal(s.Frames, []string{"draw", "main"}) {
		t.Errorf("of another frame: %q", s.Frames)
	}
}

// TestGivenNullBeside: a program of Go without debugging information has inlined calls by name, and no parameters. What one call got, another was given.
func TestGivenNullBeside(t *testing.T) {
	for _, c := range []struct {
		name, function, read, in string
		inlined                  bool
		want                     string
	}{
		{"got by another call", "main.length", "[rax]", "main.(*Band).find", true, "main.total"},
		{"by the call itself", "main.length", "[rax]", "main.length", true, "main.length"},
		{"by the caller", "main.length", "[rax+0x18]", "main.total", true, "main.total"},
		{"not inlined", "main.length", "[rax]", "main.(*Band).find", false, "main.length"},
		{"a member with a name", "main.length", "b.p", "main.(*Band).find", true, "main.length"},
		{"C, whose compilers move reads", "length", "[rax]", "find", true, "length"},
	} {
		r := stackOf("null-read", c.function, "main.total", "main.main")
		frames := r.Threads[0].Frames
		frames[0].Inlined = c.inlined
		for i := range frames {
			frames[i].Physical = 0
		}
		r.Threads[0].End = report.EndBottom
		r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameRead, Name: c.read, Function: c.in}}}
		if s := Of(r); len(s.Frames) == 0 || s.Frames[0] != c.want {
			t.Errorf("%s: %q, want %s", c.name, s.Frames, c.want)
		}
	}
}

// TestGivenNullInlined: of an inlined call, the steps tell from which instructions it was given the null, and which of several calls.
func TestGivenNullInlined(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []string
		step   report.BlameStep
		want   []string
	}{
		{"read for the call", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "draw", Entry: true}, []string{"draw", "main"}},
		{"read for the call, at an instruction of it", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "width", Entry: true}, []string{"draw", "main"}},
		{"read for the call in one that is inlined too", []string{"+width", "+inner", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "inner", Entry: true}, []string{"inner", "draw", "main"}},
		{"read for the call of a library", []string{"+std::string::size", "+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "width", Entry: true}, []string{"width", "draw", "main"}},
		{"another call's result", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameReturned, Function: "find", Outside: 1}, []string{"draw", "main"}},
		{"a result of its own", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameReturned, Function: "find"}, []string{"width", "draw", "main"}},
		{"another call's, of two", []string{"+width", "+inner", "draw", "main"}, report.BlameStep{Kind: report.BlameReturned, Function: "find", Outside: 2}, []string{"inner", "draw", "main"}},
		{"another call's, and a library's within", []string{"+std::string::size", "+width", "draw", "main"}, report.BlameStep{Kind: report.BlameReturned, Function: "find", Outside: 2}, []string{"draw", "main"}},
		{"given to a library's by the call itself", []string{"+std::string::size", "+width", "draw", "main"}, report.BlameStep{Kind: report.BlameReturned, Function: "find", Outside: 1}, []string{"width", "draw", "main"}},
		{"another call's in the call around", []string{"+width", "+inner", "draw", "main"}, report.BlameStep{Kind: report.BlameReturned, Function: "find", Outside: 1}, []string{"inner", "draw", "main"}},
		{"what another call read has no name", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "[rbx+8]", Function: "find", Outside: 1}, []string{"draw", "main"}},
		{"what another call read may be read here", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "find", Outside: 1}, []string{"width", "draw", "main"}},
		{"a library read it", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "[rbx+8]", Function: "std::vector<Shape*>::front", Outside: 1}, []string{"width", "draw", "main"}},
		{"the function around read it", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "p->next", Function: "draw", Outside: 1}, []string{"width", "draw", "main"}},
		{"the function around read what has no name", []string{"+width", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "[rbx+8]", Function: "draw", Outside: 1}, []string{"width", "draw", "main"}},
		{"sought", []string{"+find", "draw", "main"}, report.BlameStep{Kind: report.BlameVariable, Name: "p", Role: "local", Function: "find", Sought: true}, []string{"draw", "main"}},
		{"sought by another", []string{"+find", "draw", "main"}, report.BlameStep{Kind: report.BlameVariable, Name: "p", Role: "local", Function: "search", Sought: true}, []string{"find", "draw", "main"}},
		{"sought through what a library's function read", []string{"+find", "draw", "main"}, report.BlameStep{Kind: report.BlameRead, Name: "[rbx-8]", Function: "std::__uniq_ptr_impl<Shape>::_M_ptr", Sought: true}, []string{"draw", "main"}},
		{"sought by a library's function within", []string{"+std::operator==", "+find", "draw", "main"}, report.BlameStep{Kind: report.BlameVariable, Name: "a", Role: "local", Function: "std::operator==", Sought: true}, []string{"draw", "main"}},
		{"sought, not inlined", []string{"find", "draw", "main"}, report.BlameStep{Kind: report.BlameVariable, Name: "p", Role: "local", Function: "find", Sought: true}, []string{"find", "draw", "main"}},
		{"sought, by one that is inlined into its namesake", []string{"+find", "+find", "draw", "main"}, report.BlameStep{Kind: report.BlameVariable, Name: "p", Role: "local", Function: "find", Sought: true}, []string{"find", "draw", "main"}},
	} {
		r := stackOf("null-read", c.frames...)
		physical := 0
		for i := range r.Threads[0].Frames {
			f := &r.Threads[0].Frames[i]
			if f.Physical = physical; !f.Inlined {
				physical++
			}
		}
		for _, confidence := range []string{report.Certain, report.Possible} {
			r.Crash.Blame = &report.Blame{Confidence: confidence, Steps: []report.BlameStep{c.step}}
			s := Of(r)
			if want := c.want; confidence == report.Certain && !slices.Equal(s.Frames, want) {
				t.Errorf("%s: %q, want %q", c.name, s.Frames, want)
			} else if confidence == report.Possible && s.Decisions[0].Why == GivenNull {
				t.Errorf("%s: %q of what is only possible", c.name, s.Frames)
			}
		}
	}
}

// TestGivenNullHandled: of a fault that a handler was called for, the innermost call is not the first frame.
func TestGivenNullHandled(t *testing.T) {
	r := stackOf("null-read", "on_segv", "!SIGSEGV@/lib/libc.so.6", "+width", "draw", "main")
	frames := r.Threads[0].Frames
	frames[3].Physical, frames[4].Physical = 2, 3
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameRead, Name: "p->next", Function: "draw", Entry: true, Physical: 2}}}
	if s := Of(r); !slices.Equal(s.Frames, []string{"draw", "main"}) {
		t.Errorf("%q", s.Frames)
	}
	// An operator of a class is no lambda.
	r = stackOf("null-read", "Shape::operator()", "draw", "main")
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "this", Role: "argument", Function: "Circle::area", Entry: true}}}
	if s := Of(r); s.Decisions[0].Why == GivenNull {
		t.Errorf("of another function: %+v", s.Decisions[0])
	}
	// A check of Rust that stands for the access is one.
	r = stackOf("panic", "width", "draw", "main")
	r.Crash.Panic = &report.Panic{Runtime: report.RuntimeRust, Value: "null pointer dereference occurred"}
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "p", Role: "argument", Function: "width", Entry: true}}}
	if s := Of(r); s.Frames[0] != "draw" {
		t.Errorf("a check of Rust: %q", s.Frames)
	}
	// What a call of Go returned is read by nobody.
	r = stackOf("null-read", "+main.length", "main.total", "main.main")
	r.Crash.Blame = &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameReturned, Name: "[rax]", Function: "main.(*Band).find"}}}
	r.Threads[0].Frames[1].Physical, r.Threads[0].Frames[2].Physical = 0, 1
	if s := Of(r); s.Frames[0] != "main.length" {
		t.Errorf("returned: %q", s.Frames)
	}
}

// A search of an array that found nothing went on behind that: its caller uses what is not there, whatever the pointer was.
func TestSoughtPast(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		sought     bool
		physical   int
		frames     []string
		want       string
	}{
		{"past the end", "wild-read", true, 0, []string{"+find", "draw", "main"}, "draw"},
		{"within a library's", "wild-read", true, 0, []string{"+std::operator==", "+find", "draw", "main"}, "draw"},
		{"no search", "wild-read", false, 0, []string{"+find", "draw", "main"}, "find"},
		{"not inlined", "wild-read", true, 0, []string{"find", "draw", "main"}, "find"},
		{"of another frame", "wild-read", true, 1, []string{"+find", "draw", "main"}, "find"},
		{"no access", "div-zero", true, 0, []string{"+find", "draw", "main"}, "find"},
	} {
		r := stackOf(c.kind, c.frames...)
		physical := 0
		for i := range r.Threads[0].Frames {
			f := &r.Threads[0].Frames[i]
			if f.Physical = physical; !f.Inlined {
				physical++
			}
		}
		step := report.BlameStep{Kind: report.BlameVariable, Name: "p", Function: "find", Sought: c.sought, Physical: c.physical}
		r.Crash.Blame = &report.Blame{Value: 0x5555_0000_8000, Confidence: report.Certain, Steps: []report.BlameStep{step}}
		if s := Of(r); s.Frames[0] != c.want {
			t.Errorf("%s: %q, want %s first", c.name, s.Frames, c.want)
		}
	}
}
