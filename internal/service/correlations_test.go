package service

import (
	"fmt"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// What a group's dumps have more often than others is listed with its strength; what may be chance is not, nor what all have.
func TestCorrelations(t *testing.T) {
	share := func(name string, here, all int) store.Share {
		return store.Share{Attribute: store.Attribute{Name: name, Value: "v"}, Here: here, All: all}
	}
	for name, c := range map[string]struct {
		in   store.Shares
		want string
	}{
		"all and no others":  {store.Shares{Here: 10, All: 110, List: []store.Share{share("a", 10, 10)}}, "[{a v 10 1 0 1}]"},
		"half, and a few":    {store.Shares{Here: 100, All: 1100, List: []store.Share{share("a", 50, 150)}}, "[{a v 50 0.5 0.1 0.335}]"},
		"the strong first":   {store.Shares{Here: 100, All: 1100, List: []store.Share{share("a", 50, 150), share("b", 90, 90)}}, "[{b v 90 0.9 0 0.944} {a v 50 0.5 0.1 0.335}]"},
		"chance":             {store.Shares{Here: 2, All: 100, List: []store.Share{share("a", 2, 40)}}, "[]"},
		"all have it":        {store.Shares{Here: 10, All: 100, List: []store.Share{share("a", 10, 100)}}, "[]"},
		"fewer here":         {store.Shares{Here: 100, All: 200, List: []store.Share{share("a", 10, 100)}}, "[]"},
		"no others":          {store.Shares{Here: 10, All: 10, List: []store.Share{share("a", 10, 10)}}, "[]"},
		"none":               {store.Shares{}, "[]"},
		"counts that do lie": {store.Shares{Here: 1, All: 50, List: []store.Share{share("a", 40, 3)}}, "[{a v 40 1 0 1}]"},
	} {
		if got := fmt.Sprint(correlations(c.in)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	many := store.Shares{Here: 100, All: 1000}
	for i := range 500 {
		many.List = append(many.List, share(fmt.Sprint("n", i), 100, 100))
	}
	if n := len(correlations(many)); n != maxCorrelations {
		t.Errorf("%d", n)
	}
}

// A message that is not taken waits twice as long each time, and an hour at most.
func TestWaitAfter(t *testing.T) {
	for attempts, want := range map[int]time.Duration{0: 30 * time.Second, 1: time.Minute, 6: 32 * time.Minute, 7: time.Hour, noticeTries: time.Hour} {
		if got := waitAfter(noticeWait, attempts); got != want {
			t.Errorf("%d: %v, want %v", attempts, got, want)
		}
	}
}
