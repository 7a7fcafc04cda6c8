package fleet

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Silent sets how long a worker says nothing until it counts as dead.
func (s *Store) Silent(d time.Duration) { s.silent = d }

// Hurry has workers ask for jobs often, and do soon again what failed.
func (s *Store) Hurry() { s.poll, s.retry = 100*time.Millisecond, 200*time.Millisecond }

// Try does something in a transaction, again and again for as long as what fails may work in a moment.
func (s *Store) Try(ctx context.Context, do func(tx pgx.Tx) error) error { return s.again(ctx, do) }
