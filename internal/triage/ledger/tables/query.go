package tables

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/sqldb"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// groupQuery selects groups with totals over their dumps. The %s are the report column, the totals, the
// conditions on groups, and the limit. Dumps are counted first, so that the reports of groups are not carried along. With CROSS JOIN SQLite reads
// the tables in this order.
const groupQuery = `SELECT g.id, g.signature, g.kind, g.reason, g.place, g.weak, g.frames, g.representative, g.run,
		s.n, s.builds, s.first, s.last, s.programs, %s
	FROM (%s) s CROSS JOIN @groups g
	WHERE g.id = s.id%s
	ORDER BY s.n DESC, s.last DESC, g.id %s`

// A groupFilter builds a groupQuery. A ? in its conditions is their argument.
type groupFilter struct {
	report        bool
	from          string // the table of dumps to count
	dumps, groups string
	args          []any
	limit         int
}

// ofDumps and ofGroups add a condition on dumps and on groups.
func (f *groupFilter) ofDumps(cond string, arg any) { f.dumps += f.bind(cond, arg) }

func (f *groupFilter) ofGroups(cond string, arg any) { f.groups += f.bind(cond, arg) }

// bind numbers the argument of a condition.
func (f *groupFilter) bind(cond string, arg any) string {
	f.args = append(f.args, arg)
	return " AND " + strings.ReplaceAll(cond, "?", fmt.Sprintf("$%d", len(f.args)))
}

func limited(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}

// groups runs a query; a group is new if it first appeared after the run since.
func (d *DB) groups(ctx context.Context, f groupFilter, since int64) (list []ledger.Group, _ error) {
	report := "NULL"
	if f.report {
		report = "g.report"
	}
	totals := fmt.Sprintf(d.dialect.Totals, cmp.Or(f.from, "@dumps d"), "d.fault_kind = '' AND d.grp <> ''"+f.dumps)
	err := d.conn.Query(ctx, func(r sqldb.Row) error {
		list = append(list, ledger.Group{})
		g := &list[len(list)-1]
		var first, last, run int64
		err := r.Scan(&g.ID, &g.Signature, &g.Kind, &g.Reason, &g.Where, &g.Weak, &g.Frames, (*sqldb.Raw)(&g.Representative), &run,
			&g.Count, &g.Builds, &first, &last, &g.Programs, &g.Report)
		g.FirstSeen, g.LastSeen, g.New = sqldb.Moment(first), sqldb.Moment(last), run > since
		g.Programs = slices.DeleteFunc(g.Programs, func(p string) bool { return p == "" })
		slices.Sort(g.Programs)
		return err
	}, fmt.Sprintf(groupQuery, report, totals, f.groups, limited(f.limit)), f.args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list, d.complete(ctx, list)
}

// complete fills in the oldest builds and the links of groups.
func (d *DB) complete(ctx context.Context, list []ledger.Group) error {
	at := make(map[string]*ledger.Group, len(list))
	ids := make([]string, len(list))
	for i := range list {
		at[list[i].ID], ids[i] = &list[i], list[i].ID
	}
	var mine, other, build string
	var args []any
	if len(ids) < d.dialect.Whole {
		mine, other, build, args = " WHERE grp = ANY($1)", " WHERE other = ANY($1)", " AND grp = ANY($1)", []any{ids}
	}
	var id, first string
	var s ledger.Similar
	var when int64
	err := d.conn.Batch(ctx, []sqldb.Statement{{
		Query: "SELECT grp, other, score FROM @similar" + mine + " UNION ALL SELECT other, grp, score FROM @similar" + other, Args: args,
		Each: sqldb.Into([]any{&id, &s.Group, &s.Score}, func() {
			g := at[id]
			if g != nil && !slices.ContainsFunc(g.Similar, func(x ledger.Similar) bool { return x.Group == s.Group }) {
				g.Similar = append(g.Similar, s)
			}
		}),
	}, {
		Query: fmt.Sprintf(d.dialect.FirstBuilds, build), Args: slices.Clone(args),
		Each: sqldb.Into([]any{&id, &first, &when}, func() {
			if g := at[id]; g != nil {
				g.FirstBuild = first
			}
		}),
	}})
	for _, g := range at {
		slices.SortFunc(g.Similar, func(a, b ledger.Similar) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Group, b.Group))
		})
	}
	return err
}

