// Package sqlite is a store.Store in an SQLite database.
package sqlite

import (
	"context"

	"github.com/corewalk/corewalk/internal/service/store/tables"
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

var dialect = tables.Dialect{
	ByBuild: " INDEXED BY uploads_build", ByGroup: " INDEXED BY uploads_builds", ByRelease: " INDEXED BY uploads_releases", ByValue: " INDEXED BY attributes_value",
	Scopes: "scopes", ScopesOf: "$4",
}
