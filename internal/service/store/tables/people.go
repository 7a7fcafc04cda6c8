package tables

import (
	"context"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// Projects implements Store.
func (d *DB) Projects(ctx context.Context) (list []string, _ error) {
	var project string
	err := d.conn.Query(ctx, sqldb.Into([]any{&project}, func() { list = append(list, project) }), "SELECT project FROM @tokens UNION SELECT project FROM @members ORDER BY project")
	return list, err
}

// AddToken implements Store.
func (d *DB) AddToken(ctx context.Context, t store.Token) error {
	_, err := d.conn.Exec(ctx, "INSERT INTO @tokens (id, hash, project, scopes, note, created, expires, subject, also) VALUES ($1, $2, $3, "+d.dialect.ScopesOf+", $5, $6, $7, $8, $9)",
		t.ID, t.Hash, t.Project, strings.Join(t.Scopes, ","), t.Note, sqldb.Nanos(t.Created), expiry(t.Expires), t.Subject, strings.Join(t.Also, ","))
	return err
}

// expiry is what is stored of when a token expires: 0 for never.
func expiry(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return sqldb.Nanos(at)
}

// AddSession implements Store.
func (d *DB) AddSession(ctx context.Context, t store.Token) error {
	return d.conn.Tx(ctx, func(conn sqldb.Conn) error {
		tx := New(conn, d.dialect)
		if err := tx.AddToken(ctx, t); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "DELETE FROM @tokens WHERE expires > 0 AND expires <= $1", sqldb.Nanos(t.Created)); err != nil {
			return err
		}
		list, err := tx.tokens(ctx, "project = $1 AND subject = $2 AND subject <> ''", t.Project, t.Subject)
		for i := 0; err == nil && i < len(list)-store.MaxSessions; i++ {
			_, err = conn.Exec(ctx, "DELETE FROM @tokens WHERE id = $1", list[i].ID)
		}
		if err != nil || t.Subject == "" || store.AccountOf(&t) != "" {
			return err
		}
		return tx.meet(ctx, &t)
	})
}

// tokens lists those for which a condition holds, the oldest first.
func (d *DB) tokens(ctx context.Context, which string, args ...any) (list []store.Token, _ error) {
	var t store.Token
	var scopes, also string
	var created, expires int64
	words := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
	err := d.conn.Query(ctx, sqldb.Into([]any{&t.ID, &t.Hash, &t.Project, &scopes, &t.Note, &created, &expires, &t.Subject, &also}, func() {
		t.Scopes, t.Created, t.Also, t.Expires = words(scopes), sqldb.Moment(created), words(also), time.Time{}
		if also == "" {
			t.Also = nil
		}
		if expires != 0 {
			t.Expires = sqldb.Moment(expires)
		}
		list = append(list, t)
	}), "SELECT id, hash, project, "+d.dialect.Scopes+", note, created, expires, subject, also FROM @tokens WHERE "+which+" ORDER BY created, id", args...)
	return list, err
}

// Token implements Store.
func (d *DB) Token(ctx context.Context, id string) (store.Token, error) {
	list, err := d.tokens(ctx, "id = $1", id)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Token{}, err
	}
	return list[0], nil
}

// Tokens implements Store.
func (d *DB) Tokens(ctx context.Context) ([]store.Token, error) {
	return d.tokens(ctx, "true")
}

// RemoveToken implements Store.
func (d *DB) RemoveToken(ctx context.Context, id string) error {
	return d.Change(ctx, "token", id, "DELETE FROM @tokens WHERE id = $1", id)
}

// Decide implements Store.
func (d *DB) Decide(ctx context.Context, project, group string, c store.Decision) error {
	_, err := d.conn.Exec(ctx, `INSERT INTO @decisions (project, grp, state, build, at, by, release) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (project, grp) DO UPDATE SET state = excluded.state, build = excluded.build, release = excluded.release, at = excluded.at, by = excluded.by`,
		project, group, c.State, c.Build, sqldb.Nanos(c.At), c.By, c.Release)
	return err
}

// Decisions implements Store.
func (d *DB) Decisions(ctx context.Context, project string) (map[string]store.Decision, error) {
	out := map[string]store.Decision{}
	var group string
	var c store.Decision
	var at int64
	err := d.conn.Query(ctx, sqldb.Into([]any{&group, &c.State, &c.Build, &at, &c.By, &c.Release}, func() {
		c.At = sqldb.Moment(at)
		out[group] = c
	}), "SELECT grp, state, build, at, by, release FROM @decisions WHERE project = $1", project)
	return out, err
}

// AddNote implements Store.
func (d *DB) AddNote(ctx context.Context, project, group string, n store.Note) error {
	_, err := d.conn.Exec(ctx, "INSERT INTO @notes (project, grp, text, at, by) VALUES ($1, $2, $3, $4, $5)", project, group, n.Text, sqldb.Nanos(n.At), n.By)
	return err
}

// Notes implements Store.
func (d *DB) Notes(ctx context.Context, project, group string) (list []store.Note, _ error) {
	var n store.Note
	var at int64
	err := d.conn.Query(ctx, sqldb.Into([]any{&n.Text, &at, &n.By}, func() {
		n.At = sqldb.Moment(at)
		list = append(list, n)
	}), "SELECT text, at, by FROM @notes WHERE project = $1 AND grp = $2 ORDER BY id", project, group)
	return list, err
}

// Days implements Store.
func (d *DB) Days(ctx context.Context, project string, groups []string, since time.Time) (map[string][]store.Day, error) {
	out := map[string][]store.Day{}
	var group string
	var day int64
	var n int
	err := d.conn.Query(ctx, sqldb.Into([]any{&group, &day, &n}, func() {
		out[group] = append(out[group], store.Day{Day: time.Unix(0, day*int64(24*time.Hour)).UTC(), Count: n})
	}), "SELECT grp, day, n FROM @days WHERE project = $1 AND day >= $2 AND grp = ANY($3) ORDER BY day", project, sqldb.Nanos(since)/dayNanos, groups)
	return out, err
}

// Builds implements Store.
func (d *DB) Builds(ctx context.Context, project, group string) (list []store.Build, _ error) {
	var b store.Build
	var first, last int64
	err := d.conn.Query(ctx, sqldb.Into([]any{&b.Build, &b.Program, &b.Count, &first, &last}, func() {
		b.First, b.Last = sqldb.Moment(first), sqldb.Moment(last)
		list = append(list, b)
	}), "SELECT value, program, n, first, last FROM @spans WHERE project = $1 AND grp = $2 AND name = 'build' AND n > 0 ORDER BY last DESC, value", project, group)
	return list, err
}
