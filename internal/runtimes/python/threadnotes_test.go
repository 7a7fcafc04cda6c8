package python_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
)

// TestThreadNotes: the thread that died has the interpreter's lock, the other one not, and whether garbage is collected is said.
func TestThreadNotes(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	t.Setenv("PYTHON_GIL", "1")
	for version, python := range sampled(t) {
		for _, args := range [][]string{{"said"}, {"said", "not"}} {
			t.Run(version+" "+strings.Join(args[1:], ""), func(t *testing.T) {
				r := analyze(t, dump(t, python, "collects.py", args...), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				want := []string{"has the GIL"}
				known := slices.ContainsFunc([]string{"3.8.", "3.9.", "3.10.", "3.11.", "3.12.", "3.13."}, func(v string) bool { return strings.HasPrefix(version, v) })
				if len(args) == 1 && known && !strings.HasSuffix(version, "t") {
					want = append(want, "garbage is being collected")
				}
				if !slices.Equal(r.Threads[0].Notes, want) {
					t.Errorf("%q, want %q", r.Threads[0].Notes, want)
				}
				for _, th := range r.Threads[1:] {
					if len(th.Notes) > 0 {
						t.Errorf("a thread that waits: %q", th.Notes)
					}
				}
			})
		}
	}
}

// TestNobodysLock: C that runs without the interpreter's lock, which nobody has, and the thread that had it last.
func TestNobodysLock(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	t.Setenv("PYTHON_GIL", "1")
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			r := analyze(t, dump(t, python, "collects.py", "said", "unlocked"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			if want := []string{"had the GIL last; no thread has it"}; len(r.Threads) != 2 || !slices.Equal(r.Threads[0].Notes, want) || len(r.Threads[1].Notes) > 0 {
				t.Errorf("%+v, want %q of the first", r.Threads, want)
			}
		})
	}
}
