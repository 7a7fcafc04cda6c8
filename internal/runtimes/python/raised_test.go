package python_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
)

// TestRaised checks the exception that a program handled when it aborted, and those that it came of.
func TestRaised(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "raised.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			if c := r.Crash.Frame; c == nil || r.Threads[0].Frames[*c].Function != "pay" {
				t.Errorf("the report points to %v, want the call of os.abort", c)
			}
			var got []string
			for _, e := range r.Crash.Raised {
				got = append(got, fmt.Sprintf("%s %s(%s) at %s:%d in %s, handled %t", e.Relation, e.Type, e.Message, filepath.Base(e.File), e.Line, e.Function, e.Handled))
			}
			zero := "integer division or modulo by zero"
			if len(r.Crash.Raised) > 1 && r.Crash.Raised[1].Message == "division by zero" {
				zero = "division by zero" // from 3.14 on
			}
			want := []string{
				" RuntimeError(('payment', 3)) at raised.py:13 in pay, handled true",
				"cause ZeroDivisionError(" + zero + ") at raised.py:4 in charge, handled false",
				"context KeyError('a') at raised.py:7 in pay, handled false",
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
