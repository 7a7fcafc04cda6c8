// Package postgres is a store.Store in a PostgreSQL database, which many machines may share.
package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/service/store"
)

// A DB is a Store in a PostgreSQL database, of version 12 or newer. Several processes may use one database at the same time.
type DB struct {
	pool querier
	name string // of the database, without the password
}

// A querier is a pool of connections, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Begin(ctx context.Context) (pgx.Tx, error)
}

var _ store.Store = (*DB)(nil)

// Use returns the store in a database to which there are connections, which Close leaves open. It makes the tables that are missing.
func Use(ctx context.Context, pool *pgxpool.Pool) (*DB, error) {
	c := pool.Config().ConnConfig
	d := &DB{pool: pool, name: fmt.Sprintf("%s on %s", c.Database, c.Host)}
	if err := d.migrate(ctx); err != nil {
		return nil, d.failed(err)
	}
	return d, nil
}

// In returns the store within a transaction of the caller's: what it changes is there once that is committed.
func (d *DB) In(tx pgx.Tx) *DB { return &DB{pool: tx, name: d.name} }

// failed adds the name of the database to an error.
func (d *DB) failed(err error) error {
	var refused *pgconn.ConnectError
	var known *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrNone), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return store.ErrNotFound
	case errors.As(err, &refused):
		return fmt.Errorf("database %s: no connection: %s", d.name, firstLine(errors.Unwrap(refused))) // its own text has the connection's settings
	}
	if errors.As(err, &known) && known.Code == diskFull {
		return fmt.Errorf("database %s: %w", d.name, syscall.ENOSPC)
	}
	return fmt.Errorf("database %s: %w", d.name, err)
}

// diskFull is PostgreSQL's code for that.
const diskFull = "53100"

// firstLine is the text of an error about several attempts but for the others.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Close implements Store.
func (d *DB) Close() error { return nil }

// text returns what PostgreSQL takes as a text: UTF-8 without zero bytes.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

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

func scan(r pgx.Row) (u store.Upload, err error) {
	var received int64
	var name, notes []byte
	if err = r.Scan(&u.Project, &u.ID, &u.SHA256, &name, &u.Size, &received, &u.Times, &notes, &u.State, &u.Attempts, &u.Alone, &u.Why, &u.Group, &u.Fault, &u.Reason, &u.Program, &u.Build); err != nil {
		return u, err
	}
	u.Name, u.Received = string(name), moment(received)
	return u, json.Unmarshal(notes, &u.Annotations)
}

func (d *DB) list(ctx context.Context, query string, args ...any) ([]store.Upload, error) {
	rows, err := d.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (store.Upload, error) { return scan(r) })
}

// AddUpload implements Store.
func (d *DB) AddUpload(ctx context.Context, u store.Upload) (store.Upload, error) {
	notes, err := json.Marshal(u.Annotations)
	if err != nil {
		return u, d.failed(err)
	}
	u, err = scan(d.pool.QueryRow(ctx, `INSERT INTO service_uploads AS u (project, id, sha256, name, size, received, annotations, hint, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting')
		ON CONFLICT (project, id) DO UPDATE SET times = u.times + 1 RETURNING `+columns, text(u.Project), text(u.ID), u.SHA256, []byte(u.Name), u.Size, nanos(u.Received), notes, text(store.Hint(&u))))
	return u, d.failed(err)
}

// Upload implements Store.
func (d *DB) Upload(ctx context.Context, project, id string) (store.Upload, error) {
	if id == "" {
		return store.Upload{}, store.ErrNotFound
	}
	found, err := d.list(ctx, "SELECT "+columns+" FROM service_uploads WHERE project = $1 AND id >= $2 AND id < $3 LIMIT 2", text(project), text(id), text(id)+"\x7f")
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
	where, args := "project = $1", []any{text(project)}
	add := func(cond string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND %s $%d", cond, len(args))
	}
	if q.State != "" {
		add("state =", text(q.State))
	}
	if q.Group != "" {
		add("grp =", text(q.Group))
	}
	if !q.Before.IsZero() {
		add("received <", nanos(q.Before))
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	out, err := d.list(ctx, fmt.Sprintf("SELECT %s FROM service_uploads WHERE %s ORDER BY received DESC, id LIMIT %d", columns, where, q.Limit), args...)
	return out, d.failed(err)
}

// Counts implements Store.
func (d *DB) Counts(ctx context.Context) (store.Counts, error) {
	rows, err := d.pool.Query(ctx, "SELECT state, count(*) FROM service_uploads GROUP BY state")
	if err != nil {
		return nil, d.failed(err)
	}
	counts := store.Counts{store.Waiting: 0, store.Working: 0, store.Done: 0, store.Aside: 0}
	var state string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { counts[state] = n; return nil })
	return counts, d.failed(err)
}

