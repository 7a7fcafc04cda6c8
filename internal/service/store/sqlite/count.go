package sqlite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

const day = int64(24 * time.Hour)

// marks returns n question marks.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// Days implements Store.
func (d *DB) Days(ctx context.Context, project string, groups []string, since time.Time) (map[string][]store.Day, error) {
	out := map[string][]store.Day{}
	for some := range slices.Chunk(groups, 500) {
		args := []any{project, nanos(since)}
		for _, g := range some {
			args = append(args, g)
		}
		rows, err := d.db.QueryContext(ctx, `SELECT grp, received / 86400000000000 AS day, count(*) FROM uploads
			WHERE project = ? AND received >= ? AND grp IN (`+marks(len(some))+`) GROUP BY grp, day ORDER BY day`, args...)
		if err != nil {
			return nil, d.failed(err)
		}
		for rows.Next() {
			var group string
			var at int64
			var n int
			if err := rows.Scan(&group, &at, &n); err != nil {
				rows.Close()
				return nil, d.failed(err)
			}
			out[group] = append(out[group], store.Day{Day: time.Unix(0, at*day).UTC(), Count: n})
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, d.failed(err)
		}
	}
	return out, nil
}

// Builds implements Store.
func (d *DB) Builds(ctx context.Context, project, group string) ([]store.Build, error) {
	from, where, args := "uploads INDEXED BY uploads_build", "project = ? AND build > ''", []any{project}
	if group != "" {
		from, where, args = "uploads INDEXED BY uploads_builds", "project = ? AND grp = ? AND build > ''", append(args, group)
	}
	rows, err := d.db.QueryContext(ctx, "SELECT build, max(program), count(*), min(received), max(received) AS last FROM "+from+" WHERE "+where+" GROUP BY build ORDER BY last DESC, build", args...)
	if err != nil {
		return nil, d.failed(err)
	}
	var out []store.Build
	for rows.Next() {
		var b store.Build
		var first, last int64
		if err := rows.Scan(&b.Build, &b.Program, &b.Count, &first, &last); err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		b.First, b.Last = moment(first), moment(last)
		out = append(out, b)
	}
	return out, d.failed(errors.Join(rows.Err(), rows.Close()))
}

// Shared implements Store.
func (d *DB) Shared(ctx context.Context, project string, builds []string) (map[string][]int, error) {
	args := []any{project}
	for _, b := range builds {
		args = append(args, b)
	}
	rows, err := d.db.QueryContext(ctx, "SELECT grp, build, count(*) FROM uploads WHERE project = ? AND grp <> '' AND build IN ("+marks(len(builds))+") GROUP BY grp, build", args...)
	if err != nil {
		return nil, d.failed(err)
	}
	out := map[string][]int{}
	for rows.Next() {
		var group, build string
		var n int
		if err := rows.Scan(&group, &build, &n); err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		if out[group] == nil {
			out[group] = make([]int, len(builds))
		}
		for i, b := range builds {
			if b == build {
				out[group][i] = n
			}
		}
	}
	return out, d.failed(errors.Join(rows.Err(), rows.Close()))
}
