package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/servers"
	engine "github.com/corewalk/corewalk/internal/postgres"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/storetest"
)

func TestStore(t *testing.T) {
	server := servers.StartPostgres(t)
	n := 0
	pool := func(t *testing.T, connection string) *pgxpool.Pool {
		t.Helper()
		p, err := pgxpool.New(t.Context(), connection)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	open := func(t *testing.T) store.Store {
		n++
		name := fmt.Sprint("s", n)
		if _, err := pool(t, server.Connection()).Exec(t.Context(), "CREATE SCHEMA "+name); err != nil {
			t.Fatal(err)
		}
		own := pool(t, server.Schema(name))
		if _, err := Use(t.Context(), own); err != nil { // the first makes the tables
			t.Fatal(err)
		}
		db, err := Use(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	storetest.Run(t, open)
	t.Run("newer", func(t *testing.T) {
		open(t)
		own := pool(t, server.Schema(fmt.Sprint("s", n)))
		if _, err := own.Exec(t.Context(), "INSERT INTO service_schema (version) VALUES (99)"); err != nil {
			t.Fatal(err)
		}
		if _, err := Use(t.Context(), own); err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Error(err)
		}
	})
	t.Run("upgrade", func(t *testing.T) {
		if _, err := pool(t, server.Connection()).Exec(t.Context(), "CREATE SCHEMA before"); err != nil {
			t.Fatal(err)
		}
		own, before := pool(t, server.Schema("before")), schema
		before.Migrations = before.Migrations[:3]
		old, err := engine.Use(t.Context(), own, &before)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Upgrade(t, func(query string) {
			t.Helper()
			if _, err := old.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}, func() store.Store {
			db, err := Use(t.Context(), own)
			if err != nil {
				t.Fatal(err)
			}
			return db
		})
	})
	t.Run("upgrade many", func(t *testing.T) {
		n := 3000
		if fixture.IsLong(t) {
			n = 100_000
		}
		if _, err := pool(t, server.Connection()).Exec(t.Context(), "CREATE SCHEMA many"); err != nil {
			t.Fatal(err)
		}
		own, before := pool(t, server.Schema("many")), schema
		before.Migrations = before.Migrations[:3]
		old, err := engine.Use(t.Context(), own, &before)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(query string) error { _, err := old.Exec(t.Context(), query); return err }
		if err := exec(fmt.Sprintf(`INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, build)
			SELECT 'p', lpad(to_hex(i), 32, '0'), 's', 'core', 1, 1700000000000000000 + i, convert_to('{"ver":"1.' || (i %% 50) || '","channel":"beta","host":"h' || i || '"}', 'UTF8'), 'done', 'g' || (i %% 100), 'b'
			FROM generate_series(0, %d - 1) AS n(i)`, n)); err != nil {
			t.Fatal(err)
		}
		storetest.UpgradeMany(t, n, exec, func() store.Store {
			db, err := Use(t.Context(), own)
			if err != nil {
				t.Fatal(err)
			}
			return db
		})
	})
	for name, upgrade := range map[string]func(*testing.T, func(string) error, func() store.Store){"spanned": storetest.UpgradeSpans, "more": storetest.UpgradeFrames, "service_people": storetest.UpgradeAccounts} {
		t.Run("upgrade "+name, func(t *testing.T) {
			if _, err := pool(t, server.Connection()).Exec(t.Context(), "CREATE SCHEMA "+name); err != nil {
				t.Fatal(err)
			}
			own, before := pool(t, server.Schema(name)), schema
			before.Migrations = before.Migrations[:slices.IndexFunc(before.Migrations, func(m string) bool { return strings.Contains(m, " "+name+" ") })]
			old, err := engine.Use(t.Context(), own, &before)
			if err != nil {
				t.Fatal(err)
			}
			upgrade(t, func(query string) error { _, err := old.Exec(t.Context(), query); return err }, func() store.Store {
				db, err := Use(t.Context(), own)
				if err != nil {
					t.Fatal(err)
				}
				return db
			})
		})
	}
	t.Run("no server", func(t *testing.T) {
		own := pool(t, "postgres://user:secret@127.0.0.1:1/none?connect_timeout=1")
		if _, err := Use(t.Context(), own); err == nil || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	})
}

func BenchmarkStore(b *testing.B) {
	pool, err := pgxpool.New(b.Context(), servers.StartPostgres(b).Connection())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	db, err := Use(b.Context(), pool)
	if err != nil {
		b.Fatal(err)
	}
	storetest.Bench(b, db)
}
