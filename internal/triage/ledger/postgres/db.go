// Package postgres keeps the ledger of triage in a PostgreSQL database, which many machines may share.
package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A DB is a Store in a PostgreSQL database, of version 12 or newer. Several processes may use one database at the same time.
type DB struct {
	pool *pgxpool.Pool
	own  bool   // Close closes pool
	name string // of the database, without the password
	// version is the prefix of the signatures that are current, "v1".
	version string
}

var _ ledger.Store = (*DB)(nil)

// Open connects to the database that a connection string names ("postgres://user@host/name"; package pgxpool), and makes the tables that it
// lacks. Results with a signature version other than version are discarded when the dump is seen again.
func Open(ctx context.Context, connection, version string) (*DB, error) {
	config, err := pgxpool.ParseConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("the ledger's connection string: %w", errors.New("not one of PostgreSQL: postgres://USER@HOST/DATABASE")) // the cause may have the password
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	d, err := Use(ctx, pool, version)
	if err != nil {
		pool.Close()
		return nil, err
	}
	d.own = true
	return d, nil
}

// Use is Open with connections of the caller's, which Close leaves open.
func Use(ctx context.Context, pool *pgxpool.Pool, version string) (*DB, error) {
	c := pool.Config().ConnConfig
	d := &DB{pool: pool, version: version, name: fmt.Sprintf("%s on %s", c.Database, c.Host)}
	if err := d.migrate(ctx); err != nil {
		return nil, d.failed(err)
	}
	return d, nil
}

// failed adds the name of the database to an error.
func (d *DB) failed(err error) error {
	if err == nil || errors.Is(err, ledger.ErrNotFound) || errors.Is(err, context.Canceled) {
		return err
	}
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) {
		return fmt.Errorf("ledger %s: no connection: %s", d.name, firstLine(errors.Unwrap(refused))) // its own text has the connection's settings
	}
	return fmt.Errorf("ledger %s: %w", d.name, err)
}

// firstLine is the text of an error about several attempts but for the others.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Close implements Store.
func (d *DB) Close() error {
	if d.own {
		d.pool.Close()
	}
	return nil
}

// key is what dumps are found by: an identity may be longer than an index entry.
func key(identity string) []byte {
	sum := sha256.Sum256([]byte(identity))
	return sum[:]
}

// text returns what PostgreSQL takes as a text: UTF-8 without zero bytes.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// texts is text of each.
func texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

// nanos and moment convert between times and the values in the database.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// Begin implements Store.
func (d *DB) Begin(ctx context.Context, args string) (ledger.Run, error) {
	r := ledger.Run{Started: time.Now(), Args: args}
	err := d.pool.QueryRow(ctx, "INSERT INTO ledger_runs (started, args) VALUES ($1, $2) RETURNING id", nanos(r.Started), []byte(args)).Scan(&r.ID)
	return r, d.failed(err)
}

// Finish implements Store.
func (d *DB) Finish(ctx context.Context, run int64) (ledger.Run, error) {
	if _, err := d.pool.Exec(ctx, "UPDATE ledger_runs SET ended = $1 WHERE id = $2", nanos(time.Now()), run); err != nil {
		return ledger.Run{}, d.failed(err)
	}
	return d.run(ctx, run)
}

const dumpColumns = `d.path, d.identity, d.sha256, d.size, d.time, d.seen, d.program, d.build, d.arch, d.os, d.reason, d.kind, d.place, d.trust,
	d.signature, d.strict, d.weak, d.frames, d.grp, d.fault, d.fault_kind, d.files`

func scanDump(r pgx.Row) (ledger.Dump, error) {
	var d ledger.Dump
	var path, identity []byte
	var at, seen int64
	err := r.Scan(&path, &identity, &d.SHA256, &d.Size, &at, &seen, &d.Program, &d.Build, &d.Arch, &d.OS, &d.Reason, &d.Kind, &d.Where, &d.Trust,
		&d.Signature, &d.Strict, &d.Weak, &d.Frames, &d.Group, &d.Fault, &d.FaultKind, &d.Files)
	d.Path, d.Identity, d.Time, d.SeenAt = string(path), string(identity), moment(at), moment(seen)
	if strings.HasPrefix(d.Identity, byPath) {
		d.Identity = ""
	}
	if len(d.Frames) == 0 {
		d.Frames = nil
	}
	return d, err
}

// byPath is the prefix of the database identity of a dump whose content was not read.
const byPath = "path:"

// Known implements Store.
func (d *DB) Known(ctx context.Context, identity string) (ledger.Dump, error) {
	if identity == "" || strings.HasPrefix(identity, byPath) {
		return ledger.Dump{}, ledger.ErrNotFound
	}
	dump, err := scanDump(d.pool.QueryRow(ctx, "SELECT "+dumpColumns+" FROM ledger_dumps d WHERE key = $1 AND fault_kind = ''", key(identity)))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !strings.HasPrefix(dump.Signature, d.version+":") {
		return ledger.Dump{}, ledger.ErrNotFound
	}
	return dump, d.failed(err)
}
