package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstGC is how far the heap grows before the first garbage collection, in
// percent of the runtime's 4 MB: most reports end before that, and collecting
// costs as much time as a small report takes.
const firstGC = 800

// putOffGC raises the threshold of the first garbage collection only, so that
// large dumps do not need more memory than ever.
func putOffGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	was := debug.SetGCPercent(firstGC)
	sentinel := new([4]*int) // garbage at once: the first collection finds it
	runtime.AddCleanup(sentinel, func(percent int) { debug.SetGCPercent(percent) }, was)
}
