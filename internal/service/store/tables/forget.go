package tables

import (
	"context"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// Forget implements Store.
func (d *DB) Forget(ctx context.Context, project string, keep store.Retention, n int) (list []store.Upload, _ error) {
	err := d.change(ctx, project, func(tx *DB) error {
		// what is found is removed before more is looked for, which counts what is left
		take := func(found []store.Upload, err error) error {
			for i := range found {
				if err == nil {
					found[i].Attachments, err = tx.remove(ctx, project, found[i].ID)
				}
			}
			list = append(list, found...)
			return err
		}
		if !keep.After.IsZero() {
			if err := take(tx.oldest(ctx, "received < $2", n, project, sqldb.Nanos(keep.After))); err != nil {
				return err
			}
		}
		if keep.PerGroup > 0 && len(list) < n {
			more, err := tx.more(ctx, project, keep.PerGroup, n-len(list))
			for group, many := range more {
				if err == nil {
					err = take(tx.oldest(ctx, "grp = $2 AND state = 'done'", min(many, n-len(list)), project, group))
				}
			}
			if err != nil {
				return err
			}
		}
		if keep.Bytes > 0 && len(list) < n {
			return take(tx.above(ctx, project, keep.Bytes, n-len(list)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// oldest lists uploads of the project $1, at most n, the oldest first.
func (d *DB) oldest(ctx context.Context, where string, n int, args ...any) ([]store.Upload, error) {
	return d.List(ctx, "SELECT "+Columns+" FROM @uploads WHERE project = $1 AND "+where+" AND state <> 'working' ORDER BY received LIMIT $3 FOR UPDATE SKIP LOCKED", append(args, n)...)
}

// more says of groups that have more analysed uploads than some how many these are, of at most n groups.
func (d *DB) more(ctx context.Context, project string, than, n int) (map[string]int, error) {
	more := map[string]int{}
	var group string
	var count int
	err := d.conn.Query(ctx, sqldb.Into([]any{&group, &count}, func() { more[group] = count - than }),
		"SELECT grp, count(*) FROM @uploads WHERE project = $1 AND grp <> '' AND state = 'done' GROUP BY grp HAVING count(*) > $2 LIMIT $3", project, than, n)
	return more, err
}

// above lists the oldest uploads without which those that are left have at most some bytes, at most n.
func (d *DB) above(ctx context.Context, project string, bytes int64, n int) ([]store.Upload, error) {
	var sum int64
	if err := sqldb.One(ctx, d.conn, sqldb.To(&sum), "SELECT CAST(coalesce(sum(size + attached), 0) AS bigint) FROM @uploads WHERE project = $1", project); err != nil || sum <= bytes {
		return nil, err
	}
	list, err := d.oldest(ctx, "size >= $2", n, project, 0)
	for i := range list {
		if sum <= bytes {
			return list[:i], err
		}
		sum -= list[i].Size + list[i].Attached
	}
	return list, err
}
