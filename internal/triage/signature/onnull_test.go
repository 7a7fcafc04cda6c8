package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestOnNull: who calls a member function on a null object is to blame, whichever of the two the compiler lets fail.
func TestOnNull(t *testing.T) {
	frames := []string{"Shape::area", "draw", "main"}
	blame := func(name, function string, value report.Addr) *report.Blame {
		return &report.Blame{Value: value, Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: name, Function: function}}}
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
		{"no blame", "null-read", frames, nil, "Shape::area"},
		{"nothing known", "null-read", frames, &report.Blame{}, "Shape::area"},
		{"another variable", "null-read", frames, blame("p", "Shape::area", 0), "Shape::area"},
		{"of another function", "null-read", frames, blame("this", "draw", 0), "Shape::area"},
		{"a bad object", "null-read", frames, blame("this", "Shape::area", 8), "Shape::area"},
		{"another kind", "null-call", frames, blame("this", "Shape::area", 0), "Shape::area"},
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

// TestNullMember: two members of one object that are null are two bugs.
func TestNullMember(t *testing.T) {
	certain := func(kind, name, function string) *report.Blame {
		return &report.Blame{Confidence: report.Certain, Steps: []report.BlameStep{{Kind: kind, Name: name, Function: function}}}
	}
	likely, wild := certain(report.BlameRead, "c->peer", "flush"), certain(report.BlameRead, "c->peer", "flush")
	likely.Confidence, wild.Value = "likely", 0x4141
	for _, c := range []struct {
		name, kind string
		blame      *report.Blame
		class      string
	}{
		{"a member", "null-read", certain(report.BlameRead, "c->peer", "flush"), "access through peer"},
		{"a member of a member", "null-write", certain(report.BlameRead, "it.Price.Cur", "flush"), "access through Cur"},
		{"a lambda of the function", "null-read", certain(report.BlameRead, "c->peer", "flush()::{lambda()#1}::operator()() const"), "access through peer"},
		{"likely", "null-read", likely, "access"},
		{"no null", "wild-read", wild, "access"},
		{"no blame", "null-read", nil, "access"},
		{"no steps", "null-read", &report.Blame{Confidence: report.Certain}, "access"},
		{"a variable", "null-read", certain(report.BlameRead, "c", "flush"), "access"},
		{"not read", "null-read", certain(report.BlameVariable, "c->peer", "flush"), "access"},
		{"of the caller", "null-read", certain(report.BlameRead, "c->peer", "main"), "access"},
		{"of an element", "null-read", certain(report.BlameRead, "c->peer[3]", "flush"), "access"},
		{"of a register", "null-read", certain(report.BlameRead, "[rax.8]", "flush"), "access"},
		{"split by the compiler", "null-read", certain(report.BlameRead, "x->a$b", "flush"), "access"},
		{"of an object that is gone", "null-read", certain(report.BlameRead, "x->_vptr.Shape", "flush"), "access"},
		{"a library's", "null-read", certain(report.BlameRead, "x._M_head", "flush"), "access"},
		{"a call", "null-call", certain(report.BlameRead, "c->peer", "flush"), "call"},
	} {
		r := stackOf(c.kind, "flush", "main")
		r.Crash.Blame = c.blame
		if s := Of(r); s.Class != c.class {
			t.Errorf("%s: %q, want %q", c.name, s.Class, c.class)
		}
	}
}
