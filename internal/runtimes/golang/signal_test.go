package golang_test

import "syscall"

const quit = syscall.SIGQUIT
