// Package sqlite is a store.Store in an SQLite database.
package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	engine "github.com/corewalk/corewalk/internal/sqlite"

	"github.com/corewalk/corewalk/internal/service/store"
)

// A DB is a Store in an SQLite database. Several processes may use one file at the same time.
type DB struct {
	path string
	db   *sql.DB
}

var _ store.Store = (*DB)(nil)

// busyTimeout is how long to wait for another process that is writing.
const busyTimeout = 30 * time.Second

// migrations lead from each version of the schema to the next. A released migration is never changed. Times are nanoseconds
// since 1970.
var migrations = [...]string{
	`CREATE TABLE uploads (
		project TEXT NOT NULL,
		id TEXT NOT NULL,
		sha256 TEXT NOT NULL,
		name TEXT NOT NULL,
		size INTEGER NOT NULL,
		received INTEGER NOT NULL,
		times INTEGER NOT NULL DEFAULT 1,
		annotations TEXT NOT NULL,
		state TEXT NOT NULL,
		worker TEXT NOT NULL DEFAULT '',
		attempts INTEGER NOT NULL DEFAULT 0,
		deaths INTEGER NOT NULL DEFAULT 0,
		alone INTEGER NOT NULL DEFAULT 0,
		why TEXT NOT NULL DEFAULT '',
		grp TEXT NOT NULL DEFAULT '',
		fault TEXT NOT NULL DEFAULT '',
		reason TEXT NOT NULL DEFAULT '',
		program TEXT NOT NULL DEFAULT '',
		build TEXT NOT NULL DEFAULT '',
		PRIMARY KEY (project, id)) WITHOUT ROWID;
	CREATE INDEX uploads_state ON uploads (state, received, project) WHERE state <> 'done';
	CREATE INDEX uploads_received ON uploads (project, received);
	CREATE INDEX uploads_group ON uploads (project, grp, received);
	CREATE INDEX uploads_builds ON uploads (project, grp, build, received, program);
	CREATE INDEX uploads_build ON uploads (project, build, received, program, grp);
	CREATE TABLE tokens (
		id TEXT PRIMARY KEY,
		hash TEXT NOT NULL,
		project TEXT NOT NULL,
		scopes TEXT NOT NULL,
		note TEXT NOT NULL,
		created INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE decisions (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		state TEXT NOT NULL,
		build TEXT NOT NULL,
		at INTEGER NOT NULL,
		by TEXT NOT NULL,
		PRIMARY KEY (project, grp)) WITHOUT ROWID;
	CREATE TABLE notes (
		id INTEGER PRIMARY KEY,
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		text TEXT NOT NULL,
		at INTEGER NOT NULL,
		by TEXT NOT NULL);
	CREATE INDEX notes_group ON notes (project, grp);`,
}

