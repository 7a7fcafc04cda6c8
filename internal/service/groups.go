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
	State      string       `json:"state"` // open, fixed, ignored or regressed
	FixedIn    string       `json:"fixed_in,omitempty"`
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
	at     time.Time
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

// make makes a snapshot, unless another has just been made.
func (h *held) make(ctx context.Context, s *Service, project string, from ledger.Store) error {
	h.making.Lock()
	defer h.making.Unlock()
	if time.Since(h.get().at) < s.c.Fresh {
		return nil
	}
	at := time.Now()
	groups, err := from.Groups(ctx, ledger.Query{})
	if err != nil {
		return err
	}
	builds, err := s.c.Store.Builds(ctx, project, "")
	if err != nil {
		return err
	}
	first := make(map[string]time.Time, len(builds))
	for _, b := range builds {
		first[b.Build] = b.First
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = snapshot{groups, first, at}
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
		go func() {
			if err := h.make(context.WithoutCancel(ctx), s, project, from); err != nil {
				s.c.Log.Error("the groups cannot be read", "project", project, "error", err)
			}
		}()
	default:
		if err := h.make(ctx, s, project, from); err != nil {
			return snapshot{}, err
		}
		now = h.get()
	}
	return now, nil
}

// decided returns the state of a group. builds are those of the group's dumps, first when builds of the project were seen first.
func decided(c store.Decision, builds []store.Build, first map[string]time.Time) string {
	if c.State != store.Fixed {
		return cmp.Or(c.State, store.Open)
	}
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
func (s *Service) states(ctx context.Context, project string, first map[string]time.Time) (map[string]string, map[string]store.Decision, error) {
	decisions, err := s.c.Store.Decisions(ctx, project)
	states := make(map[string]string, len(decisions))
	for id, c := range decisions {
		var builds []store.Build
		if c.State == store.Fixed {
			if builds, err = s.c.Store.Builds(ctx, project, id); err != nil {
				return nil, nil, err
			}
		}
		states[id] = decided(c, builds, first)
	}
	return states, decisions, err
}

// A filter says which groups are listed.
type filter struct{ text, kind, program, build, state string }

func (f *filter) takes(d *groupDoc) bool {
	switch {
	case f.state == "" && d.State == store.Ignored, f.state != "" && f.state != "all" && d.State != f.state:
	case f.kind != "" && d.Kind != f.kind:
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
	f := filter{strings.ToLower(q.Get("q")), q.Get("kind"), q.Get("program"), q.Get("build"), q.Get("state")}
	now, err := s.now(r.Context(), p.project)
	if err != nil {
		return err
	}
	groups := now.groups
	states, decisions, err := s.states(r.Context(), p.project, now.first)
	if err != nil {
		return err
	}
	var ofBuild map[string][]int
	if f.build != "" {
		if ofBuild, err = s.c.Store.Shared(r.Context(), p.project, "build", []string{f.build}); err != nil {
			return err
		}
	}
	list, total := []groupDoc{}, 0
	kinds, programs := map[string]int{}, map[string]int{}
	for i := range groups {
		d := groupDoc{ID: groups[i].ID, Kind: groups[i].Kind, Reason: groups[i].Reason, Where: groups[i].Where, Programs: groups[i].Programs, State: cmp.Or(states[groups[i].ID], store.Open)}
		kinds[d.Kind]++
		for _, name := range d.Programs {
			programs[name]++
		}
		if !f.takes(&d) || f.build != "" && ofBuild[d.ID] == nil {
			continue
		}
		if total++; total > skip && len(list) < limit {
			whole := groupOf(&groups[i])
			whole.State, whole.FixedIn = d.State, decisions[d.ID].Build
			list = append(list, whole)
		}
	}
	if err := s.trends(r.Context(), p.project, list); err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]any{"groups": list, "total": total, "kinds": kinds, "programs": programs})
	return nil
}

// trends fills in the trends of groups.
func (s *Service) trends(ctx context.Context, project string, list []groupDoc) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-trendDays)
	days, err := s.c.Store.Days(ctx, project, ids, since)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Trend = make([]int, trendDays)
		for _, d := range days[list[i].ID] {
			if n := int(d.Day.Sub(since).Hours() / 24); n >= 0 && n < trendDays {
				list[i].Trend[n] = d.Count
			}
		}
	}
	return nil
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
	Count   int       `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

func buildsOf(list []store.Build) []buildDoc {
	out := make([]buildDoc, len(list))
	for i, b := range list {
		out[i] = buildDoc{b.Build, b.Program, b.Count, b.First.UTC(), b.Last.UTC()}
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
	_, g, err := s.group(r, p)
	if err != nil {
		return err
	}
	ctx := r.Context()
	list := []groupDoc{groupOf(&g)}
	if err := s.trends(ctx, p.project, list); err != nil {
		return err
	}
	d := &list[0]
	builds, err := s.c.Store.Builds(ctx, p.project, g.ID)
	if err != nil {
		return err
	}
	decisions, err := s.c.Store.Decisions(ctx, p.project)
	if err != nil {
		return err
	}
	now, err := s.now(ctx, p.project)
	if err != nil {
		return err
	}
	c := decisions[g.ID]
	d.State, d.FixedIn = decided(c, builds, now.first), c.Build
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
	doc := map[string]any{"group": d, "builds": buildsOf(builds), "dumps": dumps, "notes": out}
	if json.Valid(g.Report) {
		doc["report"] = json.RawMessage(g.Report) // of the dump that represents the group
	}
	answer(w, http.StatusOK, doc)
	return nil
}

// decide stores what somebody decided about a group.
func (s *Service) decide(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ State, Build string }
	if err := decode(r, &in); err != nil {
		return err
	}
	switch in.State {
	case store.Open, store.Ignored:
		in.Build = ""
	case store.Fixed:
	default:
		return wrong("state %.20q: must be open, fixed or ignored", in.State)
	}
	if len(in.Build) > 256 {
		return wrong("build: more than 256 bytes")
	}
	_, g, err := s.group(r, p)
	if err == nil {
		err = s.c.Store.Decide(r.Context(), p.project, g.ID, store.Decision{State: in.State, Build: in.Build, At: time.Now(), By: p.token.Note})
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
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
		err = s.c.Store.AddNote(r.Context(), p.project, g.ID, store.Note{Text: in.Text, At: time.Now(), By: p.token.Note})
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Service) listBuilds(w http.ResponseWriter, r *http.Request, p *request) error {
	builds, err := s.c.Store.Builds(r.Context(), p.project, "")
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"builds": buildsOf(builds)})
	}
	return err
}

// compare lists the groups of two builds, and how many dumps of each they have: those of the second alone first.
func (s *Service) compare(w http.ResponseWriter, r *http.Request, p *request) error {
	a, b := r.URL.Query().Get("a"), r.URL.Query().Get("b")
	if a == "" || b == "" || a == b {
		return wrong("compare needs two builds: ?a=BUILD&b=BUILD")
	}
	counts, err := s.c.Store.Shared(r.Context(), p.project, "build", []string{a, b})
	if err != nil {
		return err
	}
	now, err := s.now(r.Context(), p.project)
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
		if n := counts[groups[i].ID]; n != nil {
			list = append(list, row{groupOf(&groups[i]), n[0], n[1]})
		}
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
	answer(w, http.StatusOK, map[string]any{"a": a, "b": b, "groups": list})
	return nil
}
