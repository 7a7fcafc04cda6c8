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
	_, err1 := db.Remove(ctx, "p", "a1")
	_, err2 := db.Remove(ctx, "p", "a2")
	if err := errors.Join(db.EndNotice(ctx, first.ID), err1, err2); err != nil {
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
	if told, err := db.Notify(ctx, "q", "g1", "spiking", now, now); err != nil || !told { // of another project
		t.Error(told, err)
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
	testHourly(t, db, list[0])
	busy, err := db.Busy(ctx, "p", now, 1)
	same(t, "busy", busy, err, "map[g1:1]")
	busy, err = db.Busy(ctx, "p", now.Add(1), 1)
	same(t, "busy later", busy, err, "map[]")
	n, err := db.CountSince(ctx, "p", "g1", now)
	same(t, "since", n, err, "1")
	n, err = db.CountSince(ctx, "p", "g1", now.Add(1))
	same(t, "since later", n, err, "0")
	busy, err = db.Busy(ctx, "p", now, 2)
	same(t, "busy", busy, err, "map[]")
}

// A hook is sent so many messages in an hour. Those that are too many end in a summary in the next one, which tells of all.
func testHourly(t *testing.T, db store.Store, h store.Hook) {
	ctx, hour := t.Context(), time.Unix(1_700_000_000, 0).Truncate(time.Hour).Add(240*time.Hour)
	took := func(at time.Time) (n store.Notice) {
		t.Helper()
		n, err := db.TakeNotice(ctx, at, at.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	admit := func(at time.Time, want string) {
		t.Helper()
		if err := db.NotifyOne(ctx, h, "test", at); err != nil {
			t.Fatal(err)
		}
		n := took(at)
		ok, err := db.Admit(ctx, n, at, 2)
		if same(t, "admitted", fmt.Sprint(n.Event, " ", ok), err, want); ok {
			if err := db.EndNotice(ctx, n.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, want := range []string{"test true", "test true", "test false", "test false"} {
		admit(hour.Add(time.Duration(i)*time.Minute), want)
	}
	held := func(want int) {
		t.Helper()
		list, err := db.Hooks(ctx, h.Project)
		if err != nil || list[0].ID != h.ID || list[0].Held != want {
			t.Errorf("%+v, %v, want %d", list, err, want)
		}
	}
	held(2)
	if _, err := db.TakeNotice(ctx, hour.Add(59*time.Minute), hour); !errors.Is(err, store.ErrNone) {
		t.Error("a summary before the hour is over:", err)
	}
	next := hour.Add(time.Hour)
	n := took(next)
	same(t, "summary", n.Event+n.Group+n.Hook, nil, "summary"+h.ID)
	for _, want := range []string{"test true", "test true", "test false"} { // it is the next hour, and others are too many meanwhile
		admit(next, want)
	}
	held(3)
	if err := db.EndSummary(ctx, n, 2, next); err != nil {
		t.Fatal(err)
	}
	held(1)
	n = took(next.Add(time.Hour))
	if err := db.EndSummary(ctx, n, 1, next); err != nil || n.Event != "summary" {
		t.Fatal(n, err)
	}
	held(0)
	if n, err := db.TakeNotice(ctx, next.Add(9*time.Hour), next); !errors.Is(err, store.ErrNone) {
		t.Error(n, err)
	}
}
