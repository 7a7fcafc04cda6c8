package tables

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

func annotationsOf(text []byte) (out map[string]string, _ error) {
	return out, json.Unmarshal(text, &out)
}

// Shared implements Store.
func (d *DB) Shared(ctx context.Context, project, name string, values []string) (map[string][]int, error) {
	out := map[string][]int{}
	var group, value string
	var n int
	each := sqldb.Into([]any{&group, &value, &n}, func() {
		if out[group] == nil {
			out[group] = make([]int, len(values))
		}
		for i, v := range values {
			if v == value {
				out[group][i] = n
			}
		}
	})
	if name == "build" {
		return out, d.conn.Query(ctx, each, "SELECT grp, value, n FROM @spans WHERE project = $1 AND value = ANY($2) AND name = 'build' AND grp <> ''", project, values)
	}
	return out, d.conn.Query(ctx, each, "SELECT grp, value, n FROM @counts WHERE project = $1 AND value = ANY($2) AND name = $3 AND grp <> ''", project, values, name)
}

// Having implements Store.
func (d *DB) Having(ctx context.Context, project string, has []store.Attribute, most int) (_ map[string]int, all bool, _ error) {
	out := map[string]int{}
	var group string
	var n int
	each := sqldb.Into([]any{&group, &n}, func() { out[group] = n })
	if len(has) == 0 {
		return out, true, nil
	}
	if len(has) == 1 {
		err := d.conn.Query(ctx, each, "SELECT grp, n FROM @counts WHERE project = $1 AND name = $2 AND value = $3 AND grp <> ''", project, has[0].Name, has[0].Value)
		if err != nil || len(out) > 0 {
			return out, true, err
		}
	}
	has, err := d.rarest(ctx, project, has)
	if err != nil {
		return nil, false, err
	}
	args := []any{project, has[0].Name, has[0].Value, most}
	const dumps = "FROM @attributes WHERE project = $1 AND name = $2 AND value = $3 AND grp <> ''"
	var more bool
	if err := sqldb.One(ctx, d.conn, sqldb.To(&more), "SELECT EXISTS (SELECT 1 "+dumps+" LIMIT 1 OFFSET $4)", args...); err != nil {
		return nil, false, err
	}
	where, args := d.also("true", has[1:], args)
	return out, !more, d.conn.Query(ctx, each, "SELECT a.grp, count(*) FROM (SELECT project, id, grp, received "+dumps+" ORDER BY received DESC LIMIT $4) a WHERE "+where+" GROUP BY a.grp", args...)
}

// also is a condition of dumps of a table a with one attribute: they have others too. All attributes of a dump have its time and its group, so that these are found
// beside each other in the index of values. Each is looked for by itself: a join would have PostgreSQL read all dumps with the other attribute.
func (d *DB) also(where string, has []store.Attribute, args []any) (string, []any) {
	for _, a := range has {
		args = append(args, a.Name, a.Value)
		where += fmt.Sprintf(" AND (SELECT 1 FROM @attributes b%s WHERE b.project = a.project AND b.name = $%d AND b.value = $%d AND b.received = a.received AND b.grp = a.grp AND b.id = a.id LIMIT 1) IS NOT NULL",
			d.dialect.ByValue, len(args)-1, len(args))
	}
	return where, args
}

// rarest puts attributes in order: those that the fewest dumps have come first.
func (d *DB) rarest(ctx context.Context, project string, has []store.Attribute) ([]store.Attribute, error) {
	if len(has) < 2 {
		return has, nil
	}
	sizes := make(map[store.Attribute]int, len(has))
	for _, a := range has {
		var n int
		err := sqldb.One(ctx, d.conn, sqldb.To(&n), "SELECT n FROM @counts WHERE project = $1 AND grp = '' AND name = $2 AND value = $3", project, a.Name, a.Value)
		if err = Found(err); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		} else if err == nil {
			sizes[a] = n
		}
	}
	return slices.SortedStableFunc(slices.Values(has), func(a, b store.Attribute) int { return cmp.Compare(sizes[a], sizes[b]) }), nil
}

