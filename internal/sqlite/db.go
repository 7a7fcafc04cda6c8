package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/sqldb"
)

// A DB is a sqldb.Conn. Several processes may use one file at the same time.
type DB struct {
	path   string
	schema *sqldb.Schema
	words  *strings.Replacer
	q      querier
	db     *sql.DB // nil in a transaction
	// readers read while the connection of db is busy: a query of a second would have each short one wait. nil in a transaction, and of a database in memory.
	readers *DB
	// prepared are statements that were executed before (*sql.Stmt), kept of them how many: most are executed again.
	prepared sync.Map
	kept     atomic.Int32
	// outside is what a transaction is in: it executes the statements that are prepared there. asked are those that are not, which will be. nil if in none.
	outside *DB
	asked   []string
}

type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

var _ sqldb.Conn = (*DB)(nil)

// busyTimeout is how long to wait for another process that is writing.
const busyTimeout = 30 * time.Second

// maxReaders is how many queries are answered while another is, or while something is written.
const maxReaders = 4

// maxPrepared is how many statements are kept: some have numbers in them.
const maxPrepared = 128

// Open opens the database at path, and creates it and its directory if necessary; "" is a database in memory. It makes the tables that are
// missing.
func Open(ctx context.Context, path string, schema *sqldb.Schema) (*DB, error) {
	d, err := openAsIs(path, schema)
	if err != nil {
		return nil, err
	}
	if err := d.migrate(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// openAsIs is Open with the tables that are there.
func openAsIs(path string, schema *sqldb.Schema) (*DB, error) {
	d := &DB{path: path, schema: schema, words: words(schema.Prefix)}
	pragmas := []string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)"}
	named := func(u url.URL, more ...string) string {
		u.Scheme, u.RawQuery = "file", url.Values{"_txlock": {"immediate"}, "_pragma": append(pragmas, more...)}.Encode()
		return u.String()
	}
	at := url.URL{Opaque: ":memory:"}
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
		at.Opaque = (&url.URL{Path: path}).EscapedPath()
	}
	db, err := open(named(at))
	if err != nil {
		return nil, d.failed(err)
	}
	// One connection writes: SQLite has one writer at a time anyway, and a database in memory belongs to its
	// connection.
	db.SetMaxOpenConns(1)
	d.db, d.q = db, db
	if path == "" {
		return d, nil
	}
	if db, err = open(named(at, "query_only(1)")); err != nil { // it connects when it is used
		return nil, errors.Join(d.failed(err), d.Close())
	}
	db.SetMaxOpenConns(maxReaders)
	d.readers = &DB{path: path, schema: schema, words: d.words, db: db, q: db}
	return d, nil
}

// reader is the DB that answers a query.
func (d *DB) reader(query string) *DB {
	if d.readers != nil && strings.HasPrefix(query, "SELECT ") && d.db.Stats().InUse > 0 {
		return d.readers
	}
	return d
}

// words translates what SQLite reads otherwise than PostgreSQL. One process writes at a time: no row is locked.
func words(prefix string) *strings.Replacer {
	const among = "IN (SELECT value FROM json_each("
	return strings.NewReplacer("@", prefix, "ILIKE", "LIKE", " FOR UPDATE SKIP LOCKED", "", "= ANY($1)", among+"$1))", "= ANY($2)", among+"$2))", "= ANY($3)", among+"$3))")
}

// plain leaves out the numbers of arguments that are in order: the driver asks SQLite for each.
func plain(query string) string {
	parts := strings.Split(query, "$")
	for i, p := range parts[1:] {
		rest, ok := strings.CutPrefix(p, strconv.Itoa(i+1))
		if !ok || rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return query
		}
		parts[i+1] = rest
	}
	return strings.Join(parts, "?")
}

// migrate brings a database to the newest schema. It refuses a database with a newer one.
func (d *DB) migrate(ctx context.Context) error {
	all := d.schema.Migrations
	version := func(c sqldb.Conn) (n int, err error) {
		err = sqldb.One(ctx, c, sqldb.To(&n), "PRAGMA user_version")
		return n, err
	}
	have, err := version(d)
	if err != nil {
		return err
	}
	if have > len(all) {
		return d.failed(fmt.Errorf("written by a newer version of corewalk (schema %d, this version supports %d): use that version, or another file", have, len(all)))
	}
	for v := have; v < len(all); v++ {
		err := d.Tx(ctx, func(tx sqldb.Conn) error {
			if now, err := version(tx); err != nil || now != v { // another process has done so
				return err
			}
			if _, err := tx.(*DB).q.ExecContext(ctx, all[v]); err != nil {
				return d.failed(fmt.Errorf("schema %d: %w", v+1, err))
			}
			_, err := tx.Exec(ctx, fmt.Sprintf("PRAGMA user_version = %d", v+1))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Name implements sqldb.Conn.
func (d *DB) Name() string {
	if d.path == "" {
		return d.schema.Store + " in memory"
	}
	return d.schema.Store + " " + d.path
}

// failed adds the name to an error.
func (d *DB) failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, sql.ErrTxDone) { // the context ended, and database/sql rolled back
		return context.Canceled
	}
	advice := ""
	switch code(err) {
	case full:
		err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case corrupt:
		advice = d.schema.Damaged
	case notDatabase:
		advice = d.schema.Foreign
	}
	return fmt.Errorf("%s: %w%s", d.Name(), err, advice)
}

// Close implements sqldb.Conn.
func (d *DB) Close() error {
	err := d.failed(d.db.Close())
	if d.readers != nil {
		err = errors.Join(err, d.readers.Close())
	}
	return err
}

// values makes arguments what SQLite stores. Its texts must be UTF-8: what is not is a blob.
func values(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case sqldb.Raw:
			if args[i] = string(a); !utf8.ValidString(string(a)) {
				args[i] = []byte(a)
			}
		case []byte:
			if a == nil {
				args[i] = nil
			}
		case []string:
			text, err := json.Marshal(a)
			if err != nil || a == nil {
				text = []byte("[]")
			}
			args[i] = string(text)
		}
	}
	return args
}

