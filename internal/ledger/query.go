package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// groupQuery answers groups with what their dumps say together. %s are the dumps that
// count, the groups wanted, and what follows.
const groupQuery = `SELECT g.id, g.signature, g.kind, g.reason, g.place, g.weak, g.frames, g.representative, g.run,
		count(*), count(DISTINCT nullif(d.build, '')), min(nullif(d.time, 0)), max(d.time),
		group_concat(DISTINCT d.program), %s
	FROM groups g JOIN dumps d ON d.grp = g.id %s
	WHERE %s
	GROUP BY g.id %s
	ORDER BY count(*) DESC, max(d.time) DESC, g.id %s`

// A groupFilter puts the parts of a groupQuery together.
type groupFilter struct {
	report bool
	join   string
	where  []string
	having []string
	args   []any
	limit  int
}

func (f *groupFilter) add(cond string, args ...any) {
	f.where = append(f.where, cond)
	f.args = append(f.args, args...)
}

func (f *groupFilter) query() string {
	report, having, limit := "NULL", "", ""
	if f.report {
		report = "g.report"
	}
	if len(f.having) > 0 {
		having = "HAVING " + strings.Join(f.having, " AND ")
	}
	if f.limit > 0 {
		limit = fmt.Sprintf("LIMIT %d", f.limit)
	}
	where := append([]string{"d.fault_kind = ''"}, f.where...)
	return fmt.Sprintf(groupQuery, report, f.join, strings.Join(where, " AND "), having, limit)
}

// groups runs a query; new says after which run a group is new.
func (d *DB) groups(ctx context.Context, f groupFilter, since int64) ([]Group, error) {
	rows, err := d.db.QueryContext(ctx, f.query(), f.args...)
	if err != nil {
		return nil, err
	}
	var list []Group
	for rows.Next() {
		var g Group
		var frames, programs string
		var first sql.NullInt64
		var last, run int64
		if err := rows.Scan(&g.ID, &g.Signature, &g.Kind, &g.Reason, &g.Where, &g.Weak, &frames, &g.Representative, &run,
			&g.Count, &g.Builds, &first, &last, &programs, &g.Report); err != nil {
			rows.Close()
			return nil, err
		}
		g.Frames, g.FirstSeen, g.LastSeen = frameList(frames), moment(first.Int64), moment(last)
		g.New = run > since
		if programs != "" {
			g.Programs = strings.Split(programs, ",")
			slices.Sort(g.Programs)
		}
		list = append(list, g)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	return list, d.complete(ctx, list)
}

// complete fills in the oldest builds and the links of groups.
func (d *DB) complete(ctx context.Context, list []Group) error {
	if len(list) == 0 {
		return nil
	}
	at := make(map[string]*Group, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	// Of one group the tables are not read whole: export asks for thousands, one by one.
	like, mine, args := "", "", []any(nil)
	if len(list) == 1 {
		like, mine, args = " WHERE grp = ?1 OR other = ?1", " AND grp = ?1", []any{list[0].ID}
	}
	links, err := d.db.QueryContext(ctx, "SELECT grp, other, score FROM similar"+like+" UNION ALL SELECT other, grp, score FROM similar"+like, args...)
	if err != nil {
		return err
	}
	for links.Next() {
		var s Similar
		var id string
		if err := links.Scan(&id, &s.Group, &s.Score); err != nil {
			links.Close()
			return err
		}
		g := at[id]
		if g != nil && !slices.ContainsFunc(g.Similar, func(x Similar) bool { return x.Group == s.Group }) {
			g.Similar = append(g.Similar, s)
		}
	}
	if err := errors.Join(links.Err(), links.Close()); err != nil {
		return err
	}
	// Of a minimum SQLite gives the other columns of the row that has it.
	builds, err := d.db.QueryContext(ctx, "SELECT grp, build, min(time) FROM dumps WHERE build <> '' AND fault_kind = ''"+mine+" GROUP BY grp", args...)
	if err != nil {
		return err
	}
	for builds.Next() {
		var id, build string
		var at0 int64
		if err := builds.Scan(&id, &build, &at0); err != nil {
			builds.Close()
			return err
		}
		if g := at[id]; g != nil {
			g.FirstBuild = build
		}
	}
	for _, g := range at {
		slices.SortFunc(g.Similar, func(a, b Similar) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Group, b.Group))
		})
	}
	return errors.Join(builds.Err(), builds.Close())
}

