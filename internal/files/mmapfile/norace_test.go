//go:build !race

package mmapfile

const raceDetector = false
