package image_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// OpenPacked opens a compressed file once, within its limits; Open does not unpack.
func TestOpenPacked(t *testing.T) {
	c := fixture.Get(t, "amd64-pie")
	data, err := os.ReadFile(c.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	path := write(t, filepath.Join(t.TempDir(), "pack.gz"), b.Bytes())
	cut := write(t, filepath.Join(t.TempDir(), "cut.gz"), b.Bytes()[:b.Len()/2])
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		path string
		max  int64
		err  error
	}{
		"whole":       {context.Background(), path, int64(len(data)), nil},
		"plain":       {context.Background(), c.Binary(t), 1, nil},
		"too large":   {context.Background(), path, int64(len(data)) - 1, decompress.ErrTooLarge},
		"cut":         {context.Background(), cut, 0, decompress.ErrTruncatedStream},
		"interrupted": {stopped, path, 0, context.Canceled},
		"missing":     {context.Background(), path + ".none", 0, os.ErrNotExist},
	} {
		cache := image.NewCache(find.New(context.Background(), find.Options{}))
		defer cache.Close()
		opts := decompress.Options{Dir: t.TempDir(), MaxSize: tt.max}
		im, err := cache.OpenPacked(tt.ctx, tt.path, opts)
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, err2 := cache.OpenPacked(tt.ctx, tt.path, opts); again != im || (err2 == nil) != (err == nil) {
			t.Errorf("%s: another image the second time: %v", name, err2)
		}
		if err == nil && (im.Path() != tt.path || len(im.ELF().BuildID()) == 0) {
			t.Errorf("%s: path %s, build-id %x", name, im.Path(), im.ELF().BuildID())
		}
	}
	cache := image.NewCache(find.New(context.Background(), find.Options{}))
	defer cache.Close()
	if _, err := cache.Open(path); err == nil {
		t.Error("Open unpacks, and so would a path that a dump names")
	}
}
