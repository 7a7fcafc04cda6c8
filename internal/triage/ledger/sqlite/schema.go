package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// migrations lead from each version of the schema to the next; the first turns an empty database into version
// 1. A released migration is never changed.
//
// Times are nanoseconds since 1970; 0 means not known.
var migrations = []string{
	`CREATE TABLE runs (
		id INTEGER PRIMARY KEY,
		started INTEGER NOT NULL,
		ended INTEGER NOT NULL DEFAULT 0,
		args TEXT NOT NULL);
	CREATE TABLE groups (
		id TEXT PRIMARY KEY,
		signature TEXT NOT NULL,
		kind TEXT NOT NULL,
		reason TEXT NOT NULL,
		place TEXT NOT NULL,
		weak INTEGER NOT NULL,
		frames TEXT NOT NULL,
		run INTEGER NOT NULL,
		representative TEXT NOT NULL,
		report BLOB) WITHOUT ROWID;
	CREATE TABLE dumps (
		id INTEGER PRIMARY KEY,
		identity TEXT NOT NULL UNIQUE,
		path TEXT NOT NULL,
		sha256 TEXT NOT NULL,
		size INTEGER NOT NULL,
		time INTEGER NOT NULL,
		seen INTEGER NOT NULL,
		program TEXT NOT NULL,
		build TEXT NOT NULL,
		arch TEXT NOT NULL,
		os TEXT NOT NULL,
		reason TEXT NOT NULL,
		kind TEXT NOT NULL,
		place TEXT NOT NULL,
		trust TEXT NOT NULL,
		signature TEXT NOT NULL,
		strict TEXT NOT NULL,
		weak INTEGER NOT NULL,
		frames TEXT NOT NULL,
		grp TEXT NOT NULL,
		fault TEXT NOT NULL,
		fault_kind TEXT NOT NULL);
	CREATE INDEX dumps_group ON dumps (grp, time, build, program);
	CREATE TABLE run_dumps (
		run INTEGER NOT NULL,
		dump INTEGER NOT NULL,
		known INTEGER NOT NULL,
		PRIMARY KEY (run, dump)) WITHOUT ROWID;
	CREATE TABLE similar (
		grp TEXT NOT NULL,
		other TEXT NOT NULL,
		score REAL NOT NULL,
		PRIMARY KEY (grp, other)) WITHOUT ROWID;
	CREATE INDEX similar_other ON similar (other);`,

	// Answers questions about the dumps of groups, and about failed dumps, from the indexes alone.
	`DROP INDEX dumps_group;
	CREATE INDEX dumps_group ON dumps (grp, fault_kind, time, build, program);
	CREATE INDEX dumps_fault ON dumps (id) WHERE fault_kind <> '';`,

	`ALTER TABLE dumps ADD COLUMN files TEXT NOT NULL DEFAULT '';`,
}

// migrate brings a database to the newest schema. It refuses a database with a newer one.
func migrate(ctx context.Context, db *sql.DB) error {
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(migrations) {
		return fmt.Errorf("written by a newer version of corewalk (schema %d, this version supports %d): use that version, or another file", have, len(migrations))
	}
	for v := have; v < len(migrations); v++ {
		if err := step(ctx, db, v); err != nil {
			return fmt.Errorf("schema %d: %w", v+1, err)
		}
	}
	return nil
}

// step applies one migration, unless another process has already done so.
func step(ctx context.Context, db *sql.DB, v int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var now int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&now); err != nil || now != v {
		return err
	}
	if _, err := tx.ExecContext(ctx, migrations[v]); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", v+1)); err != nil {
		return err
	}
	return tx.Commit()
}
