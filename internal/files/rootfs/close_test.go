package rootfs

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// files counts the open files of this process that are in a directory, or were.
func files(t *testing.T, dirs ...string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd here")
	}
	for _, e := range list {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		for _, dir := range dirs {
			if len(to) >= len(dir) && to[:len(dir)] == dir {
				n++
			}
		}
	}
	return n
}

// A closed image has no file open, whatever kind it is and however damaged; what was opened of it stays.
func TestClose(t *testing.T) {
	unpacked := t.TempDir()
	t.Setenv("TMPDIR", unpacked)
	layer := archive(t, entry{"lib/x", elf("x")}, entry{"lib/big", string(make([]byte, 1<<16))})
	manifest := `[{"Config":"c","Layers":["a","gone"]}]`
	for name, data := range map[string][]byte{
		"tar": layer, "compressed": gz(layer), "docker": archive(t, entry{"manifest.json", manifest}, entry{"a", string(layer)}),
		"compressed docker": gz(archive(t, entry{"manifest.json", manifest}, entry{"a", string(gz(layer))})), "cut": gz(layer)[:len(gz(layer))/2], "nothing": []byte("nothing"), "empty": nil,
	} {
		t.Run(name, func(t *testing.T) { close1(t, write(t, filepath.Join(t.TempDir(), "x"), data), unpacked) })
	}
	t.Run("directory", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "manifest.json"), []byte(manifest))
		write(t, filepath.Join(dir, "c"), []byte("{}"))
		write(t, filepath.Join(dir, "a"), gz(layer))
		close1(t, dir, unpacked)
	})
}

func close1(t *testing.T, path, unpacked string) {
	im := Open(context.Background(), path, nil)
	for _, r := range im.Roots() {
		for _, name := range []string{"lib/x", "lib/big", "manifest.json"} {
			if m, err := r.Open(name); err == nil {
				defer m.Close()
			}
		}
	}
	if n := files(t, filepath.Dir(path), unpacked); n == 0 {
		t.Error("no file was open")
	}
	if filepath.Base(path) != "x" { // of what it says of itself, nothing stays open
		if n := files(t, filepath.Join(path, "manifest.json"), filepath.Join(path, "c")); n > 0 {
			t.Errorf("%d open files of descriptions", n)
		}
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	if n := files(t, filepath.Dir(path), unpacked); n > 0 {
		t.Errorf("%d files are open still", n)
	}
	if err := Open(context.Background(), path, nil).Close(); err != nil {
		t.Error(err)
	}
}
