package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Hooks are told of a thing once, each of what it asked for; what is not taken is there again, and what is too much is dropped.
func testHooks(t *testing.T, db store.Store) {
	ctx, now := t.Context(), time.Unix(1_700_000_000, 0)
	for i, events := range [][]string{{"new", "regressed"}, {"spiking"}, {"new"}} {
		h := store.Hook{ID: fmt.Sprint("h", i), Project: "p", Kind: "webhook", To: "https://x", Secret: "s", Events: events, Quiet: "q", Created: now.Add(time.Duration(i)), By: "me"}
		if i == 2 {
			h.Project = "q"
		}
		if err := db.AddHook(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	list, err := db.Hooks(ctx, "p")
	same(t, "hooks", len(list), err, "2")
	same(t, "a hook", list[0].Events, err, "[new regressed]")
	take := func(want string) (n store.Notice) {
		t.Helper()
		n, err := db.TakeNotice(ctx, time.Now().Add(time.Second), time.Now().Add(time.Hour))
		if want == "" {
			if !errors.Is(err, store.ErrNone) {
				t.Errorf("%+v, %v", n, err)
			}
			return n
		}
		same(t, "notice", fmt.Sprintf("%s %s %s %s %d", n.Project, n.Hook, n.Event, n.Group, n.Attempts), err, want)
		return n
	}
	finish(t, db, "a1", "g1", "b1", now)
	finish(t, db, "a2", "g1", "b1", now)
	finish(t, db, "a3", "", "", now)
	first := take("p h0 new g1 0")
	take("")
	if err := db.DelayNotices(ctx, "h0", first.ID, time.Now(), true); err != nil {
		t.Fatal(err)
	}
	take("p h0 new g1 1")
	if err := errors.Join(db.EndNotice(ctx, first.ID), db.Remove(ctx, "p", "a1"), db.Remove(ctx, "p", "a2")); err != nil {
		t.Fatal(err)
	}
	finish(t, db, "a4", "g1", "b1", now) // it is not new again
	take("")
	for i, since := range []time.Duration{1, 1, 3, 3} { // the second and the fourth are the same thing
		told, err := db.Notify(ctx, "p", "g1", "spiking", now.Add(since), now.Add(since))
		same(t, "told", told, err, fmt.Sprint(i%2 == 0))
	}
	a, b := take("p h1 spiking g1 0"), take("p h1 spiking g1 0")
	take("")
	if a.ID == b.ID {
		t.Error("the same twice")
	}
	// One that fails has the others of its hook wait.
	if err := db.DelayNotices(ctx, "h1", a.ID, time.Now().Add(time.Minute), true); err != nil {
		t.Fatal(err)
	}
	take("")
	if err := errors.Join(db.EndNotice(ctx, a.ID), db.EndNotice(ctx, b.ID)); err != nil {
		t.Fatal(err)
	}
	for range store.MaxNotices + 3 {
		if err := db.NotifyOne(ctx, list[1], "test", now); err != nil {
			t.Fatal(err)
		}
	}
	if list, err = db.Hooks(ctx, ""); err != nil || len(list) != 3 || list[1].Dropped != 3 || list[0].Dropped != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := db.HookResult(ctx, "h1", "no", now, 2); err != nil {
		t.Fatal(err)
	}
	if list, err = db.Hooks(ctx, "p"); err != nil || list[1].Dropped != 5 || list[1].Failure != "no" || !list[1].Failed.Equal(now) {
		t.Errorf("%+v, %v", list, err)
	}
	if err := db.RemoveHook(ctx, "q", "h1"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if err := db.RemoveHook(ctx, "p", "h1"); err != nil {
		t.Error(err)
	}
	take("")
	busy, err := db.Busy(ctx, "p", now, 1)
	same(t, "busy", busy, err, "map[g1:1]")
	busy, err = db.Busy(ctx, "p", now, 2)
	same(t, "busy", busy, err, "map[]")
}