// Facets implements Store.
func (d *DB) Facets(ctx context.Context, project string, n int) (list []store.Facet, _ error) {
	var name, value string
	var count, all int
	err := d.conn.Query(ctx, sqldb.Into([]any{&name, &value, &count, &all}, func() {
		if len(list) == 0 || list[len(list)-1].Name != name {
			list = append(list, store.Facet{Name: name, Known: all})
		}
		f := &list[len(list)-1]
		f.Values = append(f.Values, store.Counted{Value: value, Count: count})
	}), `SELECT name, value, n, known FROM (SELECT name, value, n, row_number() OVER (PARTITION BY name ORDER BY n DESC, value) AS place, count(*) OVER (PARTITION BY name) AS known
		FROM @counts WHERE project = $1 AND grp = '' AND name <> '' AND n > 0) f WHERE place <= $2 ORDER BY name, place`, project, n)
	return list, err
}

// Lacking implements Store.
func (d *DB) Lacking(ctx context.Context, project string, n int) (list []store.Lack, known int, _ error) {
	var l store.Lack
	err := d.conn.Query(ctx, sqldb.Into([]any{&l.Value, &l.Dumps, &l.Frames, &known}, func() { list = append(list, l) }),
		"SELECT value, n, n + more, count(*) OVER () FROM @counts WHERE project = $1 AND grp = '' AND name = $2 AND n > 0 ORDER BY n + more DESC, n DESC, value LIMIT $3", project, store.AttrLacks, n)
	return list, known, err
}

// Shares implements Store.
func (d *DB) Shares(ctx context.Context, project, group string, n int) (s store.Shares, _ error) {
	var grp string
	var count int
	err := d.conn.Query(ctx, sqldb.Into([]any{&grp, &count}, func() {
		if grp == "" {
			s.All = count
		} else {
			s.Here = count
		}
	}), "SELECT grp, n FROM @counts WHERE project = $1 AND grp = ANY($2) AND name = '' AND value = 'dump'", project, []string{"", group})
	if err != nil {
		return s, err
	}
	var x store.Share
	err = d.conn.Query(ctx, sqldb.Into([]any{&x.Name, &x.Value, &x.Here, &x.All}, func() { s.List = append(s.List, x) }), `SELECT g.name, g.value, g.n, t.n FROM
		(SELECT name, value, n FROM @counts WHERE project = $1 AND grp = $2 AND name <> '' AND n > 0 ORDER BY n DESC, name, value LIMIT $3) g
		JOIN @counts t ON t.project = $4 AND t.grp = '' AND t.name = g.name AND t.value = g.value ORDER BY g.n DESC, g.name, g.value`, project, group, n, project)
	return s, err
}

// Affected implements Store.
func (d *DB) Affected(ctx context.Context, project string, groups []string) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	var group, kind string
	var n int
	err := d.conn.Query(ctx, sqldb.Into([]any{&group, &kind, &n}, func() {
		if kind == countDumps {
			return
		}
		if out[group] == nil {
			out[group] = map[string]int{}
		}
		out[group][kind] = n
	}), "SELECT grp, value, n FROM @counts WHERE project = $1 AND grp = ANY($2) AND name = ''", project, groups)
	return out, err
}

// Attributes implements Store.
func (d *DB) Attributes(ctx context.Context, project, id string) (list []store.Attribute, _ error) {
	var a store.Attribute
	err := d.conn.Query(ctx, sqldb.Into([]any{&a.Name, &a.Value}, func() { list = append(list, a) }), "SELECT name, value FROM @attributes WHERE project = $1 AND id = $2 ORDER BY name, value", project, id)
	return list, err
}

