package fleet

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture/servers"
)

// A job goes to the worker that is alive and has the fewest, if those are two fewer: with one fewer, two would give it to each other for ever.
func TestIdler(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, err := Connect(ctx, servers.NewDatabase(t).Connection(), 5)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := Open(ctx, pool, log, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorker(s, Options{Name: "one", Jobs: 5, Limit: time.Minute, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	do := func(sql string, args ...any) {
		t.Helper()
		if _, err := pool.Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	running := func(by string) {
		t.Helper()
		do("INSERT INTO river_job (kind, queue, state, args, max_attempts, priority, attempted_by) VALUES ($1, 'default', 'running', '{}', 25, 1, ARRAY['other', $2])", waits{}.Kind(), by)
	}
	want := func(when, queue string) {
		t.Helper()
		if got, err := w.idler(context.Background()); err != nil || got != queue {
			t.Errorf("%s: %q, %v, want %q", when, got, err, queue)
		}
	}
	want("nobody is alive", "")
	running("one")
	running("one")
	if err := s.Beat(ctx, "one", time.Minute); err != nil {
		t.Fatal(err)
	}
	want("alone", "")
	do("INSERT INTO service_workers (name, beat) VALUES ('dead', now() - interval '1 hour')")
	want("the other is dead", "")
	if err := s.Beat(ctx, "two", 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	want("two fewer", queueOf("two"))
	do("INSERT INTO river_job (kind, queue, state, args, max_attempts, priority) VALUES ($1, $2, 'available', '{}', 25, 1)", waits{}.Kind(), queueOf("two"))
	want("one fewer, with what waits for it", "")
	running("one")
	want("two fewer again", queueOf("two"))
	if err := s.Beat(ctx, "three", 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	want("another has none", queueOf("three"))
}
