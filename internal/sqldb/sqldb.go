// Package sqldb is what stores need of a database: a Conn, which package sqlite makes of an SQLite database and package postgres of a PostgreSQL
// database. A statement is written once, as PostgreSQL reads it: $1 is the first argument, and @ is what the names of the store's tables begin
// with. Package sqlite translates the few words that SQLite lacks; what differs more is in each store's dialect.
package sqldb

import (
	"context"
	"database/sql"
	"time"
)

// A Conn executes statements, in a transaction or each in one of its own. Arguments are booleans, numbers, texts, []byte, Raw and lists of texts
// ([]string, for = ANY); the slice of them is the Conn's. Errors begin with the store's name; those of Tx are do's.
type Conn interface {
	// Exec returns how many rows were changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query calls each for each row.
	Query(ctx context.Context, each func(Row) error, query string, args ...any) error
	// Batch executes statements in their order, in one exchange with the database if it has such.
	Batch(ctx context.Context, list []Statement) error
	// Tx calls do with a transaction, which is committed unless do fails.
	Tx(ctx context.Context, do func(Conn) error) error
	// Name is that of the store and of its database, without passwords.
	Name() string
	Close() error
}

// A Delayer is a Conn that has a way to write what may be lost when power fails, though not when the program dies. What is read afterwards is consistent.
type Delayer interface {
	// Later is Tx that does not wait for the disk.
	Later(ctx context.Context, do func(Conn) error) error
}

// A Row is scanned into pointers to what may be an argument.
type Row interface{ Scan(dest ...any) error }

// Raw is a text of any bytes, as names of files are. Other texts lose what the database cannot store.
type Raw string

// A Statement is a part of a batch. Each, if there is one, is called for each row.
type Statement struct {
	Query string
	Args  []any
	Each  func(Row) error
}

// A Schema is the tables of a store.
type Schema struct {
	Store  string // what the names of errors begin with: "ledger"
	Prefix string // of the tables' names
	Lock   int64  // that one process at a time has while it changes the schema, where a database needs one
	// Migrations lead from each version of the schema to the next; the first turns an empty database into version 1. A released migration
	// is never changed.
	Migrations []string
	// Damaged and Foreign are the ends of errors for a file that is damaged, and for one that is no database: advice.
	Damaged, Foreign string
}

// One is Query of a statement that has one row at most; the error is sql.ErrNoRows if it has none.
func One(ctx context.Context, c Conn, each func(Row) error, query string, args ...any) error {
	found := false
	err := c.Query(ctx, func(r Row) error {
		found = true
		return each(r)
	}, query, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

// To returns a function that scans a row into dest.
func To(dest ...any) func(Row) error { return Into(dest, nil) }

// Into is To, and calls each. Functions with type parameters would be linked once for each of the stores' types.
func Into(dest []any, each func()) func(Row) error {
	return func(r Row) error {
		err := r.Scan(dest...)
		if err == nil && each != nil {
			each()
		}
		return err
	}
}

// Nanos and Moment convert between times and what is stored of them: nanoseconds since 1970, 0 if it is not known.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func Moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
