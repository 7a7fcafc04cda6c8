package subject

import (
	"strings"

	"syscall"
)

// maxAttribute is the longest extended attribute that is read, in bytes.
const maxAttribute = 4096

// attribute returns an extended attribute of a file; "" if it has none.
func attribute(path, name string) string {
	buf := make([]byte, maxAttribute)
	n, err := syscall.Getxattr(path, name, buf)
	if err != nil || n <= 0 {
		return ""
	}
	return strings.TrimRight(string(buf[:n]), "\x00\n")
}
