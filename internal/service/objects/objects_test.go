package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, d *Dir, key, text string) error {
	t.Helper()
	f, err := d.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Drop()
	if _, err := fmt.Fprint(f, text); err != nil {
		t.Fatal(err)
	}
	if sum, size := f.Sum(); size != int64(len(text)) || len(sum) != 64 {
		t.Errorf("%s, %d bytes", sum, size)
	}
	return f.Keep(t.Context(), key)
}

// Files are found by their keys, and by nothing that leads out of the store.
func TestDir(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(filepath.Join(root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(t, d, "a/b", "one"), put(t, d, "a/b", "two")); err != nil {
		t.Fatal(err)
	}
	path, release, err := d.Local(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if text, err := os.ReadFile(path); err != nil || string(text) != "two" {
		t.Errorf("%s %v", text, err)
	}
	if err := os.Symlink(filepath.Join(root, "secret"), d.Path("a/link")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"../secret", "a/../../secret", "/secret", "", ".", "a", "a//b", "a/link", "none", `a\b`, "a\x00", "C:x"} {
		if _, _, err := d.Local(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", key, err)
		}
		if key == "a/link" || key == "none" || key == "a" {
			continue
		}
		if err := put(t, d, key, "x"); err == nil {
			t.Errorf("%q is stored", key)
		}
		if d.Remove(t.Context(), key) == nil || d.Rename(t.Context(), "a/b", key) == nil || d.Rename(t.Context(), key, "y") == nil {
			t.Errorf("%q is removed or renamed", key)
		}
	}
	if err := d.Rename(t.Context(), "a/b", "c/d"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(d.Remove(t.Context(), "c/d"), d.Remove(t.Context(), "c/d")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "secret")); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "store", temporary, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// What was half written when the service died is removed by the next.
	f, err := d.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "half")
	if _, err := OpenDir(filepath.Join(root, "store")); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "store", temporary, "*")); len(left) > 0 {
		t.Errorf("half written: %v", left)
	}
}

// List has the files below a key, and what stores nothing lists, too.
func TestList(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a/b/c", "a/d", "ab/e"} {
		if err := put(t, d, key, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("d", filepath.Join(root, "a", "link")); err != nil {
		t.Skip(err)
	}
	f, err := d.New(t.Context()) // another process writes
	if err != nil {
		t.Fatal(err)
	}
	defer f.Drop()
	reader, err := OpenRead(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for o, err := range reader.List(t.Context(), "a") {
		if err != nil || int(o.Size) != len(o.Key) {
			t.Errorf("%+v %v", o, err)
		}
		got = append(got, o.Key)
	}
	if fmt.Sprint(got) != "[a/b/c a/d]" {
		t.Errorf("%v", got)
	}
	for range reader.List(t.Context(), "none") {
		t.Error("there is none")
	}
	for o, err := range reader.List(t.Context(), "../x") {
		if err == nil {
			t.Errorf("%+v", o)
		}
	}
	if _, err := reader.New(t.Context()); err == nil {
		t.Error("it stores something")
	}
	if err := f.Keep(t.Context(), "a/f"); err != nil {
		t.Errorf("what another process was writing is gone: %v", err)
	}
}

// What of a file is zeros takes no place, and is there.
func TestZeros(t *testing.T) {
	d, err := OpenDir(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := "start" + strings.Repeat("\x00", 8<<20) + "end" + strings.Repeat("\x00", 1<<20)
	for _, part := range []string{text[:1<<20], text[1<<20:]} {
		if n, err := io.WriteString(f, part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
		if st, err := os.Stat(f.Path()); err != nil || st.Size() < int64(len(part)) {
			t.Errorf("%d bytes can be read, %v", st.Size(), err)
		}
	}
	digest := sha256.Sum256([]byte(text))
	if sum, size := f.Sum(); sum != hex.EncodeToString(digest[:]) || size != int64(len(text)) {
		t.Error(sum, size)
	}
	if err := f.Keep(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(d.Path("x"))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if taken, ok := blocks(t, d.Path("x")); ok && taken > 1<<20 {
		t.Errorf("it takes %d bytes of the disk", taken)
	}
}
