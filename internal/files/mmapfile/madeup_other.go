//go:build !linux

package mmapfile

import "os"

// madeUp is for Linux: other systems have no such files, or few.
func madeUp(*os.File) bool { return false }
