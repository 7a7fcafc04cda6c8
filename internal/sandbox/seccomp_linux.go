package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Missing lists the protections that the kernel lacks, or that this program lacks for the architecture. It is
// empty if Start and Enter confine fully.
func Missing() []string {
	var list []string
	if abi() == 0 {
		list = append(list, "Landlock (needs Linux 5.13 or newer, with landlock among the kernel's LSMs)")
	}
	if auditArch == 0 {
		list = append(list, "seccomp (no list of system calls for "+runtime.GOARCH+")")
	} else if !filterable() {
		list = append(list, "seccomp (the kernel or the container does not allow filters)")
	}
	return list
}

// filterable reports whether the kernel has filters that return errors.
func filterable() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// Enter confines this process, all its threads, for good: see the package. Nothing of the process's memory gets
// into core dumps, and no process of the same user can trace it.
func Enter() error {
	for _, l := range []struct {
		resource int
		max      uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, MaxFile}} {
		if err := lower(l.resource, l.max); err != nil {
			return fmt.Errorf("sandbox: limits: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if auditArch == 0 || !filterable() {
		return nil // the parent said so
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("seccomp: no_new_privs: %w", err)
	}
	filter := program(uint32(os.Getpid()))
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: cannot set the filter: %w", errno)
	}
	if thread != 0 {
		return errors.New("seccomp: a thread has another filter")
	}
	return nil
}
