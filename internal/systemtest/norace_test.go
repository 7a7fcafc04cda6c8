//go:build !race

package systemtest

const raceDetector = false
