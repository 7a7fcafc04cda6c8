package budget

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// private returns how many bytes of this process are in memory and are no file's.
func private() (uint64, bool) {
	fd, err := unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var buf [128]byte // seven numbers
	n, err := unix.Read(fd, buf[:])
	if err != nil || n == 0 {
		return 0, false
	}
	fields := bytes.Fields(buf[:n])
	if len(fields) < 3 {
		return 0, false
	}
	resident, err1 := strconv.ParseUint(string(fields[1]), 10, 64)
	shared, err2 := strconv.ParseUint(string(fields[2]), 10, 64)
	if err1 != nil || err2 != nil || shared > resident {
		return 0, false
	}
	return (resident - shared) * uint64(os.Getpagesize()), true
}
