package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Beat says that a worker is alive, and forgets those that have not said so for some time. The clock is the database's.
func (d *DB) Beat(ctx context.Context, worker string, silent time.Duration) error {
	_, err := d.pool.Exec(ctx, "INSERT INTO service_workers (name, beat) VALUES ($1, now()) ON CONFLICT (name) DO UPDATE SET beat = now()", text(worker))
	if err == nil {
		_, err = d.pool.Exec(ctx, "DELETE FROM service_workers WHERE beat < now() - make_interval(secs => $1)", silent.Seconds())
	}
	return d.failed(err)
}

// Leave says that a worker has ended.
func (d *DB) Leave(ctx context.Context, worker string) error {
	_, err := d.pool.Exec(ctx, "DELETE FROM service_workers WHERE name = $1", text(worker))
	return d.failed(err)
}

// Alive lists the workers that have said within some time that they are.
func (d *DB) Alive(ctx context.Context, silent time.Duration) ([]string, error) {
	rows, err := d.pool.Query(ctx, "SELECT name FROM service_workers WHERE beat >= now() - make_interval(secs => $1)", silent.Seconds())
	if err != nil {
		return nil, d.failed(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return out, d.failed(err)
}

// Has lists the uploads that are being worked on by workers whose names begin with a prefix.
func (d *DB) Has(ctx context.Context, prefix string) ([]store.Upload, error) {
	out, err := d.list(ctx, "SELECT "+columns+" FROM service_uploads WHERE state = 'working' AND starts_with(worker, $1)", text(prefix))
	return out, d.failed(err)
}

// Late gives back an upload whose analysis did not end in time: as if its worker had died of it.
func (d *DB) Late(ctx context.Context, project, id, why string) (store.Upload, error) {
	u, err := scan(d.pool.QueryRow(ctx, `UPDATE service_uploads SET worker = '', why = $1, alone = true, deaths = deaths + 1,
		state = CASE WHEN deaths + 1 >= $2 THEN 'aside' ELSE 'waiting' END WHERE project = $3 AND id = $4 AND state = 'working' RETURNING `+columns, text(why), store.MaxDeaths, text(project), text(id)))
	return u, d.failed(err)
}

// Waits reports whether uploads of a project wait.
func (d *DB) Waits(ctx context.Context, project string) (waits bool, err error) {
	err = d.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM service_uploads WHERE state = 'waiting' AND project = $1)", text(project)).Scan(&waits)
	return waits, d.failed(err)
}

// placing is the key of the lock that one process at a time has while it decides which worker a build is for.
const placing = 0x636f726577616c6f

// Place says which worker is to analyse an upload that a worker has taken, now that its build is known: one that has the build's files, and is
// alive. A build that nobody has is for the worker with the fewest. The upload stays where it is if it was given to another before, if it is not
// that worker's any more, or if crowd uploads wait for those who have the build's files: then this worker gets them, too. Place must be in a
// transaction of its own.
func (d *DB) Place(ctx context.Context, worker, project, id, build string, silent time.Duration, crowd int) (to string, err error) {
	if _, err := d.pool.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(placing)); err != nil {
		return "", d.failed(err)
	}
	var moved bool
	err = d.pool.QueryRow(ctx, "SELECT reserved IS NOT NULL OR NOT (state = 'working' AND starts_with(worker, $3)) FROM service_uploads WHERE project = $1 AND id = $2", text(project), text(id), text(worker)+"/").Scan(&moved)
	if err != nil {
		return "", d.failed(err)
	}
	var own bool // whether this worker is among those who have it
	var other *string
	err = d.pool.QueryRow(ctx, `SELECT coalesce(bool_or(b.worker = $2), false), (array_agg(b.worker ORDER BY random()))[1] FROM service_builds b JOIN service_workers w ON w.name = b.worker
		WHERE b.build = $1 AND w.beat >= now() - make_interval(secs => $3)`, text(build), text(worker), silent.Seconds()).Scan(&own, &other)
	if err != nil || own {
		return worker, d.failed(err)
	}
	to = worker
	switch {
	case moved:
	case other == nil:
		err = d.pool.QueryRow(ctx, `SELECT w.name FROM service_workers w WHERE w.beat >= now() - make_interval(secs => $2)
			ORDER BY (SELECT count(*) FROM service_builds b WHERE b.worker = w.name), w.name <> $1, w.name LIMIT 1`, text(worker), silent.Seconds()).Scan(&to)
	default:
		var wait int
		err = d.pool.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM service_uploads WHERE state = 'waiting' AND project = $1 AND hint = $2 LIMIT $3) AS waiting", text(project), text(build), crowd).Scan(&wait)
		if err == nil && wait < crowd {
			return *other, nil
		}
	}
	if err == nil {
		_, err = d.pool.Exec(ctx, "INSERT INTO service_builds (build, worker) SELECT $1, name FROM service_workers WHERE name = $2 ON CONFLICT DO NOTHING", text(build), text(to))
	}
	return to, d.failed(err)
}

// Pass has an upload wait for those who have the files of its build; nobody else takes it for some time. It was not tried.
func (d *DB) Pass(ctx context.Context, project, id, build string, reserve time.Duration) error {
	return d.change(ctx, id, `UPDATE service_uploads SET worker = '', state = 'waiting', attempts = attempts - 1, hint = $3, reserved = now() + make_interval(secs => $4)
		WHERE project = $1 AND id = $2 AND state = 'working'`, text(project), text(id), text(build), reserve.Seconds())
}

// Without says that a worker has not the files of some builds any more.
func (d *DB) Without(ctx context.Context, worker string, builds []string) error {
	_, err := d.pool.Exec(ctx, "DELETE FROM service_builds WHERE worker = $1 AND build = ANY($2)", text(worker), builds)
	return d.failed(err)
}
