package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/sqldb"
)

var things = sqldb.Schema{Store: "things", Migrations: []string{"CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, list TEXT, data BLOB)"}}

func opened(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "things.db"), &things)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// A transaction that ended with its context says so, and not that the database is at fault: a server that is told to end ends well.
func TestCancelledTransaction(t *testing.T) {
	d := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Tx(ctx, func(tx sqldb.Conn) error {
		cancel()
		for {
			if _, err := tx.Exec(context.WithoutCancel(ctx), "SELECT 1"); err != nil { // rolled back by now
				return err
			}
		}
	})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), d.path) {
		t.Errorf("%v", err)
	}
	tx, err := d.db.Begin()
	if err == nil {
		err = tx.Rollback()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := d.failed(tx.Commit()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Values come back as they were, in a transaction and outside, from more statements than are kept.
func TestValues(t *testing.T) {
	d := opened(t)
	ctx := t.Context()
	for i, name := range []sqldb.Raw{"", "a", "\xff\x00", "'; DROP TABLE things; --"} {
		list := [][]string{nil, {""}, {"x", ",", "", "]"}, {"x", `"`, "\",\"", "<"}}[i]
		err := d.Tx(ctx, func(tx sqldb.Conn) error {
			return tx.Batch(ctx, []sqldb.Statement{{Query: "INSERT INTO @things (id, name, list, data) VALUES ($1, $2, $3, $4)", Args: []any{i, name, list, []byte(nil)}}})
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 * maxPrepared / 4 {
			err := d.Query(ctx, func(r sqldb.Row) error {
				var gotName sqldb.Raw
				var gotList []string
				var data []byte
				err := r.Scan(&gotName, &gotList, &data)
				if err == nil && (gotName != name || !slices.Equal(gotList, list) || data != nil) {
					err = fmt.Errorf("%q %q %q, want %q %q", gotName, gotList, data, name, list)
				}
				return err
			}, fmt.Sprintf("SELECT name, list, data FROM @things WHERE id = ANY($1) LIMIT %d", 4*n+i+1), []string{fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
		}
	}
	if n := d.kept.Load(); n != maxPrepared {
		t.Errorf("%d statements are kept", n)
	}
	if n, err := d.Exec(ctx, "DELETE FROM @things WHERE name = $1", "a"); n != 1 || err != nil {
		t.Error(n, err)
	}
	if err := sqldb.One(ctx, d, sqldb.To(), "SELECT id FROM @things WHERE id = 99"); err != sql.ErrNoRows {
		t.Error(err)
	}
	if err := sqldb.One(ctx, d, sqldb.To(), "SELECT id FROM @nothing"); err == nil || !strings.HasPrefix(err.Error(), "things "+d.path+": ") {
		t.Error(err)
	}
}

// A query is answered while the rows of another are read, and while something is written; what was written before is seen.
func TestReadersDoNotWait(t *testing.T) {
	d := opened(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // else it would wait for ever
	defer cancel()
	count := func(want int) {
		t.Helper()
		var n int
		if err := sqldb.One(ctx, d, sqldb.To(&n), "SELECT count(*) FROM @things"); err != nil || n != want {
			t.Errorf("%d %v, want %d", n, err, want)
		}
	}
	add := func(c sqldb.Conn, id int) {
		t.Helper()
		if _, err := c.Exec(ctx, "INSERT INTO @things (id) VALUES ($1)", id); err != nil {
			t.Fatal(err)
		}
	}
	add(d, 1)
	if err := d.Query(ctx, func(sqldb.Row) error { count(1); return nil }, "SELECT id FROM @things"); err != nil {
		t.Error(err)
	}
	if err := d.Tx(ctx, func(tx sqldb.Conn) error { add(tx, 2); count(1); return nil }); err != nil {
		t.Error(err)
	}
	if err := d.Query(ctx, func(sqldb.Row) error { count(2); return nil }, "SELECT id FROM @things"); err != nil {
		t.Error(err)
	}
	if _, err := d.readers.Exec(ctx, "DELETE FROM @things"); err == nil {
		t.Error("a reader writes")
	}
}

// What may be lost does not wait for the disk, and everything else does, whatever became of it.
func TestLater(t *testing.T) {
	d := opened(t)
	synchronous := func(c sqldb.Conn) (n int) {
		t.Helper()
		if err := sqldb.One(t.Context(), c, sqldb.To(&n), "PRAGMA synchronous"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const normal, full = 1, 2
	if _, err := d.Exec(t.Context(), "CREATE TABLE later (x)"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failure := errors.New("failure")
	for i, then := range []func() error{func() error { return nil }, func() error { return failure }, func() error { cancel(); return ctx.Err() }} {
		err := d.Later(ctx, func(tx sqldb.Conn) error {
			if n := synchronous(tx); n != normal {
				t.Errorf("%d in it", n)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO later VALUES ($1)", i); err != nil {
				return err
			}
			return then()
		})
		if (err == nil) != (i == 0) {
			t.Error(i, err)
		}
		if err := d.Tx(t.Context(), func(tx sqldb.Conn) error {
			if n := synchronous(tx); n != full {
				t.Errorf("%d in the next", n)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	var rows int
	if err := sqldb.One(t.Context(), d, sqldb.To(&rows), "SELECT count(*) FROM later"); err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if err := d.Later(ctx, func(sqldb.Conn) error { return nil }); err == nil {
		t.Error("it is done after its context has ended")
	}
	err := d.Tx(t.Context(), func(tx sqldb.Conn) error {
		return tx.(sqldb.Delayer).Later(t.Context(), func(in sqldb.Conn) error {
			if n := synchronous(in); n != full {
				t.Errorf("%d in a transaction that waits", n)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}