// Groups implements Store.
func (d *DB) Groups(ctx context.Context, q Query) ([]Group, error) {
	f := groupFilter{report: q.Reports, limit: q.Limit}
	if q.SinceRun > 0 {
		f.add("g.run > ?", q.SinceRun)
	}
	if q.Build != "" {
		f.add("EXISTS (SELECT 1 FROM dumps b WHERE b.grp = g.id AND b.build LIKE ? ESCAPE '\\')", prefix(q.Build))
	}
	if q.Program != "" {
		f.add("EXISTS (SELECT 1 FROM dumps b WHERE b.grp = g.id AND b.program = ?)", q.Program)
	}
	if q.Kind != "" {
		f.add("g.kind = ?", q.Kind)
	}
	if q.Text != "" {
		like := "%" + prefix(q.Text)
		f.add("(g.reason LIKE ? ESCAPE '\\' OR g.place LIKE ? ESCAPE '\\' OR g.frames LIKE ? ESCAPE '\\' OR g.id LIKE ? ESCAPE '\\')", like, like, like, prefix(q.Text))
	}
	if !q.Since.IsZero() {
		f.having = append(f.having, "min(nullif(d.time, 0)) >= ?")
		f.args = append(f.args, nanos(q.Since))
	}
	list, err := d.groups(ctx, f, q.SinceRun)
	if q.SinceRun == 0 {
		for i := range list {
			list[i].New = false
		}
	}
	return list, d.failed(err)
}

// prefix is a LIKE pattern for what begins with s.
func prefix(s string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s) + "%"
}

// Group implements Store.
func (d *DB) Group(ctx context.Context, id string, limit int) (Group, []Dump, error) {
	f := groupFilter{report: true, limit: 2}
	// A range, since LIKE would look at every group.
	id = strings.ToLower(id)
	f.add("g.id >= ? AND g.id < ?", id, id+"\x7f")
	list, err := d.groups(ctx, f, 0)
	switch {
	case err != nil:
		return Group{}, nil, d.failed(err)
	case len(list) == 0 || id == "":
		return Group{}, nil, fmt.Errorf("group %q: %w", id, ErrNotFound)
	case len(list) > 1:
		return Group{}, nil, d.failed(fmt.Errorf("group %q: several begin so, %s and %s among them: give more of it", id, list[0].ID, list[1].ID))
	}
	g := list[0]
	g.New = false
	query := "SELECT " + dumpColumns + " FROM dumps d WHERE grp = ? AND fault_kind = '' ORDER BY time DESC, path"
	if limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", limit)
	}
	dumps, err := d.dumps(ctx, query, g.ID)
	return g, dumps, d.failed(err)
}

func (d *DB) dumps(ctx context.Context, query string, args ...any) ([]Dump, error) {
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var list []Dump
	for rows.Next() {
		dump, err := scanDump(rows)
		if err != nil {
			rows.Close()
			return nil, err
		}
		list = append(list, dump)
	}
	return list, errors.Join(rows.Err(), rows.Close())
}

// RunGroups implements Store.
func (d *DB) RunGroups(ctx context.Context, run int64) ([]Group, error) {
	f := groupFilter{report: true, join: "JOIN run_dumps r ON r.dump = d.id"}
	f.add("r.run = ?", run)
	list, err := d.groups(ctx, f, run-1)
	return list, d.failed(err)
}

// RunDumps implements Store.
func (d *DB) RunDumps(ctx context.Context, run int64) ([]Dump, error) {
	list, err := d.dumps(ctx, "SELECT "+dumpColumns+" FROM dumps d JOIN run_dumps r ON r.dump = d.id WHERE r.run = ? ORDER BY d.path", run)
	return list, d.failed(err)
}

const runQuery = `SELECT u.id, u.started, u.ended, u.args,
	(SELECT count(*) FROM run_dumps r JOIN dumps d ON d.id = r.dump WHERE r.run = u.id AND d.fault_kind = '' AND NOT r.known),
	(SELECT count(*) FROM run_dumps r JOIN dumps d ON d.id = r.dump WHERE r.run = u.id AND d.fault_kind = '' AND r.known),
	(SELECT count(*) FROM run_dumps r JOIN dumps d ON d.id = r.dump WHERE r.run = u.id AND d.fault_kind <> ''),
	(SELECT count(DISTINCT d.grp) FROM run_dumps r JOIN dumps d ON d.id = r.dump WHERE r.run = u.id AND d.fault_kind = ''),
	(SELECT count(*) FROM groups g WHERE g.run = u.id)
	FROM runs u `

func scanRun(r row) (Run, error) {
	var u Run
	var started, ended int64
	err := r.Scan(&u.ID, &started, &ended, &u.Args, &u.Analysed, &u.Known, &u.Failed, &u.Groups, &u.New)
	u.Started, u.Ended = moment(started), moment(ended)
	return u, err
}

func (d *DB) run(ctx context.Context, id int64) (Run, error) {
	u, err := scanRun(d.db.QueryRowContext(ctx, runQuery+"WHERE u.id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return u, fmt.Errorf("run %d: %w", id, ErrNotFound)
	}
	return u, d.failed(err)
}

// Runs implements Store.
func (d *DB) Runs(ctx context.Context, limit int) ([]Run, error) {
	query := runQuery + "ORDER BY u.id DESC"
	if limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", limit)
	}
	rows, err := d.db.QueryContext(ctx, query)
	if err != nil {
		return nil, d.failed(err)
	}
	var list []Run
	for rows.Next() {
		u, err := scanRun(rows)
		if err != nil {
			rows.Close()
			return nil, d.failed(err)
		}
		list = append(list, u)
	}
	return list, d.failed(errors.Join(rows.Err(), rows.Close()))
}
