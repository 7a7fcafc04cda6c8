package modules_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/modules"
)

// A file that was mapped is looked for where a module would be, and is the one of which is says so.
func TestReadMapped(t *testing.T) {
	root, beside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(root, "srv/shop.exe"): "another build", filepath.Join(beside, "shop.exe"): "the build"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := modules.New(t.Context(), nil, modules.WithSysroot(root), modules.WithBeside(beside))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	want := func(text string) func([]byte) bool { return func(b []byte) bool { return string(b) == text } }
	for _, c := range []struct {
		path, text string
		most       int64
		ok         bool
	}{{"/srv/shop.exe", "the build", 9, true}, {"/srv/shop.exe", "another build", 13, true}, {"/srv/shop.exe", "another build", 12, false}, {"/srv/shop.exe", "a third", 100, false},
		{"/srv/no.exe", "the build", 100, false}} {
		if got := set.ReadMapped(c.path, c.most, want(c.text)); (got != nil) != c.ok || c.ok && string(got) != c.text {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
