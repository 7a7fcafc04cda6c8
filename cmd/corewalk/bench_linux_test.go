package main

import (
	"os"
	"syscall"
)

// peakOf is the most memory that a finished command, or a process it waited for, had
// resident, in KiB.
func peakOf(s *os.ProcessState) int64 {
	own, _ := s.SysUsage().(*syscall.Rusage)
	var children syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children) != nil || own == nil {
		return 0
	}
	return max(own.Maxrss, children.Maxrss)
}
