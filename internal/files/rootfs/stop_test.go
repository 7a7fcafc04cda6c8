package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A made layout is one that a stranger wrote.
type madeLayout struct {
	t   *testing.T
	dir string
}

// blob writes a blob, and returns its descriptor.
func (l madeLayout) blob(data []byte) map[string]any {
	l.t.Helper()
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	write(l.t, filepath.Join(l.dir, "blobs", "sha256", sum), data)
	return map[string]any{"digest": "sha256:" + sum}
}

func (l madeLayout) document(v any) map[string]any { return l.blob(l.json(v)) }

func (l madeLayout) json(v any) []byte {
	l.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		l.t.Fatal(err)
	}
	return data
}

// write writes the index, and returns the directory.
func (l madeLayout) write(index any) string {
	l.t.Helper()
	write(l.t, filepath.Join(l.dir, "index.json"), l.json(index))
	write(l.t, filepath.Join(l.dir, "oci-layout"), []byte("{}"))
	return l.dir
}

func newLayout(t *testing.T) madeLayout { return madeLayout{t, t.TempDir()} }

// images makes a layout of images with these layers, one for each architecture.
func (l madeLayout) images(archs []string, layers ...map[string]any) string {
	l.t.Helper()
	var manifests []any
	for i, arch := range archs {
		manifests = append(manifests, l.document(map[string]any{"n": i, "config": l.document(map[string]any{"architecture": arch}), "layers": layers}))
	}
	return l.write(map[string]any{"manifests": manifests})
}

// opened opens an image with less of its budgets.
func opened(t *testing.T, ctx context.Context, path string, limit func(*budgets)) *Image {
	t.Helper()
	im := Open(ctx, path, nil)
	t.Cleanup(func() { im.Close() })
	limit(&im.left)
	return im
}

func all(*budgets) {}

// note checks that there is one note, which has a text.
func note(t *testing.T, im *Image, text string) {
	t.Helper()
	if n := im.Notes(); len(n) != 1 || !strings.Contains(n[0], text) || strings.Contains(n[0], "\n") {
		t.Errorf("notes %q, want one with %q", n, text)
	}
}

func repeated[T any](v T, n int) (list []T) {
	for range n {
		list = append(list, v)
	}
	return list
}

// TestCircle: an index that names itself, again and again, is read once, and said to be damaged.
func TestCircle(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	self := map[string]any{"digest": "sha256:" + strings.Repeat("a", 64)}
	index := map[string]any{"manifests": repeated(self, 200)}
	write(t, filepath.Join(l.dir, "blobs", "sha256", strings.Repeat("a", 64)), l.json(index))
	dir := l.write(index)
	data := packed(t, dir)
	for name, path := range map[string]string{"directory": dir, "tar": write(t, t.TempDir()+"/x", data), "compressed": write(t, t.TempDir()+"/x", gz(data))} {
		im := opened(t, t.Context(), path, all)
		if roots := im.Roots(); len(roots) != 0 {
			t.Errorf("%s: %d roots", name, len(roots))
		}
		note(t, im, "leads to itself")
		if n := maxDocuments - im.left.documents; n > 4 { // with that of archives of docker save
			t.Errorf("%s: %d documents were read", name, n)
		}
	}
}

// TestNamedAgain: a manifest that is named two hundred times is read once, and is one image.
func TestNamedAgain(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	m := l.document(map[string]any{"config": l.document(map[string]any{"architecture": "amd64"}), "layers": []any{l.blob(archive(t, entry{"x", "text"}))}})
	nested := l.document(map[string]any{"manifests": repeated(m, 200)})
	im := opened(t, t.Context(), l.write(map[string]any{"manifests": append(repeated(m, 200), nested)}), all)
	if len(im.Roots()) != 1 || len(im.Notes()) != 0 {
		t.Fatalf("%d roots; %q", len(im.Roots()), im.Notes())
	}
	want(t, im.Roots()[0], "x", "text")
	if n := maxDocuments - im.left.documents; n != 4 {
		t.Errorf("%d documents were read", n)
	}
}

// TestDocumentsAreBounded: what the documents of a layout cost together is bounded, whatever shape they have; what was read before is used.
func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	layer := l.blob(archive(t, entry{"x", "text"}))
	var manifests []any
	for i := range 40 {
		manifests = append(manifests, l.document(map[string]any{"n": i, "config": l.document(map[string]any{"architecture": fmt.Sprint("a", i)}), "layers": []any{layer}}))
	}
	dir := l.write(map[string]any{"manifests": manifests})
	for name, limit := range map[string]func(*budgets){
		"documents": func(b *budgets) { b.documents = 21 }, "parts": func(b *budgets) { b.parts = 21 }, "bytes": func(b *budgets) { b.json = 6000 },
	} {
		im := opened(t, t.Context(), dir, limit)
		if n := len(im.Roots()); n == 0 || n > 20 {
			t.Errorf("%s: %d roots", name, n)
		}
		note(t, im, "the images that follow are not known")
	}
	if im := opened(t, t.Context(), dir, all); len(im.Roots()) != 40 || len(im.Notes()) != 0 {
		t.Errorf("%d roots; %q", len(im.Roots()), im.Notes())
	}
	deep := l.document(map[string]any{"manifests": manifests})
	for range maxNested {
		deep = l.document(map[string]any{"manifests": []any{deep}})
	}
	note(t, noRoots(t, l.write(map[string]any{"manifests": []any{deep}})), "lead from one to the next")
	long := l.document(map[string]any{"layers": repeated(map[string]any{}, maxListed+1)})
	note(t, noRoots(t, l.write(map[string]any{"manifests": []any{long}})), "lists more than")
	im := opened(t, t.Context(), l.images([]string{"amd64"}, repeated(layer, maxLayers+1)...), all)
	im.Roots()
	note(t, im, "of which the first 512 are known")
}

