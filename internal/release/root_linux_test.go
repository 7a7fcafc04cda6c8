package main

import "syscall"

func inRoot(dir string) *syscall.SysProcAttr { return &syscall.SysProcAttr{Chroot: dir} }
