package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// Limits of the text columns, in characters. Text that is cut ends with an ellipsis.
const (
	maxReason  = 44
	maxWhere   = 60
	maxProgram = 16
	maxFailed  = 20 // dumps that could not be analysed are listed up to this number
	shortID    = 6  // digits of a group's identifier; more if two groups begin the same
)

// WriteText writes a summary for people, about 120 columns wide. The error is w's.
func WriteText(w io.Writer, s *Summary) error {
	out := bufio.NewWriter(w)
	if head := headline(s); head != "" {
		line(out, "%s", head)
	}
	if len(s.Groups) > 0 {
		fmt.Fprintln(out)
		if err := table(out, s); err != nil {
			return err
		}
	}
	failures(out, s)
	for _, n := range s.Notes {
		line(out, "%s", n)
	}
	return out.Flush()
}

// line writes a line, indented by two columns. All text for people goes through it or through report.WriteColumns: what
// a dump says is escaped there.
func line(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "  %s\n", report.Clean(fmt.Sprintf(format, args...)))
}

// headline says what a run did.
func headline(s *Summary) string {
	if s.Run.ID == 0 {
		return ""
	}
	text := fmt.Sprintf("analysed %s", count(s.Run.Analysed+s.Run.Known+s.Run.Failed, "dump"))
	if s.Elapsed > 0 {
		text += fmt.Sprintf(" in %.1f s", s.Elapsed.Seconds())
	}
	var but []string
	if s.Run.Known > 0 {
		but = append(but, fmt.Sprintf("%d seen before", s.Run.Known))
	}
	if s.Run.Failed > 0 {
		but = append(but, fmt.Sprintf("%d unreadable", s.Run.Failed))
	}
	if len(but) > 0 {
		text += " (" + strings.Join(but, ", ") + ")"
	}
	text += "; " + count(len(s.Groups)+s.LeftOut, "group")
	if n := s.New(); n > 0 || !s.Since.IsZero() {
		text += fmt.Sprintf(", %d new", n)
		if !s.Since.IsZero() {
			text += " since " + day(s.Since)
		}
	}
	if s.Broken {
		text += "; interrupted"
		if s.Kept {
			text += ": run the same command again to continue, the results are kept"
		}
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// seen returns the days of a group's first and last dump, or the day if it is one.
func seen(g *ledger.Group) string {
	first, last := day(g.FirstSeen), day(g.LastSeen)
	if first == last || first == "" {
		return last
	}
	return first + " to " + last
}

// programs names the program of a group's dumps, and says how many others there are.
func programs(g *ledger.Group) string {
	if len(g.Programs) == 0 {
		return ""
	}
	name := cell(g.Programs[0], maxProgram)
	if n := len(g.Programs) - 1; n > 0 {
		name += fmt.Sprintf(" +%d", n)
	}
	return name
}

func table(w io.Writer, s *Summary) error {
	var rows [][]string
	short := shortIDs(s.Groups)
	for i := range s.Groups {
		g := &s.Groups[i]
		mark := ""
		if g.New {
			mark = "*"
		}
		dumps := fmt.Sprint(g.Count)
		if n := s.Total[g.ID]; n > g.Count {
			dumps = fmt.Sprintf("%d of %d", g.Count, n)
		}
		where := cell(g.Where, maxWhere)
		if g.Weak {
			where += " (weak)"
		}
		rows = append(rows, []string{fmt.Sprintf("  %d", i+1), dumps, mark, seen(g), programs(g), fmt.Sprint(g.Builds), cell(g.Reason, maxReason), where, short[g.ID]})
	}
	if err := report.WriteColumns(w, []string{"  #", "dumps", "new", "seen", "program", "builds", "why", "where", "group"}, rows); err != nil {
		return err
	}
	for i := range s.Groups {
		for _, sim := range s.Groups[i].Similar {
			other := short[sim.Group]
			if other == "" {
				other = sim.Group[:min(len(sim.Group), shortID)]
			} else if sim.Group < s.Groups[i].ID {
				continue // shown with the other group
			}
			line(w, "%s is probably the same as %s (%.0f %% similar)", short[s.Groups[i].ID], other, sim.Score*100)
		}
	}
	return nil
}

// cell makes a text from a dump fit into a column.
func cell(s string, limit int) string {
	s = report.Clean(s)
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// shortIDs returns prefixes of the groups' identifiers, as long as necessary to tell them apart.
func shortIDs(groups []ledger.Group) map[string]string {
	short := make(map[string]string, len(groups))
	for n := shortID; ; n++ {
		seen := make(map[string]bool, len(groups))
		longest := 0
		for i := range groups {
			id := groups[i].ID
			longest = max(longest, len(id))
			short[id] = id[:min(len(id), n)]
			seen[short[id]] = true
		}
		if len(seen) == len(groups) || n >= min(longest, maxPageID) {
			return short
		}
	}
}

func failures(w io.Writer, s *Summary) {
	if len(s.Failed) == 0 {
		return
	}
	fmt.Fprintln(w)
	line(w, "%d could not be read:", len(s.Failed))
	for i := range s.Failed[:min(len(s.Failed), maxFailed)] {
		d := &s.Failed[i]
		line(w, "  %s: %s", d.Path, d.Fault)
	}
	if n := len(s.Failed) - maxFailed; n > 0 {
		line(w, "  and %d more", n)
	}
}
