//go:build !race

package steppers_test

const raceDetector = false
