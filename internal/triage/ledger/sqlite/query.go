package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// groupQuery selects groups with totals over their dumps. The %s are the report column, the table of dumps, the
// conditions on dumps, those on groups, and the limit. Dumps are counted first, from an index that covers the
// query, so that the reports of groups are not carried along.
const groupQuery = `SELECT g.id, g.signature, g.kind, g.reason, g.place, g.weak, g.frames, g.representative, g.run,
		s.n, s.builds, s.first, s.last, s.programs, %s
	FROM (SELECT d.grp AS id, count(*) AS n, count(DISTINCT nullif(d.build, '')) AS builds, min(nullif(d.time, 0)) AS first,
			max(d.time) AS last, group_concat(DISTINCT d.program) AS programs
		FROM %s WHERE %s GROUP BY d.grp) s
	CROSS JOIN groups g ON g.id = s.id
	WHERE %s
	ORDER BY s.n DESC, s.last DESC, g.id %s`

// A groupFilter builds a groupQuery.
type groupFilter struct {
	report           bool
	from             string // the table of dumps to count
	dumps, groups    []string
	dumpArgs, grpArg []any
	limit            int
}

// ofDumps and ofGroups add a condition on dumps and on groups.
func (f *groupFilter) ofDumps(cond string, args ...any) {
	f.dumps, f.dumpArgs = append(f.dumps, cond), append(f.dumpArgs, args...)
}

func (f *groupFilter) ofGroups(cond string, args ...any) {
	f.groups, f.grpArg = append(f.groups, cond), append(f.grpArg, args...)
}

func (f *groupFilter) query() (query string, args []any) {
	report, limit := "NULL", ""
	if f.report {
		report = "g.report"
	}
	if f.limit > 0 {
		limit = fmt.Sprintf("LIMIT %d", f.limit)
	}
	dumps := append([]string{"d.fault_kind = ''", "d.grp <> ''"}, f.dumps...)
	groups := append([]string{"1"}, f.groups...)
	query = fmt.Sprintf(groupQuery, report, cmp.Or(f.from, "dumps d"), strings.Join(dumps, " AND "), strings.Join(groups, " AND "), limit)
	return query, append(slices.Clone(f.dumpArgs), f.grpArg...)
}

// groups runs a query; a group is new if it first appeared after the run since.
func (d *DB) groups(ctx context.Context, f groupFilter, since int64) ([]ledger.Group, error) {
	query, args := f.query()
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var list []ledger.Group
	for rows.Next() {
		var g ledger.Group
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
func (d *DB) complete(ctx context.Context, list []ledger.Group) error {
	if len(list) == 0 {
		return nil
	}
	at := make(map[string]*ledger.Group, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	// For one group it does not read the whole tables: export asks for thousands of groups one by one.
	like, mine, args := "", "", []any(nil)
	if len(list) == 1 {
		like, mine, args = " WHERE grp = ?1 OR other = ?1", " AND grp = ?1", []any{list[0].ID}
	}
	links, err := d.db.QueryContext(ctx, "SELECT grp, other, score FROM similar"+like+" UNION ALL SELECT other, grp, score FROM similar"+like, args...)
	if err != nil {
		return err
	}
	for links.Next() {
		var s ledger.Similar
		var id string
		if err := links.Scan(&id, &s.Group, &s.Score); err != nil {
			links.Close()
			return err
		}
		g := at[id]
		if g != nil && !slices.ContainsFunc(g.Similar, func(x ledger.Similar) bool { return x.Group == s.Group }) {
			g.Similar = append(g.Similar, s)
		}
	}
	if err := errors.Join(links.Err(), links.Close()); err != nil {
		return err
	}
	// With min SQLite takes the other columns from the row that has the minimum.
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
		slices.SortFunc(g.Similar, func(a, b ledger.Similar) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Group, b.Group))
		})
	}
	return errors.Join(builds.Err(), builds.Close())
}

// Groups implements Store.
func (d *DB) Groups(ctx context.Context, q ledger.Query) ([]ledger.Group, error) {
	f := groupFilter{report: q.Reports, limit: q.Limit}
	if q.SinceRun > 0 {
		f.ofGroups("g.run > ?", q.SinceRun)
	}
	if q.Build != "" {
		f.ofGroups("EXISTS (SELECT 1 FROM dumps b WHERE b.grp = g.id AND b.build LIKE ? ESCAPE '\\')", prefix(q.Build))
	}
	if q.Program != "" {
		f.ofGroups("EXISTS (SELECT 1 FROM dumps b WHERE b.grp = g.id AND b.program = ?)", q.Program)
	}
	if q.Kind != "" {
		f.ofGroups("g.kind = ?", q.Kind)
	}
	if q.Text != "" {
		like := "%" + prefix(q.Text)
		f.ofGroups("(g.reason LIKE ? ESCAPE '\\' OR g.place LIKE ? ESCAPE '\\' OR g.frames LIKE ? ESCAPE '\\' OR g.id LIKE ? ESCAPE '\\')", like, like, like, prefix(q.Text))
	}
	if !q.Since.IsZero() {
		f.ofGroups("s.first >= ?", nanos(q.Since))
	}
	if q.Run > 0 {
		f.ofDumps("d.grp IN (SELECT x.grp FROM run_dumps r CROSS JOIN dumps x ON x.id = r.dump WHERE r.run = ?)", q.Run)
	}
	list, err := d.groups(ctx, f, q.SinceRun)
	if q.SinceRun == 0 {
		for i := range list {
			list[i].New = false
		}
	}
	return list, d.failed(err)
}

