//go:build unix

package service

import "syscall"

// connections is how many there may be, by the number of files that this process may open.
func connections() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return mostConnections
	}
	return int(max(16, min(mostConnections, uint64(limit.Cur)/filesOfConnection)))
}
