package tables

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// Attach implements Store.
func (d *DB) Attach(ctx context.Context, project, id string, list []store.Attachment, bytes int64) (left []store.Attachment, _ error) {
	err := d.change(ctx, project, func(tx *DB) error {
		have, err := tx.Attachments(ctx, project, id)
		if err != nil {
			return err
		}
		there, all := map[string]bool{}, int64(0)
		for _, a := range have {
			there[a.SHA256] = true
			all += a.Size
		}
		n := len(have)
		for _, a := range list {
			if there[a.SHA256] {
				continue
			}
			if n >= store.MaxAttachments || all+a.Size > bytes {
				left = append(left, a)
				continue
			}
			if _, err := tx.conn.Exec(ctx, "INSERT INTO @attachments (project, id, sha256, place, name, type, size) VALUES ($1, $2, $3, $4, $5, $6, $7)",
				project, id, a.SHA256, n, sqldb.Raw(a.Name), a.Type, a.Size); err != nil {
				return err
			}
			there[a.SHA256] = true
			all += a.Size
			n++
		}
		return tx.Change(ctx, "dump", id, "UPDATE @uploads SET attached = $1 WHERE project = $2 AND id = $3", all, project, id)
	})
	if err != nil {
		return nil, err
	}
	return left, nil
}

// Attachments implements Store.
func (d *DB) Attachments(ctx context.Context, project, id string) (list []store.Attachment, _ error) {
	var a store.Attachment
	err := d.conn.Query(ctx, sqldb.Into([]any{&a.SHA256, (*sqldb.Raw)(&a.Name), &a.Type, &a.Size}, func() { list = append(list, a) }),
		"SELECT sha256, name, type, size FROM @attachments WHERE project = $1 AND id = $2 ORDER BY place", project, id)
	return list, err
}

// AddFeedback implements Store.
func (d *DB) AddFeedback(ctx context.Context, project, id string, f store.Feedback) (kept bool, _ error) {
	err := d.change(ctx, project, func(tx *DB) error {
		if _, err := tx.finished(ctx, project, id); err != nil {
			return err
		}
		text := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", f.Name, f.Email, f.Text))
		sum := hex.EncodeToString(text[:16])
		var n, there int
		if err := sqldb.One(ctx, tx.conn, sqldb.To(&n, &there), "SELECT count(*), count(CASE WHEN sum = $1 THEN 1 END) FROM @feedback WHERE project = $2 AND id = $3", sum, project, id); err != nil {
			return err
		}
		if kept = there > 0 || n < store.MaxFeedback; !kept || there > 0 {
			return nil
		}
		_, err := tx.conn.Exec(ctx, "INSERT INTO @feedback (project, id, sum, name, email, text, at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			project, id, sum, sqldb.Raw(f.Name), sqldb.Raw(f.Email), sqldb.Raw(f.Text), sqldb.Nanos(f.At))
		return err
	})
	return kept && err == nil, err
}

// Feedback implements Store.
func (d *DB) Feedback(ctx context.Context, project, id string) (list []store.Feedback, _ error) {
	var f store.Feedback
	var at int64
	err := d.conn.Query(ctx, sqldb.Into([]any{(*sqldb.Raw)(&f.Name), (*sqldb.Raw)(&f.Email), (*sqldb.Raw)(&f.Text), &at}, func() {
		f.At = sqldb.Moment(at)
		list = append(list, f)
	}), "SELECT name, email, text, at FROM @feedback WHERE project = $1 AND id = $2 ORDER BY at, sum", project, id)
	return list, err
}

// OfEvent implements Store.
func (d *DB) OfEvent(ctx context.Context, project, event string) (id string, _ error) {
	err := sqldb.One(ctx, d.conn, sqldb.To(&id), "SELECT id FROM @uploads WHERE project = $1 AND event = $2 AND event <> '' ORDER BY received DESC LIMIT 1", project, event)
	if err = Found(err); errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("event %q: %w", event, err)
	}
	return id, err
}

// detach removes what is kept beside an upload, and returns its attachments.
func (d *DB) detach(ctx context.Context, project, id string) ([]store.Attachment, error) {
	list, err := d.Attachments(ctx, project, id)
	for _, table := range []string{"@attachments", "@feedback"} {
		if err == nil {
			_, err = d.conn.Exec(ctx, "DELETE FROM "+table+" WHERE project = $1 AND id = $2", project, id)
		}
	}
	return list, err
}
