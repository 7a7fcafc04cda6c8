package command

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstGC is how far the heap grows before the first garbage collection, in percent of
// the runtime's 4 MB. Most reports end before that; a collection would take as long as
// a small report.
const firstGC = 800

// putOffGC raises the threshold of the first garbage collection only, so that large
// dumps need no more memory than usual. The run calls late after shortRun.
func putOffGC() (late func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	was := debug.SetGCPercent(firstGC)
	return func() {
		var gc debug.GCStats
		if debug.ReadGCStats(&gc); gc.NumGC > 0 {
			debug.SetGCPercent(was)
			return
		}
		sentinel := new([4]*int) // garbage at once, so the first collection finds it
		runtime.AddCleanup(sentinel, func(percent int) { debug.SetGCPercent(percent) }, was)
	}
}
