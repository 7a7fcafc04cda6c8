package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/ledgertest"
)

// A place is a schema.
type place string

// Open implements ledgertest.Place.
func (p place) Open(ctx context.Context, version string) (ledger.Store, error) {
	pool, err := pgxpool.New(ctx, string(p))
	if err != nil {
		return nil, err
	}
	d, err := Use(ctx, pool, version)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return closer{d, pool}, nil
}

// A closer closes its connections, too.
type closer struct {
	ledger.Store
	pool *pgxpool.Pool
}

func (c closer) Close() error {
	err := c.Store.Close()
	c.pool.Close()
	return err
}

// newSchema makes a schema in a server.
func newSchema(t testing.TB, server *servers.Postgres, name string) place {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), server.Connection())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return place(server.Schema(name))
}

func TestStore(t *testing.T) {
	server := servers.StartPostgres(t)
	n := 0
	ledgertest.Run(t, func(t *testing.T) ledgertest.Place {
		n++
		return newSchema(t, server, fmt.Sprintf("s%d", n))
	})
	t.Run("Migrate", func(t *testing.T) { testMigrate(t, newSchema(t, server, "m")) })
	t.Run("Crash", func(t *testing.T) { testCrash(t, server, newSchema(t, server, "c")) })
}

// testMigrate: several processes may begin at once, a newer schema is refused.
func testMigrate(t *testing.T, s place) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			d, err := s.Open(t.Context(), "v1")
			if err != nil {
				t.Error(err)
				return
			}
			d.Close()
		})
	}
	wg.Wait()
	pool, err := pgxpool.New(t.Context(), string(s))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var rows int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM ledger_schema").Scan(&rows); err != nil || rows != len(schema.Migrations) {
		t.Errorf("%d steps of migrations, %v", rows, err)
	}
	if _, err := pool.Exec(t.Context(), "INSERT INTO ledger_schema VALUES (99)"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "v1"); err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), "postgres on ") {
		t.Errorf("a newer schema: %v", err)
	}
}

// testCrash: what was added is there after the server has crashed, and the store goes on with the new server.
func testCrash(t *testing.T, server *servers.Postgres, s place) {
	d, err := s.Open(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ledgertest.Fill(t, d)
	server.Crash(t)
	if _, err := d.Groups(t.Context(), ledger.Query{}); err == nil || !strings.Contains(err.Error(), "ledger postgres on ") {
		t.Errorf("without a server: %v", err)
	}
	server.Start(t)
	if list, err := d.Groups(t.Context(), ledger.Query{}); err != nil || ledgertest.IDs(list) != "g0*3 g1*2 g2*1" {
		t.Errorf("groups %s, error %v", ledgertest.IDs(list), err)
	}
}

// A connection is refused without its password in the error; TestForeign of package fleet has connection strings.
func TestConnection(t *testing.T) {
	_, err := place("postgres://user:secret@127.0.0.1:1/x?connect_timeout=1").Open(t.Context(), "v1")
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "ledger x on 127.0.0.1: no connection: ") {
		t.Error(err)
	}
}

// BenchmarkLarge measures the questions that pages ask: 100,000 dumps in 10,000 groups. One pool of connections serves them all.
func BenchmarkLarge(b *testing.B) {
	server := servers.StartPostgres(b)
	pool, err := pgxpool.New(b.Context(), server.Connection())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	open := func(b *testing.B) ledger.Store {
		d, err := Use(b.Context(), pool, "v1")
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	ids := ledgertest.Large(b, open(b), 100_000, 10_000)
	if _, err := pool.Exec(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	ledgertest.Bench(b, open, ids)
}

// BenchmarkAdd adds dumps as workers do, 256 at a time.
func BenchmarkAdd(b *testing.B) {
	d, err := place(servers.StartPostgres(b).Connection()).Open(b.Context(), "v1")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	run, _ := d.Begin(b.Context(), "")
	n := 0
	for b.Loop() {
		list := make([]ledger.Dump, 256)
		for i := range list {
			n++
			list[i] = ledgertest.Made(n, n%50, "b")
		}
		if err := d.Add(b.Context(), run.ID, list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "us/dump")
}
