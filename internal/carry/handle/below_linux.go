package handle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A directory that an account owns is a stranger's, also to root: whoever has the account may put a link in place of anything there. Root opens
// such directories step by step, follows no link, and makes and renames what is in them by their descriptors.

// openBelow opens a directory below another one, which only this user can change.
func openBelow(dir string, steps ...string) (*os.File, error) {
	f, err := os.Open(dir)
	for _, step := range steps {
		if err != nil {
			return nil, err
		}
		var next *os.File
		next, err = stepInto(f, step)
		f.Close()
		f = next
	}
	return f, err
}

func stepInto(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%s: %w: it is no directory; remove it", path, ErrUnsafe)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// makeIn makes a directory in another one, if there is none. A new one becomes the account's, if there is an account.
func makeIn(dir *os.File, name string, perm uint32, account *Account) error {
	err := unix.Mkdirat(int(dir.Fd()), name, perm)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return &fs.PathError{Op: "mkdir", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	made, openErr := stepInto(dir, name)
	if openErr != nil {
		return openErr
	}
	defer made.Close()
	if err == nil && account != nil {
		return made.Chown(account.UID, account.GID)
	}
	return nil
}

// A newFile is a file that gets its name when it is whole.
type newFile struct {
	*os.File
	dir        *os.File
	temp, name string
}

// createIn makes a file in a directory. It is the account's, if there is an account. finish or discard ends it.
func createIn(dir *os.File, name string, account *Account) (*newFile, error) {
	temp := name + ".new"
	fd, err := unix.Openat(int(dir.Fd()), temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: filepath.Join(dir.Name(), temp), Err: err}
	}
	f := &newFile{os.NewFile(uintptr(fd), filepath.Join(dir.Name(), temp)), dir, temp, name}
	if account != nil {
		if err := f.Chown(account.UID, account.GID); err != nil {
			f.discard()
			return nil, err
		}
	}
	return f, nil
}

func (f *newFile) finish() error {
	f.Close()
	if err := unix.Renameat(int(f.dir.Fd()), f.temp, int(f.dir.Fd()), f.name); err != nil {
		return &fs.PathError{Op: "rename", Path: f.Name(), Err: err}
	}
	return nil
}

func (f *newFile) discard() {
	f.Close()
	_ = unix.Unlinkat(int(f.dir.Fd()), f.temp, 0)
}
