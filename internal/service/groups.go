package service

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A groupDoc is a group in answers.
type groupDoc struct {
	ID         string       `json:"id"`
	Signature  string       `json:"signature"`
	Kind       string       `json:"kind,omitempty"`
	Reason     string       `json:"reason"`
	Where      string       `json:"where,omitempty"`
	Weak       bool         `json:"weak,omitempty"`
	Count      int          `json:"count"`
	Builds     int          `json:"builds"`
	Programs   []string     `json:"programs,omitempty"`
	FirstSeen  time.Time    `json:"first_seen"`
	LastSeen   time.Time    `json:"last_seen"`
	FirstBuild string       `json:"first_build,omitempty"`
	State      string       `json:"state"`                   // open, fixed, ignored or regressed
	FixedIn    string       `json:"fixed_in,omitempty"`      // a build
	Release    string       `json:"fixed_release,omitempty"` // or a release
	Users      int          `json:"users,omitempty"`         // that were affected, of those who said who they are
	Machines   int          `json:"machines,omitempty"`
	Releases   []string     `json:"releases,omitempty"`      // the newest maxGroupReleases of its dumps, the newest first
	Known      int          `json:"release_count,omitempty"` // how many there are
	Matching   int          `json:"matching,omitempty"`      // dumps with the attributes that were asked for
	Assignee   string       `json:"assignee,omitempty"`
	Ticket     string       `json:"ticket,omitempty"`
	Merged     []string     `json:"merged,omitempty"` // groups that were merged into it
	Into       string       `json:"into,omitempty"`   // the one that it was merged into
	Similar    []similarDoc `json:"similar,omitempty"`
	// Trend is the number of dumps received on each of the last trendDays days, today's last.
	Trend []int `json:"trend,omitempty"`
}

type similarDoc struct {
	Group string  `json:"group"`
	Score float64 `json:"score"`
}

// regressed is the state of a group that was fixed in a build and is seen in a later one.
const regressed = "regressed"

const trendDays = 30

func groupOf(g *ledger.Group) groupDoc {
	d := groupDoc{ID: g.ID, Signature: g.Signature, Kind: g.Kind, Reason: g.Reason, Where: g.Where, Weak: g.Weak, Count: g.Count, Builds: g.Builds, Programs: g.Programs,
		FirstSeen: g.FirstSeen.UTC(), LastSeen: g.LastSeen.UTC(), FirstBuild: g.FirstBuild, State: store.Open}
	for _, x := range g.Similar {
		d.Similar = append(d.Similar, similarDoc{x.Group, x.Score})
	}
	return d
}

// A snapshot is all groups of a project, as they were a moment ago. To count the dumps of ten thousand groups takes longer
// than a page may, and a page that is a moment old does no harm.
type snapshot struct {
	groups []ledger.Group
	first  map[string]time.Time // when builds were seen first
	// releases says when they were seen first; zero for one that was announced.
	releases map[string]time.Time
	facets   []store.Facet
	at       time.Time
}

// maxAge is how old a snapshot is that is still shown while the next is made.
const maxAge = time.Minute

// snapshots are those of the projects.
type snapshots struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list map[string]*held
}

type held struct {
	making sync.Mutex // held while a snapshot is made; mu is taken inside
	mu     sync.Mutex // guards now; no other lock is taken inside
	now    snapshot
}

func (h *held) get() snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// make makes a snapshot, unless another has just been made. h.making is held.
func (h *held) make(ctx context.Context, s *Service, project string, from ledger.Store) error {
	if time.Since(h.get().at) < s.c.Fresh {
		return nil
	}
	at := time.Now()
	groups, err := from.Groups(ctx, ledger.Query{})
	if err != nil {
		return err
	}
	merged, err := s.c.Store.Merged(ctx, project)
	if err != nil {
		return err
	}
	groups = merge(groups, merged)
	builds, err := s.c.Store.Builds(ctx, project, "")
	if err != nil {
		return err
	}
	first := make(map[string]time.Time, len(builds))
	for _, b := range builds {
		first[b.Build] = b.First
	}
	list, err := s.c.Store.Releases(ctx, project, "")
	if err != nil {
		return err
	}
	releases := make(map[string]time.Time, len(list))
	for _, r := range list {
		releases[r.Release] = r.First
	}
	facets, err := s.c.Store.Facets(ctx, project, maxFacet)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = snapshot{groups, first, releases, facets, at}
	return nil
}

