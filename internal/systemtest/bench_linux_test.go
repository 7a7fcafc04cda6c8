package systemtest

import (
	"os/exec"
	"syscall"
)

// peakMemory is the largest resident size of a finished command, in KiB.
func peakMemory(cmd *exec.Cmd) int64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss)
	}
	return 0
}
