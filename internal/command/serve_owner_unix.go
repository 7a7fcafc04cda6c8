//go:build unix

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownDir returns an error if a directory belongs to another user: the service could not read what this one, who may be root, puts there.
func ownDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) { // it is made by this user
		return nil
	}
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d: run this as that user, or the service cannot read what is put there", dir, st.Uid)
	}
	return nil
}
