package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

func open(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "deep", "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func add(t *testing.T, db *DB, project, id string) store.Upload {
	t.Helper()
	u, err := db.AddUpload(t.Context(), store.Upload{Project: project, ID: id, SHA256: id + id, Received: time.Now(), Annotations: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func state(t *testing.T, db *DB, project, id string) string {
	t.Helper()
	u, err := db.Upload(t.Context(), project, id)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(u.State, " ", u.Alone)
}

// Of several dumps that a dead worker had none is blamed: each is analysed alone. One that was alone is blamed, and set aside the
// third time.
func TestRecover(t *testing.T) {
	db, ctx := open(t), t.Context()
	for i := range 3 {
		add(t, db, "p", fmt.Sprint("id", i))
	}
	for range store.MaxDeaths + 1 {
		for {
			if _, err := db.Take(ctx, "w", ""); errors.Is(err, store.ErrNone) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if n, err := db.Recover(ctx, "w"); err != nil || n != 0 {
			t.Fatalf("of a worker that is alive: %d %v", n, err)
		}
		if n, err := db.Recover(ctx, "other"); err != nil || n != 3 {
			t.Fatal(n, err)
		}
		if got := state(t, db, "p", "id1"); got != "waiting true" {
			t.Errorf("%s", got)
		}
	}
	for n := 1; n <= store.MaxDeaths; n++ {
		u, err := db.Take(ctx, "w", "p")
		if err != nil || u.ID != "id0" || !u.Alone {
			t.Fatal(u, err)
		}
		if _, err := db.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		want := "waiting true"
		if n == store.MaxDeaths {
			want = "aside true"
		}
		if got := state(t, db, "p", "id0"); got != want {
			t.Errorf("after %d deaths: %s", n, got)
		}
	}
	if err := db.Again(ctx, "p", "id0"); err != nil || state(t, db, "p", "id0") != "waiting true" {
		t.Error(err)
	}
}

// What belongs to one project is not seen in another.
func TestProjects(t *testing.T) {
	db, ctx := open(t), t.Context()
	add(t, db, "p", "abc1")
	add(t, db, "q", "abc1")
	add(t, db, "q", "abd2")
	if u := add(t, db, "q", "abd2"); u.Times != 2 {
		t.Errorf("%+v", u)
	}
	if _, err := db.Take(ctx, "w", "none"); !errors.Is(err, store.ErrNone) {
		t.Error(err)
	}
	if u, err := db.Take(ctx, "w", "q"); err != nil || u.Project != "q" {
		t.Error(u, err)
	}
	if err := db.Finish(ctx, "q", "abc1", store.Result{Group: "g", Build: "b"}); err != nil {
		t.Error(err)
	}
	if got := state(t, db, "p", "abc1"); got != "waiting false" {
		t.Error(got)
	}
	if err := db.Finish(ctx, "p", "abd2", store.Result{}); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	for id, ok := range map[string]bool{"abc": true, "ab": false, "": false, "abc1x": false, "b": false} {
		if _, err := db.Upload(ctx, "q", id); (err == nil) != ok || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if list, err := db.Uploads(ctx, "p", store.Query{Group: "g"}); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if b, err := db.Builds(ctx, "p", ""); err != nil || len(b) != 0 {
		t.Error(b, err)
	}
	if b, err := db.Builds(ctx, "q", "g"); err != nil || len(b) != 1 || b[0].Count != 1 {
		t.Error(b, err)
	}
	if err := db.Remove(ctx, "p", "abd2"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if list, err := db.Forget(ctx, "q", time.Now().Add(time.Hour), 10); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	if c, err := db.Counts(ctx); err != nil || c[store.Waiting] != 1 || c[store.Done] != 0 {
		t.Error(c, err)
	}
}

// A database of a newer version is not touched.
func TestNewer(t *testing.T) {
	db := open(t)
	if _, err := db.db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := Open(t.Context(), db.path); err == nil {
		t.Error("it is opened")
	}
}
