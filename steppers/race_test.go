//go:build race

package steppers_test

// raceDetector says that the race detector runs, under which a sync.Pool forgets
// at random.
const raceDetector = true
