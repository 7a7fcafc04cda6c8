// Package tables keeps what a service knows in the tables of a database; packages sqlite and postgres open it, and say what is particular to
// their databases.
package tables

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// A DB is a Store in a database, or in a transaction.
type DB struct {
	conn    sqldb.Conn
	dialect *Dialect
}

var _ store.Store = (*DB)(nil)

// A Dialect has the parts of statements that are not the same in all databases.
type Dialect struct {
	// Hint says that there is a column for it.
	Hint bool
	// Free is another condition on what Take takes, and FreeAgain what else Again sets.
	Free, FreeAgain string
	// ByRelease follows the table of uploads where those of a group by their releases are asked for.
	ByRelease string
	// ByValue follows the table of attributes, and its alias, where dumps with a value are asked for.
	ByValue string
	// Scopes are a token's with commas between them, ScopesOf what is stored of the argument $4.
	Scopes, ScopesOf string
	// Lock, if set, is a statement that lets one transaction at a time count dumps of a project.
	Lock string
}

// New returns the store in a database, which it closes.
func New(conn sqldb.Conn, dialect *Dialect) *DB { return &DB{conn, dialect} }

// Close implements Store.
func (d *DB) Close() error { return d.conn.Close() }

// Together calls do with a store whose changes are one transaction: many at a time cost less.
func (d *DB) Together(ctx context.Context, do func(store.Store) error) error {
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error { return do(New(tx, d.dialect)) })
}

// Settle has what was being worked on wait: nobody works on it in a database that was copied.
func (d *DB) Settle(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, "UPDATE @uploads SET state = 'waiting', worker = '', attempts = attempts - 1 WHERE "+unfinished+" AND state = 'working'")
	return err
}

// Columns are those of an upload, as List expects them.
const Columns = "project, id, sha256, name, size, received, times, annotations, state, attempts, alone, why, grp, fault, reason, program, build, release, usr, machine, event, attached"

func scan(r sqldb.Row, u *store.Upload) error {
	var received int64
	var notes []byte
	if err := r.Scan(&u.Project, &u.ID, &u.SHA256, (*sqldb.Raw)(&u.Name), &u.Size, &received, &u.Times, &notes, &u.State, &u.Attempts, &u.Alone, &u.Why, &u.Group, &u.Fault, &u.Reason, &u.Program, &u.Build, &u.Release, &u.User, &u.Machine, &u.Event, &u.Attached); err != nil {
		return err
	}
	u.Received = sqldb.Moment(received)
	return json.Unmarshal(notes, &u.Annotations)
}

// List returns the uploads that a statement does.
func (d *DB) List(ctx context.Context, query string, args ...any) (list []store.Upload, _ error) {
	err := d.conn.Query(ctx, func(r sqldb.Row) error {
		list = append(list, store.Upload{})
		return scan(r, &list[len(list)-1])
	}, query, args...)
	return list, err
}

// One returns the only upload that a statement does.
func (d *DB) One(ctx context.Context, query string, args ...any) (store.Upload, error) {
	list, err := d.List(ctx, query, args...)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Upload{}, err
	}
	return list[0], nil
}

// Found says store.ErrNotFound for a row that is not there.
func Found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// Change executes a statement that must change a row: what it is of.
func (d *DB) Change(ctx context.Context, what, id, query string, args ...any) error {
	n, err := d.conn.Exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%s %q: %w", what, id, store.ErrNotFound)
	}
	return err
}

// AddUpload implements Store.
func (d *DB) AddUpload(ctx context.Context, u store.Upload) (store.Upload, error) {
	notes, err := json.Marshal(u.Annotations)
	if err != nil {
		return u, err
	}
	column, value, args := ", hint", ", $11", []any{u.Project, u.ID, u.SHA256, sqldb.Raw(u.Name), u.Size, sqldb.Nanos(u.Received), sqldb.Raw(notes), u.User, u.Machine, u.Event, store.Hint(&u)}
	if !d.dialect.Hint {
		column, value, args = "", "", args[:10]
	}
	return d.One(ctx, fmt.Sprintf(addUpload, column, value), args...)
}

// addUpload has the column and the value of the hint, if there is one.
const addUpload = `INSERT INTO @uploads AS u (project, id, sha256, name, size, received, annotations, usr, machine, event, state%s) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting'%s)
	ON CONFLICT (project, id) DO UPDATE SET times = u.times + 1 RETURNING ` + Columns

// Upload implements Store.
func (d *DB) Upload(ctx context.Context, project, id string) (store.Upload, error) {
	if id == "" {
		return store.Upload{}, store.ErrNotFound
	}
	found, err := d.List(ctx, "SELECT "+Columns+" FROM @uploads WHERE project = $1 AND id >= $2 AND id < $3 LIMIT 2", project, id, id+"\x7f")
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("dump %q: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return store.Upload{}, err
	}
	return found[0], nil
}

