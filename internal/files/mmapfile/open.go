package mmapfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNoRealFile: the kernel makes the file's contents when it is read, as in /proc and /sys.
var ErrNoRealFile = errors.New("not a file of a real file system")

// OpenRegular opens the regular file at path for reading. The path may come from a stranger:
// devices, pipes and sockets are not opened, because that alone may wait, or do something
// (a watchdog begins to count). Files that the kernel makes up, as in /proc, are refused.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, nil, err
	}
	// What is at the path may have been replaced since: then opening it must not wait, nor
	// make a terminal this process's.
	f, err := OpenAtOnce(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err == nil && madeUp(f) {
		err = fmt.Errorf("%s: %w", path, ErrNoRealFile)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// OpenAtOnce opens for reading what the user named, a pipe too, and does not wait for who writes to it.
func OpenAtOnce(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|careful, 0) }