// Releases implements Store.
func (d *DB) Releases(ctx context.Context, project, group string) (list []store.Release, _ error) {
	query, args := `SELECT r.release, coalesce(c.n, 0), r.first, r.last FROM @releases r LEFT JOIN @counts c ON c.project = r.project AND c.grp = '' AND c.name = 'release' AND c.value = r.release
		WHERE r.project = $1 ORDER BY r.last DESC, r.release`, []any{project}
	if group != "" {
		query, args = "SELECT value, n, first, last FROM @spans WHERE project = $1 AND grp = $2 AND name = 'release' AND n > 0 ORDER BY last DESC, value", append(args, group)
	}
	var x store.Release
	var first, last int64
	err := d.conn.Query(ctx, sqldb.Into([]any{&x.Release, &x.Count, &first, &last}, func() {
		x.First, x.Last = sqldb.Moment(first), sqldb.Moment(last)
		list = append(list, x)
	}), query, args...)
	return list, err
}

// ReleasesOf implements Store.
func (d *DB) ReleasesOf(ctx context.Context, project string, groups []string) (map[string][]string, error) {
	out := map[string][]string{}
	var group, release string
	err := d.conn.Query(ctx, sqldb.Into([]any{&group, &release}, func() { out[group] = append(out[group], release) }),
		"SELECT grp, value FROM @counts WHERE project = $1 AND grp = ANY($2) AND name = 'release' AND n > 0", project, groups)
	return out, err
}

// ReleaseDays implements Store.
func (d *DB) ReleaseDays(ctx context.Context, project, group string, since time.Time) (map[string][]store.Day, error) {
	out := map[string][]store.Day{}
	var release string
	var day int64
	var n int
	err := d.conn.Query(ctx, sqldb.Into([]any{&release, &day, &n}, func() {
		out[release] = append(out[release], store.Day{Day: time.Unix(0, day*int64(24*time.Hour)).UTC(), Count: n})
	}), "SELECT release, received / 86400000000000 AS day, count(*) FROM @uploads"+d.dialect.ByRelease+" WHERE project = $1 AND grp = $2 AND received >= $3 GROUP BY release, day ORDER BY day", project, group, sqldb.Nanos(since))
	return out, err
}

// Announce implements Store.
func (d *DB) Announce(ctx context.Context, project, release string) error {
	_, err := d.conn.Exec(ctx, seenRelease, project, release, int64(0), int64(0))
	return err
}

// buildName is the release that a build was said to be of; "" if none.
func (d *DB) buildName(ctx context.Context, project, build string) (release string, _ error) {
	err := d.conn.Query(ctx, sqldb.To(&release), "SELECT release FROM @build_names WHERE project IN ($1, '') AND build = $2 ORDER BY project", project, build)
	return release, err // a project's own is the last
}

// NameBuild implements Store. Its dumps are counted by statements for all at once.
func (d *DB) NameBuild(ctx context.Context, project, build, release string) error {
	projects := []string{project}
	if project == "" {
		var err error
		if projects, err = d.Projects(ctx); err != nil {
			return err
		}
	}
	const name = "INSERT INTO @build_names (project, build, release) VALUES ($1, $2, $3) ON CONFLICT (project, build) DO UPDATE SET release = excluded.release"
	for _, p := range projects {
		err := d.change(ctx, p, func(tx *DB) error {
			before, err := tx.buildName(ctx, p, build)
			if err != nil {
				return err
			}
			if project == "" {
				var own bool
				err := sqldb.One(ctx, tx.conn, sqldb.To(&own), "SELECT EXISTS (SELECT 1 FROM @build_names WHERE project = $1 AND build = $2)", p, build)
				if err != nil || own {
					return err
				}
			}
			if _, err := tx.conn.Exec(ctx, name, project, build, release); err != nil {
				return err
			}
			return tx.rename(ctx, p, build, before, release)
		})
		if err != nil {
			return err
		}
	}
	if project == "" {
		_, err := d.conn.Exec(ctx, name, "", build, release)
		return err
	}
	return nil
}

