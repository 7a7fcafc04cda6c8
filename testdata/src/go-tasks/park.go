package main

import (
	"time"
	"unsafe"
)

// park has the runtime park the goroutine that calls it, for a reason given by its number.
//
//go:linkname park runtime.gopark
func park(unlock func(g, lock unsafe.Pointer) bool, lock unsafe.Pointer, reason, event byte, skip int)

// parkAll parks a goroutine for each of the runtime's reasons to wait. Some last for moments, and for some only goroutines
// of the runtime itself wait: it is the runtime that parks here, too, and that prints what for.
func parkAll(reasons int) {
	for i := 1; i <= reasons; i++ {
		go park(nil, nil, byte(i), traceBlocked, 1)
	}
	time.Sleep(10 * time.Millisecond)
}
