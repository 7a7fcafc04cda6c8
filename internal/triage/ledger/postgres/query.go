package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// groupQuery selects groups with totals over their dumps. The %s are the report column, the table of dumps, the
// conditions on dumps, those on groups, and the limit. Dumps are counted first, so that the reports of groups are not carried along.
const groupQuery = `SELECT g.id, g.signature, g.kind, g.reason, g.place, g.weak, g.frames, g.representative, g.run,
		s.n, s.builds, s.first, s.last, s.programs, %s
	FROM (SELECT grp AS id, sum(n)::bigint AS n, count(DISTINCT build) FILTER (WHERE build <> '') AS builds, coalesce(min(first), 0) AS first, max(last) AS last,
			array_agg(DISTINCT program) AS programs
		FROM (SELECT d.grp, d.build, d.program, count(*) AS n, min(nullif(d.time, 0)) AS first, max(d.time) AS last
			FROM %s WHERE %s GROUP BY d.grp, d.build, d.program) b GROUP BY grp) s
	JOIN ledger_groups g ON g.id = s.id
	WHERE %s
	ORDER BY s.n DESC, s.last DESC, g.id %s`

// A groupFilter builds a groupQuery. A ? in its conditions is their argument.
type groupFilter struct {
	report        bool
	from          string // the table of dumps to count
	dumps, groups []string
	args          []any
	limit         int
}

// ofDumps and ofGroups add a condition on dumps and on groups.
func (f *groupFilter) ofDumps(cond string, arg any) { f.dumps = append(f.dumps, f.bind(cond, arg)) }

func (f *groupFilter) ofGroups(cond string, arg any) { f.groups = append(f.groups, f.bind(cond, arg)) }

// bind numbers the argument of a condition.
func (f *groupFilter) bind(cond string, arg any) string {
	f.args = append(f.args, arg)
	return strings.ReplaceAll(cond, "?", fmt.Sprintf("$%d", len(f.args)))
}

func (f *groupFilter) query() string {
	report, limit := "NULL::bytea", ""
	if f.report {
		report = "g.report"
	}
	if f.limit > 0 {
		limit = fmt.Sprintf("LIMIT %d", f.limit)
	}
	dumps := append([]string{"d.fault_kind = ''", "d.grp <> ''"}, f.dumps...)
	groups := append([]string{"true"}, f.groups...)
	return fmt.Sprintf(groupQuery, report, cmp.Or(f.from, "ledger_dumps d"), strings.Join(dumps, " AND "), strings.Join(groups, " AND "), limit)
}

// groups runs a query; a group is new if it first appeared after the run since.
func (d *DB) groups(ctx context.Context, f groupFilter, since int64) ([]ledger.Group, error) {
	rows, err := d.pool.Query(ctx, f.query(), f.args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g ledger.Group, err error) {
		var first, last, run int64
		var representative []byte
		err = row.Scan(&g.ID, &g.Signature, &g.Kind, &g.Reason, &g.Where, &g.Weak, &g.Frames, &representative, &run,
			&g.Count, &g.Builds, &first, &last, &g.Programs, &g.Report)
		g.Representative, g.FirstSeen, g.LastSeen, g.New = string(representative), moment(first), moment(last), run > since
		g.Programs = slices.DeleteFunc(g.Programs, func(p string) bool { return p == "" })
		return g, err
	})
	if err != nil {
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
	ids := make([]string, len(list))
	for i := range list {
		at[list[i].ID], ids[i] = &list[i], list[i].ID
	}
	var b pgx.Batch
	b.Queue(`SELECT grp, other, score FROM ledger_similar WHERE grp = ANY($1)
		UNION ALL SELECT other, grp, score FROM ledger_similar WHERE other = ANY($1)`, ids).Query(func(rows pgx.Rows) error {
		var id string
		var s ledger.Similar
		_, err := pgx.ForEachRow(rows, []any{&id, &s.Group, &s.Score}, func() error {
			g := at[id]
			if g != nil && !slices.ContainsFunc(g.Similar, func(x ledger.Similar) bool { return x.Group == s.Group }) {
				g.Similar = append(g.Similar, s)
			}
			return nil
		})
		return err
	})
	b.Queue(`SELECT DISTINCT ON (grp) grp, build FROM ledger_dumps WHERE build <> '' AND fault_kind = '' AND grp = ANY($1) ORDER BY grp, time, build`, ids).Query(func(rows pgx.Rows) error {
		var id, build string
		_, err := pgx.ForEachRow(rows, []any{&id, &build}, func() error {
			if g := at[id]; g != nil {
				g.FirstBuild = build
			}
			return nil
		})
		return err
	})
	if err := d.pool.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	for _, g := range at {
		slices.SortFunc(g.Similar, func(a, b ledger.Similar) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Group, b.Group))
		})
	}
	return nil
}

