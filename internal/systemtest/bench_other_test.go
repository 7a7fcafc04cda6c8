//go:build !linux

package systemtest

import "os/exec"

// peakMemory is not known here.
func peakMemory(*exec.Cmd) int64 { return 0 }
