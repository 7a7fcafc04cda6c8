// Package scratch makes temporary directories of which nothing is left: who makes one removes those that killed
// processes of the same user left behind.
package scratch

import (
	"os"
	"sync"
)

// A Dir is a temporary directory.
type Dir struct {
	Path string
	lock *os.File // nil where directories are not locked
}

// made are the directories of this process that are there.
var made struct {
	mu   sync.Mutex // guards dirs; no other lock is taken inside
	dirs map[*Dir]bool
}

// record has a directory removed by RemoveAll.
func record(d *Dir) *Dir {
	made.mu.Lock()
	defer made.mu.Unlock()
	if made.dirs == nil {
		made.dirs = map[*Dir]bool{}
	}
	made.dirs[d] = true
	return d
}

// RemoveAll removes all directories that this process has made and not removed. It is for a process that ends at once: others may
// still be writing into them.
func RemoveAll() {
	made.mu.Lock()
	var list []*Dir
	for d := range made.dirs {
		list = append(list, d)
	}
	made.mu.Unlock()
	for _, d := range list {
		for range 3 { // while somebody writes
			if os.RemoveAll(d.Path) == nil {
				break
			}
		}
	}
}

// Remove removes the directory with all that is in it. A nil Dir has none.
func (d *Dir) Remove() error {
	if d == nil {
		return nil
	}
	made.mu.Lock()
	delete(made.dirs, d)
	made.mu.Unlock()
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}