// Open opens the database at path, and creates it and its directory if necessary.
func Open(ctx context.Context, path string) (*DB, error) {
	d := &DB{path: path}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, d.failed(err)
	}
	// SQLite would let everybody read it.
	if f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600); err == nil { // else SQLite says why not
		f.Close()
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := engine.Open((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, d.failed(err)
	}
	db.SetMaxOpenConns(1) // there is one writer at a time anyway
	d.db = db
	if err := d.migrate(ctx); err != nil {
		db.Close()
		return nil, d.failed(err)
	}
	return d, nil
}

func (d *DB) migrate(ctx context.Context) error {
	return d.inTx(ctx, func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		if have > len(migrations) {
			return fmt.Errorf("written by a newer version of corewalk (schema %d, this version supports %d): use that version, or another directory", have, len(migrations))
		}
		for _, m := range migrations[have:] {
			if _, err := tx.ExecContext(ctx, m); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

func (d *DB) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// failed adds the name of the database to an error.
func (d *DB) failed(err error) error {
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrNone), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, sql.ErrTxDone): // the context ended, and database/sql rolled back
		return context.Canceled
	case errors.Is(err, sql.ErrNoRows):
		return store.ErrNotFound
	}
	if engine.Code(err) == engine.Full {
		return fmt.Errorf("database %s: %w", d.path, syscall.ENOSPC)
	}
	return fmt.Errorf("database %s: %w", d.path, err)
}

// Close implements Store.
func (d *DB) Close() error { return d.failed(d.db.Close()) }

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

const columns = "project, id, sha256, name, size, received, times, annotations, state, attempts, alone, why, grp, fault, reason, program, build"

func scan(r interface{ Scan(...any) error }) (u store.Upload, err error) {
	var received int64
	var notes string
	if err = r.Scan(&u.Project, &u.ID, &u.SHA256, &u.Name, &u.Size, &received, &u.Times, &notes, &u.State, &u.Attempts, &u.Alone, &u.Why, &u.Group, &u.Fault, &u.Reason, &u.Program, &u.Build); err != nil {
		return u, err
	}
	u.Received = moment(received)
	return u, json.Unmarshal([]byte(notes), &u.Annotations)
}

func list(rows *sql.Rows, err error) (out []store.Upload, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		u, err := scan(rows)
		if err != nil {
			rows.Close()
			return nil, err
		}
		out = append(out, u)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// AddUpload implements Store.
func (d *DB) AddUpload(ctx context.Context, u store.Upload) (store.Upload, error) {
	notes, err := json.Marshal(u.Annotations)
	if err != nil {
		return u, d.failed(err)
	}
	u, err = scan(d.db.QueryRowContext(ctx, `INSERT INTO uploads (project, id, sha256, name, size, received, annotations, state) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting')
		ON CONFLICT DO UPDATE SET times = times + 1 RETURNING `+columns, u.Project, u.ID, u.SHA256, u.Name, u.Size, nanos(u.Received), string(notes)))
	return u, d.failed(err)
}

// Upload implements Store.
func (d *DB) Upload(ctx context.Context, project, id string) (store.Upload, error) {
	if id == "" {
		return store.Upload{}, store.ErrNotFound
	}
	found, err := list(d.db.QueryContext(ctx, "SELECT "+columns+" FROM uploads WHERE project = ? AND id >= ? AND id < ? LIMIT 2", project, id, id+"\x7f"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("dump %q: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return store.Upload{}, d.failed(err)
	}
	return found[0], nil
}

// Uploads implements Store.
func (d *DB) Uploads(ctx context.Context, project string, q store.Query) ([]store.Upload, error) {
	where, args := "project = ?", []any{project}
	add := func(cond string, arg any) { where, args = where+" AND "+cond, append(args, arg) }
	if q.State != "" {
		add("state = ?", q.State)
	}
	if q.Group != "" {
		add("grp = ?", q.Group)
	}
	if !q.Before.IsZero() {
		add("received < ?", nanos(q.Before))
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	out, err := list(d.db.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM uploads WHERE %s ORDER BY received DESC, id LIMIT %d", columns, where, q.Limit), args...))
	return out, d.failed(err)
}

// Counts implements Store.
func (d *DB) Counts(ctx context.Context) (store.Counts, error) {
	rows, err := d.db.QueryContext(ctx, "SELECT state, count(*) FROM uploads GROUP BY state")
	if err != nil {
		return nil, d.failed(err)
	}
	counts := store.Counts{store.Waiting: 0, store.Working: 0, store.Done: 0, store.Aside: 0}
	for rows.Next() {
		var state string
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		counts[state] = n
	}
	return counts, d.failed(errors.Join(rows.Err(), rows.Close()))
}

// Take implements Store.
func (d *DB) Take(ctx context.Context, worker, project string) (store.Upload, error) {
	where, args := "state = 'waiting'", []any{worker}
	if project != "" {
		where, args = where+" AND project = ?", append(args, project)
	}
	u, err := scan(d.db.QueryRowContext(ctx, `UPDATE uploads SET state = 'working', worker = ?, attempts = attempts + 1 WHERE (project, id) IN
		(SELECT project, id FROM uploads WHERE `+where+` ORDER BY received LIMIT 1) RETURNING `+columns, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNone
	}
	return u, d.failed(err)
}

// change runs a statement that must change one upload.
func (d *DB) change(ctx context.Context, id, query string, args ...any) error {
	res, err := d.db.ExecContext(ctx, query, args...)
	if err != nil {
		return d.failed(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return d.failed(errors.Join(err, fmt.Errorf("dump %q: %w", id, store.ErrNotFound)))
	}
	return nil
}

// Finish implements Store.
func (d *DB) Finish(ctx context.Context, project, id string, r store.Result) error {
	return d.change(ctx, id, "UPDATE uploads SET state = 'done', worker = '', why = '', grp = ?, fault = ?, reason = ?, program = ?, build = ? WHERE project = ? AND id = ?",
		r.Group, r.Fault, r.Reason, r.Program, r.Build, project, id)
}

// GiveBack implements Store.
func (d *DB) GiveBack(ctx context.Context, project, id, why string) error {
	return d.change(ctx, id, "UPDATE uploads SET worker = '', why = ?, state = 'waiting' WHERE project = ? AND id = ? AND state = 'working'", why, project, id)
}

// Recover implements Store.
func (d *DB) Recover(ctx context.Context, alive ...string) (int, error) {
	all := 0
	err := d.inTx(ctx, func(tx *sql.Tx) error {
		dead, err := workers(ctx, tx)
		if err != nil {
			return err
		}
		for name, n := range dead {
			if slices.Contains(alive, name) {
				continue
			}
			died := 0
			if n == 1 {
				died = 1
			}
			_, err := tx.ExecContext(ctx, `UPDATE uploads SET worker = '', why = 'the worker died', alone = 1, deaths = deaths + ?,
				state = CASE WHEN deaths + ? >= ? THEN 'aside' ELSE 'waiting' END WHERE state = 'working' AND worker = ?`, died, died, store.MaxDeaths, name)
			if err != nil {
				return err
			}
			all += n
		}
		return nil
	})
	return all, d.failed(err)
}

// workers counts what each worker has.
func workers(ctx context.Context, tx *sql.Tx) (map[string]int, error) {
	rows, err := tx.QueryContext(ctx, "SELECT worker, count(*) FROM uploads WHERE state = 'working' GROUP BY worker")
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			rows.Close()
			return nil, err
		}
		out[name] = n
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// Again implements Store.
func (d *DB) Again(ctx context.Context, project, id string) error {
	return d.change(ctx, id, "UPDATE uploads SET state = 'waiting', deaths = 0, why = '' WHERE project = ? AND id = ? AND state <> 'working'", project, id)
}

// Forget implements Store.
func (d *DB) Forget(ctx context.Context, project string, before time.Time, n int) ([]store.Upload, error) {
	out, err := list(d.db.QueryContext(ctx, `DELETE FROM uploads WHERE (project, id) IN
		(SELECT project, id FROM uploads WHERE project = ? AND received < ? AND state <> 'working' ORDER BY received LIMIT ?) RETURNING `+columns, project, nanos(before), n))
	return out, d.failed(err)
}

// Remove implements Store.
func (d *DB) Remove(ctx context.Context, project, id string) error {
	return d.change(ctx, id, "DELETE FROM uploads WHERE project = ? AND id = ?", project, id)
}

// Projects implements Store.
func (d *DB) Projects(ctx context.Context) ([]string, error) {
	tokens, err := d.Tokens(ctx)
	var out []string
	for _, t := range tokens {
		if !slices.Contains(out, t.Project) {
			out = append(out, t.Project)
		}
	}
	slices.Sort(out)
	return out, err
}

// AddToken implements Store.
func (d *DB) AddToken(ctx context.Context, t store.Token) error {
	_, err := d.db.ExecContext(ctx, "INSERT INTO tokens (id, hash, project, scopes, note, created) VALUES (?, ?, ?, ?, ?, ?)",
		t.ID, t.Hash, t.Project, strings.Join(t.Scopes, ","), t.Note, nanos(t.Created))
	return d.failed(err)
}

const tokenColumns = "id, hash, project, scopes, note, created"

func scanToken(r interface{ Scan(...any) error }) (t store.Token, err error) {
	var scopes string
	var created int64
	err = r.Scan(&t.ID, &t.Hash, &t.Project, &scopes, &t.Note, &created)
	t.Scopes, t.Created = strings.Split(scopes, ","), moment(created)
	return t, err
}

// Token implements Store.
func (d *DB) Token(ctx context.Context, id string) (store.Token, error) {
	t, err := scanToken(d.db.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE id = ?", id))
	return t, d.failed(err)
}

// Tokens implements Store.
func (d *DB) Tokens(ctx context.Context) (out []store.Token, _ error) {
	rows, err := d.db.QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created, id")
	if err != nil {
		return nil, d.failed(err)
	}
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		out = append(out, t)
	}
	return out, d.failed(errors.Join(rows.Err(), rows.Close()))
}

// RemoveToken implements Store.
func (d *DB) RemoveToken(ctx context.Context, id string) error {
	return d.change(ctx, id, "DELETE FROM tokens WHERE id = ?", id)
}

// Decide implements Store.
func (d *DB) Decide(ctx context.Context, project, group string, c store.Decision) error {
	_, err := d.db.ExecContext(ctx, `INSERT INTO decisions (project, grp, state, build, at, by) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET state = excluded.state, build = excluded.build, at = excluded.at, by = excluded.by`,
		project, group, c.State, c.Build, nanos(c.At), c.By)
	return d.failed(err)
}

// Decisions implements Store.
func (d *DB) Decisions(ctx context.Context, project string) (map[string]store.Decision, error) {
	rows, err := d.db.QueryContext(ctx, "SELECT grp, state, build, at, by FROM decisions WHERE project = ?", project)
	if err != nil {
		return nil, d.failed(err)
	}
	out := map[string]store.Decision{}
	for rows.Next() {
		var group string
		var c store.Decision
		var at int64
		if err := rows.Scan(&group, &c.State, &c.Build, &at, &c.By); err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		c.At = moment(at)
		out[group] = c
	}
	return out, d.failed(errors.Join(rows.Err(), rows.Close()))
}

// AddNote implements Store.
func (d *DB) AddNote(ctx context.Context, project, group string, n store.Note) error {
	_, err := d.db.ExecContext(ctx, "INSERT INTO notes (project, grp, text, at, by) VALUES (?, ?, ?, ?, ?)", project, group, n.Text, nanos(n.At), n.By)
	return d.failed(err)
}

// Notes implements Store.
func (d *DB) Notes(ctx context.Context, project, group string) (out []store.Note, _ error) {
	rows, err := d.db.QueryContext(ctx, "SELECT text, at, by FROM notes WHERE project = ? AND grp = ? ORDER BY id", project, group)
	if err != nil {
		return nil, d.failed(err)
	}
	for rows.Next() {
		var n store.Note
		var at int64
		if err := rows.Scan(&n.Text, &at, &n.By); err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		n.At = moment(at)
		out = append(out, n)
	}
	return out, d.failed(errors.Join(rows.Err(), rows.Close()))
}
