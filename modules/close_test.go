package modules

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An image among the sysroots is closed with the Set that opened it, and one of a Cache with the last Set after the Cache.
func TestImagesAreClosed(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "x", Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.WriteFile(image, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc/self/fd here")
		}
		for _, e := range list {
			if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(to, dir) {
				n++
			}
		}
		return n
	}
	look := func(s *Set, want int) {
		t.Helper()
		_, _, _ = s.finder.Read(filepath.Join(image, "x"), 1)
		if n := open(); n != want {
			t.Fatalf("%d files are open, not %d", n, want)
		}
	}
	made := func(opts ...Option) *Set {
		t.Helper()
		s, err := New(context.Background(), nil, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := made(WithSysroot(image))
	look(s, 1)
	s.Close()
	if n := open(); n > 0 {
		t.Errorf("%d files are open after the Set", n)
	}
	c := NewCache(context.Background(), 0, WithSysroot(image))
	one, two := made(WithCache(c)), made(WithCache(c))
	look(one, 1)
	one.Close()
	look(two, 1)
	c.Close()
	look(two, 1)
	two.Close()
	if n := open(); n > 0 {
		t.Errorf("%d files are open after the Cache and its Sets", n)
	}
	c = NewCache(context.Background(), 0, WithSysroot(image))
	s = made(WithCache(c))
	look(s, 1)
	s.Close()
	c.Close()
	if n := open(); n > 0 {
		t.Errorf("%d files are open after the Cache", n)
	}
}
