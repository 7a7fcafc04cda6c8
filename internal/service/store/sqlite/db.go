// Package sqlite is a store.Store in an SQLite database.
package sqlite

import (
	"context"

	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/sqldb"
	engine "github.com/corewalk/corewalk/internal/sqlite"
)

// Open opens the database at path, and creates it and its directory if necessary.
func Open(ctx context.Context, path string) (*tables.DB, error) {
	db, err := engine.Open(ctx, path, &schema)
	if err != nil {
		return nil, err
	}
	return tables.New(db, &dialect), nil
}

// Version is the newest version of the schema.
func Version() int { return len(schema.Migrations) }

// Save writes a copy of the database at path to a file that is not there, while a service uses it, and returns the version of the schema; each is told of each
// dump. The copy is of a moment at which nothing is written: pin is called then, to pin what belongs to it.
func Save(ctx context.Context, path, to string, pin func() error, each func(project, id string)) (version int, err error) {
	var p *engine.Pinned
	err = engine.Locked(ctx, path, &schema, func() (err error) {
		if p, err = engine.Pin(ctx, path, &schema); err != nil {
			return err
		}
		return pin()
	})
	if p != nil {
		defer p.Close()
	}
	if err != nil {
		return 0, err
	}
	return p.Save(ctx, to, func(c sqldb.Conn) error {
		var project, id string
		return c.Query(ctx, sqldb.Into([]any{&project, &id}, func() { each(project, id) }), "SELECT project, id FROM uploads")
	})
}

var dialect = tables.Dialect{
	ByRelease: " INDEXED BY uploads_releases", ByValue: " INDEXED BY attributes_value",
	Scopes: "scopes", ScopesOf: "$4",
}
