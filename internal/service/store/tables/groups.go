package tables

import (
	"context"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// MarkGroup implements Store.
func (d *DB) MarkGroup(ctx context.Context, project, group string, m store.Mark) error {
	_, err := d.conn.Exec(ctx, `INSERT INTO @marks (project, grp, assignee, ticket) VALUES ($1, $2, $3, $4)
		ON CONFLICT (project, grp) DO UPDATE SET assignee = excluded.assignee, ticket = excluded.ticket`, project, group, m.Assignee, m.Ticket)
	return err
}

// Marks implements Store.
func (d *DB) Marks(ctx context.Context, project string) (map[string]store.Mark, error) {
	out := map[string]store.Mark{}
	var group string
	var m store.Mark
	return out, d.conn.Query(ctx, sqldb.Into([]any{&group, &m.Assignee, &m.Ticket}, func() { out[group] = m }), "SELECT grp, assignee, ticket FROM @marks WHERE project = $1", project)
}

// pairs reads two texts of each row into a map.
func (d *DB) pairs(ctx context.Context, query string, args ...any) (map[string]string, error) {
	out := map[string]string{}
	var name, value string
	return out, d.conn.Query(ctx, sqldb.Into([]any{&name, &value}, func() { out[name] = value }), query, args...)
}

// Merged implements Store.
func (d *DB) Merged(ctx context.Context, project string) (map[string]string, error) {
	return d.pairs(ctx, "SELECT grp, target FROM @merged WHERE project = $1", project)
}

// target is the group into which one was merged; "" if it was not.
func (d *DB) target(ctx context.Context, project, group string) (string, error) {
	found, err := d.pairs(ctx, "SELECT grp, target FROM @merged WHERE project = $1 AND grp = $2", project, group)
	return found[group], err
}

// Merge implements Store.
func (d *DB) Merge(ctx context.Context, project, group, into string) error {
	return d.change(ctx, project, func(tx *DB) error {
		if end, err := tx.target(ctx, project, into); err != nil {
			return err
		} else if end != "" {
			into = end
		}
		if into == group {
			return nil // it is merged the other way round: nothing is to be done
		}
		return tx.each(ctx, []sqldb.Statement{
			{Query: "UPDATE @merged SET target = $1 WHERE project = $2 AND target = $3", Args: []any{into, project, group}},
			{Query: "INSERT INTO @merged (project, grp, target) VALUES ($1, $2, $3) ON CONFLICT (project, grp) DO UPDATE SET target = excluded.target", Args: []any{project, group, into}},
			{Query: "UPDATE @uploads SET own = CASE WHEN own = '' THEN grp ELSE own END, grp = $1 WHERE project = $2 AND grp = $3", Args: []any{into, project, group}},
			{Query: "UPDATE @attributes SET grp = $1 WHERE project = $2 AND grp = $3", Args: []any{into, project, group}},
		}, project, group, into)
	})
}

// Split implements Store.
func (d *DB) Split(ctx context.Context, project, group string) error {
	return d.change(ctx, project, func(tx *DB) error {
		from, err := tx.target(ctx, project, group)
		if err == nil && from == "" {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		return tx.each(ctx, []sqldb.Statement{
			{Query: "DELETE FROM @merged WHERE project = $1 AND grp = $2", Args: []any{project, group}},
			{Query: "UPDATE @attributes SET grp = $1 WHERE project = $2 AND id IN (SELECT id FROM @uploads WHERE project = $2 AND own = $1 AND grp = $3)", Args: []any{group, project, from}},
			{Query: "UPDATE @uploads SET grp = own, own = '' WHERE project = $1 AND own = $2 AND grp = $3", Args: []any{project, group, from}},
		}, project, group, from)
	})
}

// each executes statements that move dumps between two groups, and counts both anew.
func (d *DB) each(ctx context.Context, list []sqldb.Statement, project, a, b string) error {
	groups := []string{a, b}
	list = append(list,
		sqldb.Statement{Query: "DELETE FROM @counts WHERE project = $1 AND grp = ANY($2)", Args: []any{project, groups}},
		sqldb.Statement{Query: `INSERT INTO @counts (project, grp, name, value, n, more) SELECT project, grp, name, value, count(*), sum(more) FROM @attributes
			WHERE project = $1 AND grp = ANY($2) AND counted GROUP BY project, grp, name, value`, Args: []any{project, groups}},
		sqldb.Statement{Query: `INSERT INTO @counts (project, grp, name, value, n) SELECT project, grp, '', 'dump', count(*) FROM @uploads
			WHERE project = $1 AND grp = ANY($2) AND counted GROUP BY project, grp`, Args: []any{project, groups}},
		sqldb.Statement{Query: "DELETE FROM @affected WHERE project = $1 AND grp = ANY($2)", Args: []any{project, groups}})
	for _, kind := range []string{"usr", "machine"} {
		name := map[string]string{"usr": store.IDUser, "machine": store.IDMachine}[kind]
		list = append(list, sqldb.Statement{Query: "INSERT INTO @affected (project, grp, kind, who) SELECT DISTINCT project, grp, '" + name + "', " + kind + " FROM @uploads WHERE project = $1 AND grp = ANY($2) AND " + kind + " <> ''",
			Args: []any{project, groups}})
	}
	list = append(list, sqldb.Statement{Query: `INSERT INTO @counts (project, grp, name, value, n) SELECT project, grp, '', kind, count(*) FROM @affected
		WHERE project = $1 AND grp = ANY($2) GROUP BY project, grp, kind`, Args: []any{project, groups}})
	list = append(list, respan(project, groups)...)
	// One that has lost all of its dumps is not new when one comes.
	for _, g := range groups {
		list = append(list, sqldb.Statement{Query: "INSERT INTO @counts (project, grp, name, value, n) VALUES ($1, $2, '', 'dump', 0) ON CONFLICT DO NOTHING", Args: []any{project, g}})
	}
	return d.conn.Batch(ctx, list)
}

// Setting implements Store.
func (d *DB) Setting(ctx context.Context, project, name string) (value string, _ error) {
	err := d.conn.Query(ctx, sqldb.To(&value), "SELECT value FROM @settings WHERE project = $1 AND name = $2", project, name)
	return value, err
}

// SetSetting implements Store.
func (d *DB) SetSetting(ctx context.Context, project, name, value string) error {
	_, err := d.conn.Exec(ctx, "INSERT INTO @settings (project, name, value) VALUES ($1, $2, $3) ON CONFLICT (project, name) DO UPDATE SET value = excluded.value", project, name, value)
	return err
}

// AddSearch implements Store.
func (d *DB) AddSearch(ctx context.Context, project string, s store.Search) error {
	_, err := d.conn.Exec(ctx, "INSERT INTO @searches (id, project, name, query, by) VALUES ($1, $2, $3, $4, $5)", s.ID, project, s.Name, s.Query, s.By)
	return err
}

// Searches implements Store.
func (d *DB) Searches(ctx context.Context, project string) (list []store.Search, _ error) {
	var s store.Search
	err := d.conn.Query(ctx, sqldb.Into([]any{&s.ID, &s.Name, &s.Query, &s.By}, func() { list = append(list, s) }), "SELECT id, name, query, by FROM @searches WHERE project = $1 ORDER BY name, id", project)
	return list, err
}

// RemoveSearch implements Store.
func (d *DB) RemoveSearch(ctx context.Context, project, id string) error {
	return d.Change(ctx, "search", id, "DELETE FROM @searches WHERE project = $1 AND id = $2", project, id)
}
