// Package sqlite keeps the ledger of triage in an SQLite database.
package sqlite

import (
	"context"

	"github.com/corewalk/corewalk/internal/sqldb"
	engine "github.com/corewalk/corewalk/internal/sqlite"
	"github.com/corewalk/corewalk/internal/triage/ledger/tables"
)

// Open opens the database at path, and creates it and its directory if necessary; "" is a database in memory.
// Results with a signature version other than version are discarded when the dump is seen again.
func Open(ctx context.Context, path, version string) (*tables.DB, error) {
	db, err := engine.Open(ctx, path, &schema)
	if err != nil {
		return nil, err
	}
	return tables.New(db, &dialect, version), nil
}

// Version is the newest version of the schema.
func Version() int { return len(schema.Migrations) }

// A Pinned ledger is one as it was at a moment.
type Pinned struct{ p *engine.Pinned }

// Pin returns the ledger at path as it is now; the error is fs.ErrNotExist if there is none.
func Pin(ctx context.Context, path string) (Pinned, error) {
	p, err := engine.Pin(ctx, path, &schema)
	return Pinned{p}, err
}

// Save writes it to a file that is not there, and returns the version of its schema.
func (p Pinned) Save(ctx context.Context, to string) (version int, err error) {
	return p.p.Save(ctx, to, nil)
}

// Close lets go of it.
func (p Pinned) Close() error { return p.p.Close() }

var dialect = tables.Dialect{
	Key: "identity", KeyOf: func(identity sqldb.Raw) any { return identity },
	Known: known, Seen: seen,

	// Dumps are counted from an index that covers the query.
	Totals: `SELECT d.grp AS id, count(*) AS n, count(DISTINCT nullif(d.build, '')) AS builds, coalesce(min(nullif(d.time, 0)), 0) AS first,
			max(d.time) AS last, json_group_array(DISTINCT d.program) AS programs
		FROM %s WHERE %s GROUP BY d.grp`,
	// With min SQLite takes the other columns from the row that has the minimum.
	FirstBuilds: "SELECT grp, build, min(time) FROM @dumps WHERE build <> '' AND fault_kind = ''%s GROUP BY grp",
	Whole:       100,
	Frames:      "g.frames",
}

// known looks for each alone: there is no list of texts of any bytes.
func known(identities []sqldb.Raw) []sqldb.Statement {
	list := make([]sqldb.Statement, len(identities))
	for i, id := range identities {
		list[i] = sqldb.Statement{Query: "SELECT identity FROM @dumps WHERE identity = $1 AND fault_kind = ''", Args: []any{id}}
	}
	return list
}

func seen(run int64, dumps []int64, known []bool) []sqldb.Statement {
	list := make([]sqldb.Statement, len(dumps))
	for i, id := range dumps {
		list[i] = sqldb.Statement{Query: "INSERT INTO @run_dumps (run, dump, known) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", Args: []any{run, id, known[i]}}
	}
	return list
}
