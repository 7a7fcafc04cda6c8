package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestFoldsWithoutCrash: a process that did not die is asked for source and instructions around all frames, so its threads and tasks
// with the same stack are told apart; but only if there are any.
func TestFoldsWithoutCrash(t *testing.T) {
	for _, c := range []struct {
		around Around
		folds  bool
	}{{Around{}, true}, {Around{Memory: true}, true}, {Around{Source: 3}, false}, {Around{Code: true}, false}} {
		e := &Engine{}
		in := e.question(Options{Needs: report.Needs{FoldThreads: true}, Around: c.around})
		if in.foldsThreads() != c.folds {
			t.Errorf("%+v: folds %v", c.around, !c.folds)
		}
	}
}
