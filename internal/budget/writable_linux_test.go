package budget

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// Memory that the runtime has from the system counts, in use or not, and what is over the limit is seen.
func TestWritable(t *testing.T) {
	before, ok := writable()
	if !ok {
		t.Fatal("this process's memory is not known")
	}
	const more = 96 << 20
	b := make([]byte, more) // not written to
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if after, _ := writable(); after < before+more || after < m.Sys-m.HeapReleased || after > before+4*more {
		t.Errorf("%d bytes before, %d after %d more; the runtime has %d", before, after, more, m.Sys-m.HeapReleased)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	over := false
	WatchMemory(ctx, more, func() { over = true })
	if !over {
		t.Errorf("%d bytes are not seen to be more than %d", m.Sys-m.HeapReleased, more)
	}
	runtime.KeepAlive(b)
}

// Below the limit, nothing is said, though the process may have more that the runtime has given back.
func TestWatchBelow(t *testing.T) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, limit := range []uint64{1 << 40, m.Sys - m.HeapReleased + 16<<20} {
		ctx, cancel := context.WithTimeout(context.Background(), 4*watchEvery)
		WatchMemory(ctx, limit, func() { t.Errorf("this process is said to have more than %d", limit) })
		cancel()
	}
}
