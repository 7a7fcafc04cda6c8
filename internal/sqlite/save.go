package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"github.com/corewalk/corewalk/internal/sqldb"
)

// A Pinned database is one as it was at a moment, whatever others write to it afterwards.
type Pinned struct {
	d    *DB
	conn *sql.Conn
}

// Pin returns a database as it is now, with the tables that it has; the error is fs.ErrNotExist if there is none.
func Pin(ctx context.Context, path string, schema *sqldb.Schema) (*Pinned, error) {
	d, err := there(path, schema)
	if err != nil {
		return nil, err
	}
	conn, err := d.db.Conn(ctx)
	if err == nil {
		p := &Pinned{d, conn}
		// What is read first is what is read from then on.
		for _, statement := range []string{"BEGIN DEFERRED", "SELECT count(*) FROM sqlite_schema"} {
			if _, err = conn.ExecContext(ctx, statement); err != nil {
				return nil, errors.Join(d.failed(err), p.Close())
			}
		}
		return p, nil
	}
	return nil, errors.Join(d.failed(err), d.Close())
}

// there opens a database that is there.
func there(path string, schema *sqldb.Schema) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	asIs := *schema
	asIs.Migrations = nil
	return openAsIs(path, &asIs)
}

// Close lets go of it.
func (p *Pinned) Close() error { return errors.Join(p.conn.Close(), p.d.Close()) }

// Save writes it to a file that is not there, and returns its version of the schema. ask, if there is one, may ask the copy: its tables are those of that version.
func (p *Pinned) Save(ctx context.Context, to string, ask func(sqldb.Conn) error) (version int, err error) {
	if f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return 0, err
	} else if err := f.Close(); err != nil {
		return 0, err
	}
	if err := p.conn.Raw(func(c any) error { return copyTo(ctx, c, to) }); err != nil {
		return 0, p.d.failed(err)
	}
	saved, err := there(to, p.d.schema)
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

// Locked calls do while nobody else writes to a database.
func Locked(ctx context.Context, path string, schema *sqldb.Schema, do func() error) error {
	d, err := there(path, schema)
	if err != nil {
		return err
	}
	tx, err := d.db.BeginTx(ctx, nil) // immediate
	if err != nil {
		return errors.Join(d.failed(err), d.Close())
	}
	err = do()
	if rerr := tx.Rollback(); err == nil {
		err = d.failed(rerr)
	}
	return errors.Join(err, d.Close())
}
