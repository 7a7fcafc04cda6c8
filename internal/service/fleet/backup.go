package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/service/backup"
	"github.com/corewalk/corewalk/internal/service/store/postgres"
	ledgerDB "github.com/corewalk/corewalk/internal/triage/ledger/postgres"
)

// Databases copies the tables of a service on many machines, those of the ledgers, too, and back. The queue is not copied: workers insert the jobs that are
// missing.
type Databases struct{ pool *pgxpool.Pool }

// BackupOf returns what copies the tables of a database to which there are connections.
func BackupOf(pool *pgxpool.Pool) Databases { return Databases{pool} }

const (
	kind = "postgres"
	// serviceSchema is what the schema of the service's tables is called in a backup, whatever its name is in the database.
	serviceSchema = "service"
	ledgerPrefix  = "ledger_"
)

// passingTables are of processes that run: nobody has their names in a database that was copied.
var passingTables = []string{"service_workers", "service_builds"}

// Save implements backup.Databases: all tables are of one moment.
func (d Databases) Save(ctx context.Context, dir string) (*backup.Saved, error) {
	s := &backup.Saved{Kind: kind, Versions: map[string]int{}}
	err := pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT n.nspname, n.nspname = current_schema(), c.relname, (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
				WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND (n.nspname = current_schema() AND starts_with(c.relname, $1) OR starts_with(n.nspname, $2) AND starts_with(c.relname, $3))
			ORDER BY 1, 3`, postgres.Prefix, ledgerPrefix, ledgerDB.Prefix)
		if err != nil {
			return err
		}
		var t backup.Table
		var own bool
		var list []backup.Table
		if _, err := pgx.ForEachRow(rows, []any{&t.Schema, &own, &t.Name, &t.Columns}, func() error {
			if slices.Contains(passingTables, t.Name) {
				return nil
			}
			if own {
				t.Schema = ""
			}
			list = append(list, backup.Table{Schema: t.Schema, Name: t.Name, Columns: slices.Clone(t.Columns)})
			return nil
		}); err != nil {
			return err
		}
		for _, t := range list {
			if name := t.Name; strings.HasSuffix(name, "_schema") {
				var version int
				if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+tableName(&t)).Scan(&version); err != nil {
					return err
				}
				s.Versions[t.Schema] = version
				continue
			}
			if t.Rows, err = copyOut(ctx, tx, dir, &t); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			s.Tables = append(s.Tables, t)
		}
		if _, ok := s.Versions[""]; !ok {
			return errors.New("the database has no tables of a service")
		}
		rows, err = tx.Query(ctx, "SELECT project, id FROM service_uploads")
		if err != nil {
			return err
		}
		var project, id string
		_, err = pgx.ForEachRow(rows, []any{&project, &id}, func() error { s.Add(project, id); return nil })
		return err
	})
	return s, err
}

func tableName(t *backup.Table) string {
	if t.Schema == "" {
		return pgx.Identifier{t.Name}.Sanitize()
	}
	return pgx.Identifier{t.Schema, t.Name}.Sanitize()
}

func columns(t *backup.Table) string {
	list := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		list[i] = pgx.Identifier{c}.Sanitize()
	}
	return strings.Join(list, ", ")
}

// fileOf is where the rows of a table are below a directory.
func fileOf(dir string, t *backup.Table) (string, error) {
	schema := t.Schema
	if schema == "" {
		schema = serviceSchema
	}
	for _, name := range []string{schema, t.Name} {
		if name == "" || strings.ContainsAny(name, `/\`) || name[0] == '.' {
			return "", fmt.Errorf("%q is no name of a table", name)
		}
	}
	return filepath.Join(dir, schema, t.Name), nil
}

func copyOut(ctx context.Context, tx pgx.Tx, dir string, t *backup.Table) (int64, error) {
	path, err := fileOf(dir, t)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	tag, err := tx.Conn().PgConn().CopyTo(ctx, f, "COPY "+tableName(t)+" ("+columns(t)+") TO STDOUT")
	return tag.RowsAffected(), errors.Join(err, f.Sync(), f.Close())
}

// Empty implements backup.Databases.
func (d Databases) Empty(ctx context.Context, s *backup.Saved) error {
	if s.Kind != kind {
		return fmt.Errorf("the backup is of %s, and is restored by corewalk serve restore", s.Kind)
	}
	var there bool
	err := d.pool.QueryRow(ctx, `SELECT to_regclass('service_schema') IS NOT NULL OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE starts_with(n.nspname, $1) AND c.relname = 'ledger_schema')`, ledgerPrefix).Scan(&there)
	if err == nil && there {
		err = errors.New("the database has tables of a service: restore into an empty one")
	}
	if err == nil {
		err = s.Known(postgres.Version(), ledgerDB.Version())
	}
	return err
}

// Load implements backup.Databases: the tables are those of the version that was saved, until a server or a worker starts.
func (d Databases) Load(ctx context.Context, dir string, s *backup.Saved) error {
	for schema, version := range s.Versions {
		if err := d.make(ctx, schema, version); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		for i := range s.Tables {
			if err := copyIn(ctx, tx, dir, &s.Tables[i]); err != nil {
				return fmt.Errorf("%s: %w", s.Tables[i].Name, err)
			}
		}
		return postgres.In(tx).Settle(ctx)
	})
}

func (d Databases) make(ctx context.Context, schema string, version int) error {
	if schema == "" {
		return postgres.Make(ctx, d.pool, version)
	}
	if !strings.HasPrefix(schema, ledgerPrefix) {
		return fmt.Errorf("%q is no schema of a ledger", schema)
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	if _, err := d.pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoted); err != nil {
		return err
	}
	config := d.pool.Config()
	config.MaxConns, config.MinConns = 1, 0
	config.ConnConfig.RuntimeParams["search_path"] = quoted
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	return ledgerDB.Make(ctx, pool, version)
}

func copyIn(ctx context.Context, tx pgx.Tx, dir string, t *backup.Table) error {
	path, err := fileOf(dir, t)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, io.Reader(f), "COPY "+tableName(t)+" ("+columns(t)+") FROM STDIN")
	if err == nil && tag.RowsAffected() != t.Rows {
		err = fmt.Errorf("%d rows, there were %d", tag.RowsAffected(), t.Rows)
	}
	if err != nil {
		return err
	}
	// What is counted goes on after what is there.
	var counted string
	err = tx.QueryRow(ctx, "SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attidentity <> ''", tableName(t)).Scan(&counted)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, fmt.Sprintf("SELECT setval(pg_get_serial_sequence($1, $2), (SELECT coalesce(max(%s), 0) + 1 FROM %s), false)", pgx.Identifier{counted}.Sanitize(), tableName(t)), tableName(t), counted)
	}
	return err
}
