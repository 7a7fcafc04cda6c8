package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Sessions are tokens that expire, and of one person there are not many; other tokens and other people's stay.
func testSessions(t *testing.T, db store.Store) {
	ctx := t.Context()
	at := time.Unix(1_700_000_000, 0)
	if err := db.AddToken(ctx, store.Token{ID: "plain", Project: "p", Scopes: []string{"read"}, Created: at}); err != nil {
		t.Fatal(err)
	}
	add := func(id, project, subject string, i int, life time.Duration) {
		t.Helper()
		created := at.Add(time.Duration(i) * time.Minute)
		err := db.AddSession(ctx, store.Token{ID: id, Hash: "h", Project: project, Scopes: []string{"read", "triage"}, Note: "ann", Created: created, Expires: created.Add(life), Subject: subject, Also: []string{"q", "r"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("short", "p", "x", 1, 30*time.Second)
	add("other", "p", "y", 2, time.Hour)
	add("apart", "q", "x", 2, time.Hour)
	add("none", "p", "", 2, time.Hour)
	for i := range store.MaxSessions + 2 {
		add(fmt.Sprintf("s%02d", i), "p", "x", 3+i, time.Hour)
	}
	list, err := db.Tokens(ctx)
	var ids []string
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	want := []string{"plain", "apart", "none", "other"}
	for i := range store.MaxSessions {
		want = append(want, fmt.Sprintf("s%02d", i+2))
	}
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%q %v, want %q", ids, err, want)
	}
	s, err := db.Token(ctx, "s05")
	if err != nil || !s.Expires.Equal(at.Add(8*time.Minute+time.Hour)) || s.Subject != "x" || !slices.Equal(s.Also, []string{"q", "r"}) || !slices.Equal(s.Scopes, []string{"read", "triage"}) {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := db.Token(ctx, "plain"); err != nil || !s.Expires.IsZero() || len(s.Also) != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := db.Token(ctx, "short"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what has expired stays: %v", err)
	}
}
