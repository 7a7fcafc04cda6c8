//go:build go1.25

package main

import "runtime"

// init starts the runtime's goroutine that runs cleanups.
func init() { runtime.AddCleanup(&[]int{1}[0], func(int) {}, 2) }
