package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Accounts have projects, and their sessions end with what let them in.
func testAccounts(t *testing.T, db store.Store) {
	ctx := t.Context()
	at := time.Unix(1_700_000_000, 0)
	ann := store.Account{Name: "ann", Projects: map[string][]string{"p": {"read", "triage"}, "q": {"read"}}, Password: "hash", Created: at, By: "root"}
	if err := errors.Join(db.AddAccount(ctx, ann), db.AddAccount(ctx, store.Account{Name: "ben", Projects: map[string][]string{"q": {"admin"}}, Invitation: "i", InvitedUntil: at})); err != nil {
		t.Fatal(err)
	}
	if err := db.AddAccount(ctx, store.Account{Name: "ann", Projects: map[string][]string{"r": {"read"}}}); !errors.Is(err, store.ErrTaken) {
		t.Errorf("a second one of the name: %v", err)
	}
	names := func(project string) string {
		list, err := db.Accounts(ctx, project)
		out := ""
		for _, a := range list {
			out += fmt.Sprint(a.Name, a.Projects, " ")
		}
		return fmt.Sprint(out, err)
	}
	for project, want := range map[string]string{"p": "annmap[p:[read triage] q:[read]] <nil>", "q": "annmap[p:[read triage] q:[read]] benmap[q:[admin]] <nil>", "r": "<nil>", "": "annmap[p:[read triage] q:[read]] benmap[q:[admin]] <nil>"} {
		if got := names(project); got != want {
			t.Errorf("%q: %s, want %s", project, got, want)
		}
	}
	if list, err := db.Projects(ctx); err != nil || !slices.Equal(list, []string{"p", "q"}) {
		t.Errorf("%q %v", list, err)
	}
	a, err := db.Account(ctx, "ann")
	if err != nil || a.Password != "hash" || !a.Created.Equal(at) || a.By != "root" || !a.Seen.IsZero() || a.Stamp == "" || !a.InvitedUntil.IsZero() {
		t.Fatalf("%+v %v", a, err)
	}
	n := 0
	replace := func(a *store.Account, project, replaces string) error {
		n++
		return db.EnterAccount(ctx, a, store.Token{ID: fmt.Sprint("s", n), Project: project, Scopes: []string{"read"}, Created: at.Add(time.Duration(n) * time.Second), Expires: at.Add(time.Hour), Subject: store.SubjectOf(a.Name)}, replaces)
	}
	enter := func(a *store.Account, project string) error { return replace(a, project, "") }
	sessions := func(want ...string) {
		t.Helper()
		list, err := db.Tokens(ctx)
		var got []string
		for _, x := range list {
			got = append(got, x.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	ben, err := db.Account(ctx, "ben")
	if err := errors.Join(err, enter(&a, "p"), enter(&a, "q"), enter(&ben, "q")); err != nil {
		t.Fatal(err)
	}
	// What changes nothing of what lets her in ends nothing.
	if err := db.ChangeAccount(ctx, "ann", "", func(a *store.Account) error {
		a.Invitation, a.InvitedUntil = "x", at
		a.Name, a.Stamp, a.Created, a.Seen = "ben", "s", at.Add(1), at.Add(1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if x, err := db.Account(ctx, "ann"); err != nil || x.Invitation != "x" || !x.InvitedUntil.Equal(at) || x.Stamp != a.Stamp || !x.Created.Equal(at) || !x.Seen.Equal(at.Add(2*time.Second)) {
		t.Errorf("%+v %v", x, err)
	}
	sessions("s1", "s2", "s3")
	no := errors.New("no")
	if err := db.ChangeAccount(ctx, "ann", "", func(a *store.Account) error { a.Password = "y"; return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := db.ChangeAccount(ctx, "ann", "s2", func(a *store.Account) error { a.Password = "other"; return nil }); err != nil {
		t.Fatal(err)
	}
	sessions("s2", "s3")
	// Who was let in with the password before comes too late.
	if err := enter(&a, "p"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("with the password before: %v", err)
	}
	sessions("s2", "s3")
	if a, err = db.Account(ctx, "ann"); err != nil || a.Password != "other" {
		t.Fatal(a, err)
	}
	if err := enter(&a, "p"); err != nil {
		t.Fatal(err)
	}
	// One session replaces another of the account; what has ended, and what is another's, is not replaced.
	if err := replace(&a, "q", "s2"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s1", "s2", "s3"} {
		if err := replace(&a, "p", id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("replaces %s: %v", id, err)
		}
	}
	sessions("s3", "s5", "s6")
	if err := db.ChangeAccount(ctx, "ann", "", func(a *store.Account) error { delete(a.Projects, "p"); return nil }); err != nil {
		t.Fatal(err)
	}
	sessions("s3")
	if err := db.ChangeAccount(ctx, "ann", "", func(a *store.Account) error { delete(a.Projects, "q"); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Account(ctx, "ann"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without projects: %v", err)
	}
	for _, err := range []error{enter(&a, "p"), db.ChangeAccount(ctx, "ann", "", func(*store.Account) error { t.Error("called"); return nil })} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("one that is gone: %v", err)
		}
	}
	// Whatever logs in while the account goes has no session after it.
	for i := range 10 {
		name := fmt.Sprint("n", i)
		if err := db.AddAccount(ctx, store.Account{Name: name, Projects: map[string][]string{"p": {"read"}}}); err != nil {
			t.Fatal(err)
		}
		a, err := db.Account(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for k := range 8 {
			all.Go(func() {
				err := db.EnterAccount(ctx, &a, store.Token{ID: fmt.Sprint(name, "-", k), Project: "p", Created: at, Expires: at.Add(time.Hour), Subject: store.SubjectOf(name)}, "")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if err := db.ChangeAccount(ctx, name, "", func(a *store.Account) error { clear(a.Projects); return nil }); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
	}
	sessions("s3")
}

// Those who came by an identity provider are remembered for the projects that they have; accounts are no such.
func testPeople(t *testing.T, db store.Store) {
	ctx := t.Context()
	at := time.Unix(1_700_000_000, 0)
	if err := db.AddAccount(ctx, store.Account{Name: "ann", Projects: map[string][]string{"p": {"read"}}}); err != nil {
		t.Fatal(err)
	}
	come := func(subject, name string, when time.Time, projects ...string) {
		t.Helper()
		if err := db.AddSession(ctx, store.Token{ID: subject + when.String() + name, Project: projects[0], Also: projects[1:], Note: name, Subject: subject, Created: when, Expires: when.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	come("long ago", "old", at.Add(-store.PeopleTime), "p")
	come("x", "dora", at, "p", "q")
	come(store.SubjectOf("ann"), "ann", at, "p")
	come("", "nobody", at, "p")
	come("y", "eve", at.Add(time.Second), "p")
	come("z", "eve", at.Add(time.Second), "p")
	for project, want := range map[string]string{"p": "[eve dora]", "q": "[dora]", "r": "[]"} {
		if list, err := db.People(ctx, project); err != nil || fmt.Sprint(list) != want {
			t.Errorf("%s: %q %v, want %s", project, list, err, want)
		}
	}
	come("x", "dora@example.com", at.Add(time.Minute), "p")
	if list, err := db.People(ctx, "p"); err != nil || fmt.Sprint(list) != "[dora@example.com eve]" {
		t.Errorf("%q %v", list, err)
	}
	for i := range store.MaxPeople + 1 {
		come(fmt.Sprint("n", i), fmt.Sprint("n", i), at.Add(time.Hour), "many")
	}
	if list, err := db.People(ctx, "many"); err != nil || len(list) != store.MaxPeople {
		t.Errorf("%d people, %v", len(list), err)
	}
}

// UpgradeAccounts continues with a database of the schema before there were accounts. old are statements of its program, which goes on: its sessions are as they
// were, and who had one is among the people.
func UpgradeAccounts(t *testing.T, old func(query string) error, open func() store.Store) {
	ctx := t.Context()
	scopes := "'read'"
	insert := func(id, subject string) error {
		err := old("INSERT INTO @tokens (id, hash, project, scopes, note, created, expires, subject, also) VALUES ('" + id + "', 'h', 'p', " + scopes + ", 'note " + id + "', 1700000000000000000, 4700000000000000000, '" + subject + "', '')")
		return err
	}
	if err := insert("a", "x"); err != nil {
		scopes = "ARRAY['read']"
		if err := insert("a", "x"); err != nil {
			t.Fatal(err)
		}
	}
	db := open()
	if err := errors.Join(insert("b", "y"), insert("c", "")); err != nil {
		t.Fatal(err)
	}
	if list, err := db.People(ctx, "p"); err != nil || fmt.Sprint(list) != "[note a]" {
		t.Errorf("%q %v", list, err)
	}
	if list, err := db.Tokens(ctx); err != nil || len(list) != 3 || list[1].Subject != "y" {
		t.Errorf("%+v %v", list, err)
	}
	if err := db.AddAccount(ctx, store.Account{Name: "ann", Projects: map[string][]string{"p": {"read"}}}); err != nil {
		t.Fatal(err)
	}
	if err := old("DELETE FROM @tokens WHERE id = 'a'"); err != nil { // the older program logs somebody out
		t.Fatal(err)
	}
}