// rename makes the dumps of a build that are of no release, or of the one that the build had, ones of another.
func (d *DB) rename(ctx context.Context, project, build, before, release string) error {
	if err := d.Announce(ctx, project, release); err != nil || before == release {
		return err
	}
	known, err := d.known(ctx, project, []store.Attribute{{Name: store.AttrRelease, Value: release}})
	if err != nil {
		return err
	}
	is := known[store.Attribute{Name: store.AttrRelease, Value: release}] != notCounted
	// Each statement has its arguments in the order in which SQLite wants them.
	run := func(query string, args ...any) {
		if err == nil {
			_, err = d.conn.Exec(ctx, query, args...)
		}
	}
	const dumps = " FROM @uploads WHERE project = $1 AND build = $2 AND release = $3 AND state = 'done' AND counted"
	if before != "" {
		run(`DELETE FROM @attributes WHERE project = $1 AND name = 'release' AND value = $3 AND id IN (SELECT id`+dumps+")", project, build, before)
	}
	run(`INSERT INTO @attributes (project, id, name, value, received, grp, counted) SELECT project, id, 'release', CAST($4 AS text), received, grp, $5`+dumps+" ON CONFLICT DO NOTHING", project, build, before, release, is)
	run("UPDATE @uploads SET release = $1 WHERE project = $2 AND build = $3 AND release = $4 AND state = 'done' AND counted", release, project, build, before)
	run("DELETE FROM @counts WHERE project = $1 AND name = 'release' AND value = ANY($2)", project, []string{before, release})
	const count = "INSERT INTO @counts (project, grp, name, value, n) SELECT project, %s, name, value, count(*) FROM @attributes WHERE project = $1 AND name = 'release' AND value = ANY($2) AND counted"
	run(fmt.Sprintf(count, "grp")+" AND grp <> '' GROUP BY project, grp, name, value", project, []string{before, release})
	run(fmt.Sprintf(count, "''")+" GROUP BY project, name, value", project, []string{before, release})
	run("DELETE FROM @spans WHERE project = $1 AND name = 'release' AND value = ANY($2)", project, []string{before, release})
	const spans = "INSERT INTO @spans (project, grp, name, value, n, first, last, program) SELECT project, %s, name, value, count(*), min(received), max(received), '' FROM @attributes a WHERE project = $1 AND name = 'release' AND value = ANY($2)" +
		" AND EXISTS (SELECT 1 FROM @uploads u WHERE u.project = a.project AND u.id = a.id AND u.spanned)"
	run(fmt.Sprintf(spans, "grp")+" AND grp <> '' GROUP BY project, grp, name, value", project, []string{before, release})
	run(fmt.Sprintf(spans, "''")+" GROUP BY project, name, value", project, []string{before, release})
	run("DELETE FROM @names WHERE project = $1 AND name = 'release'", project)
	run("INSERT INTO @names (project, name, n) SELECT project, name, count(*) FROM @counts WHERE project = $1 AND grp = '' AND name = 'release' GROUP BY project, name", project)
	var first, last *int64
	if err == nil {
		err = sqldb.One(ctx, d.conn, sqldb.To(&first, &last), "SELECT min(received), max(received) FROM @attributes WHERE project = $1 AND name = 'release' AND value = $2", project, release)
	}
	if err == nil && first != nil {
		run(seenRelease, project, release, *first, *last)
	}
	return err
}

// BuildNames implements Store.
func (d *DB) BuildNames(ctx context.Context, project string) (map[string]string, error) {
	out := map[string]string{}
	var build, release string
	return out, d.conn.Query(ctx, sqldb.Into([]any{&build, &release}, func() { out[build] = release }), "SELECT build, release FROM @build_names WHERE project IN ($1, '') ORDER BY project", project)
}
