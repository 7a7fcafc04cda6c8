package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Two projects with dumps, groups and builds of the same names know nothing of each other: what is done to one changes nothing in the other, and is as if it
// were alone, which it is in a second store.
func testApart(t *testing.T, db, alone store.Store) {
	fillOne(t, db)
	before := view(t, db, "p", "")
	crowded, single := changeOne(t, db), changeOne(t, alone)
	for i := range single {
		sameLines(t, crowded[i], single[i])
	}
	sameLines(t, view(t, db, "p", ""), before)
	// Its names and values are as many as can be counted, still.
	finishIn(t, db, "p", "z9", "g1", "", apartAt, "session=more", "name=more", "release=9")
	list, err := db.Facets(t.Context(), "p", 1)
	if err != nil || len(list) != store.MaxCountedNames {
		t.Errorf("%d names, %v", len(list), err)
	}
	for _, f := range list {
		if f.Name == "session" && f.Known != store.MaxCountedValues {
			t.Errorf("%d values", f.Known)
		}
	}
}

// sameLines compares two texts, and shows the first line that differs.
func sameLines(t *testing.T, got, want string) {
	t.Helper()
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%.300s, want %.300s", a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Fatal(len(a), " lines, want ", len(b))
	}
}

var apartAt = time.Unix(1_700_000_000, 0)

func fillOne(t *testing.T, db store.Store) {
	ctx := t.Context()
	var many []string
	for i := range store.MaxCountedValues {
		many = append(many, fmt.Sprint("session=", i))
	}
	finishIn(t, db, "p", "s1", "g6", "", apartAt, many...)
	finishIn(t, db, "p", "c1", "g1", "b2", apartAt.Add(-time.Hour))
	finishIn(t, db, "p", "c2", "g1", "b9", apartAt.Add(-time.Hour), "release=2.0")
	finishIn(t, db, "p", "z1", "g4", "b1", apartAt, "os=linux", "channel=beta")
	for i := range 4 {
		finishIn(t, db, "p", fmt.Sprint("a", i), fmt.Sprint("g", i), "b1", apartAt, "os=linux", "channel=beta", fmt.Sprint("user:u", i))
	}
	for i := range store.MaxCountedNames - 4 {
		finishIn(t, db, "p", fmt.Sprint("n", i), "g6", "", apartAt, fmt.Sprint("name", i, "=v"))
	}
	err := errors.Join(db.NameBuild(ctx, "p", "b1", "1.0"), db.Announce(ctx, "p", "7.0"), db.Merge(ctx, "p", "g3", "g2"), db.Merge(ctx, "p", "g4", "g5"), mark(t, db, "p", "p's"),
		db.AddToken(ctx, store.Token{ID: "t", Project: "p", Scopes: []string{"read"}}))
	if err != nil {
		t.Fatal(err)
	}
}

// mark has people note things.
func mark(t *testing.T, db store.Store, project, text string) error {
	ctx := t.Context()
	return errors.Join(db.MarkGroup(ctx, project, "g1", store.Mark{Assignee: text}), db.SetSetting(ctx, project, "n", text), db.AddSearch(ctx, project, store.Search{ID: text, Name: text}),
		db.Decide(ctx, project, "g1", store.Decision{State: store.Fixed, By: text}), db.AddNote(ctx, project, "g1", store.Note{Text: text, At: apartAt}),
		db.AddHook(ctx, store.Hook{ID: text, Project: project, Events: []string{"spiking"}, Created: apartAt}))
}

