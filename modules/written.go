package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrOwner means that a file belongs to another user than the process that is said to have written it.
var ErrOwner = errors.New("it belongs to another user than the process")

// ErrOlder means that a file was written before the process started that is said to have written it: another process had its number.
var ErrOlder = errors.New("it was written before the process started")

// slack is how much older a file may seem: the kernel counts in ticks.
const slack = time.Second

// ReadWritten returns the contents of the file that the process wrote at a path, and where (at) the file is now: below a
// sysroot, or, with the same base name, beside the dump. Links do not lead out of these directories. If the process runs on
// this machine, owner is what /proc says of it, with the time at which it started: then the path itself is tried, too, and the file there must have the same
// owner, and not be older. A file of more than most bytes is refused. The error wraps fs.ErrNotExist if there is none.
func (s *Set) ReadWritten(path string, most int64, owner fs.FileInfo) (data []byte, at string, err error) {
	err = fs.ErrNotExist
	for p := range s.finder.Written(path, owner != nil) {
		b, st, e := s.finder.Read(p, most+1)
		if e == nil && owner != nil {
			e = owned(p, st, owner)
		}
		if e == nil && int64(len(b)) > most {
			e = fmt.Errorf("it has more than %d bytes", most)
		}
		if e == nil {
			return b, p, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			at, err = p, e
		}
	}
	return nil, at, err
}

// owned reports whether a file that was opened belongs to the owner, and is what has its name: everybody may write links into /tmp.
func owned(path string, st, owner fs.FileInfo) error {
	is, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !is.Mode().IsRegular() || !os.SameFile(is, st):
		return errors.New("it is a link, or was exchanged")
	case !sameOwner(st, owner):
		return ErrOwner
	case st.ModTime().Add(slack).Before(owner.ModTime()):
		return ErrOlder
	}
	return nil
}
