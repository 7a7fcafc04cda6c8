package python_test

import (
	"testing"

	"github.com/corewalk/corewalk"
)

// TestGIL checks that threads wait for the interpreter's lock, and that the thread which died holds it.
func TestGIL(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	t.Setenv("PYTHON_GIL", "1") // free-threaded builds have one, but do not use it otherwise
	for version, python := range outermost(t) {
		t.Run(version, func(t *testing.T) {
			waiting := 0
			for range 5 { // a thread may just be awake, to ask again
				r := analyze(t, dump(t, python, "gil.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				for _, task := range r.Tasks {
					if w := task.Wait; w != nil && w.Object != nil && w.Object.Name == "the GIL" && len(w.Holders) > 0 {
						waiting++
						if len(w.Holders) != 1 || w.Holders[0].ID != r.Crash.Thread || w.Holders[0].Certainty != "certain" {
							t.Errorf("thread %d waits for %+v", task.ID, w.Holders)
						}
					}
				}
				if len(r.Deadlocks) > 0 {
					t.Errorf("deadlocks: %+v", r.Deadlocks)
				}
				if waiting > 0 {
					return
				}
			}
			t.Error("no thread waits for the lock")
		})
	}
}
