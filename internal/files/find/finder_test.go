package find

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// elfWithID makes a 64-bit ELF file that contains only a build-id note.
func elfWithID(typ uint16, id []byte) []byte {
	le := binary.LittleEndian
	note := le.AppendUint32(nil, 4)
	note = le.AppendUint32(note, uint32(len(id)))
	note = le.AppendUint32(note, 3) // NT_GNU_BUILD_ID
	note = append(append(note, "GNU\x00"...), id...)
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], typ)
	le.PutUint16(b[18:], 62) // EM_X86_64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], 4) // PT_NOTE
	le.PutUint64(b[64+8:], uint64(len(b)))
	le.PutUint64(b[64+32:], uint64(len(note)))
	le.PutUint64(b[64+48:], 4)
	return append(b, note...)
}

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
	app := write(t, filepath.Join(dir, "deep/er/app"), elfWithID(3, id))
	dbg := write(t, filepath.Join(dir, "symbols/app.debug"), elfWithID(3, id))
	write(t, filepath.Join(dir, "other"), elfWithID(3, []byte{9, 9}))
	write(t, filepath.Join(dir, "core"), elfWithID(4, id)) // a core is no module
	write(t, filepath.Join(dir, "text"), []byte("hello"))
	write(t, filepath.Join(dir, "cut"), elfWithID(3, id)[:40])
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
		write(t, filepath.Join(search, h), elfWithID(3, x))
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
