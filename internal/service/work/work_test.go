package work

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Processes that analyse dumps end once files came for their project, and after some time: another process may have stored some.
func TestOld(t *testing.T) {
	w := New(Config{Age: time.Hour})
	began := func(project string, age time.Duration) *run {
		return &run{w: w, project: project, began: time.Now().Add(-age), renewals: w.renewals(project)}
	}
	a, b, late := began("a", 0), began("b", 0), began("b", 2*time.Hour)
	if a.old() || b.old() || !late.old() {
		t.Errorf("%v %v %v", a.old(), b.old(), late.old())
	}
	w.Renew("a")
	if !a.old() || b.old() || began("a", 0).old() {
		t.Errorf("after files of a: %v %v %v", a.old(), b.old(), began("a", 0).old())
	}
	if age := New(Config{}).c.Age; age != 5*time.Minute {
		t.Errorf("by default they live for %v", age)
	}
}

// shelf is a store with one upload.
type shelf struct {
	store.Store
	mu     sync.Mutex
	state  string
	broken bool
}

func (s *shelf) Projects(context.Context) ([]string, error) { return []string{"p"}, nil }

func (s *shelf) Take(context.Context, string, string) (store.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != "waiting" {
		return store.Upload{}, store.ErrNone
	}
	s.state = "working"
	return store.Upload{Project: "p", ID: "u"}, nil
}

func (s *shelf) FinishAll(_ context.Context, _ string, list []store.Finished) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		s.broken = false
		return errors.New("the store is broken")
	}
	for _, f := range list {
		s.state = "done " + f.ID + " " + f.Group
	}
	return nil
}

func (s *shelf) GiveBack(context.Context, string, string, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = "waiting"
	return nil
}

type noLedger struct{ ledger.Store }

func (noLedger) Add(context.Context, int64, []ledger.Dump) error { return nil }

type noFiles struct{ objects.Store }

func (noFiles) Local(_ context.Context, key string) (string, func(), error) {
	return key, func() {}, nil
}

// A dump whose result cannot be stored is analysed once more.
func TestResultNotStored(t *testing.T) {
	s := &shelf{state: "waiting", broken: true}
	var runs, counted atomic.Int32
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	w := New(Config{Store: s, Objects: noFiles{}, Key: func(u *store.Upload) string { return u.ID }, Idle: time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Ledger: func(context.Context, string) (ledger.Store, error) { return noLedger{}, nil },
		Run: func(ctx context.Context, _ string, src triage.Source, to ledger.Store, sink triage.Sink) error {
			runs.Add(1)
			for path := range src.Dumps(ctx) {
				d := ledger.Dump{Path: path, Group: "g"}
				if err := to.Add(ctx, 1, []ledger.Dump{d}); err != nil {
					return err
				}
				sink.Dump(d, false)
			}
			return nil
		},
		Counted: func(analysed bool, _ time.Duration) {
			if analysed {
				counted.Add(1)
			}
			stop()
		}})
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if runs.Load() != 2 || counted.Load() != 1 || s.state != "done u g" {
		t.Errorf("%d runs, %d counted, the upload is %s", runs.Load(), counted.Load(), s.state)
	}
}
