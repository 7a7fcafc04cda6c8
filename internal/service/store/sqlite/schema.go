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

	// Attributes of dumps, and how many dumps have them. A program of the version before leaves counted as it is, and its dumps are counted later.
	`ALTER TABLE uploads ADD COLUMN release TEXT NOT NULL DEFAULT '';
	ALTER TABLE uploads ADD COLUMN usr TEXT NOT NULL DEFAULT '';
	ALTER TABLE uploads ADD COLUMN machine TEXT NOT NULL DEFAULT '';
	ALTER TABLE uploads ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
	CREATE INDEX uploads_releases ON uploads (project, grp, release, received);
	CREATE INDEX uploads_uncounted ON uploads (project, id) WHERE state = 'done' AND NOT counted;
	ALTER TABLE decisions ADD COLUMN release TEXT NOT NULL DEFAULT '';
	CREATE TABLE attributes (
		project TEXT NOT NULL,
		id TEXT NOT NULL,
		name TEXT NOT NULL,
		value TEXT NOT NULL,
		received INTEGER NOT NULL,
		grp TEXT NOT NULL,
		counted INTEGER NOT NULL,
		PRIMARY KEY (project, id, name, value)) WITHOUT ROWID;
	CREATE INDEX attributes_value ON attributes (project, name, value, received, grp);
	CREATE TABLE counts (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		name TEXT NOT NULL,
		value TEXT NOT NULL,
		n INTEGER NOT NULL,
		PRIMARY KEY (project, grp, name, value)) WITHOUT ROWID;
	CREATE INDEX counts_value ON counts (project, name, value);
	CREATE TABLE names (
		project TEXT NOT NULL,
		name TEXT NOT NULL,
		n INTEGER NOT NULL,
		PRIMARY KEY (project, name)) WITHOUT ROWID;
	CREATE TABLE releases (
		project TEXT NOT NULL,
		release TEXT NOT NULL,
		first INTEGER NOT NULL,
		last INTEGER NOT NULL,
		PRIMARY KEY (project, release)) WITHOUT ROWID;
	CREATE TABLE affected (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		kind TEXT NOT NULL,
		who TEXT NOT NULL,
		PRIMARY KEY (project, grp, kind, who)) WITHOUT ROWID;
	CREATE TABLE build_names (
		project TEXT NOT NULL,
		build TEXT NOT NULL,
		release TEXT NOT NULL,
		PRIMARY KEY (project, build)) WITHOUT ROWID;
	CREATE TABLE keys (
		project TEXT PRIMARY KEY,
		key BLOB NOT NULL) WITHOUT ROWID;`,

	// Who is told of what happens to groups, what they are still to be told, and what they were.
	`CREATE TABLE hooks (
		id TEXT PRIMARY KEY,
		project TEXT NOT NULL,
		kind TEXT NOT NULL,
		target TEXT NOT NULL,
		secret TEXT NOT NULL,
		events TEXT NOT NULL,
		quiet TEXT NOT NULL,
		created INTEGER NOT NULL,
		by TEXT NOT NULL,
		failure TEXT NOT NULL DEFAULT '',
		failed INTEGER NOT NULL DEFAULT 0,
		dropped INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
	CREATE TABLE notices (
		id TEXT PRIMARY KEY,
		project TEXT NOT NULL,
		hook TEXT NOT NULL,
		event TEXT NOT NULL,
		grp TEXT NOT NULL,
		at INTEGER NOT NULL,
		due INTEGER NOT NULL,
		attempts INTEGER NOT NULL) WITHOUT ROWID;
	CREATE INDEX notices_due ON notices (due);
	CREATE INDEX notices_hook ON notices (hook);
	CREATE TABLE noticed (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		event TEXT NOT NULL,
		at INTEGER NOT NULL,
		PRIMARY KEY (project, grp, event)) WITHOUT ROWID;`,

	// What people do with groups. own is the group of a dump that was merged into another.
	`ALTER TABLE uploads ADD COLUMN own TEXT NOT NULL DEFAULT '';
	CREATE INDEX uploads_own ON uploads (project, own) WHERE own <> '';
	CREATE TABLE marks (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		assignee TEXT NOT NULL,
		ticket TEXT NOT NULL,
		PRIMARY KEY (project, grp)) WITHOUT ROWID;
	CREATE TABLE merged (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		target TEXT NOT NULL,
		PRIMARY KEY (project, grp)) WITHOUT ROWID;
	CREATE TABLE settings (
		project TEXT NOT NULL,
		name TEXT NOT NULL,
		value TEXT NOT NULL,
		PRIMARY KEY (project, name)) WITHOUT ROWID;
	CREATE TABLE searches (
		id TEXT PRIMARY KEY,
		project TEXT NOT NULL,
		name TEXT NOT NULL,
		query TEXT NOT NULL,
		by TEXT NOT NULL) WITHOUT ROWID;`,

	// How many messages a hook was sent in an hour, and how many were held back.
	`ALTER TABLE hooks ADD COLUMN hour INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE hooks ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE hooks ADD COLUMN held INTEGER NOT NULL DEFAULT 0;`,

	// Files and words that came with a dump.
	`ALTER TABLE uploads ADD COLUMN event TEXT NOT NULL DEFAULT '';
	ALTER TABLE uploads ADD COLUMN attached INTEGER NOT NULL DEFAULT 0;
	CREATE INDEX uploads_event ON uploads (project, event, received) WHERE event <> '';
	CREATE TABLE attachments (
		project TEXT NOT NULL,
		id TEXT NOT NULL,
		sha256 TEXT NOT NULL,
		place INTEGER NOT NULL,
		name TEXT NOT NULL,
		type TEXT NOT NULL,
		size INTEGER NOT NULL,
		PRIMARY KEY (project, id, sha256)) WITHOUT ROWID;
	CREATE TABLE feedback (
		project TEXT NOT NULL,
		id TEXT NOT NULL,
		sum TEXT NOT NULL,
		name TEXT NOT NULL,
		email TEXT NOT NULL,
		text TEXT NOT NULL,
		at INTEGER NOT NULL,
		PRIMARY KEY (project, id, sum)) WITHOUT ROWID;`,

	// Sessions of people whom an identity provider knows are tokens that expire.
	`ALTER TABLE tokens ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE tokens ADD COLUMN subject TEXT NOT NULL DEFAULT '';
	ALTER TABLE tokens ADD COLUMN also TEXT NOT NULL DEFAULT '';`,

	// Builds and releases of groups, and their days, are counted. A program of the version before leaves spanned as it is: it is set where these statements count.
	`ALTER TABLE uploads ADD COLUMN spanned INTEGER NOT NULL DEFAULT 0;
	UPDATE uploads SET spanned = 1 WHERE counted;
	CREATE INDEX uploads_unspanned ON uploads (project, id) WHERE state = 'done' AND counted AND NOT spanned;
	CREATE TABLE spans (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		name TEXT NOT NULL,
		value TEXT NOT NULL,
		n INTEGER NOT NULL,
		first INTEGER NOT NULL,
		last INTEGER NOT NULL,
		program TEXT NOT NULL,
		PRIMARY KEY (project, grp, name, value)) WITHOUT ROWID;
	CREATE INDEX spans_value ON spans (project, name, value);
	CREATE TABLE days (
		project TEXT NOT NULL,
		grp TEXT NOT NULL,
		day INTEGER NOT NULL,
		n INTEGER NOT NULL,
		PRIMARY KEY (project, grp, day)) WITHOUT ROWID;
	INSERT INTO spans SELECT project, grp, 'build', build, count(*), min(received), max(received), max(program) FROM uploads WHERE counted AND grp <> '' AND build <> '' GROUP BY project, grp, build;
	INSERT INTO spans SELECT project, '', 'build', build, count(*), min(received), max(received), max(program) FROM uploads WHERE counted AND build <> '' GROUP BY project, build;
	INSERT INTO spans SELECT project, grp, 'release', release, count(*), min(received), max(received), max(program) FROM uploads WHERE counted AND grp <> '' AND release <> '' GROUP BY project, grp, release;
	INSERT INTO spans SELECT project, '', 'release', release, count(*), min(received), max(received), max(program) FROM uploads WHERE counted AND release <> '' GROUP BY project, release;
	INSERT INTO days SELECT project, grp, received / 86400000000000, count(*) FROM uploads WHERE counted AND grp <> '' GROUP BY project, grp, received / 86400000000000;`,

	// How many frames needed a file that is lacking, beyond one for each dump. A program of the version before counts one, and what it removes stays
	// in more until no dump lacks the file.
	`ALTER TABLE attributes ADD COLUMN more INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE counts ADD COLUMN more INTEGER NOT NULL DEFAULT 0;`,

	// People who have a password, with their projects, and those whom an identity provider knows.
	`CREATE TABLE accounts (
		name TEXT PRIMARY KEY,
		password TEXT NOT NULL,
		invitation TEXT NOT NULL,
		invited INTEGER NOT NULL,
		created INTEGER NOT NULL,
		by TEXT NOT NULL,
		seen INTEGER NOT NULL,
		stamp TEXT NOT NULL) WITHOUT ROWID;
	CREATE TABLE members (
		account TEXT NOT NULL,
		project TEXT NOT NULL,
		scopes TEXT NOT NULL,
		PRIMARY KEY (account, project)) WITHOUT ROWID;
	CREATE INDEX members_project ON members (project);
	CREATE INDEX tokens_subject ON tokens (subject) WHERE subject <> '';
	CREATE TABLE people (
		project TEXT NOT NULL,
		subject TEXT NOT NULL,
		name TEXT NOT NULL,
		seen INTEGER NOT NULL,
		PRIMARY KEY (project, subject)) WITHOUT ROWID;
	INSERT INTO people SELECT project, subject, max(note), max(created) FROM tokens WHERE subject <> '' GROUP BY project, subject;`,
}}
