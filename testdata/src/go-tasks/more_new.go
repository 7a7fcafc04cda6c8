//go:build go1.23

package main

import "iter"

// more parks a goroutine that runs a coroutine, and the coroutine.
func more(d *depot) {
	go func() {
		next, stop := iter.Pull(func(yield func(int) bool) { yield(1); <-d.in })
		defer stop()
		next()
		next()
	}()
}
