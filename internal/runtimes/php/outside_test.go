package php_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestOutside: nothing of PHP failed where a signal from outside or the end of the stack met it, so the place is the program's call.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs PHP")
	}
	for _, p := range interpreters.All(t) {
		for _, how := range []string{"SEGV", "ABRT", "deep"} {
			t.Run(p.Version+"/"+how, func(t *testing.T) {
				dir := p.Dir(t, "outside.php")
				out, _ := p.Command(dir, "outside.php", how).CombinedOutput()
				if strings.Contains(string(out), "Maximum call stack size") {
					t.Skip("this PHP watches its stack")
				}
				r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				f := r.Threads[0].Frames[*r.Crash.Frame]
				if want := []string{"work", "sort", "range", "str_repeat"}; how != "deep" && !slices.Contains(want, f.Function) {
					t.Errorf("the report points to %q, not to one of %q", f.Function, want)
				}
				if how != "deep" {
					return
				}
				if f.Function != "deep" && f.Function != "array_map" {
					t.Errorf("the report points to %q", f.Function)
				}
				if o := r.Crash.Overflow; o == nil || o.Times < 1000 || !slices.Equal(slices.Sorted(slices.Values(o.Cycle)), []string{"array_map", "deep"}) {
					t.Errorf("the stack is full of %+v", o)
				}
			})
		}
	}
}
