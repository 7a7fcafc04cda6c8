package fleet

import "time"

// Silent sets how long a worker says nothing until it counts as dead.
func (s *Store) Silent(d time.Duration) { s.silent = d }
