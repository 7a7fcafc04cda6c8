//go:build race

package systemtest

// raceDetector says that the race detector runs, which allocates.
const raceDetector = true
