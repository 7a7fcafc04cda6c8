//go:build !amd64 && !arm64 && !386

package sandbox

import "golang.org/x/sys/unix"

// There is no list of system calls for this architecture: Enter sets no filter, and Missing says so.
const auditArch = 0

func program(uint32) []unix.SockFilter { return nil }
