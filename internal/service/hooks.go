package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/notify"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// A hookDoc is who is told of what happens to groups. Of secrets, and of URLs, which may be some, only enough is shown to know them by.
type hookDoc struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	To      string    `json:"to"`
	Events  []string  `json:"events"`
	Quiet   string    `json:"quiet,omitempty"`
	Created time.Time `json:"created"`
	By      string    `json:"by,omitempty"`
	Failure string    `json:"failure,omitempty"` // why the last message was not taken
	Failed  time.Time `json:"failed,omitzero"`
	Dropped int       `json:"dropped,omitempty"` // messages that were never sent
	// Secret is the key of signatures; it is in the answer to its making only.
	Secret string `json:"secret,omitempty"`
}

func hookOf(h *store.Hook) hookDoc {
	return hookDoc{ID: h.ID, Kind: h.Kind, To: notify.Hint(h.Kind, h.To), Events: h.Events, Quiet: h.Quiet, Created: h.Created.UTC(), By: h.By, Failure: h.Failure, Failed: h.Failed.UTC(), Dropped: h.Dropped}
}

func (s *Service) listHooks(w http.ResponseWriter, r *http.Request, p *request) error {
	all, err := s.c.Store.Hooks(r.Context(), p.project)
	if err != nil {
		return err
	}
	list := make([]hookDoc, len(all))
	for i := range all {
		list[i] = hookOf(&all[i])
	}
	answer(w, http.StatusOK, map[string]any{"hooks": list, "mail": s.c.Notify.Mail != nil})
	return nil
}

func (s *Service) makeHook(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct {
		Kind, To, Quiet string
		Events          []string
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := s.c.Notify.Check(in.Kind, in.To); err != nil {
		return wrong("%v", err)
	}
	if _, err := notify.ParseQuiet(in.Quiet); err != nil {
		return wrong("%v", err)
	}
	slices.Sort(in.Events)
	in.Events = slices.Compact(in.Events)
	known := []string{store.EventNew, store.EventRegressed, store.EventSpiking}
	if len(in.Events) == 0 || slices.ContainsFunc(in.Events, func(e string) bool { return !slices.Contains(known, e) }) {
		return wrong("events: some of %s", strings.Join(known, ", "))
	}
	all, err := s.c.Store.Hooks(r.Context(), p.project)
	if err != nil {
		return err
	}
	if len(all) >= store.MaxHooks {
		return wrong("the project has %d already", len(all))
	}
	// What has happened before is not told.
	if err := s.detect(r.Context(), p.project); err != nil {
		return err
	}
	var b [8]byte
	rand.Read(b[:]) // does not fail
	h := store.Hook{ID: hex.EncodeToString(b[:]), Project: p.project, Kind: in.Kind, To: in.To, Secret: rand.Text(), Events: in.Events, Quiet: in.Quiet, Created: time.Now(), By: writer(&p.token)}
	if err := s.c.Store.AddHook(r.Context(), h); err != nil {
		return err
	}
	doc := hookOf(&h)
	doc.Secret = h.Secret
	answer(w, http.StatusCreated, doc)
	return nil
}

func (s *Service) removeHook(w http.ResponseWriter, r *http.Request, p *request) error {
	err := s.c.Store.RemoveHook(r.Context(), p.project, r.PathValue("id"))
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// testHook sends a message to a hook, so that one sees whether it comes.
func (s *Service) testHook(w http.ResponseWriter, r *http.Request, p *request) error {
	h, err := s.hook(r.Context(), p.project, r.PathValue("id"))
	if err == nil {
		err = s.c.Store.NotifyOne(r.Context(), h, store.EventTest, time.Now())
	}
	if err == nil {
		w.WriteHeader(http.StatusAccepted)
	}
	return err
}

func (s *Service) hook(ctx context.Context, project, id string) (store.Hook, error) {
	all, err := s.c.Store.Hooks(ctx, project)
	for _, h := range all {
		if h.ID == id {
			return h, err
		}
	}
	return store.Hook{}, cmp.Or(err, store.ErrNotFound)
}

// Times of notices.
const (
	detectEvery  = 30 * time.Second
	noticeEvery  = time.Second
	noticeLease  = 2 * time.Minute // a service that died meanwhile has it sent again
	noticeWait   = 30 * time.Second
	longestWait  = time.Hour
	noticeTries  = 10 // some four hours
	noticeAtOnce = 4
)

// notices finds out what is to be told, and tells it, until ctx is done.
func (s *Service) notices(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.detectAll(ctx) })
	for range noticeAtOnce {
		all.Go(func() { s.deliver(ctx) })
	}
}

func every(ctx context.Context, t time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(t):
		return true
	}
}

