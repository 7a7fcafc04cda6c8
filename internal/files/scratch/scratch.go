// Package scratch makes temporary directories of which nothing is left: who makes one removes those that killed
// processes of the same user left behind.
package scratch

import "os"

// A Dir is a temporary directory.
type Dir struct {
	Path string
	lock *os.File // nil where directories are not locked
}

// Remove removes the directory with all that is in it. A nil Dir has none.
func (d *Dir) Remove() error {
	if d == nil {
		return nil
	}
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}
