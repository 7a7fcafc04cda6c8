package command

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/render"
)

// A ledgerOf has the groups of one run, and those of all; nil is an error.
type ledgerOf struct {
	ledger.Store
	run, all []ledger.Group
}

var errNotAsked = errors.New("not to be asked for")

func (l *ledgerOf) RunGroups(context.Context, int64) ([]ledger.Group, error) {
	if l.run == nil {
		return nil, errNotAsked
	}
	return l.run, nil
}

func (l *ledgerOf) Groups(context.Context, ledger.Query) ([]ledger.Group, error) {
	if l.all == nil {
		return nil, errNotAsked
	}
	return l.all, nil
}

func (l *ledgerOf) RunDumps(context.Context, int64, bool) ([]ledger.Dump, error) { return nil, nil }

// TestGather: of a group that earlier runs knew, the summary says how many dumps it has in all and since when; groups of a
// run that knows nothing of others are not asked for twice.
func TestGather(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	old := ledger.Group{ID: "a", Count: 1, FirstSeen: late}
	whole := ledger.Group{ID: "a", Count: 3, FirstSeen: early, Builds: 2}
	fresh := ledger.Group{ID: "b", Count: 2, FirstSeen: late, New: true}
	for name, c := range map[string]struct {
		store ledgerOf
		known []ledger.Group // from the run
	}{
		"the run has listed them": {ledgerOf{all: []ledger.Group{whole, fresh}}, []ledger.Group{old, fresh}},
		"the store is asked":      {ledgerOf{run: []ledger.Group{old, fresh}, all: []ledger.Group{whole, fresh}}, nil},
	} {
		s := &render.Summary{Groups: c.known}
		if err := new(triageFlags).gather(t.Context(), &c.store, s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, b := s.Groups[0], s.Groups[1]
		if a.Count != 1 || s.Total["a"] != 3 || !a.FirstSeen.Equal(early) || a.Builds != 2 || b.Count != 2 || s.Total["b"] != 2 || !b.FirstSeen.Equal(late) {
			t.Errorf("%s: %+v, in all %v", name, s.Groups, s.Total)
		}
	}
	s := &render.Summary{Groups: []ledger.Group{fresh}}
	if err := new(triageFlags).gather(t.Context(), new(ledgerOf), s); err != nil || s.Total["b"] != 2 {
		t.Errorf("only new groups: %v, in all %v", err, s.Total)
	}
}
