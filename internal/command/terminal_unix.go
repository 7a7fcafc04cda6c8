//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalColumns returns the width of a terminal, 0 if it is not known.
func terminalColumns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
