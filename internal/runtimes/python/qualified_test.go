package python_test

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
)

// TestQualified: functions of classes have the class in their names, also where code objects have not: before 3.11.
func TestQualified(t *testing.T) {
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "qualified.py"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			var got []string
			for _, f := range r.Threads[0].Frames {
				if f.Language == "python" {
					got = append(got, f.Function)
				}
			}
			// Of two calls of one function, one has lost its argument: what the other tells does not count for it. The argument of a function without one of its class says nothing, nor does a class that has what a decorator made of its function.
			want := []string{"plain", "lost", "Base.inherited", "Reader.inherited", "Reader.Inner.deep", "Reader.renamed", "Reader.__hidden", "Reader.closed", "Reader.value",
				"Reader.value", "Reader.make", "decorated", "wrapper", "Reader.again", "again", "Reader.__init__", "<module>"}
			if qualifies(version) {
				want[1], want[11], want[12], want[14] = "Base.lost", "Reader.decorated", "wraps.<locals>.wrapper", "Reader.again"
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
