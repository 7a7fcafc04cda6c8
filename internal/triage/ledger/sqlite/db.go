// Package sqlite keeps the ledger of triage in an SQLite database.
package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	engine "github.com/corewalk/corewalk/internal/sqlite"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A DB is a Store in an SQLite database. Several processes may use one file at the same time.
type DB struct {
	path string
	db   *sql.DB
	// version is the prefix of the signatures that are current, "v1".
	version string
	known   *sql.Stmt // runs for each dump
}

var _ ledger.Store = (*DB)(nil)

// busyTimeout is how long to wait for another process that is writing.
const busyTimeout = 30 * time.Second

// Open opens the database at path, and creates it and its directory if necessary; "" is a database in memory.
// Results with a signature version other than version are discarded when the dump is seen again.
func Open(ctx context.Context, path, version string) (*DB, error) {
	d := &DB{path: path, version: version}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)"}}
	name := "file::memory:?" + query.Encode()
	if path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, d.failed(err)
		}
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return nil, d.failed(errors.New("not a regular file")) // reading a pipe could block
		}
		// It has values of variables, and SQLite would let everybody read it.
		if f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600); err == nil { // else SQLite says why not
			f.Close()
		}
		name = (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String()
	}
	db, err := engine.Open(name)
	if err != nil {
		return nil, d.failed(err)
	}
	// One connection: SQLite has one writer at a time anyway, and a database in memory belongs to its
	// connection.
	db.SetMaxOpenConns(1)
	d.db = db
	if err := migrate(ctx, db); err != nil {
		db.Close()
		return nil, d.failed(err)
	}
	d.known, err = db.PrepareContext(ctx, "SELECT "+dumpColumns+" FROM dumps d WHERE identity = ? AND fault_kind = ''")
	if err != nil {
		db.Close()
		return nil, d.failed(err)
	}
	return d, nil
}

// failed adds the name of the database to an error.
func (d *DB) failed(err error) error {
	if err == nil || errors.Is(err, ledger.ErrNotFound) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, sql.ErrTxDone) { // the context ended, and database/sql rolled back
		return context.Canceled
	}
	name := d.path
	if name == "" {
		name = "in memory"
	}
	advice := ""
	switch engine.Code(err) {
	case engine.Corrupt:
		advice = ": move it away; the dumps are then analysed again"
	case engine.NotDatabase:
		advice = ": name another file"
	}
	return fmt.Errorf("ledger %s: %w%s", name, err, advice)
}

// Close implements Store.
func (d *DB) Close() error { return d.failed(errors.Join(d.known.Close(), d.db.Close())) }

// exact returns the value in the database of a text that may have any bytes, as names of files have: a blob if it is
// not UTF-8, because SQLite's text must be.
func exact(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return []byte(s)
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

func frameText(list []string) string {
	b, err := json.Marshal(list)
	if err != nil || list == nil {
		return "[]"
	}
	return string(b)
}

func frameList(s string) []string {
	var list []string
	if json.Unmarshal([]byte(s), &list) != nil || len(list) == 0 {
		return nil
	}
	return list
}

// Begin implements Store.
func (d *DB) Begin(ctx context.Context, args string) (ledger.Run, error) {
	r := ledger.Run{Started: time.Now(), Args: args}
	res, err := d.db.ExecContext(ctx, "INSERT INTO runs (started, args) VALUES (?, ?)", nanos(r.Started), exact(args))
	if err == nil {
		r.ID, err = res.LastInsertId()
	}
	return r, d.failed(err)
}

// Finish implements Store.
func (d *DB) Finish(ctx context.Context, run int64) (ledger.Run, error) {
	if _, err := d.db.ExecContext(ctx, "UPDATE runs SET ended = ? WHERE id = ?", nanos(time.Now()), run); err != nil {
		return ledger.Run{}, d.failed(err)
	}
	return d.run(ctx, run)
}

const dumpColumns = `d.path, d.identity, d.sha256, d.size, d.time, d.seen, d.program, d.build, d.arch, d.os, d.reason, d.kind, d.place, d.trust,
	d.signature, d.strict, d.weak, d.frames, d.grp, d.fault, d.fault_kind, d.files`

// A row is a row of a query's result.
type row interface{ Scan(...any) error }

func scanDump(r row, more ...any) (ledger.Dump, error) {
	var d ledger.Dump
	var at, seen int64
	var frames string
	dest := append([]any{&d.Path, &d.Identity, &d.SHA256, &d.Size, &at, &seen, &d.Program, &d.Build, &d.Arch, &d.OS, &d.Reason, &d.Kind, &d.Where, &d.Trust,
		&d.Signature, &d.Strict, &d.Weak, &frames, &d.Group, &d.Fault, &d.FaultKind, &d.Files}, more...)
	err := r.Scan(dest...)
	d.Time, d.SeenAt, d.Frames = moment(at), moment(seen), frameList(frames)
	if strings.HasPrefix(d.Identity, byPath) {
		d.Identity = ""
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
	dump, err := scanDump(d.known.QueryRowContext(ctx, identity))
	if errors.Is(err, sql.ErrNoRows) || err == nil && !strings.HasPrefix(dump.Signature, d.version+":") {
		return ledger.Dump{}, ledger.ErrNotFound
	}
	return dump, d.failed(err)
}
