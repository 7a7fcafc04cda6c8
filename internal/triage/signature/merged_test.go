package signature

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestMerged: a merged call is signed by what its places have in common. The frames are inlined calls, innermost
// first, in run, which main calls; a place is "f,g" for f inlined into g inlined into run.
func TestMerged(t *testing.T) {
	for _, c := range []struct {
		name, calls, places string
		lost                bool
		want                string
	}{
		{"one function in several places", "", "check,first|check,second,both", true, "check run main"},
		{"what the library inlines says nothing", "", "std::f,check|std::f,check,g", true, "check run main"},
		{"only the library in common", "", "std::f,check|std::f,other", true, "run main"},
		{"nothing in common", "", "check|other", true, "run main"},
		{"two in common, in their order", "", "f,x,g|f,g,y", true, "f g run main"},
		{"the order differs", "", "f,g|g,f", true, "g run main"},
		{"one of the places in the function itself", "", "check|", true, "run main"},
		{"the only place left", "", "check", true, "check run main"},
		{"instances of a template", "", "check<int>,a|check<long>,b", true, "check run main"},
		{"the call's line is known", "", "check,a|check,b", false, "run main"},
		{"a lost call within common calls", "both", "weigh,both|sort,both", true, "both run main"},
		{"a lost call in one of the places", "weigh,both", "weigh,both|sort,both", true, "both run main"},
		{"more around a lost call", "f,g", "k,f,g,a|k,f,g,b", true, "k f g run main"},
		{"more within a lost call", "f,g", "f,x,g,a|f,x,g,b", true, "f x g run main"},
		{"a name that libraries have too", "", "quicksort,a|quicksort,b", true, "quicksort run main"},
		{"a lost call that is in none of the places", "g", "k,a|k,b", true, "g run main"},
		{"only an outer call is contradicted", "die,weigh", "weigh|sort", false, "die run main"},
		{"some places are in the call's function", "weigh,both", "weigh,both|sort,both", false, "both run main"},
		{"none is", "die,both", "first,both|second,both", false, "die both run main"},
		{"all are", "weigh,both", "n,weigh,both|weigh,both", false, "weigh both run main"},
		{"the condition was known outside", "weigh,both", "weigh,both|both|", false, "weigh both run main"},
		{"another function outside", "weigh,both", "weigh,both|other", false, "run main"},
	} {
		list := func(s string) (out []string) { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
		frames := []string{"abort" + libc}
		for _, f := range list(c.calls) {
			frames = append(frames, "+"+f)
		}
		r := stackOf("abort", append(frames, "run", "main")...)
		th := &r.Threads[0]
		at := len(th.Frames) - 2
		m := &report.Merged{Lost: c.lost}
		for p := range strings.SplitSeq(c.places, "|") {
			m.Places = append(m.Places, report.MergedPlace{Inlined: list(p)})
		}
		th.Frames[at].Merged = m
		s := Of(r)
		if got := strings.Join(s.Frames, " "); got != c.want {
			t.Errorf("%s: %q, want %q\n%+v", c.name, got, c.want, s.Decisions)
		}
		for i, d := range s.Decisions {
			if d.Frame != i || d.Name == "" || (d.Why == "") != (d.Action == Kept) || i >= at && d.Action != Kept {
				t.Errorf("%s: frame %d: %+v", c.name, i, d)
			}
		}
		if !s.Quit || s.Top != 2 || s.Weak {
			t.Errorf("%s: quit %v, top %d, weak %v", c.name, s.Quit, s.Top, s.Weak)
		}
	}
	// A merged call further out, and one outside of the start.
	r := stackOf("null-read", "f", "+g", "run", "main", "+h", "before")
	m := &report.Merged{Lost: true, Places: []report.MergedPlace{{Inlined: []string{"k", "g"}}}}
	r.Threads[0].Frames[2].Merged, r.Threads[0].Frames[5].Merged = m, m
	if s := Of(r); !slices.Equal(s.Frames, []string{"f", "k", "g", "run", "main"}) || s.Decisions[1].Action != Kept || s.Decisions[4].Why != "outside of main" {
		t.Errorf("%q %+v", s.Frames, s.Decisions)
	}
	// The walk ends with it.
	r = stackOf("abort", "abort"+libc, "+weigh", "run")
	r.Threads[0].Frames[2].Merged = &report.Merged{Places: []report.MergedPlace{{Inlined: []string{"weigh"}}, {Inlined: []string{"sort"}}}}
	if s := Of(r); s.Decisions[1].Action != Dropped || s.Decisions[2].Action != Kept {
		t.Errorf("the last frame: %q %+v", s.Frames, s.Decisions)
	}
}

func TestCommon(t *testing.T) {
	for in, want := range map[string]string{
		"a b c":             "a b c",
		"a b c|a b c":       "a b c",
		"a b c|c":           "c",
		"a b c|a":           "a",
		"a b c|x b y":       "b",
		"a b|b a":           "b",
		"a b|a a b":         "a b",
		"a a b|a b":         "a b",
		"a b c|a c|b c":     "c",
		"a b|":              "",
		"x a y b|a z b|a b": "a b",
	} {
		var lists [][]string
		for l := range strings.SplitSeq(in, "|") {
			lists = append(lists, strings.Fields(l))
		}
		if got := strings.Join(common(lists), " "); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestHome: a lambda is part of the function it is written in.
func TestHome(t *testing.T) {
	for in, want := range map[string]string{
		"f":                                 "f",
		"rank::{lambda}::operator()":        "rank",
		"a::b::{lambda}":                    "a::b",
		"f::{lambda}::operator()::{lambda}": "f",
		"{lambda}::operator()":              "{lambda}::operator()",
		"::{lambda}":                        "::{lambda}",
		"{anonymous}::{lambda}::operator()": "{anonymous}::{lambda}::operator()",
		"{anonymous}::f::{lambda}":          "{anonymous}::f",
		"app::run::{closure}::{closure}":    "app::run",
		"<app::A as app::B>::go::{closure}": "<app::A as app::B>::go",
		"main.drain.func":                   "main.drain",
		"main.drain.func.gowrap":            "main.drain",
		"main.(*queue).pop.func.deferwrap":  "main.(*queue).pop",
		"main.glob..func":                   "main.glob..func",
		"main.func":                         "main",
		"m.func":                            "m",
		"a::b.func":                         "a::b.func",
		"main.drain.function":               "main.drain.function",
		"main.funcs.pop":                    "main.funcs.pop",
		"main.a.func.b":                     "main.a.func.b",
	} {
		if got := home(in); got != want {
			t.Errorf("home(%q) = %q, want %q", in, got, want)
		}
	}
	a, b := Of(stackOf("null-read", "rank::{lambda()#1}::operator()", "std::sort", "rank", "main")), Of(stackOf("null-read", "std::sort", "rank", "main"))
	if a.Hash != b.Hash || !slices.Equal(a.Frames, []string{"rank", "main"}) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// TestAsserting: the function that an assertion names replaces the stack's.
func TestAsserting(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"check":                             "check",
		"int ns::A<T>::f(T) [with T = int]": "ns::A::f",
		"void f(T) [T = int]":               "f",
		"auto rank()::(anonymous class)::operator()(int) const": "rank",
	} {
		if got := asserting(&report.Assertion{Function: in}); got != want {
			t.Errorf("asserting(%q) = %q, want %q", in, got, want)
		}
	}
	of := func(function string, frames ...string) Signature {
		r := stackOf(report.CrashAssertion, append([]string{"abort" + libc, "__assert_fail" + libc}, frames...)...)
		r.Crash.Message, r.Crash.Assertion = "Assertion `n > 0' failed.", &report.Assertion{Expression: "n > 0", Function: function}
		return Of(r)
	}
	inlined, not, other, none := of("check", "run", "main"), of("check", "check", "run", "main"), of("test", "run", "main"), of("", "run", "main")
	if inlined.Hash != not.Hash || inlined.Hash == other.Hash || inlined.Top != 0 || inlined.Class != "assertion: Assertion `n > N' failed. in check" && inlined.Class != "assertion: n > N in check" {
		t.Errorf("%+v\n%+v\n%+v", inlined, not, other)
	}
	if none.Top != 1 || none.Hash == inlined.Hash {
		t.Errorf("%+v", none)
	}
}
