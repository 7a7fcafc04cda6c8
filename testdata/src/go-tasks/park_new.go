//go:build go1.21

package main

const traceBlocked = 0 // traceBlockGeneric