func noRoots(t *testing.T, path string) *Image {
	t.Helper()
	im := opened(t, t.Context(), path, all)
	if n := len(im.Roots()); n != 0 {
		t.Errorf("%d roots", n)
	}
	return im
}

// TestZeros: layers of zeros end where they expand to more than honest ones, all together, and the files before them are known.
func TestZeros(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	var layers []map[string]any
	for i := range 4 {
		layers = append(layers, l.blob(zst(t, archive(t, entry{fmt.Sprint("first", i), "text"}, entry{"zeros", strings.Repeat("\x00", 3<<20)}, entry{fmt.Sprint("last", i), "text"}))))
	}
	dir := l.images([]string{"amd64"}, layers...)
	im := opened(t, t.Context(), dir, func(b *budgets) { b.free = 4 << 20 })
	r := im.Roots()[0]
	r.List("/")
	note(t, im, "more than those of honest images")
	for i, known := range []string{"text", "text", "", ""} {
		if got := strings.Contains(fmt.Sprint(r.List("/")), fmt.Sprint("first", i)); got != (known != "") {
			t.Errorf("first%d is there: %v", i, got)
		}
	}
	if im.left.made > 5<<20 {
		t.Errorf("%d bytes were decompressed", im.left.made)
	}
	im = opened(t, t.Context(), dir, all)
	if n := len(im.Roots()[0].List("/")); n != 9 || len(im.Notes()) != 0 {
		t.Errorf("%d files; %q", n, im.Notes())
	}
}

// TestEqualLayers: a layer is read once for all images that have it, and lies over others where it does.
func TestEqualLayers(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	big := archive(t, entry{"usr/lib/x", elf("first")}, entry{"other", strings.Repeat("text", 1000)})
	a, b := l.blob(gz(big)), l.blob(archive(t, entry{"usr/lib/.wh.x", ""}))
	dir := l.images([]string{"amd64", "arm64", "amd64", "riscv64"}, a, a, a, b, b, a)
	im := opened(t, t.Context(), dir, all)
	if len(im.Roots()) != 3 {
		t.Fatalf("%d roots; %q", len(im.Roots()), im.Notes())
	}
	if n := len(im.Roots()[0].layers); n != 3 {
		t.Errorf("%d layers, one after the other the same", n)
	}
	for _, r := range im.Roots() {
		want(t, r, "usr/lib/x", "first")
	}
	once := im.left.made
	if once > int64(len(big))+1<<10 {
		t.Errorf("%d bytes were decompressed of a layer of %d", once, len(big))
	}
	want(t, im.Roots()[0], "other", strings.Repeat("text", 1000))
	twice := im.left.made
	want(t, im.Roots()[1], "other", strings.Repeat("text", 1000))
	if im.left.made != twice {
		t.Error("a file was unpacked again for another image")
	}
	few := opened(t, t.Context(), dir, func(b *budgets) { b.layers = 1 })
	few.Roots()[0].List("/")
	note(t, few, "those that follow are not known")
	gone := opened(t, t.Context(), l.images([]string{"amd64", "arm64"}, a, b), all)
	for _, r := range gone.Roots() {
		want(t, r, "usr/lib/x", "")
	}
}

// TestPassesAreCharged: what is decompressed again to get at single files is bounded, too.
func TestPassesAreCharged(t *testing.T) {
	t.Parallel()
	var entries []entry
	for i := range 20 {
		entries = append(entries, entry{fmt.Sprint("f", i), strings.Repeat("text", 1000)})
	}
	path := write(t, t.TempDir()+"/x", gz(archive(t, entries...)))
	im := opened(t, t.Context(), path, func(b *budgets) { b.passed = 300 << 10 })
	var failed error
	for i := range 20 {
		m, err := im.Roots()[0].Open(fmt.Sprint("f", i))
		if err == nil {
			m.Close()
		}
		failed = errors.Join(failed, err)
	}
	if failed == nil || !strings.Contains(failed.Error(), "were decompressed to find files") {
		t.Error(failed)
	}
}

// An ending context is done after it was asked so often.
type ending struct {
	context.Context
	left int
	im   *Image
	made int64 // what was decompressed at the end
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		if e.left == -1 && e.im != nil {
			e.made = e.im.left.made
		}
		return context.Canceled
	}
	return nil
}

// TestReadingStops: reading ends with its context, wherever it is, and says so once.
func TestReadingStops(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	data := archive(t, entry{"zeros", strings.Repeat("\x00", 16<<20)})
	dir := l.images([]string{"amd64", "arm64"}, l.blob(zst(t, data)), l.blob(gz(data)), l.blob(data))
	tar := packed(t, dir)
	for name, path := range map[string]string{"directory": dir, "tar": write(t, t.TempDir()+"/x", tar), "compressed": write(t, t.TempDir()+"/x", gz(tar))} {
		asked := 0
		for left := 0; left < 3000; left = left*3/2 + 1 {
			ctx := &ending{Context: t.Context(), left: left}
			im := opened(t, ctx, path, all)
			ctx.im = im
			for _, r := range im.Roots() {
				r.List("/")
			}
			if ctx.left >= 0 {
				break
			}
			asked++
			if n := im.Notes(); len(n) == 0 || !strings.Contains(n[0], "not read to its end") {
				t.Errorf("%s: notes %q", name, n)
			}
			if n := im.left.made - ctx.made; n > 1<<20 {
				t.Errorf("%s: asked %d times, %d bytes were decompressed after that", name, left, n)
			}
		}
		if asked < 12 { // more than a hundred times
			t.Errorf("%s: the context is not asked often enough: %d", name, asked)
		}
	}
}
