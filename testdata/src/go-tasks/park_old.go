//go:build !go1.21

package main

const traceBlocked = 20 // traceEvGoBlock
