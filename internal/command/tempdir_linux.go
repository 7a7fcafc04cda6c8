package command

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tempPattern is the name of the temporary directories of sandboxes.
const tempPattern = "corewalk-sandbox-*"

// tempDir makes a temporary directory, and removes those that killed processes left behind. A process holds a lock
// on its own: release ends that and removes the directory.
func tempDir() (dir string, release func(), err error) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPattern))
	for _, d := range left {
		if f := locked(d); f != nil {
			_ = os.Remove(d) // only if it is empty
			f.Close()
		}
	}
	for range 3 { // another process may take a new one for one left behind
		if dir, err = os.MkdirTemp("", tempPattern); err != nil {
			return "", nil, err
		}
		f := locked(dir)
		if _, err := os.Stat(dir); f == nil || err != nil {
			continue
		}
		return dir, func() {
			_ = os.RemoveAll(dir)
			f.Close()
		}, nil
	}
	return "", nil, errors.New("temporary directories disappear")
}

// locked locks a directory; nil if another process has done so.
func locked(dir string) *os.File {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}
