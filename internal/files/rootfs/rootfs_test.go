package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// An entry is a file of an archive: "name" a file with its text, "name/" a directory,
// "name -> to" a symbolic link, "name == to" a hard link, "name !" a device.
type entry struct{ name, text string }

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.text)), Mode: 0o644}
		if name, to, ok := strings.Cut(e.name, " -> "); ok {
			h.Name, h.Linkname, h.Typeflag = name, to, tar.TypeSymlink
		} else if name, to, ok := strings.Cut(e.name, " == "); ok {
			h.Name, h.Linkname, h.Typeflag = name, to, tar.TypeLink
		} else if name, ok := strings.CutSuffix(e.name, " !"); ok {
			h.Name, h.Typeflag = name, tar.TypeChar
		} else if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	return b.Bytes()
}

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zst(t testing.TB, data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
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

// elf is the text of a library: one that is kept on the way.
func elf(s string) string { return "\x7fELF" + s + strings.Repeat(".", 100) }

// text returns a file's text, or its error.
func text(r *Root, path string) (string, error) {
	m, err := r.Open(path)
	if err != nil {
		return "", err
	}
	defer m.Close()
	return strings.TrimRight(strings.TrimPrefix(string(m.Data()), "\x7fELF"), "."), nil
}

// want checks a file's text; "" means that there is no file.
func want(t *testing.T, r *Root, path, wanted string) {
	t.Helper()
	switch got, err := text(r, path); {
	case wanted == "" && err == nil:
		t.Errorf("%s is a file: %q", path, got)
	case wanted != "" && (err != nil || got != wanted):
		t.Errorf("%s: %q, %v; want %q", path, got, err, wanted)
	}
}

func one(t *testing.T, path string) *Root {
	t.Helper()
	im := Open(context.Background(), path, nil)
	roots := im.Roots()
	if len(roots) != 1 {
		t.Fatalf("%s: %d roots; %q", path, len(roots), im.Notes())
	}
	return roots[0]
}

func TestTar(t *testing.T) {
	data := archive(t, entry{"./", ""}, entry{"./lib -> usr/lib", ""}, entry{"usr/lib/libx.so.1.2", elf("library")}, entry{"usr/lib/libx.so.1 -> libx.so.1.2", ""},
		entry{"lib/through", elf("a link")}, entry{"abs -> /lib/libx.so.1", ""}, entry{"away -> ../../../../etc/passwd", ""}, entry{"etc/passwd", "the image's"},
		entry{"same == usr/lib/libx.so.1.2", ""}, entry{"a -> b", ""}, entry{"b -> a", ""}, entry{"a/file", "in a circle"}, entry{"null !", ""},
		entry{"new\nline \xff", elf("bytes")}, entry{"../../out", "inside"})
	for name, data := range map[string][]byte{"x.tar": data, "x.tar.gz": gz(data), "x.tar.zst": zst(t, data)} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir()+"/"+name, data)
			if err := Check(path); err != nil {
				t.Fatal(err)
			}
			r := one(t, path)
			for file, wanted := range map[string]string{"lib/libx.so.1": "library", "/abs": "library", "away": "the image's", "same": "library", "usr/lib/through": "a link",
				"a": "", "a/file": "", "file": "", "null": "", "usr": "", "nothing": "", "new\nline \xff": "bytes", "out": "inside", "../../out": "inside"} {
				want(t, r, file, wanted)
			}
			if got := r.Resolve("/nowhere/../lib/libx.so.1"); got != "usr/lib/libx.so.1.2" {
				t.Errorf("resolved to %q", got)
			}
			if got := r.List("lib"); !slices.Equal(got, []string{"libx.so.1", "libx.so.1.2", "through"}) {
				t.Errorf("lists %q", got)
			}
			m, err := r.Open("lib/libx.so.1.2")
			if err != nil || m.Path != path+"/lib/libx.so.1.2" {
				t.Errorf("opened %+v, %v", m, err)
			}
		})
	}
}

