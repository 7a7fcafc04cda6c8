package rootfs

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/kept"
)

// TestKeep: a second run decompresses nothing, and finds what the first found. A third, which wants another file, does.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib := archive(t, entry{"usr/", ""}, entry{"usr/lib/liba.so", elf("a")}, entry{"usr/lib/libb.so", elf("b")}, entry{"usr/notes", "text"},
		entry{"lib -> usr/lib", ""}, entry{"usr/lib/libc.so == usr/lib/liba.so", ""})
	oci(t, dir+"/layout", map[string][][]byte{"amd64": {gz(lib), zst(t, archive(t, entry{"usr/lib/.wh.libb.so", ""}, entry{"etc/x", "upper"}))}})
	data := packed(t, dir+"/layout")
	paths := []string{dir + "/layout", write(t, dir+"/tar.gz", gz(lib)), write(t, dir+"/oci.tar", data), write(t, dir+"/oci.tar.gz", gz(data))}
	time.Sleep(2100 * time.Millisecond) // of files that have just changed nothing is kept
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cache := t.TempDir()
			if err := os.Chmod(cache, 0o700); err != nil {
				t.Fatal(err)
			}
			run := func(limit func(*budgets), more string) {
				im := Open(context.Background(), path, kept.New(filepath.Join(cache, "kept"), 1<<30))
				limit(&im.left)
				defer im.Keep(t.Context())
				if len(im.Roots()) != 1 {
					t.Fatalf("%d roots; %q", len(im.Roots()), im.Notes())
				}
				r := im.Roots()[0]
				want(t, r, "lib/liba.so", "a")
				want(t, r, "usr/lib/libc.so", "a")
				want(t, r, "usr/notes", "text")
				if layered := strings.Contains(path, "oci") || strings.HasSuffix(path, "layout"); layered {
					want(t, r, "etc/x", "upper")
					want(t, r, "usr/lib/libb.so", "")
				} else if more != "" {
					want(t, r, more, "b")
				}
				for _, n := range im.Notes() {
					if !strings.Contains(n, strings.Repeat("0", 64)) { // a platform that the layout does not have
						t.Errorf("note %q", n)
					}
				}
			}
			nothing := func(b *budgets) { b.unpacked, b.passes = -1, 0 }
			run(func(*budgets) {}, "")
			run(nothing, "")
			run(func(*budgets) {}, "lib/libb.so")
			run(nothing, "lib/libb.so")
		})
	}
}

// TestKeptOfAnother: what was kept of an image that has changed since is not used.
func TestKeptOfAnother(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir()+"/x", gz(archive(t, entry{"a", "first"})))
	time.Sleep(2100 * time.Millisecond)
	room := kept.New(filepath.Join(t.TempDir(), "kept"), 1<<30)
	for _, wanted := range []string{"first", "other"} {
		im := Open(context.Background(), path, room)
		want(t, im.Roots()[0], "a", wanted)
		im.Keep(t.Context())
		write(t, path, gz(archive(t, entry{"a", "other"})))
	}
}

// FuzzIndex: an index is read whatever it has.
func FuzzIndex(f *testing.F) {
	x := &index{}
	for _, m := range []member{{off: 512}, {off: 1 << 40}} {
		m.Name, m.Linkname, m.ModTime = "usr/lib", "to", time.Unix(1, 2)
		x.add(&m.Header, m.off)
	}
	f.Add(x.data)
	f.Add(binary.AppendUvarint([]byte{'0', 0, 0, 0}, 1<<63))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseIndex(b)
		if err != nil {
			return
		}
		again := &index{}
		for i := range list {
			again.add(&list[i].Header, list[i].off)
		}
		if _, err := parseIndex(again.data); err != nil {
			t.Fatal(err)
		}
	})
}
