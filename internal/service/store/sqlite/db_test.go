package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/storetest"
)

func open(t testing.TB) *DB {
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

// A full disk is known as such.
func TestFull(t *testing.T) {
	ctx := t.Context()
	d, err := Open(ctx, filepath.Join(t.TempDir(), "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.db.ExecContext(ctx, "PRAGMA max_page_count = 1"); err != nil { // SQLite sets it to how many there are
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

// A transaction that ended with its context says so, and not that the database is at fault: a server that is told to end ends well.
func TestCancelledTransaction(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.failed(db.inTx(ctx, func(tx *sql.Tx) error {
		cancel()
		for {
			if _, err := tx.Exec("SELECT 1"); err != nil { // rolled back by now
				return err
			}
		}
	}))
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), db.path) {
		t.Errorf("%v", err)
	}
}
