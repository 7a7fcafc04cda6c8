package budget

import (
	"context"
	"runtime"
	"time"
)

// watchEvery is how often WatchMemory looks.
const watchEvery = 20 * time.Millisecond

// WatchMemory waits until the Go runtime of this program has more than limit bytes of memory from the system, and
// then calls over; or until ctx is done. Mapped files do not count.
func WatchMemory(ctx context.Context, limit uint64, over func()) {
	var m runtime.MemStats // not package runtime/metrics, which makes all its names at the start of a program
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// ReadMemStats stops all goroutines and makes the runtime's lists of spans, of a kilobyte and more each: a tenth of the page
		// faults of a report of 200 threads. It is asked only where the answer is not known.
		if most, ok := writable(); ok && most <= limit {
			continue
		}
		runtime.ReadMemStats(&m)
		if m.Sys-m.HeapReleased > limit {
			over()
			return
		}
	}
}