// prefix returns a LIKE pattern for text that begins with s.
func prefix(s string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s) + "%"
}

// Group implements Store.
func (d *DB) Group(ctx context.Context, id string, limit int) (ledger.Group, []ledger.Dump, error) {
	f := groupFilter{report: true, limit: 2}
	// A range uses the index; LIKE would visit every group.
	id = strings.ToLower(id)
	f.ofDumps("d.grp >= ? AND d.grp < ?", id, id+"\x7f")
	list, err := d.groups(ctx, f, 0)
	switch {
	case err != nil:
		return ledger.Group{}, nil, d.failed(err)
	case len(list) == 0 || id == "":
		return ledger.Group{}, nil, fmt.Errorf("group %q: %w", id, ledger.ErrNotFound)
	case len(list) > 1:
		return ledger.Group{}, nil, d.failed(fmt.Errorf("group %q is ambiguous: it matches %s and %s, and possibly more: give more characters", id, list[0].ID, list[1].ID))
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

func (d *DB) dumps(ctx context.Context, query string, args ...any) ([]ledger.Dump, error) {
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var list []ledger.Dump
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
func (d *DB) RunGroups(ctx context.Context, run int64) ([]ledger.Group, error) {
	f := groupFilter{report: true, from: "run_dumps r CROSS JOIN dumps d ON d.id = r.dump"}
	f.ofDumps("r.run = ?", run)
	list, err := d.groups(ctx, f, run-1)
	return list, d.failed(err)
}

// RunDumps implements Store.
func (d *DB) RunDumps(ctx context.Context, run int64, failed bool) ([]ledger.Dump, error) {
	from := "run_dumps r CROSS JOIN dumps d ON d.id = r.dump WHERE r.run = ?"
	if failed {
		from = "dumps d CROSS JOIN run_dumps r ON r.dump = d.id WHERE d.fault_kind <> '' AND r.run = ?"
	}
	list, err := d.dumps(ctx, "SELECT "+dumpColumns+" FROM "+from+" ORDER BY d.path", run)
	return list, d.failed(err)
}

// runQuery counts the dumps and groups of runs in one pass.
const runQuery = `SELECT u.id, u.started, u.ended, u.args,
	coalesce(sum(d.fault_kind = '' AND NOT r.known), 0), coalesce(sum(d.fault_kind = '' AND r.known), 0), coalesce(sum(d.fault_kind <> ''), 0),
	count(DISTINCT CASE d.fault_kind WHEN '' THEN d.grp END),
	(SELECT count(*) FROM groups g WHERE g.run = u.id)
	FROM (SELECT * FROM runs WHERE %s ORDER BY id DESC %s) u LEFT JOIN run_dumps r ON r.run = u.id LEFT JOIN dumps d ON d.id = r.dump
	GROUP BY u.id ORDER BY u.id DESC`

func scanRun(r row) (ledger.Run, error) {
	var u ledger.Run
	var started, ended int64
	err := r.Scan(&u.ID, &started, &ended, &u.Args, &u.Analysed, &u.Known, &u.Failed, &u.Groups, &u.New)
	u.Started, u.Ended = moment(started), moment(ended)
	return u, err
}

func (d *DB) run(ctx context.Context, id int64) (ledger.Run, error) {
	u, err := scanRun(d.db.QueryRowContext(ctx, fmt.Sprintf(runQuery, "id = ?", ""), id))
	if errors.Is(err, sql.ErrNoRows) {
		return u, fmt.Errorf("run %d: %w", id, ledger.ErrNotFound)
	}
	return u, d.failed(err)
}

// Runs implements Store.
func (d *DB) Runs(ctx context.Context, limit int) ([]ledger.Run, error) {
	most := ""
	if limit > 0 {
		most = fmt.Sprintf("LIMIT %d", limit)
	}
	rows, err := d.db.QueryContext(ctx, fmt.Sprintf(runQuery, "1", most))
	if err != nil {
		return nil, d.failed(err)
	}
	var list []ledger.Run
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
