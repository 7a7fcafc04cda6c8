//go:build unix

package dirlock

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const tries = 5

// Take takes the lock of a directory, until the process ends or gives it back; the error is ErrTaken if another process, or another call in this one, has it.
func Take(dir string) (giveBack func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for n := 0; errors.Is(err, unix.EWOULDBLOCK) && n < tries; n++ { // somebody may only be asking whether it is taken
		time.Sleep(20 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrTaken
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Taken reports whether somebody may have the lock of a directory.
func Taken(dir string) bool {
	f, err := os.Open(filepath.Join(dir, File))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
