package tables

import (
	"context"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// How many dumps of a build and of a release there are in a group and in the whole project (its group is ""), from when to when they were received, and how
// many of a group on each day, is counted as dumps are finished and removed: a list of groups that have half a million dumps reads a row for each, and no dump.
// The first and the last time stay when the dumps of them are removed, as long as others are there.

// A span is what is counted of a dump besides its attributes.
type span struct {
	build, release, program string
	received                int64
}

// dayNanos is a day.
const dayNanos = 86_400_000_000_000

const (
	addSpan = `INSERT INTO @spans AS s (project, grp, name, value, n, first, last, program) VALUES ($1, $2, $3, $4, 1, $5, $6, $7) ON CONFLICT (project, grp, name, value) DO UPDATE SET n = s.n + 1,
		first = CASE WHEN excluded.first < s.first THEN excluded.first ELSE s.first END, last = CASE WHEN excluded.last > s.last THEN excluded.last ELSE s.last END,
		program = CASE WHEN excluded.program > s.program THEN excluded.program ELSE s.program END`
	addDay = `INSERT INTO @days AS d (project, grp, day, n) VALUES ($1, $2, $3, 1) ON CONFLICT (project, grp, day) DO UPDATE SET n = d.n + 1`
)

// names are those of what a span counts.
func (s *span) names() [2][2]string {
	return [2][2]string{{"build", s.build}, {store.AttrRelease, s.release}}
}

// add are statements that count a dump in groups.
func (s *span) add(project string, groups []string) (list []sqldb.Statement) {
	for _, g := range groups {
		for _, x := range s.names() {
			if x[1] != "" {
				list = append(list, sqldb.Statement{Query: addSpan, Args: []any{project, g, x[0], x[1], s.received, s.received, s.program}})
			}
		}
		if g != "" {
			list = append(list, sqldb.Statement{Query: addDay, Args: []any{project, g, s.received / dayNanos}})
		}
	}
	return list
}

// remove are statements that take it out again.
func (s *span) remove(project string, groups []string) (list []sqldb.Statement) {
	for _, g := range groups {
		for _, x := range s.names() {
			if x[1] != "" {
				args := []any{project, g, x[0], x[1]}
				list = append(list, sqldb.Statement{Query: "UPDATE @spans SET n = n - 1 WHERE project = $1 AND grp = $2 AND name = $3 AND value = $4", Args: args},
					sqldb.Statement{Query: "DELETE FROM @spans WHERE project = $1 AND grp = $2 AND name = $3 AND value = $4 AND n <= 0", Args: args})
			}
		}
		if g != "" {
			args := []any{project, g, s.received / dayNanos}
			list = append(list, sqldb.Statement{Query: "UPDATE @days SET n = n - 1 WHERE project = $1 AND grp = $2 AND day = $3", Args: args},
				sqldb.Statement{Query: "DELETE FROM @days WHERE project = $1 AND grp = $2 AND day = $3 AND n <= 0", Args: args})
		}
	}
	return list
}

// respan are statements that count some groups anew.
func respan(project string, groups []string) []sqldb.Statement {
	args := []any{project, groups}
	of := " FROM @uploads WHERE project = $1 AND grp = ANY($2) AND counted AND spanned"
	list := []sqldb.Statement{{Query: "DELETE FROM @spans WHERE project = $1 AND grp = ANY($2)", Args: args}, {Query: "DELETE FROM @days WHERE project = $1 AND grp = ANY($2)", Args: args}}
	for _, name := range []string{"build", store.AttrRelease} {
		list = append(list, sqldb.Statement{Query: "INSERT INTO @spans (project, grp, name, value, n, first, last, program) SELECT project, grp, '" + name + "', " + name + ", count(*), min(received), max(received), max(program)" + of +
			" AND " + name + " <> '' GROUP BY project, grp, " + name, Args: args})
	}
	return append(list, sqldb.Statement{Query: "INSERT INTO @days (project, grp, day, n) SELECT project, grp, received / 86400000000000, count(*)" + of + " GROUP BY project, grp, received / 86400000000000", Args: args})
}

// backspan counts a dump that an older program has counted without its span.
func (d *DB) backspan(ctx context.Context, project, id string, u *finished) error {
	groups := []string{""}
	if u.group != "" {
		groups = append(groups, u.group)
	}
	err := d.conn.Batch(ctx, u.was.add(project, groups))
	if err == nil {
		_, err = d.conn.Exec(ctx, "UPDATE @uploads SET spanned = true WHERE project = $1 AND id = $2", project, id)
	}
	return err
}
