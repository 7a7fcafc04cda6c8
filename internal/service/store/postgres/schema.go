package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// migrations lead from each version of the schema to the next. A released migration is never changed. Times are nanoseconds since
// 1970. What may be any bytes is bytea. Texts are ordered by their bytes, as in other stores.
var migrations = [...]string{
	`CREATE TABLE service_uploads (
		project text COLLATE "C" NOT NULL,
		id text COLLATE "C" NOT NULL,
		sha256 text NOT NULL,
		name bytea NOT NULL,
		size bigint NOT NULL,
		received bigint NOT NULL,
		times integer NOT NULL DEFAULT 1,
		annotations bytea NOT NULL,
		state text NOT NULL,
		worker text NOT NULL DEFAULT '',
		attempts integer NOT NULL DEFAULT 0,
		deaths integer NOT NULL DEFAULT 0,
		alone boolean NOT NULL DEFAULT false,
		why text NOT NULL DEFAULT '',
		grp text COLLATE "C" NOT NULL DEFAULT '',
		fault text NOT NULL DEFAULT '',
		reason text NOT NULL DEFAULT '',
		program text COLLATE "C" NOT NULL DEFAULT '',
		build text COLLATE "C" NOT NULL DEFAULT '',
		PRIMARY KEY (project, id));
	CREATE INDEX service_uploads_state ON service_uploads (state, received) WHERE state <> 'done';
	CREATE INDEX service_uploads_received ON service_uploads (project, received);
	CREATE INDEX service_uploads_group ON service_uploads (project, grp, received);
	CREATE INDEX service_uploads_build ON service_uploads (project, build);
	CREATE TABLE service_tokens (
		id text PRIMARY KEY,
		hash text NOT NULL,
		project text COLLATE "C" NOT NULL,
		scopes text[] NOT NULL,
		note text NOT NULL,
		created bigint NOT NULL);
	CREATE TABLE service_decisions (
		project text NOT NULL,
		grp text NOT NULL,
		state text NOT NULL,
		build text NOT NULL,
		at bigint NOT NULL,
		by text NOT NULL,
		PRIMARY KEY (project, grp));
	CREATE TABLE service_notes (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		project text NOT NULL,
		grp text NOT NULL,
		text text NOT NULL,
		at bigint NOT NULL,
		by text NOT NULL);
	CREATE INDEX service_notes_group ON service_notes (project, grp);`,
	`ALTER TABLE service_uploads ADD COLUMN hint text COLLATE "C" NOT NULL DEFAULT '';
	CREATE INDEX service_uploads_hint ON service_uploads (project, hint, received) WHERE state = 'waiting';
	CREATE INDEX service_uploads_worker ON service_uploads (worker) WHERE state = 'working';
	CREATE TABLE service_workers (
		name text COLLATE "C" PRIMARY KEY,
		beat timestamptz NOT NULL);`,
	`ALTER TABLE service_uploads ADD COLUMN reserved timestamptz;
	CREATE TABLE service_builds (
		build text COLLATE "C" NOT NULL,
		worker text COLLATE "C" NOT NULL REFERENCES service_workers (name) ON DELETE CASCADE,
		PRIMARY KEY (build, worker));
	CREATE INDEX service_builds_worker ON service_builds (worker);`,
}

// migrating is the key of the lock that one process at a time has while it changes the schema.
const migrating = 0x636f726577616c6c

// migrate brings a database to the newest schema, in one transaction. It refuses a database with a newer one.
func (d *DB) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrating)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS service_schema (version integer NOT NULL)"); err != nil {
			return err
		}
		var have int
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM service_schema").Scan(&have); err != nil {
			return err
		}
		if have > len(migrations) {
			return fmt.Errorf("written by a newer version of corewalk (schema %d, this version supports %d): use that version, or another database", have, len(migrations))
		}
		for v, m := range migrations[have:] {
			if _, err := tx.Exec(ctx, m); err != nil {
				return fmt.Errorf("schema %d: %w", have+v+1, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO service_schema (version) VALUES ($1)", have+v+1); err != nil {
				return err
			}
		}
		return nil
	})
}
