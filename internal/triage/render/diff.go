package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// A Diff compares the groups of two runs.
type Diff struct {
	Old, New             ledger.Run
	OldGroups, NewGroups []ledger.Group
}

// The values of ChangeLine.Change.
const (
	cameUp   = "new"
	went     = "gone"
	remained = "both"
)

// A change is a group in one or both of two runs.
type change struct {
	how         string
	group       *ledger.Group
	before, now int // dumps
}

// changes lists new groups first, then those in both runs, then those that are gone, each in the order of the
// run.
func (d *Diff) changes() []change {
	old := map[string]*ledger.Group{}
	for i := range d.OldGroups {
		old[d.OldGroups[i].ID] = &d.OldGroups[i]
	}
	var fresh, both, gone []change
	for i := range d.NewGroups {
		g := &d.NewGroups[i]
		if o := old[g.ID]; o != nil {
			both = append(both, change{remained, g, o.Count, g.Count})
			delete(old, g.ID)
		} else {
			fresh = append(fresh, change{cameUp, g, 0, g.Count})
		}
	}
	for i := range d.OldGroups {
		if g := &d.OldGroups[i]; old[g.ID] != nil {
			gone = append(gone, change{went, g, g.Count, 0})
		}
	}
	return append(append(fresh, both...), gone...)
}

// WriteText writes the comparison for people; unless all, without the groups that have as many dumps in both
// runs. The error is w's.
func (d *Diff) WriteText(w io.Writer, all bool) error {
	out := bufio.NewWriter(w)
	line(out, "run %d (%s, %s) and run %d (%s, %s)", d.Old.ID, d.Old.Started.Format(time.DateTime), count(runDumps(d.Old), "dump"),
		d.New.ID, d.New.Started.Format(time.DateTime), count(runDumps(d.New), "dump"))
	fmt.Fprintln(out)
	list := d.changes()
	if len(list) == 0 {
		line(out, "no groups in either run")
	}
	short := shortIDs(uniqueGroups(slices.Concat(d.OldGroups, d.NewGroups)))
	same := 0
	for _, c := range list {
		if c.before == c.now && !all {
			same++
			continue
		}
		line(out, "%-4s  %5d -> %-5d  %s  %s, %s", c.how, c.before, c.now, short[c.group.ID], cell(c.group.Reason, maxReason), cell(c.group.Where, maxWhere))
	}
	if same > 0 {
		line(out, "%s with as many dumps in both runs: --all lists them", count(same, "group"))
	}
	return out.Flush()
}

func runDumps(r ledger.Run) int { return r.Analysed + r.Known + r.Failed }

func uniqueGroups(list []ledger.Group) []ledger.Group {
	seen := map[string]bool{}
	var out []ledger.Group
	for _, g := range list {
		if !seen[g.ID] {
			seen[g.ID] = true
			out = append(out, g)
		}
	}
	return out
}

// A ChangeLine is the line of a group in a comparison of two runs, from corewalk triage diff.
type ChangeLine struct {
	Type   string `json:"type"`   // tells lines apart
	Schema string `json:"schema"` // the constant Schema
	Change string `json:"change"` // in which of the two runs the group is
	Group  string `json:"group"`  // its identifier
	Before int    `json:"before"` // dumps in the older run
	Now    int    `json:"now"`    // dumps in the newer run
	Reason string `json:"reason"` // as of the group
	Where  string `json:"where"`  // as of the group
}

// WriteJSON writes a line of JSON for each group. The error is w's.
func (d *Diff) WriteJSON(w io.Writer) error {
	for _, c := range d.changes() {
		err := writeLine(w, ChangeLine{"change", Schema, c.how, c.group.ID, c.before, c.now, c.group.Reason, c.group.Where})
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteGroupText writes the one group of a summary, and its dumps, for people. The error is w's.
func WriteGroupText(w io.Writer, s *Summary) error {
	out := bufio.NewWriter(w)
	for i := range s.Groups {
		g := &s.Groups[i]
		fmt.Fprintln(out, report.Clean("group "+g.ID+": "+g.Reason))
		line(out, "%s of %s in %s, %s; signature %s", count(g.Count, "dump"), cell(strings.Join(g.Programs, ", "), maxWhere), count(g.Builds, "build"), seen(g), g.Signature)
		for _, x := range g.Similar {
			line(out, "probably the same as %s (%.0f %% similar)", x.Group, x.Score*100)
		}
	}
	for i := range s.Dumps {
		d := &s.Dumps[i]
		line(out, "%s  %s  %s", d.Time.Format(time.DateTime), d.Path, d.Build)
	}
	fmt.Fprintln(out)
	return out.Flush()
}
