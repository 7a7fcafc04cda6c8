package command

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// What is left to the heap after collections is little if much is in use, and what a command wants instead stays.
func TestGCPercent(t *testing.T) {
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	now := func() int {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	collected := func(want int) {
		t.Helper()
		for range 200 {
			runtime.GC()
			if time.Sleep(5 * time.Millisecond); now() == want {
				return
			}
		}
		t.Errorf("%d percent, want %d", now(), want)
	}
	late := putOffGC()
	if now() != firstGC {
		t.Errorf("%d percent at first", now())
	}
	late()
	collected(100)
	large := make([]byte, largeHeap)
	collected(largeGC)
	runtime.KeepAlive(large)
	debug.SetGCPercent(100)

	late = putOffGC()
	debug.SetGCPercent(20) // of a command
	late()
	for range 20 {
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
	}
	if now() != 20 {
		t.Errorf("%d percent in place of the command's 20", now())
	}
}