// Groups implements Store.
func (d *DB) Groups(ctx context.Context, q ledger.Query) ([]ledger.Group, error) {
	f := groupFilter{report: q.Reports, limit: q.Limit}
	if q.SinceRun > 0 {
		f.ofGroups("g.run > ?", q.SinceRun)
	}
	if q.Build != "" {
		f.ofGroups(`EXISTS (SELECT 1 FROM ledger_dumps b WHERE b.grp = g.id AND b.build ILIKE ?)`, prefix(q.Build))
	}
	if q.Program != "" {
		f.ofGroups("EXISTS (SELECT 1 FROM ledger_dumps b WHERE b.grp = g.id AND b.program = ?)", text(q.Program))
	}
	if q.Kind != "" {
		f.ofGroups("g.kind = ?", text(q.Kind))
	}
	if q.Text != "" {
		like := prefix(q.Text)
		f.ofGroups("(g.reason ILIKE '%' || ? OR g.place ILIKE '%' || ? OR array_to_string(g.frames, E'\\n') ILIKE '%' || ? OR g.id ILIKE ?)", like)
	}
	if !q.Since.IsZero() {
		f.ofGroups("s.first >= ?", nanos(q.Since))
	}
	if q.Run > 0 {
		f.ofDumps("d.grp IN (SELECT x.grp FROM ledger_run_dumps r JOIN ledger_dumps x ON x.id = r.dump WHERE r.run = ?)", q.Run)
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
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text(s)) + "%"
}

// Group implements Store.
func (d *DB) Group(ctx context.Context, id string, limit int) (ledger.Group, []ledger.Dump, error) {
	f := groupFilter{report: true, limit: 2}
	id = text(strings.ToLower(id))
	f.ofDumps("d.grp >= ?", id)
	f.ofDumps("d.grp < ?", id+"\x7f")
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
	query := "SELECT " + dumpColumns + " FROM ledger_dumps d WHERE grp = $1 AND fault_kind = '' ORDER BY time DESC, path"
	if limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", limit)
	}
	dumps, err := d.dumps(ctx, query, g.ID)
	return g, dumps, d.failed(err)
}

func (d *DB) dumps(ctx context.Context, query string, args ...any) ([]ledger.Dump, error) {
	rows, err := d.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Dump, error) { return scanDump(row) })
}

// RunGroups implements Store.
func (d *DB) RunGroups(ctx context.Context, run int64) ([]ledger.Group, error) {
	f := groupFilter{report: true, from: "ledger_run_dumps r JOIN ledger_dumps d ON d.id = r.dump"}
	f.ofDumps("r.run = ?", run)
	list, err := d.groups(ctx, f, run-1)
	return list, d.failed(err)
}

// RunDumps implements Store.
func (d *DB) RunDumps(ctx context.Context, run int64, failed bool) ([]ledger.Dump, error) {
	query := "SELECT " + dumpColumns + " FROM ledger_run_dumps r JOIN ledger_dumps d ON d.id = r.dump WHERE r.run = $1"
	if failed {
		query += " AND d.fault_kind <> ''"
	}
	list, err := d.dumps(ctx, query+" ORDER BY d.path", run)
	return list, d.failed(err)
}

// runQuery counts the dumps and groups of runs in one pass.
const runQuery = `SELECT u.id, u.started, u.ended, u.args,
	count(*) FILTER (WHERE d.fault_kind = '' AND NOT r.known), count(*) FILTER (WHERE d.fault_kind = '' AND r.known), count(*) FILTER (WHERE d.fault_kind <> ''),
	count(DISTINCT d.grp) FILTER (WHERE d.fault_kind = ''),
	(SELECT count(*) FROM ledger_groups g WHERE g.run = u.id)
	FROM (SELECT * FROM ledger_runs WHERE %s ORDER BY id DESC %s) u LEFT JOIN ledger_run_dumps r ON r.run = u.id LEFT JOIN ledger_dumps d ON d.id = r.dump
	GROUP BY u.id, u.started, u.ended, u.args ORDER BY u.id DESC`

func scanRun(r pgx.Row) (ledger.Run, error) {
	var u ledger.Run
	var started, ended int64
	var args []byte
	err := r.Scan(&u.ID, &started, &ended, &args, &u.Analysed, &u.Known, &u.Failed, &u.Groups, &u.New)
	u.Started, u.Ended, u.Args = moment(started), moment(ended), string(args)
	return u, err
}

func (d *DB) run(ctx context.Context, id int64) (ledger.Run, error) {
	u, err := scanRun(d.pool.QueryRow(ctx, fmt.Sprintf(runQuery, "id = $1", ""), id))
	if errors.Is(err, pgx.ErrNoRows) {
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
	rows, err := d.pool.Query(ctx, fmt.Sprintf(runQuery, "true", most))
	if err != nil {
		return nil, d.failed(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Run, error) { return scanRun(row) })
	return list, d.failed(err)
}
