package main

import "syscall"

func pipe(fds []int) error { return syscall.Pipe(fds) }

//go:noinline
func rawRead(fd int) { syscall.Read(fd, make([]byte, 1)) }
