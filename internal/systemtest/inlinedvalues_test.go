package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestInlinedValues: what is told of values that came into inlined calls, stayed in them, or are the address of a member of null.
func TestInlinedValues(t *testing.T) {
	for _, build := range []string{"gcc -O0", "gcc -O1", "gcc -O2", "clang -O0", "clang -O1", "clang -O2"} {
		cc, level, _ := strings.Cut(build, " ")
		exe := fixture.Compile(t, cc, "inlined_values.c", "-g", level)
		optimised := level != "-O0"
		steps := func(how string) (report.Crash, []report.BlameStep) {
			r := analyzeCore(t, fixture.Crash(t, nil, exe, how), exe)
			if r.Crash == nil || r.Crash.Blame == nil {
				t.Fatalf("%s, %s: no cause", build, how)
			}
			return *r.Crash, r.Crash.Blame.Steps
		}
		// gcc moves the access out of title; where it does not, the report names title itself.
		r := analyzeCore(t, fixture.Crash(t, nil, exe, "stays"), exe)
		if top := r.Threads[0].Frames[0].Function; top != "title" && !slices.ContainsFunc(r.Crash.Blame.Steps, func(s report.BlameStep) bool { return s.Within == "title" }) {
			t.Errorf("%s: in %s, and stayed in none: %+v", build, top, r.Crash.Blame.Steps)
		}
		if _, all := steps("leaves"); slices.ContainsFunc(all, func(s report.BlameStep) bool { return s.Within != "" }) {
			t.Errorf("%s: left, and said to stay: %+v", build, all)
		}
		entered := func(s report.BlameStep) bool { return s.Entry && s.Role == "argument" && s.Physical == 0 }
		if _, all := steps("changed"); slices.ContainsFunc(all, entered) {
			t.Errorf("%s: said not to have changed: %+v", build, all)
		}
		if build == "gcc -O1" || optimised && cc == "clang" {
			if _, all := steps("came"); !slices.ContainsFunc(all, entered) {
				t.Errorf("%s: came into total: %+v", build, all)
			}
		}
		if crash, all := steps("member"); crash.Blame.Value != 0 {
			told := slices.ContainsFunc(all, func(s report.BlameStep) bool {
				return s.Kind == report.BlameOffset && s.Name == "parent" && s.Entry && s.Value != nil && *s.Value == 0 && s.Offset == crash.Blame.Value
			})
			if !told || crash.Blame.Confidence == report.Certain && optimised {
				t.Errorf("%s: a member of null: %s %+v", build, crash.Blame.Confidence, all)
			}
		}
	}
}

// TestLeftIntoLibrary: a function that the C library calls, and that left by a jump into the C library again, ran, whether or not the library has names.
func TestLeftIntoLibrary(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		exe := fixture.Compile(t, cc, "inlined_values.c", "-g", "-O2")
		r := analyzeCore(t, fixture.Crash(t, nil, exe, "tail"), exe)
		var got []string
		for _, f := range r.Threads[0].Frames {
			if f.Function == "by_name" {
				got = append(got, fmt.Sprint(f.Source.Line, f.Tail))
			}
		}
		if !slices.Equal(got, []string{"67 true"}) {
			t.Errorf("%s: %q", cc, got)
		}
	}
}
