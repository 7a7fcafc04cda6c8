package find

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBinariesInOrder(t *testing.T) {
	id := []byte{0xab, 0xcd, 0xef}
	f := New(context.Background(), Options{Sysroots: []string{"/root"}, DebugDirs: []string{"/dbg"}, Executable: "/me/app", Beside: []string{"/cores"}})
	got := slices.Collect(f.Binaries(Module{Path: "/usr/lib/x/libx.so", BuildID: id, Main: true}))
	want := []string{"/me/app", "/root/usr/lib/x/libx.so", "/root/lib/x/libx.so", "/usr/lib/x/libx.so", "/cores/libx.so",
		"/root/usr/lib/debug/.build-id/ab/cdef", "/dbg/.build-id/ab/cdef"}
	if !slices.Equal(got, want) {
		t.Errorf("candidates\n%q, want\n%q", got, want)
	}
	// Without an id to check, the host's own file is not proposed for a dump from another
	// machine.
	got = slices.Collect(f.Binaries(Module{Path: "/opt/libx.so"}))
	if slices.Contains(got, "/opt/libx.so") {
		t.Errorf("the host's file is proposed although there is a sysroot: %q", got)
	}
}

func TestDebugFilesByLink(t *testing.T) {
	f := New(context.Background(), Options{Sysroots: []string{"/root"}, DebugDirs: []string{"/dbg"}})
	got := slices.Collect(f.DebugFiles(DebugQuery{File: "/root/usr/bin/app", BuildID: []byte{1, 2}, Link: "app.debug"}))
	want := []string{"/root/usr/lib/debug/.build-id/01/02.debug", "/dbg/.build-id/01/02.debug",
		"/root/usr/bin/app.debug", "/root/usr/bin/.debug/app.debug",
		"/root/usr/lib/debug/root/usr/bin/app.debug", "/root/usr/lib/debug/usr/bin/app.debug",
		"/dbg/root/usr/bin/app.debug", "/dbg/usr/bin/app.debug"}
	if !slices.Equal(got, want) {
		t.Errorf("candidates\n%q, want\n%q", got, want)
	}
	for p := range f.DebugFiles(DebugQuery{File: "/bin/app", Link: "../../etc/passwd"}) {
		t.Errorf("a link that leaves its directory is followed: %s", p)
	}
}

func TestSearchByBuildID(t *testing.T) {
	dir := t.TempDir()
	id := []byte{1, 2, 3, 4}
	app := write(t, filepath.Join(dir, "deep/er/app"), elftest.WithID(3, id, 0))
	dbg := write(t, filepath.Join(dir, "symbols/app.debug"), elftest.WithID(3, id, 0))
	write(t, filepath.Join(dir, "other"), elftest.WithID(3, []byte{9, 9}, 0))
	write(t, filepath.Join(dir, "core"), elftest.WithID(4, id, 0)) // a core is no module
	write(t, filepath.Join(dir, "text"), []byte("hello"))
	write(t, filepath.Join(dir, "cut"), elftest.WithID(3, id, 0)[:40])
	f := New(context.Background(), Options{Search: []string{dir}, DebugDirs: []string{}})
	if got := slices.Collect(f.Binaries(Module{Path: "/nowhere/app-1.2", BuildID: id})); !slices.Equal(got, []string{"/nowhere/app-1.2", app, dbg}) {
		t.Errorf("binaries of id %s: %q", hex.EncodeToString(id), got)
	}
	if got := slices.Collect(f.DebugFiles(DebugQuery{BuildID: id})); !slices.Equal(got, []string{dbg, app}) {
		t.Errorf("debug files of id %s: %q", hex.EncodeToString(id), got)
	}
	if got := slices.Collect(f.Binaries(Module{Path: "/x/other"})); !slices.Contains(got, filepath.Join(dir, "other")) {
		t.Errorf("binaries by name: %q", got)
	}
}

// A build-id may be truncated and padded with zeros.
func TestPartialBuildID(t *testing.T) {
	id := []byte{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	short := []byte{0xab, 1, 2, 3, 4, 5, 6, 9}
	dbg, search := t.TempDir(), t.TempDir()
	for _, x := range [][]byte{id, short, {0xab, 9}} {
		h := hex.EncodeToString(x)
		write(t, filepath.Join(dbg, ".build-id", h[:2], h[2:]), nil)
		write(t, filepath.Join(dbg, ".build-id", h[:2], h[2:]+".debug"), nil)
		write(t, filepath.Join(search, h), elftest.WithID(3, x, 0))
	}
	write(t, filepath.Join(dbg, ".build-id", "ab", "0102030405060708-no"), nil)
	for _, tt := range []struct{ known, file []byte }{
		{id[:16], id},
		{append(slices.Clone(short), 0, 0, 0, 0, 0, 0, 0, 0), short},
	} {
		h := hex.EncodeToString(tt.file)
		f := New(context.Background(), Options{DebugDirs: []string{dbg}, Search: []string{search}})
		got := slices.Collect(f.Binaries(Module{BuildID: tt.known, PartialID: true}))
		if want := []string{filepath.Join(dbg, ".build-id", h[:2], h[2:]), filepath.Join(search, h)}; !slices.Equal(got, want) {
			t.Errorf("%x: %q, want %q", tt.known, got, want)
		}
		got = slices.Collect(f.DebugFiles(DebugQuery{BuildID: tt.known, PartialID: true}))
		if want := []string{filepath.Join(dbg, ".build-id", h[:2], h[2:]+".debug"), filepath.Join(search, h)}; !slices.Equal(got, want) {
			t.Errorf("%x: debug files %q, want %q", tt.known, got, want)
		}
	}
}
