package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/service/backup"
	"github.com/corewalk/corewalk/internal/service/fleet"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
)

// contents are the rows of all tables of a service but those of processes that run, as digests.
func contents(t *testing.T, pool *pgxpool.Pool) map[string]string {
	t.Helper()
	var names []string
	if err := pool.QueryRow(t.Context(), `SELECT array_agg(quote_ident(schemaname) || '.' || quote_ident(tablename)) FROM pg_tables
		WHERE (tablename LIKE 'service\_%' OR tablename LIKE 'ledger\_%') AND tablename NOT IN ('service_workers', 'service_builds')`).Scan(&names); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		var n int
		var sum *string
		if err := pool.QueryRow(t.Context(), "SELECT count(*), md5(string_agg(r::text, '|' ORDER BY r::text)) FROM "+name+" r").Scan(&n, &sum); err != nil {
			t.Fatal(err)
		}
		if sum == nil {
			sum = new(string)
		}
		out[name] = fmt.Sprint(n, " ", *sum)
	}
	return out
}

func (w *world) backup(to string, files objects.Store) *backup.Counts {
	w.t.Helper()
	n, err := backup.Make(w.t.Context(), to, "1", fleet.BackupOf(w.pool), files)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// done waits until some uploads are done at least.
func (w *world) done(n int) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if list, err := w.store.Uploads(w.t.Context(), "shop", store.Query{State: store.Done, Limit: 10000}); err == nil && len(list) >= n {
			return
		} else if time.Now().After(end) {
			w.t.Fatalf("%d are done: %v", len(list), err)
		}
	}
}

// restored is a new database of a backup.
func (w *world) restored(from string) (*servers.Postgres, *pgxpool.Pool) {
	w.t.Helper()
	server := servers.NewDatabase(w.t)
	pool := w.connect(server.Connection())
	files, err := objects.OpenDir(w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := backup.Restore(w.t.Context(), from, fleet.BackupOf(pool), files); err != nil {
		w.t.Fatal(err)
	}
	return server, pool
}

// A database that is made of a backup has the rows of the one of which it was made, texts of any bytes among them; nothing is mixed with another service.
func TestBackupTables(t *testing.T) {
	w := newWorld(t)
	files, err := objects.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.add(3, nil)
	if _, err := w.store.AddUpload(t.Context(), store.Upload{ID: "f0000000000000000000000000000000", Project: "shop", SHA256: "f0", Name: "tab\t\\N\nline\xff\xfe", Received: time.Now(), Annotations: map[string]string{"k": "\\."}}); err != nil {
		t.Fatal(err)
	}
	stop := w.worker("one", time.Minute)
	w.done(4)
	stop()
	for i, text := range []string{"first\tnote\\N", "second\\."} {
		if err := w.store.AddNote(t.Context(), "shop", "0", store.Note{Text: text, At: time.Unix(int64(i+1), 0), By: "me"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.store.Key(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if n := w.backup(to, files); n.Dumps != 4 || n.Gone != 4 {
		t.Errorf("%+v", n)
	}
	_, pool := w.restored(to)
	if before, after := contents(t, w.pool), contents(t, pool); !maps.Equal(before, after) || len(after) < 20 {
		t.Errorf("before %v\nafter %v", before, after)
	}
	if _, err := backup.Restore(t.Context(), to, fleet.BackupOf(pool), files); err == nil || !strings.Contains(err.Error(), "restore into an empty one") {
		t.Error(err)
	}
	again, err := fleet.Open(t.Context(), pool, w.log, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.AddNote(t.Context(), "shop", "0", store.Note{Text: "third", At: time.Unix(3, 0), By: "me"}); err != nil { // with a number of its own
		t.Fatal(err)
	}
	if notes, err := again.Notes(t.Context(), "shop", "0"); err != nil || len(notes) != 3 || notes[2].Text != "third" {
		t.Errorf("%+v %v", notes, err)
	}
}

// A backup that is made while workers analyse: what they had waits again, and each dump is counted once.
func TestBackupWhileWorking(t *testing.T) {
	w := newWorld(t)
	files, err := objects.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.analyse = func(context.Context, string, string) error {
		time.Sleep(2 * time.Millisecond)
		return nil
	}
	const n = 200
	w.add(n, nil)
	stop := w.worker("one", time.Minute)
	other := w.worker("two", time.Minute)
	w.done(n / 4)
	to := t.TempDir()
	if c := w.backup(to, files); c.Dumps != n {
		t.Errorf("%+v", c)
	}
	w.done(n)
	stop()
	other()
	server, pool := w.restored(to)
	var waiting, done, working, rows int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'working'),
		(SELECT count(*) FROM `+fleet.Ledger("shop")+`.ledger_dumps) FROM service_uploads`).Scan(&waiting, &done, &working, &rows); err != nil {
		t.Fatal(err)
	}
	if waiting == 0 || done < n/4 || working != 0 || waiting+done != n || rows != done {
		t.Fatalf("%d wait, %d are done, %d are being worked on, and the ledger has %d", waiting, done, working, rows)
	}
	// Workers of the new database do the rest, though it had no queue.
	back := worldAt(t, server)
	back.analyse = w.analyse
	stop = back.worker("three", time.Minute)
	defer stop()
	back.done(n)
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+fleet.Ledger("shop")+".ledger_dumps").Scan(&rows); err != nil || rows != n {
		t.Errorf("the ledger has %d dumps, there were %d: %v", rows, n, err)
	}
}
