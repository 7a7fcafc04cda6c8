//go:build unix

package mmapfile

import "syscall"

// careful are the flags of open(2) with which neither a pipe nor a device makes it wait.
const careful = syscall.O_NONBLOCK | syscall.O_NOCTTY
