package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// pageNow is the clock; tests set it.
var pageNow = time.Now

// A pageGroup is a group with the figures of its dumps.
type pageGroup struct {
	*ledger.Group
	anchor   string // fragment of the URL that leads to it
	total    int    // number of its dumps in the ledger, if more than Count; else 0
	dumps    []*ledger.Dump
	steps    map[int]int // number of dumps by step of the axis
	builds   []int       // indexes of the page's builds
	programs []int
	kind     int
	report   *report.Report // nil if not on the page
}

// Limits on the searchable text of one group.
const (
	maxGroupBuilds = 64
	maxFunctions   = 32
)

// choices are the different values of a property.
type choices struct {
	names []string
	uses  []int // number of groups, by value
	at    map[string]int
}

// add counts a use, and returns the index of the value; -1 for an empty name.
func (c *choices) add(name string) int {
	if name == "" {
		return -1
	}
	i, ok := c.at[name]
	if !ok {
		if c.at == nil {
			c.at = map[string]int{}
		}
		i = len(c.names)
		c.at[name] = i
		c.names = append(c.names, name)
		c.uses = append(c.uses, 0)
	}
	c.uses[i]++
	return i
}

// frequent returns the values that most groups have, at most maxChoices.
func (c *choices) frequent() []int {
	list := make([]int, len(c.names))
	for i := range list {
		list[i] = i
	}
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.uses[b], c.uses[a]), cmp.Compare(c.names[a], c.names[b]))
	})
	return list[:min(len(list), maxChoices)]
}

// index collects what the page shows of each group.
func (p *page) index() {
	groups := p.s.Groups
	p.rows = make([]pageGroup, min(len(groups), maxPageRows))
	p.at = make(map[string]int, len(p.rows))
	p.short = shortIDs(groups)
	p.axis = newAxis(p.s.Dumps, pageNow())
	for i := range p.rows {
		g := &p.rows[i]
		g.Group = &groups[i]
		g.anchor = anchor(g.ID, i)
		if n := p.s.Total[g.ID]; n > g.Count {
			g.total = n
		}
		g.kind = p.kinds.add(g.Kind)
		for _, name := range g.Programs {
			g.programs = append(g.programs, p.programs.add(name))
		}
		p.at[g.ID] = i
	}
	for i := range p.s.Dumps {
		d := &p.s.Dumps[i]
		if n, ok := p.at[d.Group]; ok && d.FaultKind == "" {
			p.rows[n].dumps = append(p.rows[n].dumps, d)
		}
	}
	for i := range p.rows {
		p.rows[i].gather(&p.axis, &p.builds)
	}
}

// gather sorts a group's dumps, newest first, and counts them by time and build.
func (g *pageGroup) gather(a *axis, builds *choices) {
	slices.SortFunc(g.dumps, func(x, y *ledger.Dump) int { return cmp.Or(y.Time.Compare(x.Time), cmp.Compare(x.Path, y.Path)) })
	seen := map[string]bool{"": true}
	build := func(s string) {
		if !seen[s] && len(g.builds) < maxGroupBuilds {
			seen[s] = true
			g.builds = append(g.builds, builds.add(s))
		}
	}
	g.steps = map[int]int{}
	now := pageNow()
	for _, d := range g.dumps {
		build(d.Build)
		if b := a.bucket(d.Time); b >= 0 && usable(d.Time, now) {
			g.steps[b]++
		}
	}
	build(g.FirstBuild)
}

// anchor returns the URL fragment of a group: its identifier, or "group-" and a number if that is not a valid identifier.
func anchor(id string, n int) string {
	ok := id != "" && len(id) <= maxPageID
	for i := range len(id) {
		ok = ok && (id[i] >= '0' && id[i] <= '9' || id[i] >= 'a' && id[i] <= 'f')
	}
	if !ok {
		return "group-" + strconv.Itoa(n+1)
	}
	return id
}

// A rowData is what the script knows of a group. Keys are short: there may be many groups.
type rowData struct {
	ID       string `json:"i"`
	Short    string `json:"h"`
	Count    int    `json:"c"`
	Total    int    `json:"t,omitempty"`
	Reason   string `json:"r"`
	Where    string `json:"w,omitempty"`
	Kind     int    `json:"k"`
	Programs []int  `json:"p,omitempty"`
	Builds   []int  `json:"b,omitempty"`
	NBuilds  int    `json:"n,omitempty"`
	First    int64  `json:"f,omitempty"` // seconds since 1970
	Last     int64  `json:"l,omitempty"`
	New      int    `json:"new,omitempty"`
	Weak     int    `json:"weak,omitempty"`
	Text     string `json:"s,omitempty"` // more searchable text
	Spark    string `json:"d,omitempty"` // for groups that the script draws
}

// data writes the data of the script. document escapes <, >, & and the line separators, so that nothing in
// the data ends the element.
func (p *page) data() {
	rows := make([]rowData, len(p.rows))
	for i := range p.rows {
		rows[i] = p.row(i)
	}
	names := func(c *choices) []string {
		list := make([]string, len(c.names))
		for i, s := range c.names {
			list[i] = fit(s, maxPageID)
		}
		return list
	}
	b, err := report.JSON(map[string]any{"steps": p.axis.n, "groups": rows,
		"kinds": names(&p.kinds), "programs": names(&p.programs), "builds": names(&p.builds)}, "")
	if err != nil {
		b = []byte("null") // cannot happen with these types
	}
	p.raw(`<script type="application/json" id="cw-data">`, string(b), "</script>\n")
}

func (p *page) row(i int) rowData {
	g := &p.rows[i]
	r := rowData{ID: g.anchor, Short: fit(p.short[g.ID], maxPageID), Count: g.Count, Total: g.total, Reason: fit(g.Reason, maxPageReason), Where: fit(g.Where, maxPageWhere),
		Kind: g.kind, Programs: g.programs, Builds: g.builds, NBuilds: g.Builds, First: seconds(g.FirstSeen), Last: seconds(g.LastSeen),
		New: bit(g.New), Weak: bit(g.Weak), Text: g.words()}
	if i >= p.full {
		r.Spark = p.axis.spark(g.steps)
	}
	return r
}

// words returns more text by which a group can be found: functions, source files and its representative dump.
func (g *pageGroup) words() string {
	list := []string{fit(g.Signature, maxPageID), fit(g.Representative, maxPagePath)}
	for _, f := range g.Frames[:min(len(g.Frames), maxFunctions)] {
		list = append(list, fit(f, maxPageName))
	}
	seen := map[string]bool{}
	for i, f := range g.frames() {
		if file := f.Source.File; file != "" && !seen[file] && i < maxInnerFrames {
			seen[file] = true
			list = append(list, fit(file, maxPagePath))
		}
	}
	return strings.Join(list, " ")
}

// frames returns the frames of the group's report, nil if the page does not have it.
func (g *pageGroup) frames() []report.Frame {
	if g.report == nil || len(g.report.Threads) == 0 {
		return nil
	}
	return g.report.Threads[0].Frames
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
