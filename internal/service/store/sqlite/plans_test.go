package sqlite

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/sqldb"
	engine "github.com/corewalk/corewalk/internal/sqlite"
)

// planned is a database that asks for the plan of each statement before it is executed.
type planned struct {
	sqldb.Conn
	t *testing.T
}

// reads matches a plan that reads a table of dumps, or an index of all of them, from its beginning to its end.
var reads = regexp.MustCompile(`^SCAN (uploads|attributes)( USING .*)?$`)

// few are the indexes of dumps that are not done yet: they have few.
var few = regexp.MustCompile(` (uploads_state|uploads_uncounted|uploads_unspanned)\b`)

func (p planned) explain(ctx context.Context, query string, args []any) {
	p.t.Helper()
	var id, parent, unused int
	var plan string
	err := p.Conn.Query(ctx, sqldb.Into([]any{&id, &parent, &unused, &plan}, func() {
		if reads.MatchString(plan) && !few.MatchString(plan) {
			p.t.Errorf("%s\n\t%s", strings.Join(strings.Fields(query), " "), plan)
		}
	}), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		p.t.Error(err)
	}
}

func (p planned) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	p.explain(ctx, query, args)
	return p.Conn.Exec(ctx, query, args...)
}

func (p planned) Query(ctx context.Context, each func(sqldb.Row) error, query string, args ...any) error {
	p.explain(ctx, query, args)
	return p.Conn.Query(ctx, each, query, args...)
}

func (p planned) Batch(ctx context.Context, list []sqldb.Statement) error {
	for _, s := range list {
		p.explain(ctx, s.Query, s.Args)
	}
	return p.Conn.Batch(ctx, list)
}

func (p planned) Tx(ctx context.Context, do func(sqldb.Conn) error) error {
	return p.Conn.Tx(ctx, func(tx sqldb.Conn) error { return do(planned{tx, p.t}) })
}

// What a service does again and again, and for each dump, reads no table of all dumps: with a million of them a worker that has nothing to do took a fifth of a
// processor.
func TestPlans(t *testing.T) {
	conn, err := engine.Open(t.Context(), t.TempDir()+"/service.db", &schema)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	d, ctx, now := tables.New(planned{conn, t}, &dialect), t.Context(), time.Now()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i, id := range []string{"01", "02"} {
		_, err := d.AddUpload(ctx, store.Upload{ID: id, Project: "a", SHA256: id, Name: "core", Received: now, Annotations: map[string]string{"release": "1", "channel": "beta"}, User: "u", Machine: "m", Event: "e"})
		must("add", err)
		u, err := d.Take(ctx, "w", []string{"", "a"}[i])
		must("take", err)
		must("finish", d.Finish(ctx, "a", u.ID, store.Result{Group: "g", Program: "p", Build: "b", Attributes: []store.Attribute{{Name: "os", Value: "linux"}}}))
	}
	if _, err := d.Take(ctx, "w", ""); err != store.ErrNone {
		t.Error(err)
	}
	must("again", d.Again(ctx, "a", "01"))
	_, err = d.Take(ctx, "w", "")
	must("take", err)
	_, err = d.Recover(ctx, "other")
	must("recover", err)
	must("settle", d.Settle(ctx))
	_, err = d.Counts(ctx)
	must("counts", err)
	_, err = d.Backfill(ctx, 10)
	must("backfill", err)
	_, err = d.Projects(ctx)
	must("projects", err)
	_, err = d.Busy(ctx, "a", now.Add(-time.Hour), 1)
	must("busy", err)
	_, err = d.CountSince(ctx, "a", "g", now)
	must("count since", err)
	_, err = d.Notify(ctx, "a", "g", store.EventNew, now, now)
	must("notify", err)
	_, err = d.OfEvent(ctx, "a", "e")
	must("of event", err)
	has := []store.Attribute{{Name: "os", Value: "linux"}, {Name: "channel", Value: "beta"}}
	for i := range has {
		_, err = d.Uploads(ctx, "a", store.Query{Has: has[:i+1]})
		must("uploads", err)
		_, _, err = d.Having(ctx, "a", has[:i+1], 10)
		must("having", err)
	}
	for _, q := range []store.Query{{}, {State: store.Done}, {State: store.Waiting}, {Group: "g"}, {Before: now}} {
		_, err = d.Uploads(ctx, "a", q)
		must("uploads", err)
	}
	for _, group := range []string{"", "g"} {
		_, err = d.Builds(ctx, "a", group)
		must("builds", err)
		_, err = d.Releases(ctx, "a", group)
		must("releases", err)
	}
	for _, name := range []string{"build", "release"} {
		_, err = d.Shared(ctx, "a", name, []string{"b"})
		must("shared", err)
	}
	_, err = d.Days(ctx, "a", []string{"g"}, now)
	must("days", err)
	_, err = d.ReleaseDays(ctx, "a", "g", now)
	must("days of releases", err)
	_, err = d.Facets(ctx, "a", 10)
	must("facets", err)
	_, err = d.Shares(ctx, "a", "g", 10)
	must("shares", err)
	_, err = d.Forget(ctx, "a", store.Retention{After: now.Add(-time.Hour)}, 10)
	must("forget", err)
}
