package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Add implements Store. It takes three exchanges with the server, however many dumps there are.
func (d *DB) Add(ctx context.Context, run int64, dumps []ledger.Dump) error {
	return d.failed(pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return AddTx(ctx, tx, run, dumps) }))
}

// An entry is a dump and what the database knows of it.
type entry struct {
	*ledger.Dump
	identity string
	known    bool
	id       int64
}

// An earlier result stays unless the new analysis succeeds.
const addDump = `INSERT INTO ledger_dumps (key, identity, path, sha256, size, time, seen, program, build, arch, os, reason, kind, place, trust,
		signature, strict, weak, frames, grp, fault, fault_kind, files)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
	ON CONFLICT (key) DO UPDATE SET path = excluded.path, sha256 = excluded.sha256, size = excluded.size, time = excluded.time,
		seen = excluded.seen, program = excluded.program, build = excluded.build, arch = excluded.arch, os = excluded.os,
		reason = excluded.reason, kind = excluded.kind, place = excluded.place, trust = excluded.trust,
		signature = excluded.signature, strict = excluded.strict, weak = excluded.weak, frames = excluded.frames,
		grp = excluded.grp, fault = excluded.fault, fault_kind = excluded.fault_kind, files = excluded.files
	RETURNING id`

const addGroup = `INSERT INTO ledger_groups AS g (id, signature, kind, reason, place, weak, frames, run, representative, report)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
	ON CONFLICT (id) DO UPDATE SET report = excluded.report, representative = excluded.representative
	WHERE g.report IS NULL AND excluded.report IS NOT NULL`

// AddTx is Add as a part of a transaction of the caller's, which may have to be repeated (SQLSTATE 40001, 40P01).
func AddTx(ctx context.Context, tx pgx.Tx, run int64, dumps []ledger.Dump) error {
	list := entries(dumps)
	if len(list) == 0 {
		return nil
	}
	if err := findKnown(ctx, tx, list); err != nil {
		return err
	}
	var b pgx.Batch
	for _, e := range list {
		b.Queue(addDump, key(e.identity), []byte(e.identity), []byte(e.Path), text(e.SHA256), e.Size, nanos(e.Time), nanos(e.SeenAt), text(e.Program), text(e.Build), text(e.Arch),
			text(e.OS), text(e.Reason), text(e.Kind), text(e.Where), text(e.Trust), text(e.Signature), text(e.Strict), e.Weak, texts(e.Frames), text(e.Group), text(e.Fault),
			text(e.FaultKind), text(e.Files)).QueryRow(func(row pgx.Row) error { return row.Scan(&e.id) })
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	b = pgx.Batch{}
	for _, e := range list {
		b.Queue("INSERT INTO ledger_run_dumps (run, dump, known) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", run, e.id, e.known)
	}
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(a.Group, b.Group) })
	for _, e := range list {
		if e.Group == "" {
			continue
		}
		var report []byte
		if len(e.Report) > 0 {
			report = e.Report
		}
		b.Queue(addGroup, text(e.Group), text(e.Signature), text(e.Kind), text(e.Reason), text(e.Where), e.Weak, texts(e.Frames), run, []byte(e.Path), report)
	}
	return tx.SendBatch(ctx, &b).Close()
}

// entries lists dumps, each once. Rows are written in the order of their keys, so that two transactions never wait for each other.
func entries(dumps []ledger.Dump) []*entry {
	at := map[string]*entry{}
	var list []*entry
	for i := range dumps {
		d := &dumps[i]
		identity := d.Identity
		if identity == "" {
			identity = byPath + d.Path
		}
		if e := at[identity]; e != nil {
			last := *d
			if len(last.Report) == 0 {
				last.Report = e.Report
			}
			e.Dump = &last
			continue
		}
		e := &entry{Dump: d, identity: identity}
		at[identity], list = e, append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.identity, b.identity) })
	return list
}

// findKnown finds the dumps that were analysed before.
func findKnown(ctx context.Context, tx pgx.Tx, list []*entry) error {
	keys := make([][]byte, len(list))
	at := make(map[string]*entry, len(list))
	for i, e := range list {
		keys[i] = key(e.identity)
		at[string(keys[i])] = e
	}
	rows, err := tx.Query(ctx, "SELECT key FROM ledger_dumps WHERE key = ANY($1) AND fault_kind = ''", keys)
	if err != nil {
		return err
	}
	var k []byte
	_, err = pgx.ForEachRow(rows, []any{&k}, func() error {
		if e := at[string(k)]; e != nil {
			e.known = true
		}
		return nil
	})
	return err
}

// Link implements Store.
func (d *DB) Link(ctx context.Context, group string, similar []ledger.Similar) error {
	return d.failed(pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue("DELETE FROM ledger_similar WHERE grp = $1", group)
		for _, s := range similar {
			b.Queue("INSERT INTO ledger_similar (grp, other, score) VALUES ($1, $2, $3) ON CONFLICT (grp, other) DO UPDATE SET score = excluded.score", group, s.Group, s.Score)
		}
		return tx.SendBatch(ctx, &b).Close()
	}))
}
