package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

const pattern = "corewalk-test-*"

// TestMake: what a killed process left behind is removed with what is in it; what another uses, what a link leads to, what is another user's
// and what has another name are not.
func TestMake(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	used, err := Make(parent, pattern)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(dir string) {
		if err := os.MkdirAll(filepath.Join(dir, "files", "usr"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "files", "core"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(parent, name) }
	stay := []string{used.Path, at("corewalk-other-1"), elsewhere, at("corewalk-test-link")}
	for _, dir := range stay[:3] {
		fill(dir)
	}
	if err := os.Symlink(elsewhere, at("corewalk-test-link")); err != nil {
		t.Fatal(err)
	}
	fill(at("corewalk-test-left"))
	fill(at("corewalk-test-strangers"))
	if os.Getuid() == 0 {
		if err := os.Chown(at("corewalk-test-strangers"), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		stay = append(stay, at("corewalk-test-strangers"))
	}
	fresh, err := Make(parent, pattern)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at("corewalk-test-left")); err == nil {
		t.Error("what was left behind is there")
	}
	for _, path := range append(stay, fresh.Path, filepath.Join(elsewhere, "files", "core"), filepath.Join(used.Path, "files", "core")) {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if st, err := os.Stat(fresh.Path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	for _, d := range []*Dir{used, fresh, nil} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(used.Path); err == nil {
		t.Error("what was removed is there")
	}
	if _, err := Make(filepath.Join(parent, "none"), pattern); err == nil {
		t.Error("there is no such directory")
	}
}

// TestRemoveAll: a process that ends at once leaves nothing, whatever is written meanwhile, and removes nothing of others.
func TestRemoveAll(t *testing.T) {
	parent := t.TempDir()
	var dirs []*Dir
	for range 3 {
		d, err := Make(parent, pattern)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.Path, "core"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, d)
	}
	if err := dirs[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dirs[0].Path, 0o700); err != nil { // somebody else's, who got the same name
		t.Fatal(err)
	}
	RemoveAll()
	if list, _ := os.ReadDir(parent); len(list) != 1 || list[0].Name() != filepath.Base(dirs[0].Path) {
		t.Errorf("%v is left", list)
	}
	for _, d := range dirs[1:] {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
}