// changeOne does all that can be done in the project q, and returns what it was like in between.
func changeOne(t *testing.T, db store.Store) (views []string) {
	ctx := t.Context()
	var hidden []string
	for i := range store.MaxCountedValues + 2 {
		hidden = append(hidden, fmt.Sprint("session=", i))
	}
	for i, do := range []func() error{
		func() error { return mark(t, db, "q", "q's") },
		func() error {
			finishIn(t, db, "q", "s1", "g6", "", apartAt, hidden...)
			for i := range 10 {
				finishIn(t, db, "q", fmt.Sprint("n", i), "g6", "", apartAt, fmt.Sprint("other", i, "=v"))
			}
			return nil
		},
		func() error { _, err := db.Remove(ctx, "q", "s1"); return err },
		func() error { finishIn(t, db, "q", "s2", "g6", "", apartAt, "session=fresh"); return nil },
		func() error {
			for i := range 5 {
				finishIn(t, db, "q", fmt.Sprint("a", i), fmt.Sprint("g", i), "b1", apartAt, "os=linux", "channel=beta", "user:u1")
			}
			finishIn(t, db, "q", "z1", "g5", "b1", apartAt, "os=linux", "channel=beta")
			finishIn(t, db, "q", "c1", "g1", "b1", apartAt)
			finishIn(t, db, "q", "c2", "g1", "b2", apartAt)
			return nil
		},
		func() error { return db.NameBuild(ctx, "q", "b2", "2.0") },
		func() error { return db.NameBuild(ctx, "q", "b2", "2.1") },
		func() error { return db.Merge(ctx, "q", "g3", "g2") },
		func() error { return db.Merge(ctx, "q", "g2", "g1") },
		func() error { return db.Split(ctx, "q", "g3") },
		func() error { return db.Merge(ctx, "q", "g4", "g5") },
		func() error { return db.Split(ctx, "q", "g4") },
		func() error { againIn(t, db, "q", "a1", "g2", "b1", "os=windows"); return nil },
		func() error { _, err := db.Notify(ctx, "q", "g1", "spiking", apartAt, apartAt); return err },
		func() error { _, err := db.Remove(ctx, "q", "a2"); return err },
		func() error { return db.RemoveSearch(ctx, "q", "q's") },
		func() error { return db.RemoveHook(ctx, "q", "q's") },
		func() error {
			l, err := db.Forget(ctx, "q", store.Retention{After: apartAt.Add(time.Hour)}, 4)
			return errors.Join(err, fail(len(l) != 4))
		},
		func() error {
			_, err := db.Forget(ctx, "q", store.Retention{After: apartAt.Add(time.Hour)}, 100)
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatal(i, err)
		}
		views = append(views, view(t, db, "q", fmt.Sprint(i)))
	}
	return views
}

func fail(is bool) error {
	if is {
		return errors.New("not so many")
	}
	return nil
}

// view is what a store says of a project.
func view(t *testing.T, db store.Store, project, when string) (out string) {
	t.Helper()
	ctx := t.Context()
	add := func(what string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(when, what, err)
		}
		out += fmt.Sprintf("%s %s: %v\n", when, what, v)
	}
	groups := []string{"g0", "g1", "g2", "g3", "g4", "g5", "g6"}
	for _, q := range []store.Query{{}, {Group: "g1"}, {Has: attrs("os=linux")}, {Has: attrs("os=linux", "channel=beta")}} {
		list, err := db.Uploads(ctx, project, q)
		add(fmt.Sprint("dumps ", q.Group, q.Has), len(list), err)
		for _, u := range list {
			a, err := db.Attributes(ctx, project, u.ID)
			add(u.ID, fmt.Sprint(u.Group, u.Build, u.Release, len(a)), err)
		}
	}
	for _, has := range [][]store.Attribute{attrs("os=linux"), attrs("os=linux", "channel=beta"), attrs("release=2.0", "release=2.0"), attrs("session=1001"), attrs("release=1.0")} {
		h, _, err := db.Having(ctx, project, has, 100)
		add(fmt.Sprint(has), h, err)
	}
	f, err := db.Facets(ctx, project, 3)
	add("facets", f, err)
	a, err := db.Affected(ctx, project, groups)
	add("affected", a, err)
	for _, g := range append(groups, "") {
		s, err := db.Shares(ctx, project, g, 5)
		add(g+" shares", s, err)
		r, err := db.Releases(ctx, project, g)
		add(g+" releases", r, err)
		b, err := db.Builds(ctx, project, g)
		add(g+" builds", b, err)
		d, err := db.ReleaseDays(ctx, project, g, apartAt.Add(-time.Hour))
		add(g+" days", d, err)
		n, err := db.CountSince(ctx, project, g, apartAt)
		add(g+" since", n, err)
	}
	n, err := db.BuildNames(ctx, project)
	add("names", n, err)
	for _, by := range []string{"build", "channel"} {
		s, err := db.Shared(ctx, project, by, []string{"b1", "beta"})
		add("shared", s, err)
	}
	m, err := db.Merged(ctx, project)
	add("merged", m, err)
	marks, err := db.Marks(ctx, project)
	add("marks", marks, err)
	setting, err := db.Setting(ctx, project, "n")
	add("setting", setting, err)
	searches, err := db.Searches(ctx, project)
	add("searches", searches, err)
	notes, err := db.Notes(ctx, project, "g1")
	add("notes", notes, err)
	decisions, err := db.Decisions(ctx, project)
	add("decisions", decisions["g1"].By, err)
	hooks, err := db.Hooks(ctx, project)
	add("hooks", hooks, err)
	days, err := db.Days(ctx, project, groups, apartAt.Add(-time.Hour))
	add("days", days, err)
	busy, err := db.Busy(ctx, project, apartAt, 1)
	add("busy", busy, err)
	return out
}
