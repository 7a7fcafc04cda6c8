// Package postgres keeps the ledger of triage in a PostgreSQL database, which many machines may share.
package postgres

import (
	"context"
	"crypto/sha256"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	engine "github.com/corewalk/corewalk/internal/postgres"
	"github.com/corewalk/corewalk/internal/sqldb"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/tables"
)

// Use returns the ledger in a database to which there are connections, which Close leaves open. It makes the tables that are missing. Results
// with a signature version other than version are discarded when the dump is seen again.
func Use(ctx context.Context, pool *pgxpool.Pool, version string) (*tables.DB, error) {
	db, err := engine.Use(ctx, pool, &schema)
	if err != nil {
		return nil, err
	}
	return tables.New(db, &dialect, version), nil
}

// Version is the newest version of the schema.
func Version() int { return len(schema.Migrations) }

// Prefix is what the names of its tables begin with.
const Prefix = "ledger_"

// Make makes the tables of a version of the schema in a database that has none.
func Make(ctx context.Context, pool *pgxpool.Pool, version int) error {
	return engine.Make(ctx, pool, &schema, version)
}

// AddTx is Add as a part of a transaction of the caller's, which may have to be repeated (SQLSTATE 40001, 40P01).
func AddTx(ctx context.Context, tx pgx.Tx, run int64, dumps []ledger.Dump) error {
	return tables.Add(ctx, engine.In(tx, &schema), &dialect, run, dumps)
}

var dialect = tables.Dialect{
	Key: "key", KeyOf: func(identity sqldb.Raw) any { return key(identity) },
	Known: known, Seen: seen,
	Sorted: true,

	Totals: `SELECT grp AS id, sum(n)::bigint AS n, count(DISTINCT build) FILTER (WHERE build <> '') AS builds, coalesce(min(first), 0) AS first, max(last) AS last,
			array_agg(DISTINCT program) AS programs
		FROM (SELECT d.grp, d.build, d.program, count(*) AS n, min(nullif(d.time, 0)) AS first, max(d.time) AS last
			FROM %s WHERE %s GROUP BY d.grp, d.build, d.program) b GROUP BY grp`,
	FirstBuilds: "SELECT DISTINCT ON (grp) grp, build, time FROM @dumps WHERE build <> '' AND fault_kind = ''%s ORDER BY grp, time, build",
	Whole:       math.MaxInt,
	Frames:      `array_to_string(g.frames, E'\n')`,
}

// key is what dumps are found by: an identity may be longer than an index entry.
func key(identity sqldb.Raw) []byte {
	sum := sha256.Sum256([]byte(identity))
	return sum[:]
}

// known looks for all at once.
func known(identities []sqldb.Raw) []sqldb.Statement {
	keys := make([][]byte, len(identities))
	for i, id := range identities {
		keys[i] = key(id)
	}
	return []sqldb.Statement{{Query: "SELECT identity FROM @dumps WHERE key = ANY($1) AND fault_kind = ''", Args: []any{keys}}}
}

func seen(run int64, dumps []int64, known []bool) []sqldb.Statement {
	return []sqldb.Statement{{Query: `INSERT INTO @run_dumps (run, dump, known) SELECT $1, dump, known FROM unnest($2::bigint[], $3::boolean[]) AS seen (dump, known)
		ON CONFLICT DO NOTHING`, Args: []any{run, dumps, known}}}
}
