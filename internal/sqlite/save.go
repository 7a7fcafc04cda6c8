package sqlite

import (
	"context"
	"os"

	"github.com/corewalk/corewalk/internal/sqldb"
)

// Save writes a copy of a database, as it is at one moment, to a file that is not there, while others use it, and returns its version of the schema. ask, if
// there is one, may ask the copy: its tables are those of that version.
func Save(ctx context.Context, from, to string, schema *sqldb.Schema, ask func(sqldb.Conn) error) (version int, err error) {
	if _, err := os.Stat(from); err != nil {
		return 0, err
	}
	asIs := *schema
	asIs.Migrations = nil
	d, err := openAsIs(from, &asIs)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	if _, err := d.Exec(ctx, "VACUUM INTO $1", to); err != nil {
		return 0, err
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return 0, err
	}
	saved, err := openAsIs(to, &asIs)
	if err != nil {
		return 0, err
	}
	err = sqldb.One(ctx, saved, sqldb.To(&version), "PRAGMA user_version")
	if err == nil && ask != nil {
		err = ask(saved)
	}
	if cerr := saved.Close(); err == nil {
		err = cerr
	}
	return version, err
}
