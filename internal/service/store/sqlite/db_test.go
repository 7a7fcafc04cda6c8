package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/storetest"
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

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
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
