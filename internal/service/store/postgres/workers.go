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
