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
