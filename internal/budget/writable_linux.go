package budget

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// writable returns the size in bytes of this process's private memory that may be written to, in use or not: at least what the
// Go runtime has from the system.
func writable() (uint64, bool) {
	fd, err := syscall.Open("/proc/self/statm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer syscall.Close(fd)
	var buf [256]byte // seven numbers
	n, err := syscall.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return 0, false
	}
	const data = 5
	fields := bytes.Fields(buf[:n])
	if len(fields) <= data {
		return 0, false
	}
	pages, err := strconv.ParseUint(string(fields[data]), 10, 40)
	return pages * uint64(os.Getpagesize()), err == nil
}
