//go:build unix

package owned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links a path may go through, as for the kernel.
const maxLinks = 40

// Make makes a directory, and those above it, if there are none. Each on the way there, and each link, is this user's or root's, and others can put
// nothing in its place; nothing is made where another's link leads. The directory itself is this user's, and nobody else writes to it.
func Make(dir string, perm fs.FileMode) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	top, err := os.Lstat("/")
	if err != nil {
		return err
	}
	st, at := top, "/"
	steps, links := strings.Split(abs, "/"), 0
	for len(steps) > 0 {
		step := steps[0]
		if steps = steps[1:]; step == "" || step == "." {
			continue
		}
		if step == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, step)
		if st, err = os.Lstat(next); errors.Is(err, fs.ErrNotExist) {
			if err = os.Mkdir(next, perm); err == nil || errors.Is(err, fs.ErrExist) {
				st, err = os.Lstat(next)
			}
		}
		if err != nil {
			return err
		}
		switch link := st.Mode()&fs.ModeSymlink != 0; {
		case !ours(st) && (link || owner(st) != owner(top)): // in a container root may be called nobody, and others, too
			return fmt.Errorf("%s, on the way to %s, is another user's: %w", next, dir, ErrOthers)
		case link:
			to, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return errors.Join(err, fmt.Errorf("%s: %w", dir, syscall.ELOOP))
			}
			if filepath.IsAbs(to) {
				at = "/"
			}
			steps = append(strings.Split(to, "/"), steps...)
			continue
		case !st.IsDir():
			return &fs.PathError{Op: "mkdir", Path: next, Err: syscall.ENOTDIR}
		case st.Mode().Perm()&0o002 != 0 && st.Mode()&fs.ModeSticky == 0:
			return fmt.Errorf("%s, on the way to %s: %w", next, dir, ErrOthers)
		}
		at = next
	}
	if owner(st) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: %w", dir, ErrOthers)
	}
	return nil
}

func owner(st fs.FileInfo) int {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}

// ours reports whether something is this user's or root's.
func ours(st fs.FileInfo) bool {
	uid := owner(st)
	return uid == 0 || uid == os.Geteuid()
}
