package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// LimitMemory has the kernel refuse this process more than some bytes of memory of its own, for good: its heap and stacks, and not the files that
// it maps. The Go runtime ends a program that is refused memory. Who watches what it uses, and ends in order, sets this limit well above its own:
// it is for what grows faster than anybody looks. Call it before Enter, after which limits cannot be changed.
func LimitMemory(bytes uint64) error {
	if err := lower(unix.RLIMIT_DATA, bytes); err != nil {
		return fmt.Errorf("limit of memory: %w", err)
	}
	return nil
}

// lower lowers a limit of the process, unless it is lower already.
func lower(resource int, most uint64) error {
	var was unix.Rlimit
	if err := unix.Getrlimit(resource, &was); err != nil {
		return err
	}
	n := min(was.Max, most)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: min(was.Cur, n), Max: n})
}
