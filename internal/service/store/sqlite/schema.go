package sqlite

import "github.com/corewalk/corewalk/internal/sqldb"

// Times are nanoseconds since 1970.
var schema = sqldb.Schema{Store: "database", Migrations: []string{
	`CREATE TABLE uploads (
		project TEXT NOT NULL,
		id TEXT NOT NULL,
		sha256 TEXT NOT NULL,
		name TEXT NOT NULL,
		size INTEGER NOT NULL,
		received INTEGER NOT NULL,
		times INTEGER NOT NULL DEFAULT 1,
		annotations TEXT NOT NULL,
		state TEXT NOT NULL,
		worker TEXT NOT NULL DEFAULT '',
		attempts INTEGER NOT NULL DEFAULT 0,
		deaths INTEGER NOT NULL DEFAULT 0,
		alone INTEGER NOT NULL DEFAULT 0,
		why TEXT NOT NULL DEFAULT '',
		grp TEXT NOT NULL DEFAULT '',
		fault TEXT NOT NULL DEFAULT '',
		reason TEXT NOT NULL DEFAULT '',
		program TEXT NOT NULL DEFAULT '',
		build TEXT NOT NULL DEFAULT '',
		PRIMARY KEY (project, id)) WITHOUT ROWID;
	CREATE INDEX uploads_state ON uploads (state, received, project) WHERE state <> 'done';
	CREATE INDEX uploads_received ON uploads (project, received);
	CREATE INDEX uploads_group ON uploads (project, grp, received);
	CREATE INDEX uploads_builds ON uploads (project, grp, build, received, program);
	CREATE INDEX uploads_build ON uploads (project, build, received, program, grp);
	CREATE TABLE tokens (
		id TEXT PRIMARY KEY,
		hash TEXT NOT NULL,
		project TEXT NOT NULL,
		scopes TEXT NOT NULL,
		note TEXT NOT NULL,
		created INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE decisions (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		state TEXT NOT NULL,
		build TEXT NOT NULL,
		at INTEGER NOT NULL,
		by TEXT NOT NULL,
		PRIMARY KEY (project, grp)) WITHOUT ROWID;
	CREATE TABLE notes (
		id INTEGER PRIMARY KEY,
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		text TEXT NOT NULL,
		at INTEGER NOT NULL,
		by TEXT NOT NULL);
	CREATE INDEX notes_group ON notes (project, grp);`,
}}
