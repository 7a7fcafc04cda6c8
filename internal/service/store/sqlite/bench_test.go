package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store/storetest"
	engine "github.com/corewalk/corewalk/internal/sqlite"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, open(b)) }

// What it takes until a database of the first version, with 100,000 dumps, can be used, and until its dumps are counted.
func BenchmarkUpgrade(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "service.db")
		before := schema
		before.Migrations = before.Migrations[:1]
		old, err := engine.Open(b.Context(), path, &before)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := old.Exec(b.Context(), `INSERT INTO uploads (project, id, sha256, name, size, received, annotations, state, grp, build)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
			SELECT 'p', printf('%032x', i), 's', 'core', 1, i * 1000000000, '{"ver":"1.' || (i % 50) || '","channel":"beta","gpu":"x' || (i % 300) || '","host":"h' || i || '"}', 'done', printf('%012x', i % 10000), 'b' FROM n`); err != nil {
			b.Fatal(err)
		}
		old.Close()
		start := time.Now()
		db, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/upgrade")
		start = time.Now()
		for total := 0; ; {
			n, err := db.Backfill(b.Context(), 200)
			if err != nil {
				b.Fatal(err)
			}
			if total += n; n == 0 || testing.Short() && total >= 2000 {
				b.ReportMetric(float64(time.Since(start).Microseconds())/float64(total), "µs/dump-counted")
				break
			}
		}
		db.Close()
	}
}