// now returns the groups of a project.
func (s *Service) now(ctx context.Context, project string) (snapshot, error) {
	s.snapshots.mu.Lock()
	if s.snapshots.list == nil {
		s.snapshots.list = map[string]*held{}
	}
	h := s.snapshots.list[project]
	if h == nil {
		h = new(held)
		s.snapshots.list[project] = h
	}
	s.snapshots.mu.Unlock()
	from, err := s.ledgers.get(ctx, project)
	if err != nil {
		return snapshot{}, err
	}
	now := h.get()
	switch age := time.Since(now.at); {
	case age < s.c.Fresh:
	case age < maxAge:
		if !h.making.TryLock() { // the next is being made
			break
		}
		go func() {
			defer h.making.Unlock()
			if err := h.make(context.WithoutCancel(ctx), s, project, from); err != nil {
				s.c.Log.Error("the groups cannot be read", "project", project, "error", err)
			}
		}()
	default:
		h.making.Lock()
		defer h.making.Unlock()
		if err := h.make(ctx, s, project, from); err != nil {
			return snapshot{}, err
		}
		now = h.get()
	}
	return now, nil
}

// decided returns the state of a group. builds and releases are those of the group's dumps.
func decided(c store.Decision, builds []store.Build, releases []store.Release, now *snapshot) string {
	if c.State != store.Fixed {
		return cmp.Or(c.State, store.Open)
	}
	if c.Release != "" {
		for _, r := range releases {
			if r.Last.After(c.At) && notBefore(r.Release, c.Release, now.releases) {
				return regressed
			}
		}
		return store.Fixed
	}
	first := now.first
	since, known := c.At, c.Build == ""
	if at, ok := first[c.Build]; ok {
		since, known = at, true
	}
	for _, b := range builds {
		if b.Last.After(c.At) && (b.Build == c.Build || known && !b.First.Before(since) && !first[b.Build].Before(since)) {
			return regressed
		}
	}
	return store.Fixed
}

// states returns the states of all groups about which somebody decided.
func (s *Service) states(ctx context.Context, project string, now *snapshot) (map[string]string, map[string]store.Decision, error) {
	decisions, err := s.c.Store.Decisions(ctx, project)
	states := make(map[string]string, len(decisions))
	for id, c := range decisions {
		var builds []store.Build
		var releases []store.Release
		switch {
		case c.State != store.Fixed:
		case c.Release != "":
			releases, err = s.c.Store.Releases(ctx, project, id)
		default:
			builds, err = s.c.Store.Builds(ctx, project, id)
		}
		if err != nil {
			return nil, nil, err
		}
		states[id] = decided(c, builds, releases, now)
	}
	return states, decisions, err
}

// A filter says which groups are listed.
type filter struct{ text, kind, program, build, state, assignee string }

func (f *filter) takes(d *groupDoc) bool {
	switch {
	case f.state == "" && d.State == store.Ignored, f.state != "" && f.state != "all" && d.State != f.state:
	case f.kind != "" && d.Kind != f.kind:
	case f.assignee != "" && d.Assignee != f.assignee:
	case f.program != "" && !slices.Contains(d.Programs, f.program):
	case f.text != "" && !strings.Contains(strings.ToLower(d.Reason+" "+d.Where), f.text) && !strings.HasPrefix(d.ID, f.text):
	default:
		return true
	}
	return false
}

