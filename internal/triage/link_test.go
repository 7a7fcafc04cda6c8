package triage

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A groupStore is a Store with existing groups.
type groupStore struct {
	ledger.Store
	groups []ledger.Group
	linked map[string][]ledger.Similar
	broken error // returned by Link

	noGroups bool // Groups is an error
}

func (s *groupStore) Groups(context.Context, ledger.Query) ([]ledger.Group, error) {
	if s.noGroups {
		return nil, errors.New("asked for all groups")
	}
	return s.groups, nil
}

func (s *groupStore) RunGroups(context.Context, int64) ([]ledger.Group, error) { return s.groups, nil }

func (s *groupStore) Link(_ context.Context, id string, list []ledger.Similar) error {
	s.linked[id] = list
	return s.broken
}

// TestLink: new groups are linked to similar ones, unless they have too little to compare.
func TestLink(t *testing.T) {
	stack := []string{"parse_value", "parse_array", "parse_value", "parse_document", "load", "main"}
	like := []string{"parse_value", "parse_array", "parse_value", "parse_document", "reload", "main"}
	other := []string{"send", "flush", "close", "finish", "quit", "main"}
	for name, c := range map[string]struct {
		groups []ledger.Group
		want   map[string][]string
	}{
		"alike":            {[]ledger.Group{{ID: "a", Frames: stack}, {ID: "b", Frames: like, New: true}}, map[string][]string{"b": {"a"}}},
		"both new":         {[]ledger.Group{{ID: "a", Frames: stack, New: true}, {ID: "b", Frames: like, New: true}}, map[string][]string{"a": {"b"}, "b": {"a"}}},
		"none new":         {[]ledger.Group{{ID: "a", Frames: stack}, {ID: "b", Frames: like}}, nil},
		"another":          {[]ledger.Group{{ID: "a", Frames: stack}, {ID: "b", Frames: other, New: true}}, nil},
		"new one weak":     {[]ledger.Group{{ID: "a", Frames: stack}, {ID: "b", Frames: stack, New: true, Weak: true}}, nil},
		"old one weak":     {[]ledger.Group{{ID: "a", Frames: stack, Weak: true}, {ID: "b", Frames: stack, New: true}}, nil},
		"one function":     {[]ledger.Group{{ID: "a", Frames: stack[:2]}, {ID: "b", Frames: stack[:2], New: true}}, nil},
		"not with itself":  {[]ledger.Group{{ID: "a", Frames: stack, New: true}}, nil},
		"two functions do": {[]ledger.Group{{ID: "a", Frames: stack[:3]}, {ID: "b", Frames: stack[:3], New: true}}, map[string][]string{"b": {"a"}}},
	} {
		s := &groupStore{groups: c.groups, linked: map[string][]ledger.Similar{}}
		mine, err := link(t.Context(), s, 1, false)
		if err != nil || (mine == nil) != (len(c.want) > 0) {
			t.Errorf("%s: %d groups that have not changed: %v", name, len(mine), err)
		}
		alone := &groupStore{groups: c.groups, linked: map[string][]ledger.Similar{}, noGroups: true}
		if _, err := link(t.Context(), alone, 1, true); err != nil || !reflect.DeepEqual(alone.linked, s.linked) {
			t.Errorf("%s, in the only run: %v, want %v: %v", name, alone.linked, s.linked, err)
		}
		if len(s.linked) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, s.linked, c.want)
		}
		for id, want := range c.want {
			var got []string
			for _, m := range s.linked[id] {
				got = append(got, m.Group)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s is linked to %q, want %q", name, id, got, want)
			}
		}
	}
}

// TestLinkIsBounded: a group is linked to a few others, however many are similar.
func TestLinkIsBounded(t *testing.T) {
	s := &groupStore{linked: map[string][]ledger.Similar{}}
	for i := range 3 * maxSimilar {
		s.groups = append(s.groups, ledger.Group{ID: fmt.Sprint(i), Frames: []string{"f", "g", "h", "k", "main"}, New: i == 0})
	}
	if _, err := link(t.Context(), s, 1, false); err != nil || len(s.linked["0"]) != maxSimilar {
		t.Errorf("%v, %v", s.linked, err)
	}
	s.broken = errors.New("full")
	if _, err := link(t.Context(), s, 1, false); !errors.Is(err, s.broken) {
		t.Errorf("a store that fails: %v", err)
	}
}
