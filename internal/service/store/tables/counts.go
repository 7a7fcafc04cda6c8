package tables

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// Attributes are in one table, a row for each of a dump. How many dumps have one is counted in another as dumps are finished and removed, in the whole
// project (its group is "") and in each group: a list reads counts, never dumps. The counts with the name "" are of dumps, users and machines.
const (
	countDumps = "dump"
	addCount   = `INSERT INTO @counts AS c (project, grp, name, value, n, more) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (project, grp, name, value) DO UPDATE SET n = c.n + excluded.n, more = c.more + excluded.more`
)

// A finished upload is what counting needs of one.
type finished struct {
	received             int64
	group, release       string
	build, user, machine string
	counted              bool
	annotations          []byte
	// was is what is counted of it, if spanned.
	was     span
	spanned bool
	program string
}

// change calls do in a transaction of its own that counts dumps of a project.
func (d *DB) change(ctx context.Context, project string, do func(tx *DB) error) error {
	return d.conn.Tx(ctx, func(tx sqldb.Conn) error {
		if d.dialect.Lock != "" {
			if _, err := tx.Exec(ctx, d.dialect.Lock, project); err != nil {
				return err
			}
		}
		return do(New(tx, d.dialect))
	})
}

// Finish implements Store.
func (d *DB) Finish(ctx context.Context, project, id string, r store.Result) error {
	return d.change(ctx, project, func(tx *DB) error {
		u, err := tx.finished(ctx, project, id)
		if err != nil {
			return err
		}
		u.user, u.machine = cmp.Or(u.user, r.User), cmp.Or(u.machine, r.Machine)
		u.build, u.program = r.Build, r.Program
		own := ""
		if r.Group != "" {
			into, err := tx.target(ctx, project, r.Group)
			if err != nil {
				return err
			}
			if into != "" {
				r.Group, own = into, r.Group
			}
		}
		fresh, err := tx.isNew(ctx, project, id, r.Group)
		if err != nil {
			return err
		}
		release, err := tx.count(ctx, project, id, &u, r.Group, r.Attributes, r.Needed)
		if err != nil {
			return err
		}
		if fresh {
			if _, err := tx.Notify(ctx, project, r.Group, store.EventNew, time.Now(), time.Unix(0, 1)); err != nil {
				return err
			}
		}
		return tx.Change(ctx, "dump", id, `UPDATE @uploads SET state = 'done', worker = '', why = '', grp = $1, fault = $2, reason = $3, program = $4, build = $5, release = $6,
			usr = $7, machine = $8, own = $9, counted = true, spanned = true WHERE project = $10 AND id = $11`, r.Group, r.Fault, r.Reason, r.Program, r.Build, release, u.user, u.machine, own, project, id)
	})
}

