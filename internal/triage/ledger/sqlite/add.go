package sqlite

import (
	"context"
	"database/sql"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Add implements Store.
func (d *DB) Add(ctx context.Context, run int64, dumps []ledger.Dump) error {
	return d.failed(d.add(ctx, run, dumps))
}

func (d *DB) add(ctx context.Context, run int64, dumps []ledger.Dump) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	a := adder{ctx: ctx, run: run}
	if err := a.prepare(tx); err != nil {
		return err
	}
	defer a.close()
	for i := range dumps {
		if err := a.add(&dumps[i]); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// An adder adds the dumps of one transaction.
type adder struct {
	ctx                        context.Context
	run                        int64
	find, dump, runDump, group *sql.Stmt
	stmts                      []*sql.Stmt
}

func (a *adder) prepare(tx *sql.Tx) error {
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&a.find, "SELECT id FROM dumps WHERE identity = ? AND fault_kind = ''"},
		// An earlier result stays unless the new analysis succeeds.
		{&a.dump, `INSERT INTO dumps (identity, path, sha256, size, time, seen, program, build, arch, os, reason, kind, place, trust,
				signature, strict, weak, frames, grp, fault, fault_kind, files)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (identity) DO UPDATE SET path = excluded.path, sha256 = excluded.sha256, size = excluded.size, time = excluded.time,
				seen = excluded.seen, program = excluded.program, build = excluded.build, arch = excluded.arch, os = excluded.os,
				reason = excluded.reason, kind = excluded.kind, place = excluded.place, trust = excluded.trust,
				signature = excluded.signature, strict = excluded.strict, weak = excluded.weak, frames = excluded.frames,
				grp = excluded.grp, fault = excluded.fault, fault_kind = excluded.fault_kind, files = excluded.files
			RETURNING id`},
		{&a.runDump, "INSERT INTO run_dumps (run, dump, known) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"},
		{&a.group, `INSERT INTO groups (id, signature, kind, reason, place, weak, frames, run, representative, report)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET report = excluded.report, representative = excluded.representative
			WHERE groups.report IS NULL AND excluded.report IS NOT NULL`},
	} {
		stmt, err := tx.PrepareContext(a.ctx, s.text)
		if err != nil {
			return err
		}
		*s.to = stmt
		a.stmts = append(a.stmts, stmt)
	}
	return nil
}

func (a *adder) close() {
	for _, s := range a.stmts {
		s.Close()
	}
}

func (a *adder) add(d *ledger.Dump) error {
	identity := d.Identity
	if identity == "" {
		identity = byPath + d.Path
	}
	var id int64
	known := true
	err := a.find.QueryRowContext(a.ctx, exact(identity)).Scan(&id)
	if err == sql.ErrNoRows {
		known, err = false, nil
	}
	if err != nil {
		return err
	}
	err = a.dump.QueryRowContext(a.ctx, exact(identity), exact(d.Path), d.SHA256, d.Size, nanos(d.Time), nanos(d.SeenAt), d.Program, d.Build, d.Arch, d.OS,
		d.Reason, d.Kind, d.Where, d.Trust, d.Signature, d.Strict, d.Weak, frameText(d.Frames), d.Group, d.Fault, d.FaultKind, d.Files).Scan(&id)
	if err != nil {
		return err
	}
	if _, err := a.runDump.ExecContext(a.ctx, a.run, id, known); err != nil {
		return err
	}
	if d.Group == "" {
		return nil
	}
	var report any
	if len(d.Report) > 0 {
		report = d.Report
	}
	_, err = a.group.ExecContext(a.ctx, d.Group, d.Signature, d.Kind, d.Reason, d.Where, d.Weak, frameText(d.Frames), a.run, exact(d.Path), report)
	return err
}

// Link implements Store.
func (d *DB) Link(ctx context.Context, group string, similar []ledger.Similar) error {
	return d.failed(d.link(ctx, group, similar))
}

func (d *DB) link(ctx context.Context, group string, similar []ledger.Similar) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "DELETE FROM similar WHERE grp = ?", group); err != nil {
		return err
	}
	for _, s := range similar {
		if _, err := tx.ExecContext(ctx, "INSERT INTO similar (grp, other, score) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET score = excluded.score",
			group, s.Group, s.Score); err != nil {
			return err
		}
	}
	return tx.Commit()
}
