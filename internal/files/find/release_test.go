package find

import (
	"os"
	"path/filepath"
	"testing"
)

// A system speaks for the files that it has at their own paths, and for no others: not for what was found below another directory, and
// a sysroot not for this machine's.
func TestRelease(t *testing.T) {
	here, _ := os.ReadFile("/etc/os-release")
	first, second, silent := t.TempDir(), t.TempDir(), t.TempDir()
	for root, name := range map[string]string{first: "etc/os-release", second: "usr/lib/os-release"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("ID="+filepath.Base(filepath.Dir(name))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		roots      []string
		file, path string
		want       string
	}{
		{nil, "/usr/bin/tool", "/usr/bin/tool", string(here)},
		{nil, "/srv/usr/bin/tool", "/usr/bin/tool", ""},
		{[]string{first, second}, first + "/usr/bin/tool", "/usr/bin/tool", "ID=etc"},
		{[]string{first, second}, second + "/usr/bin/tool", "/usr/bin/tool", "ID=lib"},
		{[]string{first}, second + "/usr/bin/tool", "/usr/bin/tool", ""},
		{[]string{first}, "/usr/bin/tool", "/usr/bin/tool", string(here)}, // found by its build-id
		{[]string{silent, first}, silent + "/usr/bin/tool", "/usr/bin/tool", ""},
		{[]string{first}, first + "/other/usr/bin/tool", "/usr/bin/tool", ""},
	} {
		f := New(t.Context(), Options{Sysroots: c.roots})
		if got := string(f.Release(c.file, c.path)); got != c.want {
			t.Errorf("%v, %s: %q, want %q", c.roots, c.file, got, c.want)
		}
	}
}
