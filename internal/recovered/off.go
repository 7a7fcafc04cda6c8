//go:build !countrecovered

// Package recovered counts the panics that the program recovers from, in programs that are built with
// the tag countrecovered. Otherwise nothing of it is compiled.
package recovered

// Note is called for each panic that is recovered from.
func Note() {}

// Count returns how many panics were recovered from; -1 if they are not counted.
func Count() int64 { return -1 }