// Take implements Store. Uploads that another process is just taking are passed over, and those that are reserved for others.
func (d *DB) Take(ctx context.Context, worker, project string) (store.Upload, error) {
	return d.take(ctx, "($2 = '' OR project = $2) AND (reserved IS NULL OR reserved < now())", text(worker), text(project))
}

// TakeOf is Take of the uploads of one project with one of some hints.
func (d *DB) TakeOf(ctx context.Context, worker, project string, hints []string) (store.Upload, error) {
	return d.take(ctx, "project = $2 AND hint = ANY($3)", text(worker), text(project), hints)
}

func (d *DB) take(ctx context.Context, which string, args ...any) (store.Upload, error) {
	u, err := scan(d.pool.QueryRow(ctx, `UPDATE service_uploads SET state = 'working', worker = $1, attempts = attempts + 1 WHERE (project, id) IN
		(SELECT project, id FROM service_uploads WHERE state = 'waiting' AND (`+which+`) ORDER BY received LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING `+columns, args...))
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNone
	}
	return u, d.failed(err)
}

// change runs a statement that must change one row.
func (d *DB) change(ctx context.Context, id, query string, args ...any) error {
	tag, err := d.pool.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("%q: %w", id, store.ErrNotFound)
	}
	return d.failed(err)
}

// Finish implements Store.
func (d *DB) Finish(ctx context.Context, project, id string, r store.Result) error {
	return d.change(ctx, id, "UPDATE service_uploads SET state = 'done', worker = '', why = '', grp = $1, fault = $2, reason = $3, program = $4, build = $5 WHERE project = $6 AND id = $7",
		text(r.Group), text(r.Fault), text(r.Reason), text(r.Program), text(r.Build), text(project), text(id))
}

// GiveBack implements Store.
func (d *DB) GiveBack(ctx context.Context, project, id, why string) error {
	return d.change(ctx, id, "UPDATE service_uploads SET worker = '', why = $1, state = 'waiting' WHERE project = $2 AND id = $3 AND state = 'working'", text(why), text(project), text(id))
}

// Recover implements Store.
func (d *DB) Recover(ctx context.Context, alive ...string) (int, error) {
	back, err := d.RecoverAll(ctx, func(worker string) bool { return slices.Contains(alive, worker) })
	return len(back), err
}

// RecoverAll is Recover for those workers that are not alive, and returns the uploads that they had, as they are then.
func (d *DB) RecoverAll(ctx context.Context, alive func(worker string) bool) (back []store.Upload, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		back = nil
		rows, err := tx.Query(ctx, "SELECT worker, count(*) FROM service_uploads WHERE state = 'working' GROUP BY worker")
		if err != nil {
			return err
		}
		had := map[string]int{}
		var name string
		var has int
		if _, err := pgx.ForEachRow(rows, []any{&name, &has}, func() error { had[name] = has; return nil }); err != nil {
			return err
		}
		for name, has := range had {
			if alive(name) {
				continue
			}
			died := 0
			if has == 1 {
				died = 1
			}
			list, err := d.In(tx).list(ctx, `UPDATE service_uploads SET worker = '', why = 'the worker died', alone = true, deaths = deaths + $1,
				state = CASE WHEN deaths + $1 >= $2 THEN 'aside' ELSE 'waiting' END WHERE state = 'working' AND worker = $3 RETURNING `+columns, died, store.MaxDeaths, name)
			if err != nil {
				return err
			}
			back = append(back, list...)
		}
		return nil
	})
	return back, d.failed(err)
}

// Again implements Store.
func (d *DB) Again(ctx context.Context, project, id string) error {
	return d.change(ctx, id, "UPDATE service_uploads SET state = 'waiting', deaths = 0, why = '', reserved = NULL WHERE project = $1 AND id = $2 AND state <> 'working'", text(project), text(id))
}

// Forget implements Store.
func (d *DB) Forget(ctx context.Context, project string, before time.Time, n int) ([]store.Upload, error) {
	out, err := d.list(ctx, `DELETE FROM service_uploads WHERE (project, id) IN
		(SELECT project, id FROM service_uploads WHERE project = $1 AND received < $2 AND state <> 'working' ORDER BY received LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING `+columns, text(project), nanos(before), n)
	return out, d.failed(err)
}

// Remove implements Store.
func (d *DB) Remove(ctx context.Context, project, id string) error {
	return d.change(ctx, id, "DELETE FROM service_uploads WHERE project = $1 AND id = $2", text(project), text(id))
}
