package python_test

import (
	"testing"

	"github.com/corewalk/corewalk"
)

// TestThreadNames: threads have the names that threading gave them, in full; a thread that it did not make has none.
func TestThreadNames(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		if !qualifies(version) {
			continue // where an interpreter has its modules is not known of them
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "names.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			if name := r.Threads[0].Name; name != "renamed" {
				t.Errorf("the thread that died is %q", name)
			}
			got := map[string]int{}
			for i := range r.Threads {
				got[r.Threads[i].Name]++
			}
			for _, name := range []string{"MainThread", "a till that is shut for today", "caf\u00e9", "renamed"} {
				if got[name] != 1 {
					t.Errorf("%d threads are %q", got[name], name)
				}
			}
			if len(r.Threads) != 5 || len(got) != 5 {
				t.Errorf("%d threads, %v", len(r.Threads), got)
			}
		})
	}
}
