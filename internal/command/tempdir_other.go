//go:build !linux

package command

import "os"

// tempDir makes a temporary directory; release removes it.
func tempDir() (dir string, release func(), err error) {
	dir, err = os.MkdirTemp("", "corewalk-sandbox-*")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
