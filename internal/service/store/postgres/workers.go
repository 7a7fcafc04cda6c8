package postgres

import (
	"context"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// Beat says that a worker is alive, and forgets those that have not said so for some time. The clock is the database's.
func (d *DB) Beat(ctx context.Context, worker string, silent time.Duration) error {
	_, err := d.conn.Exec(ctx, "INSERT INTO @workers (name, beat) VALUES ($1, now()) ON CONFLICT (name) DO UPDATE SET beat = now()", worker)
	if err == nil {
		_, err = d.conn.Exec(ctx, "DELETE FROM @workers WHERE beat < now() - make_interval(secs => $1)", silent.Seconds())
	}
	return err
}

// Leave says that a worker has ended.
func (d *DB) Leave(ctx context.Context, worker string) error {
	_, err := d.conn.Exec(ctx, "DELETE FROM @workers WHERE name = $1", worker)
	return err
}

// Alive lists the workers that have said within some time that they are.
func (d *DB) Alive(ctx context.Context, silent time.Duration) (list []string, _ error) {
	var name string
	err := d.conn.Query(ctx, sqldb.Into([]any{&name}, func() { list = append(list, name) }), "SELECT name FROM @workers WHERE beat >= now() - make_interval(secs => $1)", silent.Seconds())
	return list, err
}

// Has lists the uploads that are being worked on by workers whose names begin with a prefix.
func (d *DB) Has(ctx context.Context, prefix string) ([]store.Upload, error) {
	return d.List(ctx, "SELECT "+tables.Columns+" FROM @uploads WHERE state = 'working' AND starts_with(worker, $1)", prefix)
}

// Late gives back an upload whose analysis did not end in time: as if its worker had died of it.
func (d *DB) Late(ctx context.Context, project, id, why string) (store.Upload, error) {
	return d.One(ctx, `UPDATE @uploads SET worker = '', why = $1, alone = true, deaths = deaths + 1,
		state = CASE WHEN deaths + 1 >= $2 THEN 'aside' ELSE 'waiting' END WHERE project = $3 AND id = $4 AND state = 'working' RETURNING `+tables.Columns, why, store.MaxDeaths, project, id)
}

// TakeOf is Take of the uploads of one project with one of some hints.
func (d *DB) TakeOf(ctx context.Context, worker, project string, hints []string) (store.Upload, error) {
	return d.TakeWhere(ctx, "project = $2 AND hint = ANY($3)", worker, project, hints)
}

// Waits reports whether uploads of a project wait.
func (d *DB) Waits(ctx context.Context, project string) (waits bool, _ error) {
	err := sqldb.One(ctx, d.conn, sqldb.To(&waits), "SELECT EXISTS (SELECT 1 FROM @uploads WHERE state = 'waiting' AND project = $1)", project)
	return waits, err
}

// placing is the key of the lock that one process at a time has while it decides which worker a build is for.
const placing = 0x636f726577616c6f

// Place says which worker is to analyse an upload that a worker has taken, now that its build is known: one that has the build's files, and is
// alive. A build that nobody has is for the worker with the fewest. The upload stays where it is if it was given to another before, if it is not
// that worker's any more, or if crowd uploads wait for those who have the build's files: then this worker gets them, too. Place must be in a
// transaction of its own.
func (d *DB) Place(ctx context.Context, worker, project, id, build string, silent time.Duration, crowd int) (to string, err error) {
	if _, err := d.conn.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(placing)); err != nil {
		return "", err
	}
	var moved bool
	err = sqldb.One(ctx, d.conn, sqldb.To(&moved), "SELECT reserved IS NOT NULL OR NOT (state = 'working' AND starts_with(worker, $3)) FROM @uploads WHERE project = $1 AND id = $2", project, id, worker+"/")
	if err != nil {
		return "", tables.Found(err)
	}
	var own bool // whether this worker is among those who have it
	var other *string
	err = d.conn.Query(ctx, sqldb.To(&own, &other), `SELECT coalesce(bool_or(b.worker = $2), false), (array_agg(b.worker ORDER BY random()))[1] FROM @builds b JOIN @workers w ON w.name = b.worker
		WHERE b.build = $1 AND w.beat >= now() - make_interval(secs => $3)`, build, worker, silent.Seconds())
	if err != nil || own {
		return worker, err
	}
	to = worker
	switch {
	case moved:
	case other == nil:
		err = sqldb.One(ctx, d.conn, sqldb.To(&to), `SELECT w.name FROM @workers w WHERE w.beat >= now() - make_interval(secs => $2)
			ORDER BY (SELECT count(*) FROM @builds b WHERE b.worker = w.name), w.name <> $1, w.name LIMIT 1`, worker, silent.Seconds())
	default:
		var wait int
		err := sqldb.One(ctx, d.conn, sqldb.To(&wait), "SELECT count(*) FROM (SELECT 1 FROM @uploads WHERE state = 'waiting' AND project = $1 AND hint = $2 LIMIT $3) AS waiting", project, build, crowd)
		if err != nil || wait < crowd {
			return *other, err
		}
	}
	if err == nil {
		_, err = d.conn.Exec(ctx, "INSERT INTO @builds (build, worker) SELECT $1, name FROM @workers WHERE name = $2 ON CONFLICT DO NOTHING", build, to)
	}
	return to, tables.Found(err)
}

// Pass has an upload wait for those who have the files of its build; nobody else takes it for some time. It was not tried.
func (d *DB) Pass(ctx context.Context, project, id, build string, reserve time.Duration) error {
	return d.Change(ctx, "dump", id, `UPDATE @uploads SET worker = '', state = 'waiting', attempts = attempts - 1, hint = $3, reserved = now() + make_interval(secs => $4)
		WHERE project = $1 AND id = $2 AND state = 'working'`, project, id, build, reserve.Seconds())
}

// Without says that a worker has not the files of some builds any more.
func (d *DB) Without(ctx context.Context, worker string, builds []string) error {
	_, err := d.conn.Exec(ctx, "DELETE FROM @builds WHERE worker = $1 AND build = ANY($2)", worker, builds)
	return err
}
