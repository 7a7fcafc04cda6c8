package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// finish adds a dump that is done. Its attributes are NAME=VALUE; a group "" is a fault.
func finish(t *testing.T, db store.Store, id, group, build string, at time.Time, attributes ...string) {
	t.Helper()
	finishIn(t, db, "p", id, group, build, at, attributes...)
}

func finishIn(t *testing.T, db store.Store, project, id, group, build string, at time.Time, attributes ...string) {
	t.Helper()
	u := store.Upload{ID: id, Project: project, Received: at}
	for _, a := range attributes {
		if who, ok := strings.CutPrefix(a, "user:"); ok {
			u.User = who
		}
	}
	if _, err := db.AddUpload(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	againIn(t, db, project, id, group, build, attributes...)
}

func again(t *testing.T, db store.Store, id, group, build string, attributes ...string) {
	t.Helper()
	againIn(t, db, "p", id, group, build, attributes...)
}

func againIn(t *testing.T, db store.Store, project, id, group, build string, attributes ...string) {
	t.Helper()
	r := store.Result{Group: group, Build: build}
	for _, a := range attributes {
		if name, value, ok := strings.Cut(a, "="); ok && name == store.AttrLacks { // NAME PATH FRAMES
			i := strings.LastIndexByte(value, ' ')
			n, err := strconv.Atoi(value[i+1:])
			if err != nil {
				t.Fatal(err)
			}
			value = value[:i]
			r.Needed = map[string]int{value[strings.LastIndexByte(value, ' ')+1:]: n}
			r.Attributes = append(r.Attributes, store.Attribute{Name: name, Value: value})
		} else if ok {
			r.Attributes = append(r.Attributes, store.Attribute{Name: name, Value: value})
		}
	}
	if err := db.Finish(t.Context(), project, id, r); err != nil {
		t.Fatal(err)
	}
}

// Results of several dumps are stored at once. One that was removed meanwhile keeps none of the others.
func testSeveral(t *testing.T, db store.Store) {
	ctx := t.Context()
	var list []store.Finished
	for _, id := range []string{"s1", "s2", "s3"} {
		add(t, db, "p", id)
		list = append(list, store.Finished{ID: id, Result: store.Result{Group: "g", Build: "b", Attributes: []store.Attribute{{Name: "os", Value: "x"}}}})
	}
	if _, err := db.Remove(ctx, "p", "s2"); err != nil {
		t.Fatal(err)
	}
	if err := db.FinishAll(ctx, "p", list); err != nil {
		t.Fatal(err)
	}
	if a, c := state(t, db, "p", "s1"), state(t, db, "p", "s3"); a != "done false" || c != "done false" {
		t.Error(a, c)
	}
	shares, err := db.Shares(ctx, "p", "g", 10)
	if err != nil || shares.Here != 2 {
		t.Errorf("%+v %v", shares, err)
	}
	if err := db.FinishAll(ctx, "p", nil); err != nil {
		t.Error(err)
	}
}

// same compares what a store answers with a text.
func same(t *testing.T, what string, got any, err error, want string) {
	t.Helper()
	if text := fmt.Sprint(got); err != nil || text != want {
		t.Errorf("%s: %s, want %s, %v", what, text, want, err)
	}
}

func attrs(list ...string) (out []store.Attribute) {
	for _, a := range list {
		name, value, _ := strings.Cut(a, "=")
		out = append(out, store.Attribute{Name: name, Value: value})
	}
	return out
}

// Dumps are counted by their attributes as they are finished, finished again, and removed.
func testCounts(t *testing.T, db store.Store) {
	ctx := t.Context()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	finish(t, db, "a1", "g1", "b1", at, "release=1.2", "os=linux", "user:u1")
	finish(t, db, "a2", "g1", "b2", at.Add(time.Hour), "release=1.3", "os=linux", "user:u1")
	finish(t, db, "a3", "g1", "b2", at.Add(25*time.Hour), "release=1.3", "os=windows", "user:u2")
	finish(t, db, "a4", "g2", "b2", at.Add(26*time.Hour), "release=1.3", "os=linux")
	finish(t, db, "a5", "", "", at.Add(27*time.Hour), "os=linux")
	check := func(when, facets, os, both, list string) {
		t.Helper()
		f, err := db.Facets(ctx, "p", 10)
		same(t, when+": facets", f, err, facets)
		h, _, err := db.Having(ctx, "p", attrs("os=linux"), 1000)
		same(t, when+": one", h, err, os)
		h, _, err = db.Having(ctx, "p", attrs("os=linux", "release=1.3"), 1000)
		same(t, when+": two", h, err, both)
		for _, has := range [][]store.Attribute{attrs("os=linux", "release=1.3"), attrs("release=1.3", "os=linux")} {
			u, err := db.Uploads(ctx, "p", store.Query{Has: has})
			var ids []string
			for i := range u {
				ids = append(ids, u[i].ID+" "+u[i].Release)
			}
			same(t, when+": list", ids, err, list)
		}
	}
	check("all", "[{os [{linux 4} {windows 1}] 2} {release [{1.3 3} {1.2 1}] 2}]", "map[g1:2 g2:1]", "map[g1:1 g2:1]", "[a4 1.3 a2 1.3]")
	for most, want := range map[int]string{4: "map[g1:1 g2:1] true", 3: "map[g1:1 g2:1] true", 2: "map[g2:1] false"} { // the newest of those with the rarest
		h, all, err := db.Having(ctx, "p", attrs("os=linux", "release=1.3"), most)
		same(t, fmt.Sprint("the newest ", most), fmt.Sprint(h, all), err, want)
	}
	u, err := db.Uploads(ctx, "p", store.Query{Has: attrs("os=linux"), Group: "g1", Before: at.Add(time.Hour), State: store.Done})
	same(t, "a page", len(u), err, "1")
	f, err := db.Facets(ctx, "p", 1)
	same(t, "one of each", f, err, "[{os [{linux 4}] 2} {release [{1.3 3}] 2}]")
	n, err := db.Shared(ctx, "p", "release", []string{"1.2", "1.3"})
	same(t, "shared", n, err, "map[g1:[1 2] g2:[0 1]]")
	s, err := db.Shares(ctx, "p", "g1", 3)
	same(t, "shares", s, err, "{[{{os linux} 2 4} {{release 1.3} 2 3} {{os windows} 1 1}] 3 5}")
	a, err := db.Affected(ctx, "p", []string{"g1", "g2"})
	same(t, "users", a, err, "map[g1:map[user:2]]")
	list, err := db.Attributes(ctx, "p", "a1")
	same(t, "attributes", list, err, "[{os linux} {release 1.2}]")
	r, err := db.Releases(ctx, "p", "")
	if err != nil || len(r) != 2 || r[0].Release != "1.3" || r[0].Count != 3 || !r[0].First.Equal(at.Add(time.Hour)) || !r[0].Last.Equal(at.Add(26*time.Hour)) {
		t.Error(r, err)
	}
	if r, err = db.Releases(ctx, "p", "g1"); err != nil || len(r) != 2 || r[0].Count != 2 || !r[0].Last.Equal(at.Add(25*time.Hour)) {
		t.Error(r, err)
	}
	of := func(when, want string) {
		t.Helper()
		lists, err := db.ReleasesOf(ctx, "p", []string{"g1", "g2", "g3"})
		for _, l := range lists {
			slices.Sort(l)
		}
		same(t, when+": releases of groups", lists, err, want)
	}
	of("all", "map[g1:[1.2 1.3] g2:[1.3]]")
	days, err := db.ReleaseDays(ctx, "p", "g1", at.Truncate(24*time.Hour))
	same(t, "days", days, err, "map[1.2:[{2026-03-01 00:00:00 +0000 UTC 1}] 1.3:[{2026-03-01 00:00:00 +0000 UTC 1} {2026-03-02 00:00:00 +0000 UTC 1}]]")

	again(t, db, "a4", "g1", "b2", "release=1.2", "os=linux", "user:u1") // its symbols came
	check("again", "[{os [{linux 4} {windows 1}] 2} {release [{1.2 2} {1.3 2}] 2}]", "map[g1:3]", "map[g1:1]", "[a2 1.3]")
	if _, err := db.Remove(ctx, "p", "a3"); err != nil {
		t.Fatal(err)
	}
	check("removed", "[{os [{linux 4}] 1} {release [{1.2 2} {1.3 1}] 2}]", "map[g1:3]", "map[g1:1]", "[a2 1.3]")
	if l, err := db.Forget(ctx, "p", store.Retention{After: at.Add(48 * time.Hour)}, 10); err != nil || len(l) != 4 {
		t.Fatal(l, err)
	}
	of("forgotten", "map[]")
	check("forgotten", "[]", "map[]", "map[]", "[]")
	if r, err := db.Releases(ctx, "p", ""); err != nil || len(r) != 2 || r[0].Count != 0 || r[0].First.IsZero() { // it is known what came after what
		t.Error(r, err)
	}
	a, err = db.Affected(ctx, "p", []string{"g1"})
	same(t, "users", a, err, "map[g1:map[user:2]]")
}

// Files that are lacking are counted by the frames that needed them, as dumps are finished, finished again, moved and removed.
func testLacking(t *testing.T, db store.Store) {
	ctx, at := t.Context(), time.Unix(1_700_000_000, 0)
	check := func(when, want string) {
		t.Helper()
		list, known, err := db.Lacking(ctx, "p", 2)
		same(t, when, fmt.Sprint(list, known), err, want)
	}
	check("nothing", "[] 0")
	finish(t, db, "a1", "g1", "b1", at, "lacks=libpay one 5")
	finish(t, db, "a2", "g2", "b1", at, "lacks=libpay one 3")
	for _, id := range []string{"a3", "a4", "a5"} {
		finish(t, db, id, "g1", "b1", at, "lacks=libtax two 1")
	}
	finish(t, db, "a6", "g1", "b1", at, "lacks=main three 0")
	finishIn(t, db, "q", "a1", "g1", "b1", at, "lacks=main three 9")
	check("all", "[{libpay one 2 8} {libtax two 3 3}] 3")
	if err := db.Merge(ctx, "p", "g2", "g1"); err != nil {
		t.Fatal(err)
	}
	check("merged", "[{libpay one 2 8} {libtax two 3 3}] 3")
	again(t, db, "a1", "g1", "b1") // its symbols came
	again(t, db, "a3", "g1", "b1", "lacks=libtax two 4")
	check("again", "[{libtax two 3 6} {libpay one 1 3}] 3")
	if _, err := db.Remove(ctx, "p", "a3"); err != nil {
		t.Fatal(err)
	}
	check("removed", "[{libpay one 1 3} {libtax two 2 2}] 3")
	if _, err := db.Remove(ctx, "p", "a2"); err != nil {
		t.Fatal(err)
	}
	check("the last", "[{libtax two 2 2} {main three 1 0}] 2")
}

// Builds have names: their dumps are of that release, those before and those after, unless they say another.
func testBuildNames(t *testing.T, db store.Store) {
	ctx := t.Context()
	if err := db.AddToken(ctx, store.Token{ID: "t", Project: "p", Scopes: []string{"read"}}); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	finish(t, db, "a1", "g1", "b1", at)
	finish(t, db, "a2", "g2", "b1", at, "release=0.9")
	finish(t, db, "a3", "g1", "b2", at)
	releases := func(want string) {
		t.Helper()
		f, err := db.Facets(ctx, "p", 10)
		same(t, "facets", f, err, want)
	}
	if err := db.NameBuild(ctx, "p", "b1", "1.2"); err != nil {
		t.Fatal(err)
	}
	releases("[{release [{0.9 1} {1.2 1}] 2}]")
	finish(t, db, "a4", "g1", "b1", at.Add(time.Hour))
	releases("[{release [{1.2 2} {0.9 1}] 2}]")
	if err := db.NameBuild(ctx, "p", "b1", "1.2.1"); err != nil {
		t.Fatal(err)
	}
	releases("[{release [{1.2.1 2} {0.9 1}] 2}]")
	r, err := db.Releases(ctx, "p", "g1")
	if err != nil || len(r) != 1 || r[0].Release != "1.2.1" || r[0].Count != 2 {
		t.Error(r, err)
	}
	if err := db.NameBuild(ctx, "", "b2", "2.0"); err != nil { // of all projects
		t.Fatal(err)
	}
	if err := db.NameBuild(ctx, "", "b1", "3.0"); err != nil { // the project's own name stays
		t.Fatal(err)
	}
	releases("[{release [{1.2.1 2} {0.9 1} {2.0 1}] 3}]")
	finish(t, db, "a5", "g1", "b1", at.Add(time.Hour))
	finish(t, db, "a6", "g1", "b2", at.Add(time.Hour))
	releases("[{release [{1.2.1 3} {2.0 2} {0.9 1}] 3}]")
	names, err := db.BuildNames(ctx, "p")
	same(t, "names", names, err, "map[b1:1.2.1 b2:2.0]")
	if err := db.Announce(ctx, "p", "4.0"); err != nil {
		t.Fatal(err)
	}
	all, err := db.Releases(ctx, "p", "")
	if i := slices.IndexFunc(all, func(r store.Release) bool { return r.Release == "4.0" }); err != nil || i < 0 || !all[i].First.IsZero() || all[i].Count != 0 {
		t.Error(all, err)
	}
	key, err := db.Key(ctx, "p")
	again, err2 := db.Key(ctx, "p")
	other, err3 := db.Key(ctx, "q")
	if err := errors.Join(err, err2, err3); err != nil || len(key) != 32 || !reflect.DeepEqual(key, again) || reflect.DeepEqual(key, other) {
		t.Error(key, again, other, err)
	}
}

// Whoever sends dumps does not make the counts grow without end: too many values and names are not counted. Dumps are still found by them.
func testManyValues(t *testing.T, db store.Store) {
	ctx, at := t.Context(), time.Unix(1_700_000_000, 0)
	for i := range store.MaxCountedValues/40 + 2 {
		var list []string
		for k := range 40 {
			list = append(list, fmt.Sprint("session=", 40*i+k))
		}
		finish(t, db, fmt.Sprintf("a%04d", i), "g1", "", at, append(list, fmt.Sprint("name", i%(store.MaxCountedNames+2), "=v"))...)
	}
	f, err := db.Facets(ctx, "p", 5)
	i := slices.IndexFunc(f, func(f store.Facet) bool { return f.Name == "session" })
	if err != nil || i < 0 || f[i].Known != store.MaxCountedValues || len(f[i].Values) != 5 {
		t.Errorf("%+v, %v", f, err)
	}
	last := fmt.Sprint("session=", store.MaxCountedValues+41)
	h, _, err := db.Having(ctx, "p", attrs(last), 1000)
	same(t, "one that is not counted", h, err, "map[g1:1]")
	h, _, err = db.Having(ctx, "p", attrs("session=1", "session=2"), 1000)
	same(t, "both", h, err, "map[g1:1]")
	h, _, err = db.Having(ctx, "p", attrs("session=1", "session=50"), 1000)
	same(t, "of two dumps", h, err, "map[]")
	for i := range store.MaxCountedNames + 5 {
		finish(t, db, fmt.Sprintf("n%04d", i), "g1", "", at, fmt.Sprintf("other%d=v", i))
	}
	if f, err := db.Facets(ctx, "p", 1); err != nil || len(f) != store.MaxCountedNames {
		t.Errorf("%d names, %v", len(f), err)
	}
	for i := range store.MaxCountedValues/40 + 2 { // and they are all taken out again
		if _, err := db.Remove(ctx, "p", fmt.Sprintf("a%04d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range f {
		if strings.HasPrefix(x.Name, "other") {
			t.Errorf("%s was counted", x.Name)
		}
	}
	if f, err := db.Facets(ctx, "p", 5); err != nil || slices.ContainsFunc(f, func(f store.Facet) bool { return f.Name == "session" }) {
		t.Errorf("%+v, %v", f, err)
	}
	finish(t, db, "z", "g1", "", at, "session=new")
	if f, err := db.Facets(ctx, "p", 5); err != nil || !slices.ContainsFunc(f, func(f store.Facet) bool { return f.Name == "session" && f.Known == 1 }) {
		t.Errorf("%+v, %v", f, err)
	}
}

// Upgrade continues with a database that a program of schema version 1 (SQLite) or 3 (PostgreSQL) has written, and still writes: exec are its statements.
func Upgrade(t *testing.T, exec func(query string), open func() store.Store) {
	ctx := t.Context()
	old := func(id, state, group string) {
		exec(fmt.Sprintf(`INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, build) VALUES
			('p', '%s', 's', 'n', 1, 1700000000000000000, '{"ver":"1.2","os":"linux","guid":"x"}', '%s', '%s', 'b1')`, id, state, group))
	}
	old("a1", "done", "g1")
	old("a2", "waiting", "")
	exec(`INSERT INTO @uploads (project, id, sha256, name, size, received, annotations, state, grp, build) VALUES ('q', 'a1', 's', 'n', 1, 1700000000000000000, '{}', 'done', 'g1', 'b1')`)
	exec("INSERT INTO @decisions (project, grp, state, build, at, by) VALUES ('p', 'g1', 'fixed', 'b1', 5, 'me')")
	db := open()
	if d, err := db.Decisions(ctx, "p"); err != nil || d["g1"].Build != "b1" || d["g1"].Release != "" {
		t.Error(d, err)
	}
	again(t, db, "a2", "g1", "b1", "release=1.3")
	// The program of before goes on meanwhile.
	old("a3", "done", "g2")
	exec("UPDATE @uploads SET state = 'done', grp = 'g2' WHERE id = 'a3'")
	exec("INSERT INTO @decisions (project, grp, state, build, at, by) VALUES ('p', 'g2', 'fixed', 'b1', 5, 'me') ON CONFLICT (project, grp) DO UPDATE SET build = excluded.build")
	for total := 0; ; {
		n, err := db.Backfill(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n == 0 {
			if total != 3 { // one is of another project
				t.Errorf("%d were counted later", total)
			}
			break
		}
	}
	f, err := db.Facets(ctx, "p", 10)
	same(t, "facets", f, err, "[{os [{linux 2}] 1} {release [{1.2 2} {1.3 1}] 2}]")
	u, err := db.Upload(ctx, "p", "a1")
	if err != nil || u.Release != "1.2" || u.State != store.Done || u.Group != "g1" {
		t.Error(u, err)
	}
	exec("DELETE FROM @uploads WHERE id = 'a1'") // as the program of before removes one
	if l, err := db.Uploads(ctx, "p", store.Query{Has: attrs("release=1.2")}); err != nil || len(l) != 1 {
		t.Error(l, err)
	}
}

// Dumps that are finished, moved and removed at the same time are counted right.
func testCountsAtOnce(t *testing.T, db store.Store) {
	const workers, each = 4, 15
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				id := fmt.Sprintf("w%dn%02d", w, i)
				finish(t, db, id, fmt.Sprint("g", i%2), "b1", time.Unix(1_700_000_000, 0), "os=linux", fmt.Sprint("release=1.", i%3), fmt.Sprint("user:u", w))
				if i%5 == 4 {
					if _, err := db.Remove(t.Context(), "p", id); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 3 {
		if err := errors.Join(db.Merge(t.Context(), "p", "g1", "g0"), db.Split(t.Context(), "p", "g1")); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	f, err := db.Facets(t.Context(), "p", 5)
	same(t, "facets", f, err, "[{os [{linux 48}] 1} {release [{1.0 16} {1.1 16} {1.2 16}] 3}]")
	h, _, err := db.Having(t.Context(), "p", attrs("os=linux"), 1000)
	same(t, "groups", h, err, "map[g0:24 g1:24]")
	a, err := db.Affected(t.Context(), "p", []string{"g0", "g1"})
	same(t, "users", a, err, "map[g0:map[user:4] g1:map[user:4]]")
}
