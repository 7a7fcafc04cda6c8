package python_test

import (
	"testing"

	"github.com/corewalk/corewalk"
)

// TestJoins asks for whose end the main thread waits.
func TestJoins(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			for _, how := range []string{"whole", "timed"} {
				r := analyze(t, dump(t, python, "joins.py", "said", how), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				joins, locks := map[int]int{}, map[int]bool{}
				for _, task := range r.Tasks {
					switch w := task.Wait; {
					case w == nil:
					case w.Kind == "join" && len(w.Holders) == 1 && w.Holders[0].Certainty == "certain":
						joins[task.ID] = w.Holders[0].ID
						if w.Timed != (how == "timed") {
							t.Errorf("%s: the wait is timed: %v", how, w.Timed)
						}
					case w.Kind == "lock" && len(w.Holders) == 0:
						locks[task.ID] = true
					}
				}
				if len(joins) != 1 || !locks[joins[r.Dump.PID]] {
					t.Errorf("%s: who waits for whose end: %v; for locks: %v", how, joins, locks)
				}
			}
		})
	}
}

// TestPassedOn follows a bad address from C to the call that had it from nobody.
func TestPassedOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			for how, want := range map[string][]string{
				"handed": {"text of length", "text of twice", " of Label.width"},
				"number": {"text of length", "text of twice", " of <module>"},
				"twice":  {" of length"}, // two arguments have it
				"copied": {" of length"},
			} {
				r := analyze(t, dump(t, python, "passed_on.py", "said", how), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				if r.Crash == nil || r.Crash.Blame == nil {
					t.Errorf("%s: no blame", how)
					continue
				}
				b := r.Crash.Blame
				if n := len(b.Steps) - len(want); n < 1 || b.Confidence == "certain" {
					t.Errorf("%s: %+v", how, b)
					continue
				}
				for i, s := range b.Steps[len(b.Steps)-len(want):] {
					if got := s.Name + " of " + s.Function; got != want[i] {
						t.Errorf("%s: step %d: %q, want %q", how, i, got, want[i])
					}
				}
			}
		})
	}
}
