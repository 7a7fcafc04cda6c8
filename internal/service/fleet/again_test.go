package fleet_test

import (
	"context"
	"errors"
	"io"
	"testing"

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
