package kept

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A dir is an open wing of a room: names in it cannot lead elsewhere, whatever happens to the
// paths meanwhile.
type dir struct{ *os.Root }

// errUntrusted: somebody else may have put there what is there, or could.
var errUntrusted = errors.New("belongs to another user, or others may write to it")

// open opens a wing to read from.
func (r *Room) open(wing string) (dir, error) {
	if !filepath.IsAbs(r.dir) {
		return dir{}, fmt.Errorf("directory %q of kept files: %w", r.dir, fs.ErrNotExist)
	}
	w, err := openTrusted(func() (*os.Root, error) { return os.OpenRoot(filepath.Join(r.dir, wing)) })
	return dir{w}, err
}

// change opens a wing to change what is in it. The Room's directory must be this user's, too: with
// another's, the path might lead to any directory of this user's.
func (r *Room) change(wing string) (dir, error) {
	if !filepath.IsAbs(r.dir) {
		return dir{}, fmt.Errorf("directory %q of kept files: %w", r.dir, fs.ErrNotExist)
	}
	room, err := openTrusted(func() (*os.Root, error) { return os.OpenRoot(r.dir) })
	if err != nil {
		return dir{}, err
	}
	defer room.Close()
	w, err := openTrusted(func() (*os.Root, error) { return room.OpenRoot(wing) })
	return dir{w}, err
}

func openTrusted(open func() (*os.Root, error)) (*os.Root, error) {
	d, err := open()
	if err != nil {
		return nil, err
	}
	info, err := d.Stat(".")
	if err == nil && !trusted(info) {
		err = fmt.Errorf("%s %w", d.Name(), errUntrusted)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// makeMost is how many directories are made at most: the wing, the Room, corewalk's directory in the
// user's cache directory, and that one. A home directory is not made.
const makeMost = 4

// makeDirs is like os.MkdirAll, but makes at most so many directories, and nothing in a directory of
// another user: root, with another user's HOME, would leave directories there that the user
// cannot write to.
func makeDirs(path string, most int) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if parent == path || most == 0 {
		return fs.ErrNotExist
	}
	if err := makeDirs(parent, most-1); err != nil {
		return err
	}
	info, err = os.Stat(parent)
	if err == nil && !trusted(info) {
		err = fmt.Errorf("%s %w", parent, errUntrusted)
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// openFile opens an entry: a regular file of this user's, not through a link, and without
// waiting for a pipe's writer.
func (d dir) openFile(name string) (*os.File, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|careful, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !(info.Mode().IsRegular() && trusted(info)) {
		err = fmt.Errorf("%s %w", name, errUntrusted)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// useStep is how exactly it is recorded when an entry was last used.
const useStep = time.Hour

// used records that an entry is in use, as its time of change.
func (d dir) used(f *os.File, now time.Time) {
	if info, err := f.Stat(); err == nil && now.Sub(info.ModTime()) > useStep {
		_ = d.Chtimes(filepath.Base(f.Name()), now, now)
	}
}

// isEntry reports whether a file in a wing is an entry, of whatever version.
func isEntry(name string) bool {
	base, version, ok := strings.Cut(name, ".v")
	id, hash, ok2 := strings.Cut(base, "-")
	return ok && ok2 && isHex(id) && isHex(hash) && len(hash) == 16 && version != "" && strings.Trim(version, "0123456789") == ""
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

// isTemp reports whether a file in a wing is one that is being written, or was.
func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }
