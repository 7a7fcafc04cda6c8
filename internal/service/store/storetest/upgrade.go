package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// UpgradeMany continues with a database of n dumps that a program of schema version 1 (SQLite) or 3 (PostgreSQL) has written: of project p, done, in groups
// g0 to g99, each with the annotation ver=1.0 to 1.49. exec are statements of that program, which goes on while the database is upgraded, and while its dumps
// are counted; so do those who use the new one.
func UpgradeMany(t *testing.T, n int, exec func(query string) error, open func() store.Store) {
	ctx := t.Context()
	over := make(chan struct{})
	var old sync.WaitGroup
	added, slowest := 0, time.Duration(0)
	old.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			begin := time.Now()
			err := exec(fmt.Sprintf(`INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, build) VALUES
				('p', 'old%d', 's', 'n', 1, 1700000000000000000, '{"ver":"2.0"}', 'done', 'g0', 'b1')`, added))
			if err != nil {
				t.Error(err)
				return
			}
			added++
			slowest = max(slowest, time.Since(begin))
		}
	})
	begin := time.Now()
	db := open()
	t.Logf("%d dumps: the database is upgraded after %.1f s", n, time.Since(begin).Seconds())
	counting := make(chan error, 1)
	begin = time.Now()
	go func() {
		for {
			if done, err := db.Backfill(ctx, 200); err != nil || done == 0 {
				counting <- err
				return
			}
		}
	}()
	var waits []time.Duration
	ours := 0
	for busy := true; busy; {
		select {
		case err := <-counting:
			if err != nil {
				t.Fatal(err)
			}
			busy = false
		case <-time.After(20 * time.Millisecond):
		}
		from := time.Now()
		id := fmt.Sprint("new", ours)
		_, err := db.AddUpload(ctx, store.Upload{Project: "p", ID: id, SHA256: "s", Received: time.Unix(1_700_000_000, 0)})
		if err == nil {
			err = db.Finish(ctx, "p", id, store.Result{Group: "g0", Attributes: attrs("release=3.0")})
		}
		if err == nil {
			_, err = db.Uploads(ctx, "p", store.Query{Group: "g7", Limit: 50})
		}
		if err != nil {
			t.Fatal(err)
		}
		ours++
		waits = append(waits, time.Since(from))
	}
	slices.Sort(waits)
	counted := time.Since(begin)
	close(over)
	old.Wait()
	t.Logf("they are counted after %.1f s; meanwhile a dump and a list took %s, and %s at most; the older program waited %s at most", counted.Seconds(), waits[len(waits)/2], waits[len(waits)-1], slowest)
	for { // what the older program has finished since
		if done, err := db.Backfill(ctx, 200); err != nil {
			t.Fatal(err)
		} else if done == 0 {
			break
		}
	}
	// Each dump is counted once.
	counts := map[string]int{}
	list, err := db.Releases(ctx, "p", "")
	for _, r := range list {
		counts[r.Release] = r.Count
	}
	for i := range 50 {
		want := n / 50
		if i < n%50 {
			want++
		}
		if got := counts[fmt.Sprint("1.", i)]; got != want {
			t.Errorf("release 1.%d: %d dumps, want %d", i, got, want)
		}
	}
	if counts["2.0"] != added || counts["3.0"] != ours || err != nil {
		t.Errorf("%d of %d dumps of the older program, %d of %d of the new one: %v", counts["2.0"], added, counts["3.0"], ours, err)
	}
	groups, _, err := db.Having(ctx, "p", attrs("release=1.7"), n)
	sum := 0
	for _, c := range groups {
		sum += c
	}
	if sum != counts["1.7"] || err != nil {
		t.Errorf("%d in groups: %v", sum, errors.Join(err))
	}
}

// UpgradeSpans continues with a database of the schema before builds, releases and days of groups were counted. old are statements of its program, which goes on
// while and after open upgrades the database. What it analyses then is counted once, too.
func UpgradeSpans(t *testing.T, old func(query string) error, open func() store.Store) {
	ctx := t.Context()
	run := func(queries ...string) {
		t.Helper()
		for _, query := range queries {
			if err := old(query); err != nil {
				t.Fatal(err)
			}
		}
	}
	insert := func(id, more string) string {
		return fmt.Sprintf("INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, build, release, program, counted) VALUES ('p', '%s', 's', 'n', 1, 1700000000000000000, '{}', %s)", id, more)
	}
	attribute := func(id string) string {
		return "INSERT INTO @attributes (project, id, name, value, received, grp, counted) VALUES ('p', '" + id + "', 'release', '1.0', 1700000000000000000, 'g1', true)"
	}
	const waits, done = "'waiting', '', '', '', '', false", "'done', 'g1', 'b1', '1.0', 'p', true"
	run(insert("before", done), attribute("before"), insert("waits", waits))
	db := open()
	run("UPDATE @uploads SET state = 'done', grp = 'g1', build = 'b1', release = '1.0', program = 'p', counted = true WHERE id = 'waits'", attribute("waits"), insert("after", done), attribute("after"))
	if err := db.NameBuild(ctx, "p", "b2", "1.0"); err != nil { // counts the release anew
		t.Fatal(err)
	}
	if n, err := db.Backfill(ctx, 100); n != 2 || err != nil {
		t.Errorf("%d are counted: %v", n, err)
	}
	spansAre(t, db, "upgraded")
	for _, id := range []string{"before", "waits", "after"} {
		if _, err := db.Remove(ctx, "p", id); err != nil {
			t.Fatal(err)
		}
		spansAre(t, db, "removed "+id)
	}
}

// UpgradeFrames continues with a database of the schema before frames were counted. old are statements of its program, which goes on: a dump of it counts as one frame.
func UpgradeFrames(t *testing.T, old func(query string) error, open func() store.Store) {
	ctx := t.Context()
	count := func(id string) {
		t.Helper()
		for _, query := range []string{
			"INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, counted, spanned) VALUES ('p', '" + id + "', 's', 'n', 1, 1700000000000000000, '{}', 'done', 'g1', true, true)",
			"INSERT INTO @attributes (project, id, name, value, received, grp, counted) VALUES ('p', '" + id + "', 'lacks', 'libpay one', 1700000000000000000, 'g1', true)",
			"INSERT INTO @counts AS c (project, grp, name, value, n) VALUES ('p', '', 'lacks', 'libpay one', 1) ON CONFLICT (project, grp, name, value) DO UPDATE SET n = c.n + excluded.n",
		} {
			if err := old(query); err != nil {
				t.Fatal(err)
			}
		}
	}
	count("before")
	db := open()
	finish(t, db, "new", "g1", "b1", time.Unix(1_700_000_000, 0), "lacks=libpay one 5")
	count("after")
	check := func(when, want string) {
		t.Helper()
		list, _, err := db.Lacking(ctx, "p", 2)
		same(t, when, list, err, want)
	}
	check("upgraded", "[{libpay one 3 7}]")
	for _, x := range [][2]string{{"before", "[{libpay one 2 6}]"}, {"new", "[{libpay one 1 1}]"}, {"after", "[]"}} {
		if _, err := db.Remove(ctx, "p", x[0]); err != nil {
			t.Fatal(err)
		}
		check("without "+x[0], x[1])
	}
}
