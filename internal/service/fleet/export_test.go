package fleet

import "time"

// Silent sets how long a worker says nothing until it counts as dead.
func (s *Store) Silent(d time.Duration) { s.silent = d }

// Hurry has workers ask for jobs often, and do soon again what failed.
func (s *Store) Hurry() { s.poll, s.retry = 100*time.Millisecond, 200*time.Millisecond }
