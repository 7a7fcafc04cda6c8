package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// merge folds groups that people merged into the ones that they were merged into. The ledger has them apart: a signature stays what it is.
func merge(groups []ledger.Group, merged map[string]string) []ledger.Group {
	if len(merged) == 0 {
		return groups
	}
	at := make(map[string]int, len(groups))
	out := make([]ledger.Group, 0, len(groups))
	for _, g := range groups {
		if merged[g.ID] == "" {
			at[g.ID] = len(out)
			out = append(out, g)
		}
	}
	for i := range groups {
		from := &groups[i]
		to, ok := at[merged[from.ID]]
		if merged[from.ID] == "" {
			continue
		}
		if !ok { // the other has gone: this one stays
			out = append(out, *from)
			continue
		}
		fold(&out[to], from)
	}
	slices.SortStableFunc(out, func(a, b ledger.Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.LastSeen.Compare(a.LastSeen), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// fold adds one group to another. Builds that both have are counted once if one has all of the other's, else twice.
func fold(to, from *ledger.Group) {
	to.Count += from.Count
	to.Builds = max(to.Builds, from.Builds)
	programs := slices.Concat(to.Programs, from.Programs)
	slices.Sort(programs)
	to.Programs = slices.Compact(programs)
	if from.FirstSeen.Before(to.FirstSeen) {
		to.FirstSeen, to.FirstBuild = from.FirstSeen, from.FirstBuild
	}
	if from.LastSeen.After(to.LastSeen) {
		to.LastSeen = from.LastSeen
	}
}

// line returns an error for a text that is not one line of some bytes.
func line(what, text string, most int) error {
	if len(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return wrong("%s: must be one line of at most %d bytes", what, most)
	}
	return nil
}

// link returns an error for a text that is no link which may be clicked.
func link(what, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return wrong("%s: must be https://...", what)
	}
	return line(what, text, 2000)
}

// A change is what people do with groups.
type change struct {
	State, Build, Release, Assignee, Ticket *string
}

// check returns an error for a change that is not possible.
func (s *Service) checkChange(ctx context.Context, project string, c *change) error {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	if c.State == nil && (c.Build != nil || c.Release != nil) {
		return wrong("build, release: of state fixed")
	}
	switch {
	case c.State == nil, *c.State == store.Fixed:
	case *c.State == store.Open, *c.State == store.Ignored:
		c.Build, c.Release = nil, nil
	default:
		return wrong("state %.20q: must be open, fixed or ignored", *c.State)
	}
	return cmp.Or(line("assignee", text(c.Assignee), 100), link("ticket", text(c.Ticket)), s.known(ctx, project, text(c.Build), text(c.Release)))
}

// apply changes one group.
func (s *Service) apply(ctx context.Context, p *request, group string, c *change, marks map[string]store.Mark) error {
	if c.State != nil {
		d := store.Decision{State: *c.State, At: time.Now(), By: writer(&p.token)}
		if c.Build != nil {
			d.Build = *c.Build
		}
		if c.Release != nil {
			d.Release = *c.Release
		}
		if err := s.c.Store.Decide(ctx, p.project, group, d); err != nil {
			return err
		}
	}
	if c.Assignee == nil && c.Ticket == nil {
		return nil
	}
	m := marks[group]
	if c.Assignee != nil {
		m.Assignee = strings.TrimSpace(*c.Assignee)
	}
	if c.Ticket != nil {
		m.Ticket = *c.Ticket
	}
	return s.c.Store.MarkGroup(ctx, p.project, group, m)
}

// maxBulk is how many groups are changed by one request.
const maxBulk = 500

// changeGroups changes groups: their state, who looks at them, where they are in a tracker.
func (s *Service) changeGroups(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct {
		change
		Groups []string
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if len(in.Groups) == 0 || len(in.Groups) > maxBulk {
		return wrong("groups: from 1 to %d", maxBulk)
	}
	ctx := r.Context()
	if err := s.checkChange(ctx, p.project, &in.change); err != nil {
		return err
	}
	l, err := s.ledgers.get(ctx, p.project)
	if err != nil {
		return err
	}
	marks, err := s.c.Store.Marks(ctx, p.project)
	if err != nil {
		return err
	}
	for i, id := range in.Groups { // all are there before one is changed
		g, _, err := l.Group(ctx, id, 1)
		if err != nil {
			return err
		}
		in.Groups[i] = g.ID
	}
	for _, id := range in.Groups {
		if err := s.apply(ctx, p, id, &in.change, marks); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// mergeGroup makes a group a part of another, with the dumps that come later.
func (s *Service) mergeGroup(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Into string }
	if err := decode(r, &in); err != nil {
		return err
	}
	l, g, err := s.group(r, p)
	if err != nil {
		return err
	}
	into, _, err := l.Group(r.Context(), in.Into, 1)
	if err != nil {
		return err
	}
	if into.ID == g.ID {
		return wrong("into: another group")
	}
	if err := s.c.Store.Merge(r.Context(), p.project, g.ID, into.ID); err != nil {
		return err
	}
	s.stale(p.project)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// splitGroup takes a merge back.
func (s *Service) splitGroup(w http.ResponseWriter, r *http.Request, p *request) error {
	_, g, err := s.group(r, p)
	if err == nil {
		err = s.c.Store.Split(r.Context(), p.project, g.ID)
	}
	if err != nil {
		return err
	}
	s.stale(p.project)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// stale has the next list of groups made anew: somebody has just changed it.
func (s *Service) stale(project string) {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	delete(s.snapshots.list, project)
}

// settingTracker is the template of the URL at which an issue is made in a tracker; {title}, {group} and {url} stand for those of a group.
const settingTracker = "tracker"

func (s *Service) getSettings(w http.ResponseWriter, r *http.Request, p *request) error {
	tracker, err := s.c.Store.Setting(r.Context(), p.project, settingTracker)
	if err == nil {
		answer(w, http.StatusOK, map[string]string{"tracker": tracker})
	}
	return err
}

func (s *Service) putSettings(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Tracker string }
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := link("tracker", strings.NewReplacer("{title}", "", "{group}", "", "{url}", "").Replace(in.Tracker)); err != nil {
		return err
	}
	err := s.c.Store.SetSetting(r.Context(), p.project, settingTracker, in.Tracker)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

type searchDoc struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Query string `json:"query"`
	By    string `json:"by,omitempty"`
}

func (s *Service) listSearches(w http.ResponseWriter, r *http.Request, p *request) error {
	all, err := s.c.Store.Searches(r.Context(), p.project)
	list := make([]searchDoc, len(all))
	for i, x := range all {
		list[i] = searchDoc(x)
	}
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"searches": list})
	}
	return err
}

// saveSearch keeps the query of a list of groups under a name.
func (s *Service) saveSearch(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Name, Query string }
	if err := decode(r, &in); err != nil {
		return err
	}
	if in.Name = strings.TrimSpace(in.Name); in.Name == "" {
		return wrong("name: is missing")
	}
	_, err := url.ParseQuery(in.Query)
	if err := cmp.Or(line("name", in.Name, 100), line("query", in.Query, 2000)); err != nil {
		return err
	}
	if err != nil {
		return wrong("query: must be that of a list of groups")
	}
	all, err := s.c.Store.Searches(r.Context(), p.project)
	if err == nil && len(all) >= store.MaxSearches {
		return wrong("there are %d already", len(all))
	}
	var b [8]byte
	rand.Read(b[:]) // does not fail
	x := store.Search{ID: hex.EncodeToString(b[:]), Name: in.Name, Query: in.Query, By: writer(&p.token)}
	if err = errors.Join(err, s.c.Store.AddSearch(r.Context(), p.project, x)); err == nil {
		answer(w, http.StatusCreated, searchDoc(x))
	}
	return err
}

func (s *Service) removeSearch(w http.ResponseWriter, r *http.Request, p *request) error {
	err := s.c.Store.RemoveSearch(r.Context(), p.project, r.PathValue("id"))
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