func (s *Service) listGroups(w http.ResponseWriter, r *http.Request, p *request) error {
	limit, err := number(r, "limit", 100, 1000)
	if err != nil {
		return err
	}
	skip, err := number(r, "skip", 0, 1<<30)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := filter{strings.ToLower(q.Get("q")), q.Get("kind"), q.Get("program"), q.Get("build"), q.Get("state"), q.Get("assignee")}
	marks, err := s.c.Store.Marks(r.Context(), p.project)
	if err != nil {
		return err
	}
	now, err := s.now(r.Context(), p.project)
	if err != nil {
		return err
	}
	groups := now.groups
	states, decisions, err := s.states(r.Context(), p.project, &now)
	if err != nil {
		return err
	}
	var ofBuild map[string][]int
	if f.build != "" {
		if ofBuild, err = s.c.Store.Shared(r.Context(), p.project, "build", []string{f.build}); err != nil {
			return err
		}
	}
	has, err := hasOf(r)
	if err != nil {
		return err
	}
	matching, all, err := s.c.Store.Having(r.Context(), p.project, has, s.c.Matching)
	if err != nil {
		return err
	}
	order := make([]int, 0, len(groups)) // of those that may be listed
	for i := range groups {
		if len(has) == 0 || matching[groups[i].ID] > 0 {
			order = append(order, i)
		}
	}
	if len(has) > 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(matching[groups[b].ID], matching[groups[a].ID]) })
	}
	list, total := []groupDoc{}, 0
	kinds, programs, people := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range groups {
		kinds[groups[i].Kind]++
		for _, name := range groups[i].Programs {
			programs[name]++
		}
		if who := marks[groups[i].ID].Assignee; who != "" {
			people[who]++
		}
	}
	for _, i := range order {
		d := groupDoc{ID: groups[i].ID, Kind: groups[i].Kind, Reason: groups[i].Reason, Where: groups[i].Where, Programs: groups[i].Programs, State: cmp.Or(states[groups[i].ID], store.Open), Assignee: marks[groups[i].ID].Assignee}
		if !f.takes(&d) || f.build != "" && ofBuild[d.ID] == nil {
			continue
		}
		if total++; total > skip && len(list) < limit {
			whole := groupOf(&groups[i])
			c := decisions[d.ID]
			whole.State, whole.FixedIn, whole.Release, whole.Matching = d.State, c.Build, c.Release, matching[d.ID]
			whole.Assignee, whole.Ticket = d.Assignee, marks[d.ID].Ticket
			list = append(list, whole)
		}
	}
	if err := s.trends(r.Context(), p.project, list, &now); err != nil {
		return err
	}
	doc := map[string]any{"groups": list, "total": total, "kinds": kinds, "programs": programs, "assignees": people, "attributes": facetDocs(now.facets)}
	if !all {
		doc["looked_at"] = s.c.Matching
	}
	answer(w, http.StatusOK, doc)
	return nil
}

// trendOf lists the numbers of days since one.
func trendOf(days []store.Day, since time.Time) []int {
	trend := make([]int, trendDays)
	for _, d := range days {
		if n := int(d.Day.Sub(since).Hours() / 24); n >= 0 && n < trendDays {
			trend[n] = d.Count
		}
	}
	return trend
}

// trendSince is the first day of trends.
func trendSince() time.Time {
	return time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-trendDays)
}

// maxGroupReleases is how many releases of a group its row has.
const maxGroupReleases = 3

// trends fills in the trends and releases of groups, and how many users and machines they affected.
func (s *Service) trends(ctx context.Context, project string, list []groupDoc, now *snapshot) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	since := trendSince()
	days, err := s.c.Store.Days(ctx, project, ids, since)
	if err != nil {
		return err
	}
	releases, err := s.c.Store.ReleasesOf(ctx, project, ids)
	if err != nil {
		return err
	}
	affected, err := s.c.Store.Affected(ctx, project, ids)
	for i := range list {
		g := &list[i]
		g.Releases, g.Known = newest(releases[g.ID], now)
		g.Trend = trendOf(days[g.ID], since)
		g.Users, g.Machines = affected[g.ID][store.IDUser], affected[g.ID][store.IDMachine]
	}
	return err
}

// newest returns the newest of some releases, and how many there are.
func newest(names []string, now *snapshot) (list []string, known int) {
	releases := make([]store.Release, len(names))
	for i, name := range names {
		releases[i] = store.Release{Release: name, First: now.releases[name]}
	}
	ordered(releases)
	for _, r := range releases[:min(len(releases), maxGroupReleases)] {
		list = append(list, r.Release)
	}
	return list, len(names)
}

// A noteDoc and a buildDoc are what they are in answers.
type noteDoc struct {
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"`
}

