package tables

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// Events of a hook are stored with commas around them.
func eventsOf(list []string) string { return "," + strings.Join(list, ",") + "," }

// AddHook implements Store.
func (d *DB) AddHook(ctx context.Context, h store.Hook) error {
	_, err := d.conn.Exec(ctx, "INSERT INTO @hooks (id, project, kind, target, secret, events, quiet, created, by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		h.ID, h.Project, h.Kind, h.To, h.Secret, eventsOf(h.Events), h.Quiet, sqldb.Nanos(h.Created), h.By)
	return err
}

// Hooks implements Store.
func (d *DB) Hooks(ctx context.Context, project string) (list []store.Hook, _ error) {
	var h store.Hook
	var events string
	var created, failed int64
	err := d.conn.Query(ctx, sqldb.Into([]any{&h.ID, &h.Project, &h.Kind, &h.To, &h.Secret, &events, &h.Quiet, &created, &h.By, &h.Failure, &failed, &h.Dropped, &h.Held}, func() {
		h.Events, h.Created, h.Failed = strings.Split(strings.Trim(events, ","), ","), sqldb.Moment(created), sqldb.Moment(failed)
		list = append(list, h)
	}), "SELECT id, project, kind, target, secret, events, quiet, created, by, failure, failed, dropped, held FROM @hooks WHERE $1 = '' OR project = $1 ORDER BY created, id", project)
	return list, err
}

// RemoveHook implements Store.
func (d *DB) RemoveHook(ctx context.Context, project, id string) error {
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		if err := New(tx, d.dialect).Change(ctx, "hook", id, "DELETE FROM @hooks WHERE project = $1 AND id = $2", project, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM @notices WHERE hook = $1", id)
		return err
	})
}

// HookResult implements Store.
func (d *DB) HookResult(ctx context.Context, id, failure string, at time.Time, dropped int) error {
	_, err := d.conn.Exec(ctx, "UPDATE @hooks SET failure = $1, failed = $2, dropped = dropped + $3 WHERE id = $4", failure, sqldb.Nanos(at), dropped, id)
	return err
}

// Notify implements Store.
func (d *DB) Notify(ctx context.Context, project, group, event string, at, since time.Time) (told bool, _ error) {
	err := d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		n, err := tx.Exec(ctx, `INSERT INTO @noticed AS n (project, grp, event, at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project, grp, event) DO UPDATE SET at = excluded.at WHERE n.at < $5`, project, group, event, sqldb.Nanos(at), sqldb.Nanos(since))
		if err != nil || n == 0 {
			return err
		}
		told = true
		return notify(ctx, tx, project, group, event, at, " AND h.events LIKE $7", "%,"+event+",%")
	})
	return told, err
}

// NotifyOne implements Store.
func (d *DB) NotifyOne(ctx context.Context, h store.Hook, event string, at time.Time) error {
	return notify(ctx, d.conn, h.Project, "", event, at, " AND h.id = $7", h.ID)
}

// notify adds a notice for each hook for which a condition holds and that has not too many; those that have count what they miss.
func notify(ctx context.Context, c sqldb.Conn, project, group, event string, at time.Time, which, arg string) error {
	var b [8]byte
	rand.Read(b[:]) // does not fail
	const full = "(SELECT count(*) FROM @notices n WHERE n.hook = h.id)"
	_, err := c.Exec(ctx, `INSERT INTO @notices (id, project, hook, event, grp, at, due, attempts) SELECT h.id || $1, h.project, h.id, $3, $4, $5, $5, 0
		FROM @hooks h WHERE h.project = $2 AND `+full+" < $6"+which, "-"+hex.EncodeToString(b[:]), project, event, group, sqldb.Nanos(at), int64(store.MaxNotices), arg)
	if err == nil {
		_, err = c.Exec(ctx, "UPDATE @hooks AS h SET dropped = dropped + 1 WHERE h.project = $1 AND "+full+" >= $2"+strings.Replace(which, "$7", "$3", 1)+
			" AND NOT EXISTS (SELECT 1 FROM @notices x WHERE x.id = h.id || $4)", project, int64(store.MaxNotices), arg, "-"+hex.EncodeToString(b[:]))
	}
	return err
}

