//go:build unix && !linux

package mmapfile

import "syscall"

// changed is 0: the field has another name on each system.
func changed(*syscall.Stat_t) int64 { return 0 }
