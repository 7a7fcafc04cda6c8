package postgres

import "github.com/corewalk/corewalk/internal/sqldb"

// Times are nanoseconds since 1970; 0 means not known. What may be any bytes is bytea: names of files. Texts are ordered by their
// bytes, as in other stores.
var schema = sqldb.Schema{Store: "ledger", Prefix: "ledger_", Lock: 0x636f726577616c6b, Migrations: []string{
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
}}
