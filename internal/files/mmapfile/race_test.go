//go:build race

package mmapfile

// raceDetector says that the race detector runs, which reads what an atomic operation is about to write.
const raceDetector = true
