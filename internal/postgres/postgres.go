// Package postgres is the sqldb.Conn of a PostgreSQL database, of version 12 or newer.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/sqldb"
)

// A DB is a sqldb.Conn. Several processes may use one database at the same time.
type DB struct {
	q      querier
	schema *sqldb.Schema
}

// A querier is a pool of connections, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Begin(ctx context.Context) (pgx.Tx, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

var _ sqldb.Conn = (*DB)(nil)

// Use makes the tables that a database lacks. Close leaves the connections open.
func Use(ctx context.Context, pool *pgxpool.Pool, schema *sqldb.Schema) (*DB, error) {
	d := &DB{q: pool, schema: schema}
	return d, d.migrate(ctx)
}

// Make makes the tables of a version of the schema.
func Make(ctx context.Context, pool *pgxpool.Pool, schema *sqldb.Schema, version int) error {
	if version < 1 || version > len(schema.Migrations) {
		return fmt.Errorf("%s: schema %d: this version supports 1 to %d", schema.Store, version, len(schema.Migrations))
	}
	then := *schema
	then.Migrations = schema.Migrations[:version]
	_, err := Use(ctx, pool, &then)
	return err
}

// In is a transaction of the caller's.
func In(tx pgx.Tx, schema *sqldb.Schema) *DB { return &DB{q: tx, schema: schema} }

// migrate brings a database to the newest schema, in one transaction. It refuses a database with a newer one.
func (d *DB) migrate(ctx context.Context) error {
	return d.Tx(ctx, func(tx sqldb.Conn) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", d.schema.Lock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS @schema (version integer NOT NULL)"); err != nil {
			return err
		}
		var have int
		if err := sqldb.One(ctx, tx, sqldb.To(&have), "SELECT coalesce(max(version), 0) FROM @schema"); err != nil {
			return err
		}
		all := d.schema.Migrations
		if have > len(all) {
			return d.failed(fmt.Errorf("written by a newer version of corewalk (schema %d, this version supports %d): use that version, or another database", have, len(all)))
		}
		for v := have; v < len(all); v++ {
			if _, err := tx.(*DB).q.Exec(ctx, all[v]); err != nil {
				return d.failed(fmt.Errorf("schema %d: %w", v+1, err))
			}
			if _, err := tx.Exec(ctx, "INSERT INTO @schema (version) VALUES ($1)", v+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// Name implements sqldb.Conn.
func (d *DB) Name() string {
	var c *pgx.ConnConfig
	switch q := d.q.(type) {
	case *pgxpool.Pool:
		c = q.Config().ConnConfig
	case pgx.Tx:
		c = q.Conn().Config()
	}
	return fmt.Sprintf("%s %s on %s", d.schema.Store, c.Database, c.Host)
}

// diskFull is PostgreSQL's code for that.
const diskFull = "53100"

// failed adds the name to an error.
func (d *DB) failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) { // its own text has the connection's settings, and that of its cause a line for each attempt
		first, _, _ := strings.Cut(errors.Unwrap(refused).Error(), "\n")
		return fmt.Errorf("%s: no connection: %s", d.Name(), first)
	}
	var known *pgconn.PgError
	if errors.As(err, &known) && known.Code == diskFull {
		err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return fmt.Errorf("%s: %w", d.Name(), err)
}

// Close implements sqldb.Conn.
func (d *DB) Close() error { return nil }

func (d *DB) text(query string) string { return strings.ReplaceAll(query, "@", d.schema.Prefix) }

// valid returns what PostgreSQL takes as a text: UTF-8 without zero bytes.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// values makes arguments what pgx takes.
func values(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if v := valid(a); v != a {
				args[i] = v
			}
		case sqldb.Raw:
			args[i] = []byte(a)
		case []string:
			list := make([]string, len(a)) // nil would be NULL
			for i, s := range a {
				list[i] = valid(s)
			}
			args[i] = list
		}
	}
	return args
}

// Exec implements sqldb.Conn.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := d.q.Exec(ctx, d.text(query), values(args)...)
	return tag.RowsAffected(), d.failed(err)
}

// Query implements sqldb.Conn.
func (d *DB) Query(ctx context.Context, each func(sqldb.Row) error, query string, args ...any) error {
	rows, err := d.q.Query(ctx, d.text(query), values(args)...)
	if err == nil {
		err = forEach(rows, each)
	}
	return d.failed(err)
}

func forEach(rows pgx.Rows, each func(sqldb.Row) error) error {
	defer rows.Close()
	r := &row{rows}
	for rows.Next() {
		if err := each(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

type row struct{ rows pgx.Rows }

// Scan implements sqldb.Row.
func (r *row) Scan(dest ...any) error {
	for i, d := range dest {
		if d, ok := d.(*sqldb.Raw); ok {
			dest[i] = (*raw)(d)
		}
	}
	return r.rows.Scan(dest...)
}

// A raw is how pgx reads a sqldb.Raw.
type raw string

func (r *raw) ScanBytes(b []byte) error {
	*r = raw(b)
	return nil
}

// Batch implements sqldb.Conn.
func (d *DB) Batch(ctx context.Context, list []sqldb.Statement) error {
	var b pgx.Batch
	last, text := "", ""
	for _, s := range list {
		if s.Query != last {
			last, text = s.Query, d.text(s.Query)
		}
		q := b.Queue(text, values(s.Args)...)
		if s.Each != nil {
			q.Query(func(rows pgx.Rows) error { return forEach(rows, s.Each) })
		}
	}
	return d.failed(d.q.SendBatch(ctx, &b).Close())
}

// Tx implements sqldb.Conn.
func (d *DB) Tx(ctx context.Context, do func(sqldb.Conn) error) error {
	var done error
	err := pgx.BeginFunc(ctx, d.q, func(tx pgx.Tx) error {
		done = do(In(tx, d.schema))
		return done
	})
	if done != nil {
		return done
	}
	return d.failed(err)
}
