package command

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// firstGC is how far the heap grows before the first garbage collection, in percent of
	// the runtime's 4 MB. Most reports end before that; a collection would take as long as
	// a small report.
	firstGC = 800
	// largeGC is how far a heap grows of which largeHeap bytes are in use, in percent: collections are seldom then, and what they leave is most of the memory.
	largeGC   = 60
	largeHeap = 32 << 20
)

// putOffGC raises the threshold of the first garbage collection only, so that large
// dumps need no more memory than usual. The run calls late after shortRun.
func putOffGC() (late func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	g := &gcPercent{is: firstGC}
	was := debug.SetGCPercent(firstGC)
	return func() {
		var gc debug.GCStats
		if debug.ReadGCStats(&gc); gc.NumGC > 0 {
			g.set(was)
		}
		g.afterNext(was)
	}
}

// A gcPercent is the threshold of garbage collections that a run has: others may set another, and keep it.
type gcPercent struct{ is int }

// set sets the threshold, and reports whether it is this one's own.
func (g *gcPercent) set(percent int) bool {
	if percent == g.is {
		return true
	}
	if other := debug.SetGCPercent(percent); other != g.is {
		debug.SetGCPercent(other)
		return false
	}
	g.is = percent
	return true
}

// afterNext sets the threshold after the next collection, and after later ones until the heap is large.
func (g *gcPercent) afterNext(percent int) {
	sentinel := new([4]*int) // garbage at once, so the next collection finds it
	runtime.AddCleanup(sentinel, func(percent int) {
		large := g.inUse() >= largeHeap
		if large {
			percent = min(percent, largeGC)
		}
		if g.set(percent) && !large {
			g.afterNext(percent)
		}
	}, percent)
}

// inUse is how many bytes of the heap the last collection left: the next one comes when that has grown by the threshold.
func (g *gcPercent) inUse() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NextGC / uint64(100+g.is) * 100
}
