package command

import (
	"os"
	"syscall"
	"time"
)

// childrenCPU is the processor time of all commands that have finished, and of their own
// commands. On a machine with other work it tells more than the clock.
func childrenCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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
