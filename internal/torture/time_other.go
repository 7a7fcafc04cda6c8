//go:build !unix

package main

import "time"

var started = time.Now()

// processorTime is how long the process has existed: the processor's time is not known.
func processorTime() time.Duration { return time.Since(started) }
