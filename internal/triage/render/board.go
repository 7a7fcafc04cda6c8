// Package render writes the results of triage: groups and dumps as a table for people, as JSON lines, as SARIF
// for continuous integration, and as an HTML page.
package render

import (
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A Summary is what there is to show of one run, or of the whole ledger.
type Summary struct {
	Run     ledger.Run
	Elapsed time.Duration  // of the run; 0 if there is none
	Groups  []ledger.Group // in the order to show them; in a run, Count is that of the run
	LeftOut int            // groups of the run that Groups leaves out
	// Total is how many dumps the ledger has of a group, by the group's identifier, if that differs from Count;
	// nil if it never does.
	Total  map[string]int
	Failed []ledger.Dump // dumps that could not be analysed
	Dumps  []ledger.Dump // dumps that are listed one by one; nil for none
	Notes  []string      // problems that concern no dump
	// Since is when the previous run began; zero if there is none.
	Since time.Time
	// Broken says that the run was interrupted.
	Broken bool
	// Kept says that the results are stored, so that the next run continues from there.
	Kept bool
}

// NewFirst puts the groups that are new in the run before the others, and keeps the order otherwise.
func (s *Summary) NewFirst() {
	slices.SortStableFunc(s.Groups, func(a, b ledger.Group) int {
		switch {
		case a.New == b.New:
			return 0
		case a.New:
			return -1
		}
		return 1
	})
}

// OnlyNew leaves out the groups that are not new in the run.
func (s *Summary) OnlyNew() {
	all := len(s.Groups)
	s.Groups = slices.DeleteFunc(s.Groups, func(g ledger.Group) bool { return !g.New })
	s.LeftOut += all - len(s.Groups)
}

// New returns how many of the groups are new in the run.
func (s *Summary) New() int {
	n := 0
	for i := range s.Groups {
		if s.Groups[i].New {
			n++
		}
	}
	return n
}
