package modules_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// A library that the dump knows by its bare name is found where the loader looks, if the
// build-id is right. Another build of the same name is not this dump's: it is not used, and
// not complained of.
func TestBareNames(t *testing.T) {
	id, other := []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{8, 7, 6, 5, 4, 3, 2, 1}
	root := t.TempDir()
	put := func(path string, id []byte) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, elfWith(id, code), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("usr/lib/x86_64-linux-gnu/libright.so.1", id)
	put("usr/lib/x86_64-linux-gnu/libother.so.1", other)
	put("usr/lib/x86_64-linux-gnu/libnone.so.1", nil)
	put("lib/libboth.so.1", other)
	put("usr/lib/libboth.so.1", id)
	put("opt/app/app", id)
	put("opt/app/libown.so", id)
	files, err := modules.New(context.Background(), noBytes{}, modules.WithSysroot(root), modules.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, tt := range []struct {
		path string
		id   []byte
		want string // below the root
	}{
		{"libown.so", id, ""}, // before the program is found
		{"/opt/app/app", id, "opt/app/app"},
		{"libown.so", id, "opt/app/libown.so"},
		{"libright.so.1", id, "usr/lib/x86_64-linux-gnu/libright.so.1"},
		{"libboth.so.1", id, "usr/lib/libboth.so.1"},
		{"libother.so.1", id, ""},
		{"libnone.so.1", id, ""},
		{"libright.so.1", nil, ""},
	} {
		lib := &libstate.Library{Path: tt.path, BuildID: tt.id, Start: uint64(len(tt.path)) << 12} // each look-up for itself
		if tt.want == "opt/app/libown.so" {
			lib.Start++
		}
		r := files.Resolve(lib)
		if tt.want == "" {
			if r.Match != modules.Missing || r.Image != nil || r.Why != "" {
				t.Errorf("%s: %v, %s, %q", tt.path, r.Match, r.Path, r.Why)
			}
			continue
		}
		if r.Match != modules.Matched || strings.TrimPrefix(r.Path, root+"/") != tt.want {
			t.Errorf("%s: %v, %s, %q", tt.path, r.Match, r.Path, r.Why)
		}
	}
}