// TakeNotice implements Store.
func (d *DB) TakeNotice(ctx context.Context, now, until time.Time) (store.Notice, error) {
	var n store.Notice
	var at int64
	err := sqldb.One(ctx, d.conn, sqldb.To(&n.ID, &n.Project, &n.Hook, &n.Event, &n.Group, &at, &n.Attempts), `UPDATE @notices SET due = $1 WHERE id IN
		(SELECT id FROM @notices WHERE due <= $2 ORDER BY due, at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, project, hook, event, grp, at, attempts`, sqldb.Nanos(until), sqldb.Nanos(now))
	n.At = sqldb.Moment(at)
	if err = Found(err); errors.Is(err, store.ErrNotFound) {
		err = store.ErrNone
	}
	return n, err
}

// EndNotice implements Store.
func (d *DB) EndNotice(ctx context.Context, id string) error {
	_, err := d.conn.Exec(ctx, "DELETE FROM @notices WHERE id = $1", id)
	return err
}

// Admit implements Store.
func (d *DB) Admit(ctx context.Context, n store.Notice, now time.Time, most int) (ok bool, _ error) {
	hour := now.Truncate(time.Hour)
	err := d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		var sent int
		err := Found(sqldb.One(ctx, tx, sqldb.To(&sent), `UPDATE @hooks SET sent = CASE WHEN hour = $1 THEN sent + 1 ELSE 1 END, hour = $2 WHERE id = $3 RETURNING sent`,
			sqldb.Nanos(hour), sqldb.Nanos(hour), n.Hook))
		if ok = err == nil && sent <= most; ok || err != nil {
			return err
		}
		return tx.Batch(ctx, []sqldb.Statement{
			{Query: "UPDATE @hooks SET held = held + 1, dropped = dropped + 1 WHERE id = $1", Args: []any{n.Hook}},
			{Query: "DELETE FROM @notices WHERE id = $1", Args: []any{n.ID}},
			{Query: `INSERT INTO @notices (id, project, hook, event, grp, at, due, attempts) SELECT $1, project, id, $2, '', $3, $4, 0 FROM @hooks
				WHERE id = $5 AND NOT EXISTS (SELECT 1 FROM @notices x WHERE x.hook = $6 AND x.event = $7)`,
				Args: []any{n.ID + "-more", store.EventSummary, sqldb.Nanos(now), sqldb.Nanos(hour.Add(time.Hour)), n.Hook, n.Hook, store.EventSummary}},
		})
	})
	return ok, err
}

// EndSummary implements Store.
func (d *DB) EndSummary(ctx context.Context, n store.Notice, told int, now time.Time) error {
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		var left int
		err := Found(sqldb.One(ctx, tx, sqldb.To(&left), "UPDATE @hooks SET held = held - $1 WHERE id = $2 RETURNING held", told, n.Hook))
		if err != nil {
			return err
		}
		if left > 0 {
			_, err = tx.Exec(ctx, "UPDATE @notices SET due = $1, attempts = 0 WHERE id = $2", sqldb.Nanos(now.Truncate(time.Hour).Add(time.Hour)), n.ID)
			return err
		}
		return New(tx, d.dialect).EndNotice(ctx, n.ID)
	})
}

// DelayNotices implements Store.
func (d *DB) DelayNotices(ctx context.Context, hook, taken string, until time.Time, attempt bool) error {
	n := 0
	if attempt {
		n = 1
	}
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		if _, err := tx.Exec(ctx, "UPDATE @notices SET attempts = attempts + $1, due = $2 WHERE id = $3", n, sqldb.Nanos(until), taken); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE @notices SET due = $1 WHERE hook = $2 AND due < $3", sqldb.Nanos(until), hook, sqldb.Nanos(until))
		return err
	})
}

// Busy implements Store.
func (d *DB) Busy(ctx context.Context, project string, since time.Time, least int) (map[string]int, error) {
	out := map[string]int{}
	var group string
	var n int
	return out, d.conn.Query(ctx, sqldb.Into([]any{&group, &n}, func() { out[group] = n }), `SELECT grp, count(*) FROM @uploads
		WHERE project = $1 AND received >= $2 AND grp <> '' GROUP BY grp HAVING count(*) >= $3`, project, sqldb.Nanos(since), least)
}

// CountSince implements Store.
func (d *DB) CountSince(ctx context.Context, project, group string, since time.Time) (n int, _ error) {
	err := sqldb.One(ctx, d.conn, sqldb.To(&n), "SELECT count(*) FROM @uploads WHERE project = $1 AND grp = $2 AND received >= $3", project, group, sqldb.Nanos(since))
	return n, err
}
