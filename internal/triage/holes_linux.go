package triage

import (
	"os"

	"golang.org/x/sys/unix"
)

// nextData returns where the data is that follows off in a file, and where it ends. It returns false if the system does not
// tell, or there is none.
func nextData(f *os.File, off int64) (start, end int64, ok bool) {
	start, err := f.Seek(off, unix.SEEK_DATA)
	if err != nil {
		return 0, 0, false
	}
	end, err = f.Seek(start, unix.SEEK_HOLE)
	return start, end, err == nil && end > start
}
