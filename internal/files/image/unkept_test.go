package image

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/kept"
)

// TestUnkept: what a process decompressed that may not keep it, another one keeps; the first then finds it. Only
// packages' files are listed, and only those are opened.
func TestUnkept(t *testing.T) {
	path := packedFile(t)
	inPackages = func(p string) bool { return strings.HasPrefix(p, filepath.Dir(path)) }
	defer func() { inPackages = defaultInPackages }()
	dir := filepath.Join(t.TempDir(), "kept")
	readOnly := func(use func(im *Image)) { with(t, kept.New(dir, 0), path, use) }
	const half = 200 << 10
	info := func(im *Image) int {
		s := im.elf.Section(".debug_info")
		if _, need, err := im.elf.LazySection(s); err != nil || need(0, half) != nil {
			t.Fatal(err)
		}
		return s.Index
	}
	var list []Unkept
	readOnly(func(im *Image) {
		number := info(im)
		list = im.cache.Unkept()
		if len(list) != 1 || list[0].Path != path || list[0].Section != number || list[0].End < half {
			t.Fatalf("%+v of section %d", list, number)
		}
	})
	keep := func(list ...Unkept) {
		t.Helper()
		with(t, kept.New(dir, 1<<30), path, func(im *Image) { im.cache.KeepAlso(slices.Values(list)) })
	}
	// What such a list may say, and nothing is kept for.
	u := list[0]
	bad := []Unkept{{u.Path, -1, u.End}, {u.Path, 0, u.End}, {u.Path, 1 << 20, u.End}, {u.Path, u.Section, 1 << 40}, {u.Path + "x", u.Section, u.End}, {filepath.Dir(path), 1, 1}}
	keep(bad...)
	inPackages = func(string) bool { return false }
	keep(u)
	if entries, err := kept.New(dir, 0).List(); err == nil && len(entries) > 0 {
		t.Fatalf("kept: %+v", entries)
	}
	readOnly(func(im *Image) {
		if info(im); len(im.cache.Unkept()) > 0 {
			t.Error("files of other places than packages' are listed")
		}
	})
	inPackages = func(p string) bool { return strings.HasPrefix(p, filepath.Dir(path)) }
	keep(list...)
	readOnly(func(im *Image) {
		if info(im); decompressed(im) > 0 || len(im.cache.Unkept()) > 0 {
			t.Errorf("%d bytes are decompressed again; %+v", decompressed(im), im.cache.Unkept())
		}
	})
}

var defaultInPackages = inPackages

// TestUnkeptMeanwhile: a list may be made while other goroutines decompress.
func TestUnkeptMeanwhile(t *testing.T) {
	path := packedFile(t)
	for range 20 {
		with(t, kept.New(filepath.Join(t.TempDir(), "kept"), 0), path, func(im *Image) {
			done := make(chan error)
			go func() {
				data, need, err := im.elf.LazyDebugSection("info")
				if err == nil {
					err = need(0, uint64(len(data)))
				}
				done <- err
			}()
			for {
				im.cache.Unkept()
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
					return
				default:
				}
			}
		})
	}
}