// oci writes the blobs of images to a directory, each of several layers.
func oci(t *testing.T, dir string, images map[string][][]byte) {
	t.Helper()
	blob := func(data []byte) map[string]any {
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		write(t, filepath.Join(dir, "blobs", "sha256", sum), data)
		return map[string]any{"digest": "sha256:" + sum}
	}
	doc := func(v any) map[string]any {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return blob(data)
	}
	var manifests []any
	for _, arch := range []string{"amd64", "arm64"} {
		var layers []any
		for _, l := range images[arch] {
			layers = append(layers, blob(l))
		}
		if layers != nil {
			d := doc(map[string]any{"config": doc(map[string]any{"architecture": arch}), "layers": layers})
			manifests = append(manifests, d)
		}
	}
	attestation := doc(map[string]any{"layers": []any{}})
	attestation["platform"] = map[string]any{"os": "unknown", "architecture": "unknown"}
	absent := map[string]any{"digest": "sha256:" + strings.Repeat("0", 64)}
	manifests = append(manifests, attestation, absent)
	nested := doc(map[string]any{"manifests": manifests})
	index, err := json.Marshal(map[string]any{"manifests": []any{nested}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "index.json"), index)
	write(t, filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`))
}

// packed makes an archive of a directory.
func packed(t *testing.T, dir string) []byte {
	t.Helper()
	var entries []entry
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, rerr := os.ReadFile(filepath.Join(dir, path))
			entries, err = append(entries, entry{path, string(data)}), rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return archive(t, entries...)
}

func layers(t *testing.T) [][]byte {
	return [][]byte{
		gz(archive(t, entry{"lib/kept", elf("kept")}, entry{"lib/gone", elf("old")}, entry{"lib/changed", elf("old")}, entry{"opt/x/old", "old"}, entry{"opt/y/old", "old"},
			entry{"both/old", "old"}, entry{"ld -> lib", ""})),
		zst(t, archive(t, entry{"lib/.wh.gone", ""}, entry{"lib/changed", elf("new")}, entry{"opt/.wh.x", ""}, entry{"opt/x/new", "new"},
			entry{"opt/y/new", "new"}, entry{"opt/y/.wh..wh..opq", ""}, entry{"both/.wh.new", ""}, entry{"both/new", "new"}, entry{"ld/through", "new"}, entry{".wh...", ""})),
		archive(t, entry{"top", elf("top")}),
	}
}

func checkLayers(t *testing.T, r *Root) {
	t.Helper()
	for file, wanted := range map[string]string{"lib/kept": "kept", "lib/gone": "", "lib/changed": "new", "opt/x/old": "", "opt/x/new": "new", "opt/y/old": "",
		"opt/y/new": "new", "both/old": "old", "both/new": "new", "top": "top", "lib/through": "new", "lib/.wh.gone": ""} {
		want(t, r, file, wanted)
	}
}

func TestOCI(t *testing.T) {
	dir := t.TempDir()
	oci(t, dir, map[string][][]byte{"amd64": layers(t)})
	if !IsDir(dir) || IsDir(t.TempDir()) {
		t.Error("the directory is not recognised")
	}
	checkLayers(t, one(t, dir))
	data := packed(t, dir)
	checkLayers(t, one(t, write(t, t.TempDir()+"/oci.tar", data)))
	checkLayers(t, one(t, write(t, t.TempDir()+"/oci.tar.gz", gz(data))))
}

func TestPlatforms(t *testing.T) {
	dir := t.TempDir()
	oci(t, dir, map[string][][]byte{"amd64": {archive(t, entry{"x", "amd64"})}, "arm64": {archive(t, entry{"x", "arm64"})}})
	roots := Open(context.Background(), dir, nil).Roots()
	if len(roots) != 2 {
		t.Fatalf("%d roots", len(roots))
	}
	for i, arch := range []string{"amd64", "arm64"} {
		r := roots[i]
		if r.Arch() != arch || r.Path() != fmt.Sprintf("%s@%d-%s", dir, i+1, arch) {
			t.Errorf("root %s for %s", r.Path(), r.Arch())
		}
		want(t, r, "x", arch)
	}
}

func TestDocker(t *testing.T) {
	dir := t.TempDir()
	list := layers(t)
	manifest := []map[string]any{{"Config": "c.json", "Layers": []string{"0/layer.tar", "1/layer.tar", "2/layer.tar"}}}
	for i, l := range list {
		write(t, fmt.Sprintf("%s/%d/layer.tar", dir, i), l)
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/manifest.json", data)
	write(t, dir+"/c.json", []byte(`{"architecture":"amd64"}`))
	if !IsDir(dir) {
		t.Error("the directory is not recognised")
	}
	r := one(t, dir)
	checkLayers(t, r)
	if r.Arch() != "amd64" {
		t.Errorf("for %q", r.Arch())
	}
	data = packed(t, dir)
	checkLayers(t, one(t, write(t, t.TempDir()+"/saved.tar", data)))
	checkLayers(t, one(t, write(t, t.TempDir()+"/saved.tar.gz", gz(data))))
}

func TestNoImage(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"text": "not an archive", "empty": "", "elf": elf("")} {
		path := write(t, dir+"/"+name, []byte(data))
		if err := Check(path); err == nil {
			t.Errorf("%s is an image", name)
		}
	}
	bad := write(t, dir+"/bad.tar.gz", gz([]byte("not an archive")))
	im := Open(context.Background(), bad, nil)
	if len(im.Roots()) != 0 || len(im.Notes()) != 1 || !strings.HasPrefix(im.Notes()[0], bad) {
		t.Errorf("%d roots, notes %q", len(im.Roots()), im.Notes())
	}
	// What an archive has before its damage is used, and the damage is told.
	data := archive(t, entry{"first", "1"}, entry{"second", strings.Repeat("2", 10000)})
	im = Open(context.Background(), write(t, dir+"/cut.tar", data[:3000]), nil)
	if len(im.Roots()) != 1 || len(im.Notes()) != 1 {
		t.Fatalf("%d roots, notes %q", len(im.Roots()), im.Notes())
	}
	want(t, im.Roots()[0], "first", "1")
	if _, err := im.Roots()[0].Open("second"); err == nil {
		t.Error("a file that is cut off is opened")
	}
}

// limited opens an image with less of one limit.
func limited(t *testing.T, data []byte, limit func(*budgets)) *Image {
	im := Open(context.Background(), write(t, t.TempDir()+"/x", data), nil)
	limit(&im.left)
	im.Roots()
	return im
}

func TestLimits(t *testing.T) {
	var many []entry
	for i := range 100 {
		many = append(many, entry{fmt.Sprint("d/", i), "text"})
	}
	data := archive(t, many...)
	zeros := gz(archive(t, entry{"zeros", strings.Repeat("\x00", 1<<20)}))
	for name, tt := range map[string]struct {
		data  []byte
		limit func(*budgets)
		note  string
	}{
		"names": {data, func(b *budgets) { b.index = 5000 }, "more files than an index"},
		"zeros": {zeros, func(b *budgets) { b.unpacked = 1 << 18 }, "decompressed to more than"},
		"work":  {data, func(b *budgets) { b.work = 50 }, "take too long"},
	} {
		im := limited(t, tt.data, tt.limit)
		if n := im.Notes(); len(n) != 1 || !strings.Contains(n[0], tt.note) {
			t.Errorf("%s: notes %q", name, n)
		}
	}
	for name, limit := range map[string]func(*budgets){"passes": func(b *budgets) { b.passes = 1 }, "disk": func(b *budgets) { b.disk = 6 }} {
		r := limited(t, gz(data), limit).Roots()[0]
		want(t, r, "d/1", "text")
		want(t, r, "d/1", "text") // it is kept
		if _, err := r.Open("d/2"); err == nil || !strings.Contains(err.Error(), decompress.ErrTooLarge.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Without room for libraries on the way they are unpacked when they are asked for.
	r := limited(t, gz(archive(t, entry{"lib", elf("library")})), func(b *budgets) { b.spool = 0 }).Roots()[0]
	want(t, r, "lib", "library")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	im := Open(ctx, write(t, t.TempDir()+"/x", gz(archive(t, entry{"a", "b"}))), nil)
	if len(im.Roots()) != 0 {
		t.Error("opened after the end")
	}
}

func FuzzImage(f *testing.F) {
	f.Add(archive(f, entry{"lib/x", elf("x")}, entry{"a -> ../b", ""}, entry{"b/.wh.c", ""}))
	f.Add(gz(archive(f, entry{"manifest.json", `[{"Layers":["a"]}]`}, entry{"a", string(archive(f, entry{"x", "y"}))})))
	f.Add(archive(f, entry{"index.json", `{"manifests":[{"digest":"sha256:00"}]}`}, entry{"blobs/sha256/00", `{"layers":[{"digest":"sha256:00"}]}`}))
	f.Fuzz(func(t *testing.T, data []byte) {
		im := Open(context.Background(), write(t, filepath.Join(t.TempDir(), "x"), data), nil)
		defer im.Close()
		im.left = budgets{index: 1 << 20, unpacked: 16 << 20, spool: 1 << 20, disk: 1 << 20, passes: 10, work: 1 << 16,
			documents: 64, json: 1 << 20, parts: 256, layers: 64, passed: 64 << 20, free: 1 << 20}
		for _, r := range im.Roots() {
			for _, name := range append(r.List("/"), "lib/x", "a", "x") {
				m, err := r.Open(name)
				if err != nil {
					continue
				}
				if err := mmapfile.Guard(func() { _ = bytes.Count(m.Data(), []byte{0}) }); err != nil {
					t.Fatal(err)
				}
				m.Close()
			}
		}
	})
}
