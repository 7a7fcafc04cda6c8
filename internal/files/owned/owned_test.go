//go:build unix

package owned

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const stranger = 65534

// TestOwned: a directory is made, and used, where this user and root alone decide what is there; where a stranger's link or directory is on the way, nothing is made.
func TestOwned(t *testing.T) {
	top := t.TempDir()
	made := 0
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	dir := func(name string, perm fs.FileMode) string {
		t.Helper()
		path := filepath.Join(top, name)
		must(os.MkdirAll(path, 0o755), os.Chmod(path, perm))
		return path
	}
	own, target := dir("own", 0o755), dir("target", 0o755)
	open, sticky := dir("open", 0o777), dir("sticky", 0o777|fs.ModeSticky)
	must(os.Symlink(target, filepath.Join(own, "link")), os.Symlink("../target", filepath.Join(sticky, "near")), os.Symlink("loop", filepath.Join(own, "loop")), os.WriteFile(filepath.Join(own, "file"), nil, 0o600))
	cases := map[string]bool{
		filepath.Join(own, "a", "b", "c"): true, own: true, filepath.Join(own, "link", "d"): true, filepath.Join(own, "link"): true, filepath.Join(sticky, "near", "e"): true, filepath.Join(sticky, "mine"): true,
		filepath.Join(own, "loop", "x"): false, filepath.Join(own, "file"): false, filepath.Join(own, "file", "x"): false, open: false, filepath.Join(open, "x"): false, sticky: false, filepath.Join(own, "..", "own", ".", "f"): true,
	}
	if os.Geteuid() == 0 {
		others := dir("others", 0o755)
		must(os.Symlink(target, filepath.Join(sticky, "planted")), os.Symlink(filepath.Join(sticky, "planted"), filepath.Join(own, "led")), os.Lchown(filepath.Join(sticky, "planted"), stranger, stranger), os.Chown(others, stranger, stranger),
			os.Mkdir(filepath.Join(others, "root's"), 0o700))
		for _, path := range []string{filepath.Join(sticky, "planted"), filepath.Join(sticky, "planted", "x"), filepath.Join(own, "led", "x"), others, filepath.Join(others, "x"), filepath.Join(others, "root's")} {
			cases[path] = false
		}
	}
	for path, want := range cases {
		err := Make(path, 0o700)
		if (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			made++
			continue
		}
		if !errors.Is(err, ErrOthers) && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, where := range []string{target, open} {
		list, err := os.ReadDir(where)
		if err != nil || len(list) > 2 {
			t.Errorf("%s has %v, %v", where, list, err)
		}
		for _, e := range list {
			if e.Name() == "x" {
				t.Errorf("%s: something was made for a path that is refused", where)
			}
		}
	}
	if made == 0 {
		t.Error("nothing was made")
	}
}