// statement prepares a statement, and keeps it if there are not many; else end must be called.
func (d *DB) statement(ctx context.Context, query string) (s *sql.Stmt, end func(), err error) {
	end = func() {}
	if s, ok := d.prepared.Load(query); ok {
		return s.(*sql.Stmt), end, nil
	}
	if d.outside != nil { // to prepare a statement takes longer than to execute most
		if s, ok := d.outside.prepared.Load(query); ok {
			s := d.q.(*sql.Tx).StmtContext(ctx, s.(*sql.Stmt))
			d.prepared.Store(query, s)
			return s, end, nil
		}
		d.asked = append(d.asked, query)
	}
	if s, err = d.q.PrepareContext(ctx, plain(d.words.Replace(query))); err != nil {
		return nil, end, err
	}
	if d.kept.Load() < maxPrepared {
		if _, other := d.prepared.LoadOrStore(query, s); !other {
			d.kept.Add(1)
			return s, end, nil
		}
	}
	return s, func() { s.Close() }, nil
}

// Exec implements sqldb.Conn.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	s, end, err := d.statement(ctx, query)
	if err != nil {
		return 0, d.failed(err)
	}
	defer end()
	res, err := s.ExecContext(ctx, values(args)...)
	if err == nil {
		n, err = res.RowsAffected()
	}
	return n, d.failed(err)
}

// Query implements sqldb.Conn.
func (d *DB) Query(ctx context.Context, each func(sqldb.Row) error, query string, args ...any) error {
	d = d.reader(query)
	s, end, err := d.statement(ctx, query)
	if err != nil {
		return d.failed(err)
	}
	defer end()
	rows, err := s.QueryContext(ctx, values(args)...)
	if err == nil {
		err = forEach(rows, each)
	}
	return d.failed(err)
}

func forEach(rows *sql.Rows, each func(sqldb.Row) error) error {
	defer rows.Close()
	r := &row{rows}
	for rows.Next() {
		if err := each(r); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

type row struct{ rows *sql.Rows }

// Scan implements sqldb.Row.
func (r *row) Scan(dest ...any) error {
	for i, d := range dest {
		switch d := d.(type) {
		case *sqldb.Raw:
			dest[i] = (*string)(d)
		case *[]string:
			dest[i] = (*list)(d)
		}
	}
	return r.rows.Scan(dest...)
}

// A list is stored as JSON.
type list []string

// Scan implements sql.Scanner.
func (l *list) Scan(src any) error {
	*l = nil
	s, _ := src.(string)
	if inner, ok := strings.CutPrefix(s, `["`); ok && !strings.Contains(s, `\`) { // nearly all: there are many, and this is faster
		*l = strings.Split(strings.TrimSuffix(inner, `"]`), `","`)
		return nil
	}
	if json.Unmarshal([]byte(s), (*[]string)(l)) != nil || len(*l) == 0 {
		*l = nil // what somebody else wrote
	}
	return nil
}

// Batch implements sqldb.Conn.
func (d *DB) Batch(ctx context.Context, list []sqldb.Statement) (err error) {
	for _, s := range list {
		if s.Each != nil {
			err = d.Query(ctx, s.Each, s.Query, s.Args...)
		} else {
			_, err = d.Exec(ctx, s.Query, s.Args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Tx implements sqldb.Conn.
func (d *DB) Tx(ctx context.Context, do func(sqldb.Conn) error) error {
	if d.db == nil { // in a transaction already
		return do(d)
	}
	asked, err := d.tx(ctx, d.db, do)
	d.prepare(ctx, asked)
	return err
}

// Later implements sqldb.Delayer: the next transaction of another kind waits for the disk, for both.
func (d *DB) Later(ctx context.Context, do func(sqldb.Conn) error) error {
	if d.db == nil || d.path == "" {
		return d.Tx(ctx, do)
	}
	asked, err := d.unsynced(ctx, do)
	d.prepare(ctx, asked)
	return err
}

func (d *DB) unsynced(ctx context.Context, do func(sqldb.Conn) error) (asked []string, _ error) {
	conn, err := d.db.Conn(ctx) // the only one that writes: what is set here concerns nobody else
	if err != nil {
		return nil, d.failed(err)
	}
	defer conn.Close()
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous=FULL"); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the next one is opened as all are
		}
	}()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous=NORMAL"); err != nil {
		return nil, d.failed(err)
	}
	return d.tx(ctx, conn, do)
}

// tx is a transaction of a connection. It returns the statements that were prepared for it.
func (d *DB) tx(ctx context.Context, from interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}, do func(sqldb.Conn) error) (asked []string, _ error) {
	tx, err := from.BeginTx(ctx, nil)
	if err != nil {
		return nil, d.failed(err)
	}
	defer tx.Rollback()
	in := &DB{path: d.path, schema: d.schema, words: d.words, q: tx, outside: d}
	err = do(in)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // database/sql rolled back, and statements say that they are closed
		return nil, context.Canceled
	}
	if err != nil {
		return nil, err
	}
	return in.asked, d.failed(tx.Commit())
}

// prepare prepares statements for the next transaction, unless there are many.
func (d *DB) prepare(ctx context.Context, list []string) {
	for _, query := range list {
		if d.kept.Load() >= maxPrepared {
			return
		}
		if _, _, err := d.statement(ctx, query); err != nil {
			return // it is prepared when it is executed
		}
	}
}
