package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/storetest"
	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/sqldb"
	engine "github.com/corewalk/corewalk/internal/sqlite"
)

func open(t testing.TB) *tables.DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "deep", "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
}

// Of results that are stored at once there are all or none.
func TestAllOrNone(t *testing.T) {
	ctx := t.Context()
	conn, err := engine.Open(ctx, filepath.Join(t.TempDir(), "service.db"), &schema)
	if err != nil {
		t.Fatal(err)
	}
	d := tables.New(conn, &dialect)
	defer d.Close()
	if _, err := conn.Exec(ctx, "CREATE TRIGGER no BEFORE UPDATE ON uploads WHEN NEW.id = 'b' BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
		t.Fatal(err)
	}
	var list []store.Finished
	for _, id := range []string{"a", "b"} {
		if _, err := d.AddUpload(ctx, store.Upload{Project: "p", ID: id, SHA256: id, Received: time.Now()}); err != nil {
			t.Fatal(err)
		}
		list = append(list, store.Finished{ID: id, Result: store.Result{Group: "g"}})
	}
	if err := d.FinishAll(ctx, "p", list); err == nil {
		t.Error("no error")
	}
	if u, err := d.Upload(ctx, "p", "a"); err != nil || u.State != "waiting" {
		t.Errorf("%+v %v", u, err)
	}
}

// A database of a newer version is not touched.
func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "service.db")
	db, err := engine.Open(t.Context(), path, &schema)
	if err == nil {
		_, err = db.Exec(t.Context(), "PRAGMA user_version = 99")
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil {
		t.Error("it is opened")
	}
}

// A full disk is known as such.
func TestFull(t *testing.T) {
	ctx := t.Context()
	conn, err := engine.Open(ctx, filepath.Join(t.TempDir(), "service.db"), &schema)
	if err != nil {
		t.Fatal(err)
	}
	d := tables.New(conn, &dialect)
	defer d.Close()
	if _, err := conn.Exec(ctx, "PRAGMA max_page_count = 1"); err != nil { // SQLite sets it to how many there are
		t.Fatal(err)
	}
	for i := range 1000 {
		_, err = d.AddUpload(ctx, store.Upload{Project: "a", ID: fmt.Sprint(i), Name: strings.Repeat("x", 1000)})
		if err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
}

// Nobody else reads the database.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "service.db")
	d, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm()&0o77 != 0 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

// A database of the version before is upgraded, also while a program of that version uses it.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "service.db")
	before := schema
	before.Migrations = before.Migrations[:1]
	old, err := engine.Open(t.Context(), path, &before)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	storetest.Upgrade(t, func(query string) {
		t.Helper()
		if _, err := old.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}, func() store.Store {
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	})
}

// A database with many dumps is upgraded while programs of both versions use it.
func TestUpgradeMany(t *testing.T) {
	n := 3000
	if fixture.IsLong(t) {
		n = 100_000
	}
	path := filepath.Join(t.TempDir(), "service.db")
	before := schema
	before.Migrations = before.Migrations[:1]
	old, err := engine.Open(t.Context(), path, &before)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	exec := func(query string) error { _, err := old.Exec(t.Context(), query); return err }
	if err := exec(fmt.Sprintf(`INSERT INTO uploads (project, id, sha256, name, size, received, annotations, state, grp, build)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d - 1)
		SELECT 'p', printf('%%032x', i), 's', 'core', 1, 1700000000000000000 + i, '{"ver":"1.' || (i %% 50) || '","channel":"beta","host":"h' || i || '"}', 'done', 'g' || (i %% 100), 'b' FROM n`, n)); err != nil {
		t.Fatal(err)
	}
	storetest.UpgradeMany(t, n, exec, func() store.Store {
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	})
}

// What a program of the schema before analyses while the database is upgraded is counted.
func TestUpgradeSpans(t *testing.T) { upgradeFrom(t, " spanned ", storetest.UpgradeSpans) }

func TestUpgradeAccounts(t *testing.T) { upgradeFrom(t, " accounts ", storetest.UpgradeAccounts) }

func TestUpgradeFrames(t *testing.T) { upgradeFrom(t, " more ", storetest.UpgradeFrames) }

// upgradeFrom begins with a database of the schema before the first change that has some text.
func upgradeFrom(t *testing.T, change string, test func(*testing.T, func(string) error, func() store.Store)) {
	path := filepath.Join(t.TempDir(), "service.db")
	before := schema
	before.Migrations = before.Migrations[:slices.IndexFunc(before.Migrations, func(m string) bool { return strings.Contains(m, change) })]
	old, err := engine.Open(t.Context(), path, &before)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	test(t, func(query string) error { _, err := old.Exec(t.Context(), query); return err }, func() store.Store {
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	})
}

// Dumps that an older program has counted, without their builds, releases and days, are counted so later; and what has no dumps left has no rows.
func TestBackspan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "service.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	raw, err := engine.Open(t.Context(), path, &schema)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	at := time.Unix(1_700_000_000, 0)
	for i := range 60 {
		id := fmt.Sprintf("d%02d", i)
		_, err := db.AddUpload(t.Context(), store.Upload{Project: "p", ID: id, SHA256: id, Received: at.Add(time.Duration(i) * time.Hour)})
		if err == nil {
			err = db.Finish(t.Context(), "p", id, store.Result{Group: fmt.Sprint("g", i%3), Build: fmt.Sprint("b", i%4), Program: "p", Attributes: []store.Attribute{{Name: "release", Value: fmt.Sprint("1.", i%5)}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all := func() string {
		t.Helper()
		days, err1 := db.Days(t.Context(), "p", []string{"g0", "g1", "g2"}, time.Unix(0, 0))
		out := fmt.Sprint(days)
		for _, g := range []string{"", "g0", "g1", "g2"} {
			builds, err2 := db.Builds(t.Context(), "p", g)
			releases, err3 := db.Releases(t.Context(), "p", g)
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprint(builds, releases)
		}
		return out
	}
	before := all()
	for _, query := range []string{"DELETE FROM spans", "DELETE FROM days", "UPDATE uploads SET spanned = 0"} {
		if _, err := raw.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if all() == before {
		t.Error("nothing was counted")
	}
	for {
		if n, err := db.Backfill(t.Context(), 7); err != nil {
			t.Fatal(err)
		} else if n == 0 {
			break
		}
	}
	if after := all(); after != before {
		t.Errorf("before %s\nafter %s", before, after)
	}
	for i := range 60 {
		if _, err := db.Remove(t.Context(), "p", fmt.Sprintf("d%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"spans", "days"} {
		var n int
		if err := sqldb.One(t.Context(), raw, sqldb.To(&n), "SELECT count(*) FROM "+table); err != nil || n != 0 {
			t.Errorf("%d %s are left: %v", n, table, err)
		}
	}
}
