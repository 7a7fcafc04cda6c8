package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Groups that people merge are one, with their later dumps, until they split it.
func testMerge(t *testing.T, db store.Store) {
	ctx, at := t.Context(), time.Unix(1_700_000_000, 0)
	finish(t, db, "a1", "g1", "b1", at, "os=linux", "user:u1")
	finish(t, db, "a2", "g2", "b1", at, "os=linux", "user:u1")
	finish(t, db, "a3", "g2", "b2", at, "os=windows", "user:u2")
	finish(t, db, "a4", "g3", "b2", at, "os=windows", "user:u3")
	check := func(when, has, users, merged string) {
		t.Helper()
		h, _, err := db.Having(ctx, "p", attrs("os=windows"), 1000)
		same(t, when+": having", h, err, has)
		a, err := db.Affected(ctx, "p", []string{"g1", "g2", "g3"})
		same(t, when+": users", a, err, users)
		m, err := db.Merged(ctx, "p")
		same(t, when+": merged", m, err, merged)
	}
	if err := db.Merge(ctx, "p", "g2", "g1"); err != nil {
		t.Fatal(err)
	}
	check("merged", "map[g1:1 g3:1]", "map[g1:map[user:2] g3:map[user:1]]", "map[g2:g1]")
	finish(t, db, "a5", "g2", "b2", at, "os=windows", "user:u4") // a later one
	check("later", "map[g1:2 g3:1]", "map[g1:map[user:3] g3:map[user:1]]", "map[g2:g1]")
	if u, err := db.Uploads(ctx, "p", store.Query{Group: "g1"}); err != nil || len(u) != 4 {
		t.Error(len(u), err)
	}
	if err := db.Merge(ctx, "p", "g1", "g3"); err != nil { // with what was merged into it
		t.Fatal(err)
	}
	check("all", "map[g3:3]", "map[g3:map[user:4]]", "map[g1:g3 g2:g3]")
	if err := errors.Join(db.Merge(ctx, "p", "g3", "g1"), db.Merge(ctx, "p", "g3", "g2")); err != nil { // a circle
		t.Fatal(err)
	}
	check("a circle", "map[g3:3]", "map[g3:map[user:4]]", "map[g1:g3 g2:g3]")
	again(t, db, "a2", "g2", "b1", "os=linux")
	if err := db.Split(ctx, "p", "g2"); err != nil {
		t.Fatal(err)
	}
	check("split", "map[g2:2 g3:1]", "map[g2:map[user:3] g3:map[user:2]]", "map[g1:g3]")
	if err := db.Split(ctx, "p", "g2"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if err := db.Split(ctx, "p", "g1"); err != nil {
		t.Fatal(err)
	}
	check("as before", "map[g2:2 g3:1]", "map[g1:map[user:1] g2:map[user:3] g3:map[user:1]]", "map[]")
	for _, id := range []string{"a1", "a2", "a3", "a4", "a5"} {
		if _, err := db.Remove(ctx, "p", id); err != nil {
			t.Error(err)
		}
	}
	f, err := db.Facets(ctx, "p", 5)
	same(t, "none are left", f, err, "[]")
}

// What people note comes back.
func testMarks(t *testing.T, db store.Store) {
	ctx := t.Context()
	for _, m := range []store.Mark{{Assignee: "ann"}, {Assignee: "bob", Ticket: "https://x"}} {
		if err := db.MarkGroup(ctx, "p", "g1", m); err != nil {
			t.Fatal(err)
		}
	}
	m, err := db.Marks(ctx, "p")
	same(t, "marks", m, err, "map[g1:{bob https://x}]")
	for _, v := range []string{"a", "b"} {
		if err := db.SetSetting(ctx, "p", "n", v); err != nil {
			t.Fatal(err)
		}
	}
	v, err := db.Setting(ctx, "p", "n")
	same(t, "setting", v, err, "b")
	v, err = db.Setting(ctx, "q", "n")
	same(t, "no setting", v, err, "")
	if err := errors.Join(db.AddSearch(ctx, "p", store.Search{ID: "1", Name: "z", Query: "q=1", By: "me"}), db.AddSearch(ctx, "p", store.Search{ID: "2", Name: "a"}), db.RemoveSearch(ctx, "p", "2")); err != nil {
		t.Fatal(err)
	}
	l, err := db.Searches(ctx, "p")
	same(t, "searches", l, err, "[{1 z q=1 me}]")
	if err := db.RemoveSearch(ctx, "q", "1"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}
