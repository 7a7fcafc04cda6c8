package fleet_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger/ledgertest"
)

var pageDumps = flag.Int("page-dumps", 100_000, "how many dumps a project has in BenchmarkPage")

// What the page asks of a project with many dumps in 10,000 groups, in PostgreSQL: the dumps are those of the benchmark of package service. The ledger has fewer:
// a list asks it for as many rows as there are groups.
func BenchmarkPage(b *testing.B) {
	w := newWorld(b)
	s := w.serves(b.TempDir(), func(c *service.Config) { c.Fresh = time.Second })
	token, _, err := service.NewToken(b.Context(), s.db, "a", []string{store.ScopeRead}, "")
	if err != nil {
		b.Fatal(err)
	}
	ledgertest.Large(b, w.ledger, min(*pageDumps, 100_000), 10_000)
	fillPage(b, w)
	for _, path := range []string{"groups", "groups?has=os:linux", "groups?has=os:linux&has=release:1.8", "groups?has=os:linux&has=channel:beta", "groups?has=session:77", "attributes", "symbols", "releases", "compare?by=release&a=1.1&b=1.2",
		"dumps?has=os:linux", "dumps?has=os:linux&has=gpu:gpu+8", "groups?q=function77", "groups?skip=9000", "groups?build=" + fmt.Sprintf("%040d", 7), "groups/" + fmt.Sprintf("%012x", 5), "dumps", "builds"} {
		b.Run(path[:min(len(path), 40)], func(b *testing.B) {
			before := used(b, w)
			for b.Loop() {
				s.do(token, "GET", "/api/v1/projects/a/"+path, "")
			}
			b.ReportMetric(1000*(used(b, w)-before)/float64(b.N), "processor-ms/op") // a busy machine takes longer
		})
	}
}

// fillPage stores what BenchmarkPage asks for, by statements for all dumps at once. Half of all dumps are of ten bugs, which are the first of the list.
func fillPage(b *testing.B, w *world) {
	one, err := w.pool.Acquire(b.Context()) // it has the functions
	if err != nil {
		b.Fatal(err)
	}
	defer one.Release()
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := one.Exec(b.Context(), strings.ReplaceAll(query, "@", "service_"), args...); err != nil {
			b.Fatal(query, err)
		}
	}
	indexes := func(ready bool) { // they are made at once when all rows are there
		exec("UPDATE pg_index SET indisready = $1, indisvalid = $1 WHERE indrelid IN ('@attributes'::regclass, '@uploads'::regclass)", ready)
	}
	indexes(false)
	exec("CREATE FUNCTION pg_temp.hex(i bigint, w int) RETURNS text AS $$ SELECT lpad(to_hex(i), w, '0') $$ LANGUAGE sql IMMUTABLE")
	exec(`INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, program, build, release, machine, counted, spanned)
		SELECT 'a', pg_temp.hex(i, 32), pg_temp.hex(i, 64), 'core'::bytea, i, $2 - i * 3000000000, '{"channel":"beta"}'::bytea, 'done', pg_temp.hex(CASE i % 2 WHEN 0 THEN 9999 - i / 2 % 10 ELSE i % 10000 END, 12), 'p',
			lpad((i % 200)::text, 40, '0'), '1.' || (i % 50), 'm' || (i % 5000), true, true FROM generate_series(0, $1::bigint - 1) AS i`, *pageDumps, time.Now().UnixNano())
	for name, value := range map[string]string{"arch": "'x86-64'", "channel": "(ARRAY['nightly', 'beta', 'release'])[1 + i % 3]", "cpu": "'cpu ' || i % 40", "gpu": "'gpu ' || i % 300", "module": "'libc.so.6 ' || i % 25",
		"os": "CASE i % 2 WHEN 0 THEN 'linux' ELSE 'windows' END", "os_version": "'10.' || i % 30", "release": "'1.' || i % 50", "session": "i::text", store.AttrLacks: "'libc.so.6 buildid/' || pg_temp.hex(i % 900, 40) || '/debuginfo'"} {
		exec(`INSERT INTO @attributes (project, id, name, value, received, grp, counted) SELECT project, id, '` + name + `', ` + value + `, received, grp, '` + name + `' <> 'session' OR i < 1000 FROM (SELECT *, size AS i FROM @uploads) u`)
	}
	indexes(true)
	exec("REINDEX TABLE @uploads")
	exec("REINDEX TABLE @attributes")
	const counts = "INSERT INTO @counts (project, grp, name, value, n) "
	exec(counts + "SELECT project, grp, name, value, count(*) FROM @attributes WHERE counted GROUP BY project, grp, name, value")
	exec(counts + "SELECT project, '', name, value, sum(n) FROM @counts GROUP BY project, name, value")
	exec(counts + "SELECT project, grp, '', 'dump', count(*) FROM @uploads GROUP BY project, grp")
	exec(counts + "SELECT project, '', '', 'dump', count(*) FROM @uploads GROUP BY project")
	exec("INSERT INTO @affected SELECT DISTINCT project, grp, 'machine', machine FROM @uploads")
	exec(counts + "SELECT project, grp, '', kind, count(*) FROM @affected GROUP BY project, grp, kind")
	exec("INSERT INTO @names SELECT project, name, count(*) FROM @counts WHERE grp = '' AND name <> '' GROUP BY project, name")
	exec("INSERT INTO @releases SELECT project, release, min(received), max(received) FROM @uploads GROUP BY project, release")
	for _, name := range []string{"build", "release"} {
		const of = " SELECT project, %s, '%s', %[2]s, count(*), min(received), max(received), max(program) FROM @uploads GROUP BY project, %[3]s %[2]s"
		exec("INSERT INTO @spans" + fmt.Sprintf(of, "grp", name, "grp,"))
		exec("INSERT INTO @spans" + fmt.Sprintf(of, "''", name, ""))
	}
	exec("INSERT INTO @days SELECT project, grp, received / 86400000000000, count(*) FROM @uploads GROUP BY project, grp, received / 86400000000000")
	exec("ANALYZE") // as the server does by itself in time
}

// used is how much processor time this process and those of the server have taken, in seconds.
func used(b *testing.B, w *world) (seconds float64) {
	var backend int
	if err := w.pool.QueryRow(b.Context(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		b.Fatal(err)
	}
	server := processorOf(backend).parent
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range processes {
		pid, _ := strconv.Atoi(filepath.Base(name))
		switch p := processorOf(pid); {
		case pid == server:
			seconds += p.own + p.ended
		case pid == os.Getpid(), p.parent == server:
			seconds += p.own
		}
	}
	return seconds
}

// A taken is the processor time of a process, and of its children that have ended, in seconds.
type taken struct {
	parent     int
	own, ended float64
}

func processorOf(pid int) (p taken) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(after)
	if len(f) < 15 {
		return p
	}
	ticks := func(i int) float64 { n, _ := strconv.ParseFloat(f[i], 64); return n / 100 }
	p.parent, _ = strconv.Atoi(f[1])
	p.own, p.ended = ticks(11)+ticks(12), ticks(13)+ticks(14)
	return p
}