// FinishAll implements Store.
func (d *DB) FinishAll(ctx context.Context, project string, list []store.Finished) error {
	return d.change(ctx, project, func(tx *DB) error {
		for i := range list {
			if err := tx.Finish(ctx, project, list[i].ID, list[i].Result); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}

// isNew reports whether a group has never had another dump.
func (d *DB) isNew(ctx context.Context, project, id, group string) (bool, error) {
	if group == "" {
		return false, nil
	}
	var old bool
	err := sqldb.One(ctx, d.conn, sqldb.To(&old), `SELECT EXISTS (SELECT 1 FROM @counts WHERE project = $1 AND grp = $2 AND name = '' AND value = 'dump')
		OR EXISTS (SELECT 1 FROM @uploads WHERE project = $1 AND grp = $2 AND id <> $3)`, project, group, id)
	return !old, err
}

func (d *DB) finished(ctx context.Context, project, id string) (u finished, _ error) {
	err := sqldb.One(ctx, d.conn, sqldb.To(&u.received, &u.group, &u.release, &u.build, &u.user, &u.machine, &u.counted, &u.annotations, &u.spanned, &u.program),
		"SELECT received, grp, release, build, usr, machine, counted, annotations, spanned, program FROM @uploads WHERE project = $1 AND id = $2", project, id)
	if err = Found(err); errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("dump %q: %w", id, err)
	}
	u.was = span{u.build, u.release, u.program, u.received}
	u.spanned = u.spanned && u.counted
	return u, err
}

// count counts a dump that is of a group now, and returns its release.
func (d *DB) count(ctx context.Context, project, id string, u *finished, group string, attributes []store.Attribute, needed map[string]int) (release string, err error) {
	if u.counted {
		if err := d.uncount(ctx, project, id, u); err != nil {
			return "", err
		}
	}
	release = store.Value(attributes, store.AttrRelease)
	if release == "" && u.build != "" {
		if release, err = d.buildName(ctx, project, u.build); err != nil {
			return "", err
		}
		if release != "" {
			attributes = append(slices.Clone(attributes), store.Attribute{Name: store.AttrRelease, Value: release})
		}
	}
	known, err := d.known(ctx, project, attributes)
	if err != nil {
		return "", err
	}
	var batch []sqldb.Statement
	add := func(query string, args ...any) { batch = append(batch, sqldb.Statement{Query: query, Args: args}) }
	groups := []string{""}
	if group != "" {
		groups = append(groups, group)
	}
	for _, a := range attributes {
		add(`INSERT INTO @attributes (project, id, name, value, received, grp, counted, more) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			project, id, a.Name, a.Value, u.received, group, known[a] != notCounted, moreOf(a, needed))
	}
	for _, a := range attributes {
		if known[a] == newlyCounted {
			add(`INSERT INTO @names AS c (project, name, n) VALUES ($1, $2, 1) ON CONFLICT (project, name) DO UPDATE SET n = c.n + 1`, project, a.Name)
		}
	}
	for _, g := range groups {
		add(addCount, project, g, "", countDumps, 1, 0)
		for _, a := range attributes {
			if known[a] != notCounted {
				add(addCount, project, g, a.Name, a.Value, 1, moreOf(a, needed))
			}
		}
	}
	now := span{u.build, release, u.program, u.received}
	batch = append(batch, now.add(project, groups)...)
	if release != "" && known[store.Attribute{Name: store.AttrRelease, Value: release}] != notCounted {
		add(seenRelease, project, release, u.received, u.received)
	}
	if err := d.conn.Batch(ctx, batch); err != nil {
		return "", err
	}
	return release, d.affect(ctx, project, group, u)
}

// moreOf is how many frames needed what an attribute says to be lacking, beyond one: a program that knows nothing of frames counts one for each dump.
func moreOf(a store.Attribute, needed map[string]int) int {
	if a.Name != store.AttrLacks {
		return 0
	}
	n, ok := needed[a.Value[strings.LastIndexByte(a.Value, ' ')+1:]]
	if !ok {
		return 0
	}
	return n - 1
}

const seenRelease = `INSERT INTO @releases AS r (project, release, first, last) VALUES ($1, $2, $3, $4) ON CONFLICT (project, release) DO UPDATE SET
	first = CASE WHEN r.first = 0 OR excluded.first < r.first THEN excluded.first ELSE r.first END, last = CASE WHEN excluded.last > r.last THEN excluded.last ELSE r.last END`

// affect counts the user and the machine of a dump in its group, each once.
func (d *DB) affect(ctx context.Context, project, group string, u *finished) error {
	if group == "" {
		return nil
	}
	for kind, who := range map[string]string{store.IDUser: u.user, store.IDMachine: u.machine} {
		if who == "" {
			continue
		}
		n, err := d.conn.Exec(ctx, "INSERT INTO @affected (project, grp, kind, who) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", project, group, kind, who)
		if err == nil && n > 0 {
			_, err = d.conn.Exec(ctx, addCount, project, group, "", kind, 1, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Whether an attribute is counted, and was before.
const (
	notCounted = iota
	newlyCounted
	counted
)

// known says which of some attributes are counted: those that are already, and others as long as their names and values are not too many.
func (d *DB) known(ctx context.Context, project string, list []store.Attribute) (map[store.Attribute]int, error) {
	values := map[string]int{} // how many of each name
	var name, value string
	var n int
	err := d.conn.Query(ctx, sqldb.Into([]any{&name, &n}, func() { values[name] = n }), "SELECT name, n FROM @names WHERE project = $1", project)
	if err != nil {
		return nil, err
	}
	out := make(map[store.Attribute]int, len(list))
	names, all := make([]string, len(list)), make([]string, len(list))
	for i, a := range list {
		names[i], all[i] = a.Name, a.Value
	}
	err = d.conn.Query(ctx, sqldb.Into([]any{&name, &value}, func() { out[store.Attribute{Name: name, Value: value}] = counted }),
		"SELECT name, value FROM @counts WHERE project = $1 AND grp = '' AND name = ANY($2) AND value = ANY($3)", project, names, all)
	for _, a := range list {
		if err != nil || out[a] == counted {
			continue
		}
		if n, ok := values[a.Name]; ok && n < store.MaxCountedValues || !ok && len(values) < store.MaxCountedNames {
			out[a] = newlyCounted
			values[a.Name] = n + 1
		}
	}
	return out, err
}

// uncount takes a dump out of the counts. Users and machines stay: they were affected.
func (d *DB) uncount(ctx context.Context, project, id string, u *finished) error {
	type counted struct {
		store.Attribute
		more int
	}
	var gone []counted
	var a counted
	err := d.conn.Query(ctx, sqldb.Into([]any{&a.Name, &a.Value, &a.more}, func() { gone = append(gone, a) }), "SELECT name, value, more FROM @attributes WHERE project = $1 AND id = $2 AND counted", project, id)
	if err != nil {
		return err
	}
	batch := []sqldb.Statement{{Query: "DELETE FROM @attributes WHERE project = $1 AND id = $2", Args: []any{project, id}}}
	groups := []string{""}
	if u.group != "" {
		groups = append(groups, u.group)
	}
	if u.spanned {
		batch = append(batch, u.was.remove(project, groups)...)
	}
	for _, g := range groups {
		for _, a := range append([]counted{{Attribute: store.Attribute{Value: countDumps}}}, gone...) {
			batch = append(batch, sqldb.Statement{Query: "UPDATE @counts SET n = n - 1, more = more - $1 WHERE project = $2 AND grp = $3 AND name = $4 AND value = $5", Args: []any{a.more, project, g, a.Name, a.Value}})
		}
	}
	for _, a := range gone {
		for _, g := range groups {
			s := sqldb.Statement{Query: "DELETE FROM @counts WHERE project = $1 AND grp = $2 AND name = $3 AND value = $4 AND n <= 0", Args: []any{project, g, a.Name, a.Value}}
			batch = append(batch, s)
		}
		batch = append(batch, sqldb.Statement{Query: `UPDATE @names SET n = n - 1 WHERE project = $1 AND name = $2
			AND NOT EXISTS (SELECT 1 FROM @counts WHERE project = $3 AND grp = '' AND name = $4 AND value = $5)`, Args: []any{project, a.Name, project, a.Name, a.Value}})
	}
	batch = append(batch, sqldb.Statement{Query: "DELETE FROM @names WHERE project = $1 AND n <= 0", Args: []any{project}})
	return d.conn.Batch(ctx, batch)
}

// Remove implements Store.
func (d *DB) Remove(ctx context.Context, project, id string) (list []store.Attachment, _ error) {
	err := d.change(ctx, project, func(tx *DB) (err error) {
		list, err = tx.remove(ctx, project, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (d *DB) remove(ctx context.Context, project, id string) ([]store.Attachment, error) {
	u, err := d.finished(ctx, project, id)
	if err != nil {
		return nil, err
	}
	list, err := d.detach(ctx, project, id)
	if err == nil {
		err = d.Change(ctx, "dump", id, "DELETE FROM @uploads WHERE project = $1 AND id = $2", project, id)
	}
	if err == nil && u.counted {
		err = d.uncount(ctx, project, id, &u)
	}
	return list, err
}

// Backfill implements Store. What was read in the dumps is not known: they have it once they are analysed again.
func (d *DB) Backfill(ctx context.Context, n int) (int, error) {
	type dump struct{ project, id string }
	var list []dump
	var u dump
	var err error
	for _, lacks := range []string{"NOT counted", "counted AND NOT spanned"} {
		if err == nil && len(list) < n {
			err = d.conn.Query(ctx, sqldb.Into([]any{&u.project, &u.id}, func() { list = append(list, u) }), "SELECT project, id FROM @uploads WHERE state = 'done' AND "+lacks+" LIMIT $1", n-len(list))
		}
	}
	found := len(list)
	for len(list) > 0 && err == nil {
		// Some of a project at once: each transaction waits for the disk. Not all: others wait for it.
		n := 1
		for n < min(len(list), backfillAtOnce) && list[n].project == list[0].project {
			n++
		}
		some := list[:n]
		err = d.change(ctx, some[0].project, func(tx *DB) error {
			for _, x := range some {
				if err := tx.backfill(ctx, x.project, x.id); err != nil {
					return err
				}
			}
			return nil
		})
		list = list[n:]
	}
	return found, err
}

// backfillAtOnce is how many dumps are counted later in one transaction.
const backfillAtOnce = 25

func (d *DB) backfill(ctx context.Context, project, id string) error {
	u, err := d.finished(ctx, project, id)
	if errors.Is(err, store.ErrNotFound) || u.spanned {
		return nil
	}
	if err == nil && u.counted {
		return d.backspan(ctx, project, id, &u)
	}
	var annotations map[string]string
	if err == nil {
		annotations, err = annotationsOf(u.annotations)
	}
	if err != nil {
		return err
	}
	release, err := d.count(ctx, project, id, &u, u.group, store.AttributesOf(annotations, nil), nil)
	if err == nil {
		_, err = d.conn.Exec(ctx, "UPDATE @uploads SET release = $1, counted = true, spanned = true WHERE project = $2 AND id = $3 AND state = 'done'", release, project, id)
	}
	return err
}

// Key implements Store.
func (d *DB) Key(ctx context.Context, project string) (key []byte, _ error) {
	var b [32]byte
	rand.Read(b[:]) // does not fail
	if _, err := d.conn.Exec(ctx, "INSERT INTO @keys (project, key) VALUES ($1, $2) ON CONFLICT DO NOTHING", project, b[:]); err != nil {
		return nil, err
	}
	err := sqldb.One(ctx, d.conn, sqldb.To(&key), "SELECT key FROM @keys WHERE project = $1", project)
	return key, err
}
