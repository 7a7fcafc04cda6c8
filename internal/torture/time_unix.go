//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is how long the process has run.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