func (s *Service) detectAll(ctx context.Context) {
	for every(ctx, cmp.Or(s.c.Detect, detectEvery)) {
		hooks, err := s.c.Store.Hooks(ctx, "")
		var done []string
		for i := range hooks {
			if p := hooks[i].Project; err == nil && !slices.Contains(done, p) {
				done = append(done, p)
				err = s.detect(ctx, p)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.c.Log.Error("it is not known what is to be told", "error", err)
		}
	}
}

// A group is spiking if so many dumps of it came in the last hour, and so many times as in an hour of the week before. It is said once a day.
const (
	spikeLeast = 10
	spikeTimes = 5
	spikeHours = 7 * 24
)

// detect has hooks told of groups that have regressed, or are spiking. New ones are told of as their first dumps are finished.
func (s *Service) detect(ctx context.Context, project string) error {
	now, err := s.now(ctx, project)
	if err != nil {
		return err
	}
	states, decisions, err := s.states(ctx, project, &now)
	if err != nil {
		return err
	}
	for group, state := range states {
		if state != regressed {
			continue
		}
		at := decisions[group].At // once for each time that it was said to be fixed
		if _, err := s.c.Store.Notify(ctx, project, group, store.EventRegressed, at, at); err != nil {
			return err
		}
	}
	t := time.Now()
	busy, err := s.c.Store.Busy(ctx, project, t.Add(-time.Hour), spikeLeast)
	if err != nil {
		return err
	}
	for group, n := range busy {
		if states[group] == store.Ignored {
			continue
		}
		all, err := s.c.Store.CountSince(ctx, project, group, t.Add(-(spikeHours+1)*time.Hour))
		if err != nil {
			return err
		}
		if before := all - n; n*spikeHours < spikeTimes*before {
			continue
		}
		if _, err := s.c.Store.Notify(ctx, project, group, store.EventSpiking, t, t.Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends what is due, one after the other.
func (s *Service) deliver(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := s.c.Store.TakeNotice(ctx, time.Now(), time.Now().Add(noticeLease))
		if err == nil {
			err = s.deliverOne(ctx, &n)
			if err == nil {
				continue
			}
		}
		if !errors.Is(err, store.ErrNone) && ctx.Err() == nil {
			s.c.Log.Error("a notice is not sent", "error", err)
		}
		if !every(ctx, cmp.Or(s.c.Detect, noticeEvery)) {
			return
		}
	}
}

// deliverOne sends a notice, or has it wait. The error is the store's.
func (s *Service) deliverOne(ctx context.Context, n *store.Notice) error {
	h, err := s.hook(ctx, n.Project, n.Hook)
	if errors.Is(err, store.ErrNotFound) {
		return s.c.Store.EndNotice(ctx, n.ID)
	}
	if err != nil {
		return err
	}
	now := time.Now()
	quiet, err := notify.ParseQuiet(h.Quiet)
	if err != nil {
		s.c.Log.Warn("quiet hours are not kept", "hook", h.ID, "error", err)
	}
	if end, is := quiet.Until(now); is && n.Event != store.EventTest {
		return s.c.Store.DelayNotices(ctx, h.ID, n.ID, end, false)
	}
	summary := n.Event == store.EventSummary
	if n.Attempts == 0 && !summary {
		if ok, err := s.c.Store.Admit(ctx, *n, now, s.c.Hourly); !ok || err != nil {
			return err
		}
	}
	m, err := s.message(ctx, n)
	if err != nil {
		return err
	}
	if summary {
		m.LeftOut = h.Held
	}
	err = s.c.Notify.Send(ctx, notify.Target{Kind: h.Kind, To: h.To, Secret: h.Secret}, m)
	if ctx.Err() != nil {
		return ctx.Err() // it is sent again
	}
	if err == nil {
		s.metrics.add(`corewalk_notices_total{result="sent"}`, 1)
		if h.Failure != "" {
			err = s.c.Store.HookResult(ctx, h.ID, "", time.Time{}, 0)
		}
		if summary {
			return errors.Join(err, s.c.Store.EndSummary(ctx, *n, h.Held, now))
		}
		return errors.Join(err, s.c.Store.EndNotice(ctx, n.ID))
	}
	why := report.Clean(err.Error())
	why = why[:min(len(why), 300)]
	s.metrics.add(`corewalk_notices_total{result="failed"}`, 1)
	s.c.Log.Warn("a message was not taken", "project", n.Project, "hook", h.ID, "attempt", n.Attempts+1, "error", why)
	if n.Attempts+1 >= noticeTries {
		return errors.Join(s.c.Store.HookResult(ctx, h.ID, why, now, 1), s.c.Store.EndNotice(ctx, n.ID))
	}
	until := now.Add(waitAfter(cmp.Or(s.c.NoticeWait, noticeWait), n.Attempts))
	return errors.Join(s.c.Store.HookResult(ctx, h.ID, why, now, 0), s.c.Store.DelayNotices(ctx, h.ID, n.ID, until, true))
}

// waitAfter is how long a message waits that was tried some times before, and once more.
func waitAfter(first time.Duration, attempts int) time.Duration {
	return min(first<<attempts, longestWait)
}

// message says what happened to a group.
func (s *Service) message(ctx context.Context, n *store.Notice) (notify.Message, error) {
	m := notify.Message{ID: n.ID, Event: n.Event, Project: n.Project, Group: n.Group, At: n.At.UTC()}
	if s.c.PublicURL != "" {
		m.URL = strings.TrimSuffix(s.c.PublicURL, "/") + "/#/"
	}
	if n.Group == "" {
		return m, nil
	}
	if m.URL != "" {
		m.URL += "g/" + n.Group
	}
	l, err := s.ledgers.get(ctx, n.Project)
	if err != nil {
		return m, err
	}
	g, _, err := l.Group(ctx, n.Group, 1)
	if errors.Is(err, ledger.ErrNotFound) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	m.Reason, m.Where, m.Program, m.Count = g.Reason, g.Where, strings.Join(g.Programs[:min(len(g.Programs), 5)], ", "), g.Count
	if n.Event == store.EventRegressed {
		decisions, err := s.c.Store.Decisions(ctx, n.Project)
		if err != nil {
			return m, err
		}
		m.FixedIn = cmp.Or(decisions[n.Group].Release, decisions[n.Group].Build)
		m.At = g.LastSeen.UTC() // the notice has when it was said to be fixed
	}
	return m, nil
}
