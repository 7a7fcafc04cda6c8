// Package render shows what triage found: groups and dumps as a table for people, as
// lines of JSON, as SARIF for continuous integration, and as one HTML page.
package render

import (
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A Summary is what one run, or a look into the ledger, has to show.
type Summary struct {
	Run     ledger.Run
	Elapsed time.Duration  // of the run; 0 for none
	Groups  []ledger.Group // the largest first; of a run Count is that of the run
	// Total is how many dumps of a group the ledger has, by its identifier, where that
	// is another number than Count; nil for none.
	Total  map[string]int
	Failed []ledger.Dump // those that could not be analysed
	Dumps  []ledger.Dump // all that are shown one by one; nil for none
	Notes  []string      // what could not be looked at
	// Since is when the newest run before this one began; zero for none.
	Since time.Time
	// Broken says that the run was ended before its end.
	Broken bool
	// Kept says that what was found out is kept, so that the next run goes on from there.
	Kept bool
}

// New is how many of the groups came up first in the run.
func (s *Summary) New() int {
	n := 0
	for i := range s.Groups {
		if s.Groups[i].New {
			n++
		}
	}
	return n
}
