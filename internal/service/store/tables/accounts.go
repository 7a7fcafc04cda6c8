package tables

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/sqldb"
)

// AddAccount implements Store.
func (d *DB) AddAccount(ctx context.Context, a store.Account) error {
	return d.conn.Tx(ctx, func(conn sqldb.Conn) error {
		n, err := conn.Exec(ctx, `INSERT INTO @accounts (name, password, invitation, invited, created, by, seen, stamp) VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (name) DO NOTHING`,
			a.Name, a.Password, a.Invitation, sqldb.Nanos(a.InvitedUntil), sqldb.Nanos(a.Created), a.By, rand.Text())
		if err == nil && n == 0 {
			err = store.ErrTaken
		}
		if err != nil {
			return err
		}
		return New(conn, d.dialect).setMembers(ctx, &a)
	})
}

// setMembers stores the projects of an account that has none.
func (d *DB) setMembers(ctx context.Context, a *store.Account) error {
	for _, project := range slices.Sorted(maps.Keys(a.Projects)) {
		if _, err := d.conn.Exec(ctx, "INSERT INTO @members (account, project, scopes) VALUES ($1, $2, $3)", a.Name, project, strings.Join(a.Projects[project], ",")); err != nil {
			return err
		}
	}
	return nil
}

// accounts lists those for which a condition holds.
func (d *DB) accounts(ctx context.Context, which string, args ...any) (list []store.Account, _ error) {
	var a store.Account
	var invited, created, seen int64
	var project, scopes *string
	err := d.conn.Query(ctx, sqldb.Into([]any{&a.Name, &a.Password, &a.Invitation, &invited, &created, &a.By, &seen, &a.Stamp, &project, &scopes}, func() {
		if n := len(list); n == 0 || list[n-1].Name != a.Name {
			a.InvitedUntil, a.Created, a.Seen, a.Projects = sqldb.Moment(invited), sqldb.Moment(created), sqldb.Moment(seen), map[string][]string{}
			list = append(list, a)
		}
		if project != nil && scopes != nil {
			list[len(list)-1].Projects[*project] = strings.FieldsFunc(*scopes, func(r rune) bool { return r == ',' })
		}
	}), "SELECT a.name, a.password, a.invitation, a.invited, a.created, a.by, a.seen, a.stamp, m.project, m.scopes FROM @accounts a LEFT JOIN @members m ON m.account = a.name WHERE "+which+" ORDER BY a.name, m.project", args...)
	return list, err
}

// Account implements Store.
func (d *DB) Account(ctx context.Context, name string) (store.Account, error) {
	list, err := d.accounts(ctx, "a.name = $1", name)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Account{}, err
	}
	return list[0], nil
}

// Accounts implements Store.
func (d *DB) Accounts(ctx context.Context, project string) ([]store.Account, error) {
	return d.accounts(ctx, "$1 = '' OR EXISTS (SELECT 1 FROM @members x WHERE x.account = a.name AND x.project = $2)", project, project)
}

// HasAccounts implements Store.
func (d *DB) HasAccounts(ctx context.Context) (some bool, _ error) {
	err := sqldb.One(ctx, d.conn, sqldb.To(&some), "SELECT EXISTS (SELECT 1 FROM @accounts)")
	return some, err
}

// ChangeAccount implements Store. The account's row is locked from its first statement on, so that who logs in comes before it all or after it.
func (d *DB) ChangeAccount(ctx context.Context, name, keep string, change func(*store.Account) error) error {
	return d.conn.Tx(ctx, func(conn sqldb.Conn) error {
		tx := New(conn, d.dialect)
		if err := tx.Change(ctx, "account", name, "UPDATE @accounts SET name = name WHERE name = $1", name); err != nil {
			return err
		}
		before, err := tx.Account(ctx, name)
		if err != nil {
			return err
		}
		a := before
		a.Projects = maps.Clone(before.Projects)
		if err := change(&a); err != nil {
			return err
		}
		if a.Name, a.Stamp = name, before.Stamp; a.Password != before.Password || !maps.EqualFunc(a.Projects, before.Projects, slices.Equal) {
			a.Stamp = rand.Text()
		}
		list := []sqldb.Statement{
			{Query: "DELETE FROM @members WHERE account = $1", Args: []any{name}},
			{Query: "UPDATE @accounts SET password = $1, invitation = $2, invited = $3, by = $4, stamp = $5 WHERE name = $6", Args: []any{a.Password, a.Invitation, sqldb.Nanos(a.InvitedUntil), a.By, a.Stamp, name}},
		}
		if len(a.Projects) == 0 {
			list[1] = sqldb.Statement{Query: "DELETE FROM @accounts WHERE name = $1", Args: []any{name}}
		}
		if a.Stamp != before.Stamp {
			list = append(list, sqldb.Statement{Query: "DELETE FROM @tokens WHERE subject = $1 AND subject <> '' AND id <> $2", Args: []any{store.SubjectOf(name), keep}})
		}
		if err := conn.Batch(ctx, list); err != nil {
			return err
		}
		return tx.setMembers(ctx, &a)
	})
}

// EnterAccount implements Store.
func (d *DB) EnterAccount(ctx context.Context, a *store.Account, t store.Token, replaces string) error {
	return d.conn.Tx(ctx, func(conn sqldb.Conn) error {
		tx := New(conn, d.dialect)
		if err := tx.Change(ctx, "account", a.Name, "UPDATE @accounts SET seen = $1 WHERE name = $2 AND stamp = $3", sqldb.Nanos(t.Created), a.Name, a.Stamp); err != nil {
			return err
		}
		if replaces != "" {
			if err := tx.Change(ctx, "session", replaces, "DELETE FROM @tokens WHERE id = $1 AND subject = $2", replaces, store.SubjectOf(a.Name)); err != nil {
				return err
			}
		}
		return tx.AddSession(ctx, t)
	})
}

// meet remembers a person whom an identity provider knows, in each of the projects, and forgets who did not come for long.
func (d *DB) meet(ctx context.Context, t *store.Token) error {
	for _, project := range append([]string{t.Project}, t.Also...) {
		if err := d.conn.Batch(ctx, []sqldb.Statement{
			{Query: `INSERT INTO @people (project, subject, name, seen) VALUES ($1, $2, $3, $4) ON CONFLICT (project, subject) DO UPDATE SET name = excluded.name, seen = excluded.seen`,
				Args: []any{project, t.Subject, t.Note, sqldb.Nanos(t.Created)}},
			{Query: "DELETE FROM @people WHERE project = $1 AND seen < $2", Args: []any{project, sqldb.Nanos(t.Created.Add(-store.PeopleTime))}},
			{Query: "DELETE FROM @people WHERE project = $1 AND subject NOT IN (SELECT subject FROM @people WHERE project = $2 ORDER BY seen DESC, subject LIMIT $3)", Args: []any{project, project, int64(store.MaxPeople)}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// People implements Store.
func (d *DB) People(ctx context.Context, project string) (list []string, _ error) {
	var name string
	err := d.conn.Query(ctx, sqldb.Into([]any{&name}, func() {
		if !slices.Contains(list, name) { // one name may be of two providers' subjects
			list = append(list, name)
		}
	}), "SELECT name FROM @people WHERE project = $1 ORDER BY seen DESC, subject", project)
	return list, err
}
