package service_test

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/ledgertest"
)

// How many dumps BenchmarkPage has, and where they stay: to store a million takes half an hour.
var (
	pageDumps = flag.Int("page-dumps", 100_000, "how many dumps a project has in BenchmarkPage")
	pageDir   = flag.String("page-dir", "", "keep the project of BenchmarkPage in this directory, and use what is there")
)

// What the page asks of a project with many dumps in 10,000 groups.
func BenchmarkPage(b *testing.B) {
	var to ledger.Store
	dir := cmp.Or(*pageDir, b.TempDir())
	_, err := os.Stat(filepath.Join(dir, "full"))
	full := err == nil
	w := startIn(b, dir, func(c *service.Config) {
		c.Fresh = time.Second // as it is by default
		open := c.Ledger
		c.Ledger = func(ctx context.Context, project string) (ledger.Store, error) {
			l, err := open(ctx, project)
			to = l
			return l, err
		}
	})
	w.want(200, nil, "GET", "/api/v1/projects/a/groups", "")
	if !full {
		fillPage(b, w, to)
		if err := os.WriteFile(filepath.Join(dir, "full"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	w.want(200, nil, "GET", "/api/v1/projects/a/groups", "")
	for _, path := range []string{"groups", "groups?has=os:linux", "groups?has=os:linux&has=release:1.8", "groups?has=os:linux&has=channel:beta", "groups?has=session:77", "attributes", "releases", "compare?by=release&a=1.1&b=1.2", "dumps?has=os:linux", "dumps?has=os:linux&has=gpu:gpu+8", "groups?q=function77", "groups?skip=9000", "groups?build=" + fmt.Sprintf("%040d", 7), "groups/" + fmt.Sprintf("%012x", 5), "dumps", "builds"} {
		b.Run(path[:min(len(path), 40)], func(b *testing.B) {
			before := used(w)
			for b.Loop() {
				status, _, _ := w.do(w.token["a all"], "GET", "/api/v1/projects/a/"+path, nil)
				if status != 200 {
					b.Fatal(status)
				}
			}
			b.ReportMetric(1000*(used(w)-before)/float64(b.N), "processor-ms/op") // a busy machine takes longer
		})
	}
}

// used is how much processor time the process has taken, in seconds; the client's is in it.
func used(w *world) (seconds float64) {
	_, text, _ := w.do("", "GET", "/metrics", nil)
	_, after, _ := strings.Cut(text, "\nprocess_cpu_seconds_total ")
	fmt.Sscan(after, &seconds)
	return seconds
}

// fillPage stores what BenchmarkPage asks for, by statements for all dumps at once: a service takes hours for a million.
func fillPage(b *testing.B, w *world, to ledger.Store) {
	n := *pageDumps
	ledgertest.Large(b, to, n, 10_000)
	began := time.Now()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "service.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec("PRAGMA busy_timeout = 60000")
	// Half of all dumps are of ten bugs, which are the first of the list. The size has the number.
	exec(`INSERT INTO uploads (project, id, sha256, name, size, received, annotations, state, grp, program, build, release, machine, counted, spanned)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $1 - 1)
		SELECT 'a', printf('%032x', i), printf('%064x', i), 'core', i, $2 - i * 3000000000, '{"channel":"beta"}', 'done', printf('%012x', CASE i % 2 WHEN 0 THEN 9999 - i / 2 % 10 ELSE i % 10000 END), 'p', printf('%040d', i % 200), '1.' || (i % 50), 'm' || (i % 5000), 1, 1 FROM n`,
		n, time.Now().UnixNano())
	for name, value := range map[string]string{"arch": "'x86-64'", "channel": "substr('nightlybeta   release', 1 + i % 3 * 7, 7)", "cpu": "'cpu ' || i % 40", "gpu": "'gpu ' || i % 300", "module": "'libc.so.6 ' || i % 25",
		"os": "CASE i % 2 WHEN 0 THEN 'linux' ELSE 'windows' END", "os_version": "'10.' || i % 30", "release": "'1.' || i % 50", "session": "i"} {
		exec(`INSERT INTO attributes (project, id, name, value, received, grp, counted) SELECT project, id, $1, trim(`+value+`), received, grp, $1 <> 'session' OR i < 1000 FROM (SELECT *, size AS i FROM uploads)`, name)
	}
	exec("INSERT INTO counts (project, grp, name, value, n) SELECT project, grp, name, value, count(*) FROM attributes WHERE counted GROUP BY project, grp, name, value")
	exec("INSERT INTO counts (project, grp, name, value, n) SELECT project, '', name, value, sum(n) FROM counts GROUP BY project, name, value")
	exec("INSERT INTO counts (project, grp, name, value, n) SELECT project, grp, '', 'dump', count(*) FROM uploads GROUP BY project, grp")
	exec("INSERT INTO counts (project, grp, name, value, n) SELECT project, '', '', 'dump', count(*) FROM uploads GROUP BY project")
	exec("INSERT INTO affected SELECT DISTINCT project, grp, $1, machine FROM uploads", store.IDMachine)
	exec("INSERT INTO counts (project, grp, name, value, n) SELECT project, grp, '', kind, count(*) FROM affected GROUP BY project, grp, kind")
	exec("INSERT INTO names SELECT project, name, count(*) FROM counts WHERE grp = '' AND name <> '' GROUP BY project, name")
	exec("INSERT INTO releases SELECT project, release, min(received), max(received) FROM uploads GROUP BY project, release")
	for _, name := range []string{"build", "release"} {
		of := " SELECT project, %s, '" + name + "', " + name + ", count(*), min(received), max(received), max(program) FROM uploads GROUP BY 1, 2, " + name
		exec("INSERT INTO spans" + strings.ReplaceAll(of, "%s", "grp"))
		exec("INSERT INTO spans" + strings.ReplaceAll(of, "%s", "''"))
	}
	exec("INSERT INTO days SELECT project, grp, received / 86400000000000, count(*) FROM uploads GROUP BY project, grp, received / 86400000000000")
	for i := range 20 {
		if err := w.db.Decide(b.Context(), "a", fmt.Sprintf("%012x", i), store.Decision{State: store.Fixed, Release: fmt.Sprint("1.", i), At: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("stored in %v", time.Since(began))
}

// zeros is as large as a dump may be.
type zeros struct{ left int64 }

func (z *zeros) Read(b []byte) (int, error) {
	n := int(min(int64(len(b)), z.left))
	z.left -= int64(n)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// An upload of 1 GiB takes as much memory as one of 1 MiB.
func BenchmarkUpload(b *testing.B) {
	w := start(b, func(c *service.Config) { c.MaxUpload = 2 << 30 })
	for _, size := range []int64{1 << 20, 1 << 30} {
		b.Run(fmt.Sprint(size>>20, "MiB"), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				if status, text, _ := w.do(w.token["a upload"], "POST", "/api/v1/projects/a/dumps", &zeros{size}); status != 202 {
					b.Fatal(status, text)
				}
			}
		})
	}
}
