package sqlite

import "github.com/corewalk/corewalk/internal/sqldb"

// Times are nanoseconds since 1970; 0 means not known.
var schema = sqldb.Schema{Store: "ledger", Damaged: ": move it away; the dumps are then analysed again", Foreign: ": name another file", Migrations: []string{
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
}}
