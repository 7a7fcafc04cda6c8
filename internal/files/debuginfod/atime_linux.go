package debuginfod

import (
	"io/fs"
	"syscall"
	"time"
)

// accessTime is when a file was last read; false when the system does not tell.
func accessTime(info fs.FileInfo) (time.Time, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(st.Atim.Unix()), true
}
