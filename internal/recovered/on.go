//go:build countrecovered

package recovered

import "sync/atomic"

// noted is global because it counts for a whole program under test.
var noted atomic.Int64

// Note is called for each panic that is recovered from.
func Note() { noted.Add(1) }

// Count returns how many panics were recovered from.
func Count() int64 { return noted.Load() }