// Groups implements Store.
func (d *DB) Groups(ctx context.Context, q ledger.Query) ([]ledger.Group, error) {
	f := groupFilter{report: q.Reports, limit: q.Limit}
	if q.SinceRun > 0 {
		f.ofGroups("g.run > ?", q.SinceRun)
	}
	if q.Build != "" {
		f.ofGroups(`EXISTS (SELECT 1 FROM @dumps b WHERE b.grp = g.id AND b.build ILIKE ? ESCAPE '\')`, prefix(q.Build))
	}
	if q.Program != "" {
		f.ofGroups("EXISTS (SELECT 1 FROM @dumps b WHERE b.grp = g.id AND b.program = ?)", q.Program)
	}
	if q.Kind != "" {
		f.ofGroups("g.kind = ?", q.Kind)
	}
	if q.Text != "" {
		f.ofGroups(`(g.reason ILIKE '%' || ? ESCAPE '\' OR g.place ILIKE '%' || ? ESCAPE '\' OR `+d.dialect.Frames+` ILIKE '%' || ? ESCAPE '\' OR g.id ILIKE ? ESCAPE '\')`, prefix(q.Text))
	}
	if !q.Since.IsZero() {
		f.ofGroups("s.first >= ?", sqldb.Nanos(q.Since))
	}
	if q.Run > 0 {
		f.ofDumps("d.grp IN (SELECT x.grp FROM @run_dumps r CROSS JOIN @dumps x WHERE x.id = r.dump AND r.run = ?)", q.Run)
	}
	list, err := d.groups(ctx, f, q.SinceRun)
	if q.SinceRun == 0 {
		for i := range list {
			list[i].New = false
		}
	}
	return list, err
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
	f.ofDumps("d.grp >= ?", id)
	f.ofDumps("d.grp < ?", id+"\x7f")
	list, err := d.groups(ctx, f, 0)
	switch {
	case err != nil:
		return ledger.Group{}, nil, err
	case len(list) == 0 || id == "":
		return ledger.Group{}, nil, fmt.Errorf("group %q: %w", id, ledger.ErrNotFound)
	case len(list) > 1:
		return ledger.Group{}, nil, fmt.Errorf("%s: group %q %w: it matches %s and %s, and possibly more: give more characters", d.conn.Name(), id, ledger.ErrAmbiguous, list[0].ID, list[1].ID)
	}
	g := list[0]
	g.New = false
	dumps, err := d.dumps(ctx, "SELECT "+dumpColumns+" FROM @dumps d WHERE grp = $1 AND fault_kind = '' ORDER BY time DESC, path"+limited(limit), g.ID)
	return g, dumps, err
}

// RunGroups implements Store.
func (d *DB) RunGroups(ctx context.Context, run int64) ([]ledger.Group, error) {
	f := groupFilter{report: true, from: "@run_dumps r CROSS JOIN @dumps d"}
	f.ofDumps("d.id = r.dump AND r.run = ?", run)
	return d.groups(ctx, f, run-1)
}

// RunDumps implements Store.
func (d *DB) RunDumps(ctx context.Context, run int64, failed bool) ([]ledger.Dump, error) {
	from := "@run_dumps r CROSS JOIN @dumps d WHERE d.id = r.dump AND r.run = $1"
	if failed {
		from = "@dumps d CROSS JOIN @run_dumps r WHERE r.dump = d.id AND r.run = $1 AND d.fault_kind <> ''"
	}
	return d.dumps(ctx, "SELECT "+dumpColumns+" FROM "+from+" ORDER BY d.path", run)
}

// runQuery counts the dumps and groups of runs in one pass. %s are the runs.
const runQuery = `SELECT u.id, u.started, u.ended, u.args,
	count(*) FILTER (WHERE d.fault_kind = '' AND NOT r.known), count(*) FILTER (WHERE d.fault_kind = '' AND r.known), count(*) FILTER (WHERE d.fault_kind <> ''),
	count(DISTINCT d.grp) FILTER (WHERE d.fault_kind = ''),
	(SELECT count(*) FROM @groups g WHERE g.run = u.id)
	FROM @runs u LEFT JOIN @run_dumps r ON r.run = u.id LEFT JOIN @dumps d ON d.id = r.dump
	WHERE u.id IN (%s) GROUP BY u.id ORDER BY u.id DESC`

// runs lists those whose identifiers are which.
func (d *DB) runs(ctx context.Context, which string, args ...any) (list []ledger.Run, _ error) {
	var u ledger.Run
	var started, ended int64
	err := d.conn.Query(ctx, sqldb.Into([]any{&u.ID, &started, &ended, (*sqldb.Raw)(&u.Args), &u.Analysed, &u.Known, &u.Failed, &u.Groups, &u.New}, func() {
		u.Started, u.Ended = sqldb.Moment(started), sqldb.Moment(ended)
		list = append(list, u)
	}), fmt.Sprintf(runQuery, which), args...)
	return list, err
}

// Runs implements Store.
func (d *DB) Runs(ctx context.Context, limit int) ([]ledger.Run, error) {
	return d.runs(ctx, "SELECT id FROM @runs ORDER BY id DESC"+limited(limit))
}