type buildDoc struct {
	Build   string    `json:"build"`
	Program string    `json:"program,omitempty"`
	Release string    `json:"release,omitempty"` // its name
	Count   int       `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

func buildsOf(list []store.Build, names map[string]string) []buildDoc {
	out := make([]buildDoc, len(list))
	for i, b := range list {
		out[i] = buildDoc{b.Build, b.Program, names[b.Build], b.Count, b.First.UTC(), b.Last.UTC()}
	}
	return out
}

func (s *Service) group(r *http.Request, p *request) (ledger.Store, ledger.Group, error) {
	l, err := s.ledgers.get(r.Context(), p.project)
	if err != nil {
		return nil, ledger.Group{}, err
	}
	g, _, err := l.Group(r.Context(), r.PathValue("group"), 1)
	return l, g, err
}

func (s *Service) oneGroup(w http.ResponseWriter, r *http.Request, p *request) error {
	l, g, err := s.group(r, p)
	if err != nil {
		return err
	}
	ctx := r.Context()
	merged, err := s.c.Store.Merged(ctx, p.project)
	if err != nil {
		return err
	}
	var parts []string
	for id, into := range merged {
		if into != g.ID {
			continue
		}
		parts = append(parts, id)
		if part, _, err := l.Group(ctx, id, 1); err == nil {
			fold(&g, &part)
		}
	}
	slices.Sort(parts)
	now, err := s.now(ctx, p.project)
	if err != nil {
		return err
	}
	list := []groupDoc{groupOf(&g)}
	if err := s.trends(ctx, p.project, list, &now); err != nil {
		return err
	}
	d := &list[0]
	marks, err := s.c.Store.Marks(ctx, p.project)
	if err != nil {
		return err
	}
	d.Assignee, d.Ticket, d.Merged, d.Into = marks[g.ID].Assignee, marks[g.ID].Ticket, parts, merged[g.ID]
	builds, err := s.c.Store.Builds(ctx, p.project, g.ID)
	if err != nil {
		return err
	}
	decisions, err := s.c.Store.Decisions(ctx, p.project)
	if err != nil {
		return err
	}
	releases, err := s.c.Store.Releases(ctx, p.project, g.ID)
	if err != nil {
		return err
	}
	c := decisions[g.ID]
	d.State, d.FixedIn, d.Release = decided(c, builds, releases, &now), c.Build, c.Release
	names, err := s.c.Store.BuildNames(ctx, p.project)
	if err != nil {
		return err
	}
	since := trendSince()
	days, err := s.c.Store.ReleaseDays(ctx, p.project, g.ID, since)
	if err != nil {
		return err
	}
	ordered(releases)
	ofReleases := releaseDocs(releases)
	for i := range ofReleases[:min(len(ofReleases), maxReleaseTrends)] {
		ofReleases[i].Trend = trendOf(days[ofReleases[i].Release], since)
	}
	shares, err := s.c.Store.Shares(ctx, p.project, g.ID, maxShares)
	if err != nil {
		return err
	}
	uploads, err := s.c.Store.Uploads(ctx, p.project, store.Query{Group: g.ID, Limit: 50})
	if err != nil {
		return err
	}
	dumps := make([]dumpDoc, len(uploads))
	for i := range uploads {
		dumps[i] = docOf(&uploads[i])
	}
	notes, err := s.c.Store.Notes(ctx, p.project, g.ID)
	if err != nil {
		return err
	}
	out := make([]noteDoc, len(notes))
	for i, n := range notes {
		out[i] = noteDoc{n.Text, n.At.UTC(), n.By}
	}
	doc := map[string]any{"group": d, "builds": buildsOf(builds, names), "releases": ofReleases, "correlations": correlations(shares), "dumps": dumps, "notes": out}
	if json.Valid(g.Report) {
		doc["report"] = json.RawMessage(g.Report) // of the dump that represents the group
	}
	answer(w, http.StatusOK, doc)
	return nil
}

// decide stores what somebody decided about a group.
func (s *Service) decide(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ State, Build, Release string }
	if err := decode(r, &in); err != nil {
		return err
	}
	return s.changeOne(w, r, p, &change{State: &in.State, Build: &in.Build, Release: &in.Release})
}

// mark stores who looks at a group, and where it is in a tracker.
func (s *Service) mark(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Assignee, Ticket *string }
	if err := decode(r, &in); err != nil {
		return err
	}
	return s.changeOne(w, r, p, &change{Assignee: in.Assignee, Ticket: in.Ticket})
}

func (s *Service) changeOne(w http.ResponseWriter, r *http.Request, p *request, c *change) error {
	if err := s.checkChange(r.Context(), p.project, c); err != nil {
		return err
	}
	_, g, err := s.group(r, p)
	if err != nil {
		return err
	}
	marks, err := s.c.Store.Marks(r.Context(), p.project)
	if err == nil {
		err = s.apply(r.Context(), p, g.ID, c, marks)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// known refuses a build or a release that the project has not: with a slip of the pen nothing would ever be seen again.
func (s *Service) known(ctx context.Context, project, build, release string) error {
	if build != "" && release != "" {
		return wrong("something is fixed in a build or in a release")
	}
	if build != "" {
		list, err := s.c.Store.Builds(ctx, project, "")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(b store.Build) bool { return b.Build == build }) {
			return wrong("build %.128q: no dump is of it; GET builds lists those that are known", build)
		}
	}
	if release != "" {
		list, err := s.c.Store.Releases(ctx, project, "")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(r store.Release) bool { return r.Release == release }) {
			return wrong("release %.128q is not known; GET releases lists those that are, and POST releases makes one known that is to come", release)
		}
	}
	return nil
}

// maxNote is the length of a note, in bytes.
const maxNote = 16 << 10

func (s *Service) addNote(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Text string }
	if err := decode(r, &in); err != nil {
		return err
	}
	if in.Text = strings.TrimSpace(in.Text); in.Text == "" || len(in.Text) > maxNote {
		return wrong("text: a note has from 1 to %d bytes", maxNote)
	}
	_, g, err := s.group(r, p)
	if err == nil {
		err = s.c.Store.AddNote(r.Context(), p.project, g.ID, store.Note{Text: in.Text, At: time.Now(), By: writer(&p.token)})
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Service) listBuilds(w http.ResponseWriter, r *http.Request, p *request) error {
	builds, err := s.c.Store.Builds(r.Context(), p.project, "")
	if err != nil {
		return err
	}
	names, err := s.c.Store.BuildNames(r.Context(), p.project)
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"builds": buildsOf(builds, names)})
	}
	return err
}

// compare lists the groups of two builds, releases, or values of another attribute, and how many dumps of each they have: those of the second alone first.
func (s *Service) compare(w http.ResponseWriter, r *http.Request, p *request) error {
	a, b := r.URL.Query().Get("a"), r.URL.Query().Get("b")
	if a == "" || b == "" || a == b {
		return wrong("compare needs two builds: ?a=BUILD&b=BUILD, or two values of an attribute: ?by=release&a=1.2&b=1.3")
	}
	by := cmp.Or(r.URL.Query().Get("by"), "build")
	counts, err := s.c.Store.Shared(r.Context(), p.project, by, []string{a, b})
	if err != nil {
		return err
	}
	now, err := s.now(r.Context(), p.project)
	if err != nil {
		return err
	}
	states, decisions, err := s.states(r.Context(), p.project, &now)
	if err != nil {
		return err
	}
	marks, err := s.c.Store.Marks(r.Context(), p.project)
	if err != nil {
		return err
	}
	groups := now.groups
	type row struct {
		groupDoc
		A int `json:"a"`
		B int `json:"b"`
	}
	list := []row{}
	for i := range groups {
		n := counts[groups[i].ID]
		if n == nil {
			continue
		}
		d := groupOf(&groups[i])
		c, m := decisions[d.ID], marks[d.ID]
		d.State, d.FixedIn, d.Release = cmp.Or(states[d.ID], store.Open), c.Build, c.Release
		d.Assignee, d.Ticket = m.Assignee, m.Ticket
		list = append(list, row{d, n[0], n[1]})
	}
	rank := func(x *row) int {
		switch {
		case x.A == 0:
			return 0 // new in b
		case x.B == 0:
			return 2 // gone
		}
		return 1
	}
	slices.SortStableFunc(list, func(x, y row) int {
		return cmp.Or(cmp.Compare(rank(&x), rank(&y)), cmp.Compare(y.A+y.B, x.A+x.B), cmp.Compare(x.ID, y.ID))
	})
	answer(w, http.StatusOK, map[string]any{"by": by, "a": a, "b": b, "groups": list})
	return nil
}
