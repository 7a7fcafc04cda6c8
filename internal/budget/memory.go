package budget

import (
	"context"
	"runtime/metrics"
	"time"
)

// watchEvery is how often WatchMemory looks.
const watchEvery = 20 * time.Millisecond

// WatchMemory waits until the Go runtime of this program has more than limit bytes of memory from the system, and
// then calls over; or until ctx is done. Mapped files do not count.
func WatchMemory(ctx context.Context, limit uint64, over func()) {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(s)
		if s[0].Value.Uint64()-s[1].Value.Uint64() > limit {
			over()
			return
		}
	}
}
