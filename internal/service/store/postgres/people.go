package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Projects implements Store.
func (d *DB) Projects(ctx context.Context) ([]string, error) {
	rows, err := d.pool.Query(ctx, "SELECT DISTINCT project FROM service_tokens ORDER BY project")
	if err != nil {
		return nil, d.failed(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return out, d.failed(err)
}

// AddToken implements Store.
func (d *DB) AddToken(ctx context.Context, t store.Token) error {
	_, err := d.pool.Exec(ctx, "INSERT INTO service_tokens (id, hash, project, scopes, note, created) VALUES ($1, $2, $3, $4, $5, $6)",
		t.ID, t.Hash, t.Project, t.Scopes, text(t.Note), nanos(t.Created))
	return d.failed(err)
}

const tokenColumns = "id, hash, project, scopes, note, created"

func scanToken(r pgx.Row) (t store.Token, err error) {
	var created int64
	err = r.Scan(&t.ID, &t.Hash, &t.Project, &t.Scopes, &t.Note, &created)
	t.Created = moment(created)
	return t, err
}

// Token implements Store.
func (d *DB) Token(ctx context.Context, id string) (store.Token, error) {
	t, err := scanToken(d.pool.QueryRow(ctx, "SELECT "+tokenColumns+" FROM service_tokens WHERE id = $1", text(id)))
	return t, d.failed(err)
}

// Tokens implements Store.
func (d *DB) Tokens(ctx context.Context) ([]store.Token, error) {
	rows, err := d.pool.Query(ctx, "SELECT "+tokenColumns+" FROM service_tokens ORDER BY created, id")
	if err != nil {
		return nil, d.failed(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (store.Token, error) { return scanToken(r) })
	return out, d.failed(err)
}

// RemoveToken implements Store.
func (d *DB) RemoveToken(ctx context.Context, id string) error {
	return d.change(ctx, id, "DELETE FROM service_tokens WHERE id = $1", text(id))
}

// Decide implements Store.
func (d *DB) Decide(ctx context.Context, project, group string, c store.Decision) error {
	_, err := d.pool.Exec(ctx, `INSERT INTO service_decisions (project, grp, state, build, at, by) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (project, grp) DO UPDATE SET state = excluded.state, build = excluded.build, at = excluded.at, by = excluded.by`,
		text(project), text(group), c.State, text(c.Build), nanos(c.At), text(c.By))
	return d.failed(err)
}

// Decisions implements Store.
func (d *DB) Decisions(ctx context.Context, project string) (map[string]store.Decision, error) {
	rows, err := d.pool.Query(ctx, "SELECT grp, state, build, at, by FROM service_decisions WHERE project = $1", text(project))
	if err != nil {
		return nil, d.failed(err)
	}
	out := map[string]store.Decision{}
	var group string
	var c store.Decision
	var at int64
	_, err = pgx.ForEachRow(rows, []any{&group, &c.State, &c.Build, &at, &c.By}, func() error {
		c.At = moment(at)
		out[group] = c
		return nil
	})
	return out, d.failed(err)
}

// AddNote implements Store.
func (d *DB) AddNote(ctx context.Context, project, group string, n store.Note) error {
	_, err := d.pool.Exec(ctx, "INSERT INTO service_notes (project, grp, text, at, by) VALUES ($1, $2, $3, $4, $5)", text(project), text(group), text(n.Text), nanos(n.At), text(n.By))
	return d.failed(err)
}

// Notes implements Store.
func (d *DB) Notes(ctx context.Context, project, group string) ([]store.Note, error) {
	rows, err := d.pool.Query(ctx, "SELECT text, at, by FROM service_notes WHERE project = $1 AND grp = $2 ORDER BY id", text(project), text(group))
	if err != nil {
		return nil, d.failed(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (n store.Note, err error) {
		var at int64
		err = r.Scan(&n.Text, &at, &n.By)
		n.At = moment(at)
		return n, err
	})
	return out, d.failed(err)
}

// Days implements Store.
func (d *DB) Days(ctx context.Context, project string, groups []string, since time.Time) (map[string][]store.Day, error) {
	rows, err := d.pool.Query(ctx, `SELECT grp, received / 86400000000000 AS day, count(*) FROM service_uploads
		WHERE project = $1 AND received >= $2 AND grp = ANY ($3) GROUP BY grp, day ORDER BY day`, text(project), nanos(since), groups)
	if err != nil {
		return nil, d.failed(err)
	}
	out := map[string][]store.Day{}
	var group string
	var day int64
	var n int
	_, err = pgx.ForEachRow(rows, []any{&group, &day, &n}, func() error {
		out[group] = append(out[group], store.Day{Day: time.Unix(0, day*int64(24*time.Hour)).UTC(), Count: n})
		return nil
	})
	return out, d.failed(err)
}

// Builds implements Store.
func (d *DB) Builds(ctx context.Context, project, group string) ([]store.Build, error) {
	rows, err := d.pool.Query(ctx, `SELECT build, max(program), count(*), min(received), max(received) AS last FROM service_uploads
		WHERE project = $1 AND build <> '' AND ($2 = '' OR grp = $2) GROUP BY build ORDER BY last DESC, build`, text(project), text(group))
	if err != nil {
		return nil, d.failed(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (b store.Build, err error) {
		var first, last int64
		err = r.Scan(&b.Build, &b.Program, &b.Count, &first, &last)
		b.First, b.Last = moment(first), moment(last)
		return b, err
	})
	return out, d.failed(err)
}

// Shared implements Store.
func (d *DB) Shared(ctx context.Context, project string, builds []string) (map[string][]int, error) {
	rows, err := d.pool.Query(ctx, "SELECT grp, build, count(*) FROM service_uploads WHERE project = $1 AND grp <> '' AND build = ANY ($2) GROUP BY grp, build", text(project), builds)
	if err != nil {
		return nil, d.failed(err)
	}
	out := map[string][]int{}
	var group, build string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&group, &build, &n}, func() error {
		if out[group] == nil {
			out[group] = make([]int, len(builds))
		}
		for i, b := range builds {
			if b == build {
				out[group][i] = n
			}
		}
		return nil
	})
	return out, d.failed(err)
}
