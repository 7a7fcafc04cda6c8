package find

import (
	"archive/tar"
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// imageOf makes a tar archive of files; those that begin with "->" are links.
func imageOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text))}
		if to, ok := bytes.CutPrefix([]byte(text), []byte("->")); ok {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, string(to), 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w.Close()
	return write(t, filepath.Join(t.TempDir(), "image.tar"), b.Bytes())
}

func TestSysrootImage(t *testing.T) {
	id := []byte{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	debug := "usr/lib/debug/.build-id/ab/0102030405060708090a0b0c0d0e0f10111213"
	image := imageOf(t, map[string]string{"lib": "->usr/lib", "usr/lib/libx.so.1.2": string(elftest.WithID(3, id, 0)), "usr/lib/libx.so.1": "->/lib/libx.so.1.2",
		"usr/lib/libx.debug": "link", debug + ".debug": "debug", debug: "->/usr/lib/libx.so.1.2", "etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n",
		"etc/ld.so.conf.d/a.conf": "/opt/a\n", "opt/a/libbare.so": "bare", "src/main.c": "int main;"})
	f := New(context.Background(), Options{Sysroots: []string{image}, DebugDirs: []string{}})
	has := func(what, path, text string) {
		t.Helper()
		m, err := f.Open(path)
		if err != nil || string(m.Data()) != text {
			t.Errorf("%s: %s: %v", what, path, err)
		}
	}
	first := func(paths func(func(string) bool)) string {
		for p := range paths {
			if m, err := f.Open(p); err == nil {
				m.Close()
				return p
			}
		}
		return ""
	}
	lib := first(f.Binaries(Module{Path: "/lib/libx.so.1"}))
	if lib != image+"/usr/lib/libx.so.1.2" {
		t.Errorf("library %q", lib)
	}
	if !f.Given(lib) {
		t.Error("the user named the image")
	}
	has("build-id", first(f.Binaries(Module{Path: "/moved", BuildID: id})), string(elftest.WithID(3, id, 0)))
	has("debug file", first(f.DebugFiles(DebugQuery{BuildID: id})), "debug")
	has("partial id", first(f.DebugFiles(DebugQuery{BuildID: id[:16], PartialID: true})), "debug")
	has("debug link", first(f.DebugFiles(DebugQuery{File: lib, Link: "libx.debug"})), "link")
	has("bare name", first(f.Loaded(Module{Path: "libbare.so", BuildID: id})), "bare")
	for path, given := range f.Sources("/src/../src/main.c") {
		if data, st, err := f.Read(path, 3); err != nil || !given || string(data) != "int" || st.Size() != 9 {
			t.Errorf("source %s: %q, %v", path, data, err)
		}
	}
	if len(f.Unusable()) != 0 {
		t.Errorf("messages: %q", f.Unusable())
	}
	bad := write(t, filepath.Join(t.TempDir(), "bad"), []byte("no image at all"))
	f = New(context.Background(), Options{Sysroots: []string{bad}})
	if got := slices.Collect(f.Binaries(Module{Path: "/x"})); slices.Contains(got, "/x") || len(f.Unusable()) != 1 {
		t.Errorf("candidates %q, messages %q", got, f.Unusable())
	}
}

func TestImageIsFor(t *testing.T) {
	for _, tt := range []struct {
		machine, goarch string
		want            bool
	}{{"x86-64", "amd64", true}, {"i386", "amd64", true}, {"x86-64", "386", false}, {"aarch64", "amd64", false}, {"aarch64", "arm64", true},
		{"", "arm64", true}, {"x86-64", "", true}, {"x86-64", "arm", false}, {"x86-64", "riscv64", false}, {"x86-64", "loong64", false}} {
		if got := isFor(tt.machine, tt.goarch); got != tt.want {
			t.Errorf("isFor(%q, %q) = %v", tt.machine, tt.goarch, got)
		}
	}
}
