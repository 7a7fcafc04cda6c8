package python_test

import (
	"testing"

	"github.com/corewalk/corewalk"
)

// TestLocks finds the deadlock of two threads that have an RLock each.
func TestLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "locks.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			holders := map[int]int{}
			for _, task := range r.Tasks {
				if w := task.Wait; w != nil && w.Object != nil && w.Object.Type == "_thread.RLock" && len(w.Holders) == 1 && w.Holders[0].Certainty == "certain" {
					holders[task.ID] = w.Holders[0].ID
				}
			}
			if len(holders) != 2 {
				t.Fatalf("who waits for whom: %v, want two", holders)
			}
			for id, by := range holders {
				if id == by || holders[by] != id {
					t.Errorf("thread %d waits for %d, which waits for %d", id, by, holders[by])
				}
			}
			if len(r.Deadlocks) != 1 {
				t.Fatalf("deadlocks: %+v", r.Deadlocks)
			}
			lines := map[string]int{}
			for _, at := range r.Deadlocks[0].Places {
				lines[at.Function] = at.Source.Line
			}
			if len(lines) != 2 || lines["first"] != 11 || lines["second"] != 18 {
				t.Errorf("they wait in %v, want line 11 of first and 18 of second", lines)
			}
		})
	}
}
