// Package postgres is a store.Store in a PostgreSQL database, which many machines may share.
package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	engine "github.com/corewalk/corewalk/internal/postgres"
	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// A DB is a Store in a database, and knows the workers of many machines.
type DB struct {
	*tables.DB
	conn sqldb.Conn
}

// Use returns the store in a database to which there are connections, which Close leaves open. It makes the tables that are missing.
func Use(ctx context.Context, pool *pgxpool.Pool) (*DB, error) {
	conn, err := engine.Use(ctx, pool, &schema)
	if err != nil {
		return nil, err
	}
	return &DB{tables.New(conn, &dialect), conn}, nil
}

// Version is the newest version of the schema.
func Version() int { return len(schema.Migrations) }

// Prefix is what the names of its tables begin with.
const Prefix = "service_"

// Make makes the tables of a version of the schema in a database that has none.
func Make(ctx context.Context, pool *pgxpool.Pool, version int) error {
	return engine.Make(ctx, pool, &schema, version)
}

// In returns the store within a transaction of the caller's: what it changes is there once that is committed.
func (d *DB) In(tx pgx.Tx) *DB { return In(tx) }

// In is the store within a transaction, in a database that has its tables.
func In(tx pgx.Tx) *DB {
	conn := engine.In(tx, &schema)
	return &DB{tables.New(conn, &dialect), conn}
}

var dialect = tables.Dialect{
	Hint: true,
	Free: " AND (reserved IS NULL OR reserved < now())", FreeAgain: ", reserved = NULL",
	Scopes: "array_to_string(scopes, ',')", ScopesOf: "string_to_array($4, ',')",
	Lock: "SELECT pg_advisory_xact_lock(hashtextextended($1, 1668247152))",
}