// Uploads implements Store.
func (d *DB) Uploads(ctx context.Context, project string, q store.Query) ([]store.Upload, error) {
	from, where, args := "@uploads u", "u.project = $1", []any{project}
	add := func(cond string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND %s $%d", cond, len(args))
	}
	order := "u"
	if len(q.Has) > 0 { // the newest of those with the first attribute are read in their order
		has, err := d.rarest(ctx, project, q.Has)
		if err != nil {
			return nil, err
		}
		order, where = "a", "a.project = $1 AND u.project = a.project AND u.id = a.id"
		add("a.name =", has[0].Name)
		add("a.value =", has[0].Value)
		where, args = d.also(where, has[1:], args)
		from = "@attributes a CROSS JOIN @uploads u"
	}
	if q.State != "" {
		add("u.state =", q.State)
	}
	if q.Group != "" {
		add(order+".grp =", q.Group)
	}
	if !q.Before.IsZero() {
		add(order+".received <", sqldb.Nanos(q.Before))
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	return d.List(ctx, fmt.Sprintf("SELECT u.%s FROM %s WHERE %s ORDER BY %[4]s.received DESC, %[4]s.id LIMIT %[5]d", strings.ReplaceAll(Columns, ", ", ", u."), from, where, order, q.Limit), args...)
}

// Counts implements Store.
func (d *DB) Counts(ctx context.Context) (store.Counts, error) {
	counts := store.Counts{store.Waiting: 0, store.Working: 0, store.Aside: 0}
	return counts, count(ctx, d.conn, counts, "SELECT state, count(*) FROM @uploads WHERE "+unfinished+" GROUP BY state")
}

// count fills in a map from a statement that returns names and numbers.
func count(ctx context.Context, c sqldb.Conn, to map[string]int, query string) error {
	var name string
	var n int
	return c.Query(ctx, sqldb.Into([]any{&name, &n}, func() { to[name] = n }), query)
}

// unfinished is a condition of the index of those uploads that are not done, which SQLite uses where a statement has it word for word: it does not conclude it
// from another state. Without it each of them reads all uploads.
const unfinished = "state <> 'done'"

// Take implements Store. Uploads that another process is just taking are passed over, and those that are reserved for others.
func (d *DB) Take(ctx context.Context, worker, project string) (store.Upload, error) {
	return d.TakeWhere(ctx, "($2 = '' OR project = $2)"+d.dialect.Free, worker, project)
}

// TakeWhere is Take of an upload for which a condition holds; its arguments follow the worker.
func (d *DB) TakeWhere(ctx context.Context, which string, args ...any) (u store.Upload, err error) {
	if l, ok := d.conn.(sqldb.Delayer); ok { // one that was taken when power failed waits, or is given back: it is analysed in any case
		err = l.Later(ctx, func(tx sqldb.Conn) error {
			u, err = New(tx, d.dialect).takeWhere(ctx, which, args...)
			return err
		})
		return u, err
	}
	return d.takeWhere(ctx, which, args...)
}

func (d *DB) takeWhere(ctx context.Context, which string, args ...any) (store.Upload, error) {
	u, err := d.One(ctx, `UPDATE @uploads SET state = 'working', worker = $1, attempts = attempts + 1 WHERE (project, id) IN
		(SELECT project, id FROM @uploads WHERE `+unfinished+` AND state = 'waiting' AND `+which+` ORDER BY received LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING `+Columns, args...)
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrNone
	}
	return u, err
}

// GiveBack implements Store.
func (d *DB) GiveBack(ctx context.Context, project, id, why string) error {
	return d.Change(ctx, "dump", id, "UPDATE @uploads SET worker = '', why = $1, state = 'waiting' WHERE project = $2 AND id = $3 AND state = 'working'", why, project, id)
}

// Recover implements Store.
func (d *DB) Recover(ctx context.Context, alive ...string) (int, error) {
	back, err := d.RecoverAll(ctx, func(worker string) bool { return slices.Contains(alive, worker) })
	return len(back), err
}

// RecoverAll is Recover for those workers that are not alive, and returns the uploads that they had, as they are then.
func (d *DB) RecoverAll(ctx context.Context, alive func(worker string) bool) (back []store.Upload, err error) {
	err = d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		had := map[string]int{}
		err := count(ctx, tx, had, "SELECT worker, count(*) FROM @uploads WHERE "+unfinished+" AND state = 'working' GROUP BY worker")
		for name, has := range had {
			if err != nil || alive(name) {
				continue
			}
			died := 0
			if has == 1 {
				died = 1
			}
			var list []store.Upload
			list, err = New(tx, d.dialect).List(ctx, `UPDATE @uploads SET worker = '', why = 'the worker died', alone = true, deaths = deaths + $1,
				state = CASE WHEN deaths + $1 >= $2 THEN 'aside' ELSE 'waiting' END WHERE `+unfinished+` AND state = 'working' AND worker = $3 RETURNING `+Columns, died, store.MaxDeaths, name)
			back = append(back, list...)
		}
		return err
	})
	return back, err
}

// Again implements Store.
func (d *DB) Again(ctx context.Context, project, id string) error {
	return d.Change(ctx, "dump", id, "UPDATE @uploads SET state = 'waiting', deaths = 0, why = ''"+d.dialect.FreeAgain+" WHERE project = $1 AND id = $2 AND state <> 'working'", project, id)
}
