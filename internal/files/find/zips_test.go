package find

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// zipOf makes an archive with an ELF file, stored and compressed, and a text.
func zipOf(t testing.TB, lib []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, h := range []*zip.FileHeader{{Name: "packed.so", Method: zip.Deflate}, {Name: "/lib/stored.so", Method: zip.Store}, {Name: "text", Method: zip.Store}} {
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		data := lib
		if h.Name == "text" {
			data = bytes.Repeat([]byte("text"), 100)
		}
		w.Write(data)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestZip(t *testing.T) {
	lib := elftest.WithID(3, []byte{1, 2, 3, 4}, 0)
	data := zipOf(t, lib)
	base := uint64(bytes.Index(data, lib[:64])) // the other is compressed
	dir := t.TempDir()
	path := filepath.Join(dir, "base.apk")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	want := path + "!/lib/stored.so"
	for name, tt := range map[string]struct {
		opts Options
		m    Module
		want bool
	}{
		"by offset":           {Options{}, Module{Path: path + "!", Archive: path, Offset: base}, true},
		"another offset":      {Options{}, Module{Path: path + "!", Archive: path, Offset: base + 4096}, false},
		"by build-id":         {Options{}, Module{Path: path + "!", Archive: path, Offset: base + 4096, BuildID: []byte{1, 2, 3, 4}}, true},
		"another build-id":    {Options{}, Module{Path: path + "!", Archive: path, Offset: base + 4096, BuildID: []byte{1, 2, 3, 5}}, false},
		"searched, by id":     {Options{Search: []string{dir}}, Module{Path: "/data/lib.so", BuildID: []byte{1, 2, 3, 4}}, true},
		"searched, by name":   {Options{Search: []string{dir}}, Module{Path: "/data/stored.so"}, true},
		"searched, by offset": {Options{Search: []string{dir}}, Module{Path: "/data/other.apk!", Archive: "/data/other.apk", Offset: base}, true},
	} {
		f := New(context.Background(), tt.opts)
		if got := slices.Contains(slices.Collect(f.Binaries(tt.m)), want); got != tt.want {
			t.Errorf("%s: proposed %v", name, got)
		} else if !got {
			continue
		}
		m, err := f.Open(want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Data(), lib) || m.ID().Path != want || m.ID().Size != int64(len(lib)) {
			t.Errorf("%s: %d bytes, %+v", name, len(m.Data()), m.ID())
		}
		m.Close()
	}
	if _, err := New(context.Background(), Options{}).Open(want); err == nil {
		t.Error("a path that was not proposed is opened")
	}
}

// TestZipDirectory: archives whose list of files is too long, or is nowhere, are not looked into.
func TestZipDirectory(t *testing.T) {
	data := zipOf(t, elftest.WithID(3, []byte{1, 2, 3, 4}, 0))
	if got := len(libraries(t.Context(), "x", data, maxZipDirectory)); got != 1 {
		t.Fatalf("%d libraries", got)
	}
	k := bytes.LastIndex(data, []byte("PK\x05\x06"))
	if libraries(t.Context(), "x", data, 100) != nil || libraries(t.Context(), "x", data[:k], maxZipDirectory) != nil {
		t.Error("an archive with a bad list of files is looked into")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if libraries(stopped, "x", data, maxZipDirectory) != nil {
		t.Error("an archive is looked into after the end")
	}
}

// TestZipOfOneLibrary: a library that the list of files names ten thousand times is looked at as often as the archive has room for it.
func TestZipOfOneLibrary(t *testing.T) {
	data := zipOf(t, elftest.WithID(3, bytes.Repeat([]byte{1, 2, 3, 4}, 1<<16), 0))
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	start := bytes.Index(data, []byte("PK\x01\x02"))
	const times = 10000
	many := append(bytes.Clone(data[:start]), bytes.Repeat(data[start:end], times)...)
	record := bytes.Clone(data[end:])
	binary.LittleEndian.PutUint16(record[10:], uint16(3*times%(1<<16)))
	binary.LittleEndian.PutUint32(record[12:], uint32(len(many)-start))
	many = append(many, record...)
	if got := len(libraries(t.Context(), "x", many, maxZipDirectory)); got == 0 || got > len(many)/(4<<16) {
		t.Errorf("%d libraries in %d bytes", got, len(many))
	}
}

func FuzzZip(f *testing.F) {
	f.Add(zipOf(f, elftest.WithID(3, []byte{1, 2, 3, 4}, 0)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range libraries(t.Context(), "x", data, 1<<20) {
			if e.off < 0 || e.size < 0 || e.off+e.size > int64(len(data)) {
				t.Errorf("%+v of %d bytes", e, len(data))
			}
		}
		m := &mmapfile.File{}
		if m.Narrow("x", 1, 1) == nil {
			t.Error("a part of nothing")
		}
	})
}
