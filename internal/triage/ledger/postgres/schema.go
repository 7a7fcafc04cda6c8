package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// migrations lead from each version of the schema to the next; the first turns an empty database into version
// 1. A released migration is never changed.
//
// Times are nanoseconds since 1970; 0 means not known. What may be any bytes is bytea: names of files. Texts are ordered by their
// bytes, as in other stores.
var migrations = []string{
	`CREATE TABLE ledger_runs (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		started bigint NOT NULL,
		ended bigint NOT NULL DEFAULT 0,
		args bytea NOT NULL);
	CREATE TABLE ledger_groups (
		id text COLLATE "C" PRIMARY KEY,
		signature text NOT NULL,
		kind text NOT NULL,
		reason text NOT NULL,
		place text NOT NULL,
		weak boolean NOT NULL,
		frames text[] NOT NULL,
		run bigint NOT NULL,
		representative bytea NOT NULL,
		report bytea);
	CREATE INDEX ledger_groups_run ON ledger_groups (run);
	CREATE TABLE ledger_dumps (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		key bytea NOT NULL UNIQUE,
		identity bytea NOT NULL,
		path bytea NOT NULL,
		sha256 text NOT NULL,
		size bigint NOT NULL,
		time bigint NOT NULL,
		seen bigint NOT NULL,
		program text COLLATE "C" NOT NULL,
		build text COLLATE "C" NOT NULL,
		arch text NOT NULL,
		os text NOT NULL,
		reason text NOT NULL,
		kind text NOT NULL,
		place text NOT NULL,
		trust text NOT NULL,
		signature text NOT NULL,
		strict text NOT NULL,
		weak boolean NOT NULL,
		frames text[] NOT NULL,
		grp text COLLATE "C" NOT NULL,
		fault text NOT NULL,
		fault_kind text NOT NULL);
	CREATE INDEX ledger_dumps_group ON ledger_dumps (grp, time);
	CREATE INDEX ledger_dumps_fault ON ledger_dumps (id) WHERE fault_kind <> '';
	CREATE TABLE ledger_run_dumps (
		run bigint NOT NULL,
		dump bigint NOT NULL,
		known boolean NOT NULL,
		PRIMARY KEY (run, dump));
	CREATE TABLE ledger_similar (
		grp text COLLATE "C" NOT NULL,
		other text COLLATE "C" NOT NULL,
		score double precision NOT NULL,
		PRIMARY KEY (grp, other));
	CREATE INDEX ledger_similar_other ON ledger_similar (other);`,

	`ALTER TABLE ledger_dumps ADD COLUMN files text NOT NULL DEFAULT '';`,
}

// migrating is the key of the lock that one process at a time has while it changes the schema.
const migrating = 0x636f726577616c6b

// migrate brings a database to the newest schema, in one transaction. It refuses a database with a newer one.
func (d *DB) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrating)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS ledger_schema (version integer NOT NULL)"); err != nil {
			return err
		}
		var have int
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM ledger_schema").Scan(&have); err != nil {
			return err
		}
		if have > len(migrations) {
			return fmt.Errorf("written by a newer version of corewalk (schema %d, this version supports %d): use that version, or another database", have, len(migrations))
		}
		for v := have; v < len(migrations); v++ {
			if _, err := tx.Exec(ctx, migrations[v]); err != nil {
				return fmt.Errorf("schema %d: %w", v+1, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO ledger_schema (version) VALUES ($1)", v+1); err != nil {
				return err
			}
		}
		return nil
	})
}
