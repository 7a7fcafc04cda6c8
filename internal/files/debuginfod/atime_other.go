//go:build !linux

package debuginfod

import (
	"io/fs"
	"time"
)

// accessTime returns when a file was last read, or false if the system does not report it.
func accessTime(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
