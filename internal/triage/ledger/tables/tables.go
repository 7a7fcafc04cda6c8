// Package tables keeps the ledger of triage in the tables of a database; packages sqlite and postgres open it, and say what is particular to
// their databases.
package tables

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/sqldb"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A DB is a Store in a database.
type DB struct {
	conn    sqldb.Conn
	dialect *Dialect
	// version is the prefix of the signatures that are current, "v1".
	version string
	known   string // the statement, which runs for each dump
}

var _ ledger.Store = (*DB)(nil)

// A Dialect has the parts of statements that are not the same in all databases.
type Dialect struct {
	// Key is the column by which dumps are found, KeyOf its value for an identity.
	Key   string
	KeyOf func(identity sqldb.Raw) any
	// Known are the statements that select the identities, among some, of dumps that were analysed before.
	Known func(identities []sqldb.Raw) []sqldb.Statement
	// Seen are the statements that note for a run its dumps, and which of them were known.
	Seen func(run int64, dumps []int64, known []bool) []sqldb.Statement
	// Sorted says that others write at the same time: rows are written in the order of their keys, so that two transactions never wait for
	// each other.
	Sorted bool

	// Totals selects totals over the dumps of groups; the %s are the table of dumps and the conditions on them.
	Totals string
	// FirstBuilds selects the builds of the oldest dumps of groups; %s is another condition.
	FirstBuilds string
	// Whole is from how many groups on tables are read whole: it is faster than to look for each.
	Whole int
	// Frames are those of the group g as one text.
	Frames string
}

// New returns the ledger in a database, which it closes. Results with a signature version other than version are discarded when the dump is
// seen again.
func New(conn sqldb.Conn, dialect *Dialect, version string) *DB {
	return &DB{conn, dialect, version, "SELECT " + dumpColumns + " FROM @dumps d WHERE " + dialect.Key + " = $1 AND fault_kind = ''"}
}

// Close implements Store.
func (d *DB) Close() error { return d.conn.Close() }

// Begin implements Store.
func (d *DB) Begin(ctx context.Context, args string) (r ledger.Run, err error) {
	r = ledger.Run{Started: time.Now(), Args: args}
	err = sqldb.One(ctx, d.conn, sqldb.To(&r.ID), "INSERT INTO @runs (started, args) VALUES ($1, $2) RETURNING id", sqldb.Nanos(r.Started), sqldb.Raw(args))
	return r, err
}

// Finish implements Store.
func (d *DB) Finish(ctx context.Context, run int64) (ledger.Run, error) {
	if _, err := d.conn.Exec(ctx, "UPDATE @runs SET ended = $1 WHERE id = $2", sqldb.Nanos(time.Now()), run); err != nil {
		return ledger.Run{}, err
	}
	list, err := d.runs(ctx, "$1", run)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("run %d: %w", run, ledger.ErrNotFound)
	}
	if err != nil {
		return ledger.Run{}, err
	}
	return list[0], nil
}

const dumpColumns = `d.path, d.identity, d.sha256, d.size, d.time, d.seen, d.program, d.build, d.arch, d.os, d.reason, d.kind, d.place, d.trust,
	d.signature, d.strict, d.weak, d.frames, d.grp, d.fault, d.fault_kind, d.files`

func scanDump(r sqldb.Row, d *ledger.Dump) error {
	var at, seen int64
	err := r.Scan((*sqldb.Raw)(&d.Path), (*sqldb.Raw)(&d.Identity), &d.SHA256, &d.Size, &at, &seen, &d.Program, &d.Build, &d.Arch, &d.OS, &d.Reason, &d.Kind, &d.Where, &d.Trust,
		&d.Signature, &d.Strict, &d.Weak, &d.Frames, &d.Group, &d.Fault, &d.FaultKind, &d.Files)
	d.Time, d.SeenAt = sqldb.Moment(at), sqldb.Moment(seen)
	if strings.HasPrefix(d.Identity, byPath) {
		d.Identity = ""
	}
	if len(d.Frames) == 0 {
		d.Frames = nil
	}
	return err
}

// dumps lists those that a statement returns.
func (d *DB) dumps(ctx context.Context, query string, args ...any) (list []ledger.Dump, _ error) {
	err := d.conn.Query(ctx, func(r sqldb.Row) error {
		list = append(list, ledger.Dump{})
		return scanDump(r, &list[len(list)-1])
	}, query, args...)
	return list, err
}

// byPath is the prefix of the database identity of a dump whose content was not read.
const byPath = "path:"

// Known implements Store.
func (d *DB) Known(ctx context.Context, identity string) (ledger.Dump, error) {
	if identity == "" || strings.HasPrefix(identity, byPath) {
		return ledger.Dump{}, ledger.ErrNotFound
	}
	list, err := d.dumps(ctx, d.known, d.dialect.KeyOf(sqldb.Raw(identity)))
	if err == nil && (len(list) == 0 || !strings.HasPrefix(list[0].Signature, d.version+":")) {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return ledger.Dump{}, err
	}
	return list[0], nil
}

// Add implements Store.
func (d *DB) Add(ctx context.Context, run int64, dumps []ledger.Dump) error {
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error { return Add(ctx, tx, d.dialect, run, dumps) })
}

