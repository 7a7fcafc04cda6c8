//go:build !linux

package debuginfod

import (
	"io/fs"
	"time"
)

// accessTime is when a file was last read; false when the system does not tell.
func accessTime(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
