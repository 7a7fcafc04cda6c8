package scratch

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Make makes a directory in parent, "" for os.TempDir, that only the user may read. pattern is that of os.MkdirTemp: what has
// the same one is removed if it is the user's and its process was killed. A process holds a lock on its own, until Remove.
func Make(parent, pattern string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	for _, path := range leftBehind(parent, pattern) {
		if f, locked := lock(path); locked {
			_ = (&Dir{path, f}).Remove() // what cannot be removed stays for the next
		} else if f != nil {
			f.Close()
		}
	}
	for range 3 { // another process may take a new one for one left behind
		path, err := os.MkdirTemp(parent, pattern)
		if err != nil {
			return nil, err
		}
		f, _ := lock(path)
		if _, err := os.Stat(path); f == nil || err != nil {
			continue
		}
		return record(&Dir{path, f}), nil
	}
	return nil, errors.New(parent + ": temporary directories disappear")
}

// leftBehind lists what has the pattern, and may have been left behind.
func leftBehind(parent, pattern string) (paths []string) {
	entries, _ := os.ReadDir(parent) // a directory of which the names cannot be read can still take one
	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); ok && e.IsDir() {
			paths = append(paths, filepath.Join(parent, e.Name()))
		}
	}
	return paths
}

// lock opens a directory of the user, and locks it where that is possible: not all file systems and sandboxes have locks, and there
// nobody removes what is another's. f is nil if the directory is another user's, a link, or locked by another.
func lock(path string) (f *os.File, locked bool) {
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	f = os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && int(st.Uid) == os.Geteuid() {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return f, err == nil
		}
	}
	f.Close()
	return nil, false
}
