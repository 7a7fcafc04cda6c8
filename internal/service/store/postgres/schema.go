package postgres

import "github.com/corewalk/corewalk/internal/sqldb"

// Times are nanoseconds since 1970. What may be any bytes is bytea. Texts are ordered by their bytes, as in other stores.
var schema = sqldb.Schema{Store: "database", Prefix: "service_", Lock: 0x636f726577616c6c, Migrations: []string{
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

	// Attributes of dumps, and how many dumps have them. A program of the version before leaves counted as it is, and its dumps are counted later.
	`ALTER TABLE service_uploads ADD COLUMN release text COLLATE "C" NOT NULL DEFAULT '',
		ADD COLUMN usr text NOT NULL DEFAULT '',
		ADD COLUMN machine text NOT NULL DEFAULT '',
		ADD COLUMN counted boolean NOT NULL DEFAULT false;
	CREATE INDEX service_uploads_releases ON service_uploads (project, grp, release, received);
	CREATE INDEX service_uploads_uncounted ON service_uploads (project, id) WHERE state = 'done' AND NOT counted;
	ALTER TABLE service_decisions ADD COLUMN release text NOT NULL DEFAULT '';
	CREATE TABLE service_attributes (
		project text COLLATE "C" NOT NULL,
		id text COLLATE "C" NOT NULL,
		name text COLLATE "C" NOT NULL,
		value text COLLATE "C" NOT NULL,
		received bigint NOT NULL,
		grp text COLLATE "C" NOT NULL,
		counted boolean NOT NULL,
		PRIMARY KEY (project, id, name, value));
	CREATE INDEX service_attributes_value ON service_attributes (project, name, value, received, grp);
	CREATE TABLE service_counts (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		name text COLLATE "C" NOT NULL,
		value text COLLATE "C" NOT NULL,
		n bigint NOT NULL,
		PRIMARY KEY (project, grp, name, value)) WITH (fillfactor = 70);
	CREATE INDEX service_counts_value ON service_counts (project, name, value);
	CREATE TABLE service_names (
		project text COLLATE "C" NOT NULL,
		name text COLLATE "C" NOT NULL,
		n bigint NOT NULL,
		PRIMARY KEY (project, name));
	CREATE TABLE service_releases (
		project text COLLATE "C" NOT NULL,
		release text COLLATE "C" NOT NULL,
		first bigint NOT NULL,
		last bigint NOT NULL,
		PRIMARY KEY (project, release));
	CREATE TABLE service_affected (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		kind text NOT NULL,
		who text NOT NULL,
		PRIMARY KEY (project, grp, kind, who));
	CREATE TABLE service_build_names (
		project text COLLATE "C" NOT NULL,
		build text COLLATE "C" NOT NULL,
		release text NOT NULL,
		PRIMARY KEY (project, build));
	CREATE TABLE service_keys (
		project text COLLATE "C" PRIMARY KEY,
		key bytea NOT NULL);`,

	// Who is told of what happens to groups, what they are still to be told, and what they were.
	`CREATE TABLE service_hooks (
		id text COLLATE "C" PRIMARY KEY,
		project text COLLATE "C" NOT NULL,
		kind text NOT NULL,
		target text NOT NULL,
		secret text NOT NULL,
		events text NOT NULL,
		quiet text NOT NULL,
		created bigint NOT NULL,
		by text NOT NULL,
		failure text NOT NULL DEFAULT '',
		failed bigint NOT NULL DEFAULT 0,
		dropped bigint NOT NULL DEFAULT 0);
	CREATE TABLE service_notices (
		id text COLLATE "C" PRIMARY KEY,
		project text COLLATE "C" NOT NULL,
		hook text COLLATE "C" NOT NULL,
		event text NOT NULL,
		grp text COLLATE "C" NOT NULL,
		at bigint NOT NULL,
		due bigint NOT NULL,
		attempts integer NOT NULL);
	CREATE INDEX service_notices_due ON service_notices (due);
	CREATE INDEX service_notices_hook ON service_notices (hook);
	CREATE TABLE service_noticed (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		event text NOT NULL,
		at bigint NOT NULL,
		PRIMARY KEY (project, grp, event));`,

	// What people do with groups. own is the group of a dump that was merged into another.
	`ALTER TABLE service_uploads ADD COLUMN own text COLLATE "C" NOT NULL DEFAULT '';
	CREATE INDEX service_uploads_own ON service_uploads (project, own) WHERE own <> '';
	CREATE TABLE service_marks (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		assignee text NOT NULL,
		ticket text NOT NULL,
		PRIMARY KEY (project, grp));
	CREATE TABLE service_merged (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		target text COLLATE "C" NOT NULL,
		PRIMARY KEY (project, grp));
	CREATE TABLE service_settings (
		project text COLLATE "C" NOT NULL,
		name text COLLATE "C" NOT NULL,
		value text NOT NULL,
		PRIMARY KEY (project, name));
	CREATE TABLE service_searches (
		id text COLLATE "C" PRIMARY KEY,
		project text COLLATE "C" NOT NULL,
		name text NOT NULL,
		query text NOT NULL,
		by text NOT NULL);`,

	// How many messages a hook was sent in an hour, and how many were held back.
	`ALTER TABLE service_hooks ADD COLUMN hour bigint NOT NULL DEFAULT 0;
	ALTER TABLE service_hooks ADD COLUMN sent bigint NOT NULL DEFAULT 0;
	ALTER TABLE service_hooks ADD COLUMN held bigint NOT NULL DEFAULT 0;`,

	// Files and words that came with a dump.
	`ALTER TABLE service_uploads ADD COLUMN event text COLLATE "C" NOT NULL DEFAULT '',
		ADD COLUMN attached bigint NOT NULL DEFAULT 0;
	CREATE INDEX service_uploads_event ON service_uploads (project, event, received) WHERE event <> '';
	CREATE TABLE service_attachments (
		project text COLLATE "C" NOT NULL,
		id text COLLATE "C" NOT NULL,
		sha256 text COLLATE "C" NOT NULL,
		place integer NOT NULL,
		name bytea NOT NULL,
		type text NOT NULL,
		size bigint NOT NULL,
		PRIMARY KEY (project, id, sha256));
	CREATE TABLE service_feedback (
		project text COLLATE "C" NOT NULL,
		id text COLLATE "C" NOT NULL,
		sum text COLLATE "C" NOT NULL,
		name bytea NOT NULL,
		email bytea NOT NULL,
		text bytea NOT NULL,
		at bigint NOT NULL,
		PRIMARY KEY (project, id, sum));`,

	// Sessions of people whom an identity provider knows are tokens that expire.
	`ALTER TABLE service_tokens ADD COLUMN expires bigint NOT NULL DEFAULT 0,
		ADD COLUMN subject text NOT NULL DEFAULT '',
		ADD COLUMN also text NOT NULL DEFAULT '';`,

	// Builds and releases of groups, and their days, are counted. A program of the version before leaves spanned as it is: it is set where these statements count.
	`ALTER TABLE service_uploads ADD COLUMN spanned boolean NOT NULL DEFAULT true;
	ALTER TABLE service_uploads ALTER COLUMN spanned SET DEFAULT false;
	UPDATE service_uploads SET spanned = false WHERE NOT counted;
	CREATE INDEX service_uploads_unspanned ON service_uploads (project, id) WHERE state = 'done' AND counted AND NOT spanned;
	CREATE TABLE service_spans (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		name text COLLATE "C" NOT NULL,
		value text COLLATE "C" NOT NULL,
		n bigint NOT NULL,
		first bigint NOT NULL,
		last bigint NOT NULL,
		program text COLLATE "C" NOT NULL,
		PRIMARY KEY (project, grp, name, value));
	CREATE INDEX service_spans_value ON service_spans (project, name, value);
	CREATE TABLE service_days (
		project text COLLATE "C" NOT NULL,
		grp text COLLATE "C" NOT NULL,
		day bigint NOT NULL,
		n bigint NOT NULL,
		PRIMARY KEY (project, grp, day));
	INSERT INTO service_spans SELECT project, grp, 'build', build, count(*), min(received), max(received), max(program) FROM service_uploads WHERE counted AND grp <> '' AND build <> '' GROUP BY project, grp, build;
	INSERT INTO service_spans SELECT project, '', 'build', build, count(*), min(received), max(received), max(program) FROM service_uploads WHERE counted AND build <> '' GROUP BY project, build;
	INSERT INTO service_spans SELECT project, grp, 'release', release, count(*), min(received), max(received), max(program) FROM service_uploads WHERE counted AND grp <> '' AND release <> '' GROUP BY project, grp, release;
	INSERT INTO service_spans SELECT project, '', 'release', release, count(*), min(received), max(received), max(program) FROM service_uploads WHERE counted AND release <> '' GROUP BY project, release;
	INSERT INTO service_days SELECT project, grp, received / 86400000000000, count(*) FROM service_uploads WHERE counted AND grp <> '' GROUP BY project, grp, received / 86400000000000;`,

	// How many frames needed a file that is lacking, beyond one for each dump. A program of the version before counts one, and what it removes stays
	// in more until no dump lacks the file.
	`ALTER TABLE service_attributes ADD COLUMN more bigint NOT NULL DEFAULT 0;
	ALTER TABLE service_counts ADD COLUMN more bigint NOT NULL DEFAULT 0;`,

	// People who have a password, with their projects, and those whom an identity provider knows.
	`CREATE TABLE service_accounts (
		name text COLLATE "C" PRIMARY KEY,
		password text NOT NULL,
		invitation text NOT NULL,
		invited bigint NOT NULL,
		created bigint NOT NULL,
		by text NOT NULL,
		seen bigint NOT NULL,
		stamp text NOT NULL);
	CREATE TABLE service_members (
		account text COLLATE "C" NOT NULL,
		project text COLLATE "C" NOT NULL,
		scopes text NOT NULL,
		PRIMARY KEY (account, project));
	CREATE INDEX service_members_project ON service_members (project);
	CREATE INDEX service_tokens_subject ON service_tokens (subject) WHERE subject <> '';
	CREATE TABLE service_people (
		project text COLLATE "C" NOT NULL,
		subject text COLLATE "C" NOT NULL,
		name text COLLATE "C" NOT NULL,
		seen bigint NOT NULL,
		PRIMARY KEY (project, subject));
	INSERT INTO service_people SELECT project, subject, max(note), max(created) FROM service_tokens WHERE subject <> '' GROUP BY project, subject;`,
}}
