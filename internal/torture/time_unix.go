//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// processorTime is how long the process has run.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mapCurrent makes a file whose bytes remain when the process is killed.
func mapCurrent(path string) ([]byte, error) {
	if path == "" {
		return make([]byte, maxCurrent), nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(maxCurrent); err != nil {
		return nil, err
	}
	return syscall.Mmap(int(f.Fd()), 0, maxCurrent, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}
