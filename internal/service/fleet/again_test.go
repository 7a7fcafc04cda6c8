package fleet_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What fails because the database is being restarted, or took another's side, is done again; what fails for good is not, and nothing is once there is no time.
func TestAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		err  error
		does int
	}{{&pgconn.PgError{Code: "40001"}, 3}, {&pgconn.PgError{Code: "57P01"}, 3}, {io.ErrUnexpectedEOF, 3}, {&pgconn.PgError{Code: "23505"}, 1}, {errors.New("wrong"), 1}} {
		n := 0
		err := w.store.Try(t.Context(), func(pgx.Tx) error {
			if n++; n < 3 {
				return c.err
			}
			return nil
		})
		if n != c.does || (err == nil) != (c.does == 3) {
			t.Errorf("%v: done %d times: %v", c.err, n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	if err := w.store.Try(ctx, func(pgx.Tx) error { n++; cancel(); return io.EOF }); err == nil || n != 1 {
		t.Errorf("without time: done %d times: %v", n, err)
	}
}

// A worker that ends says so: nobody leaves a dump to it, and waits until it counts as dead.
func TestLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.Silent(time.Minute)
	alive := func() bool {
		names, err := w.store.Alive(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(names, "one")
	}
	stop := w.worker("one", time.Minute)
	for end := time.Now().Add(20 * time.Second); !alive(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the worker does not begin")
		}
	}
	if stop(); alive() {
		t.Error("a worker that has ended counts as alive")
	}
}