// An entry is a dump and what the database knows of it.
type entry struct {
	*ledger.Dump
	identity sqldb.Raw
	known    bool
	id       int64
}

// addDump has the column and the value of the key if it is another, and the key. An earlier result stays unless the new analysis succeeds.
const addDump = `INSERT INTO @dumps (identity, path, sha256, size, time, seen, program, build, arch, os, reason, kind, place, trust,
		signature, strict, weak, frames, grp, fault, fault_kind, files%s)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22%s)
	ON CONFLICT (%s) DO UPDATE SET path = excluded.path, sha256 = excluded.sha256, size = excluded.size, time = excluded.time,
		seen = excluded.seen, program = excluded.program, build = excluded.build, arch = excluded.arch, os = excluded.os,
		reason = excluded.reason, kind = excluded.kind, place = excluded.place, trust = excluded.trust,
		signature = excluded.signature, strict = excluded.strict, weak = excluded.weak, frames = excluded.frames,
		grp = excluded.grp, fault = excluded.fault, fault_kind = excluded.fault_kind, files = excluded.files
	RETURNING id`

const addGroup = `INSERT INTO @groups AS g (id, signature, kind, reason, place, weak, frames, run, representative, report)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
	ON CONFLICT (id) DO UPDATE SET report = excluded.report, representative = excluded.representative
	WHERE g.report IS NULL AND excluded.report IS NOT NULL`

// Add is Add as a part of a transaction. It takes three exchanges with the database, however many dumps there are.
func Add(ctx context.Context, tx sqldb.Conn, dialect *Dialect, run int64, dumps []ledger.Dump) error {
	list, at := entries(dumps)
	if len(list) == 0 {
		return nil
	}
	if dialect.Sorted {
		sort.Slice(list, func(i, j int) bool { return list[i].identity < list[j].identity })
	}
	identities := make([]sqldb.Raw, len(list))
	for i, e := range list {
		identities[i] = e.identity
	}
	batch := dialect.Known(identities)
	for i := range batch {
		batch[i].Each = func(r sqldb.Row) error {
			var identity sqldb.Raw
			err := r.Scan(&identity)
			if e := at[identity]; e != nil {
				e.known = true
			}
			return err
		}
	}
	if err := tx.Batch(ctx, batch); err != nil {
		return err
	}

	column, value := "", ""
	if dialect.Key != "identity" {
		column, value = ", "+dialect.Key, ", $23"
	}
	query := fmt.Sprintf(addDump, column, value, dialect.Key)
	batch = make([]sqldb.Statement, len(list))
	for i, e := range list {
		args := []any{e.identity, sqldb.Raw(e.Path), e.SHA256, e.Size, sqldb.Nanos(e.Time), sqldb.Nanos(e.SeenAt), e.Program, e.Build, e.Arch, e.OS, e.Reason, e.Kind, e.Where, e.Trust,
			e.Signature, e.Strict, e.Weak, e.Frames, e.Group, e.Fault, e.FaultKind, e.Files, dialect.KeyOf(e.identity)}
		if column == "" {
			args = args[:22] // without a column for the key
		}
		batch[i] = sqldb.Statement{Query: query, Args: args, Each: func(r sqldb.Row) error { return r.Scan(&e.id) }}
	}
	if err := tx.Batch(ctx, batch); err != nil {
		return err
	}

	ids, known := make([]int64, len(list)), make([]bool, len(list))
	for i, e := range list {
		ids[i], known[i] = e.id, e.known
	}
	batch = dialect.Seen(run, ids, known)
	if dialect.Sorted {
		sort.SliceStable(list, func(i, j int) bool { return list[i].Group < list[j].Group })
	}
	for _, e := range list {
		if e.Group == "" {
			continue
		}
		var report []byte
		if len(e.Report) > 0 {
			report = e.Report
		}
		batch = append(batch, sqldb.Statement{Query: addGroup, Args: []any{e.Group, e.Signature, e.Kind, e.Reason, e.Where, e.Weak, e.Frames, run, sqldb.Raw(e.Path), report}})
	}
	return tx.Batch(ctx, batch)
}

// entries lists dumps, each once.
func entries(dumps []ledger.Dump) (list []*entry, at map[sqldb.Raw]*entry) {
	at = make(map[sqldb.Raw]*entry, len(dumps))
	for i := range dumps {
		d := &dumps[i]
		identity := sqldb.Raw(d.Identity)
		if identity == "" {
			identity = sqldb.Raw(byPath + d.Path)
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
	return list, at
}

// Link implements Store.
func (d *DB) Link(ctx context.Context, group string, similar []ledger.Similar) error {
	batch := []sqldb.Statement{{Query: "DELETE FROM @similar WHERE grp = $1", Args: []any{group}}}
	for _, s := range similar {
		batch = append(batch, sqldb.Statement{Query: "INSERT INTO @similar (grp, other, score) VALUES ($1, $2, $3) ON CONFLICT (grp, other) DO UPDATE SET score = excluded.score",
			Args: []any{group, s.Group, s.Score}})
	}
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error { return tx.Batch(ctx, batch) })
}
