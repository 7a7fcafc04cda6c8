package find

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/files/rootfs"
)

// images are the sysroots that are images, by the paths that the user named.
type images map[string]*rootfs.Image

// openImages returns the images among the sysroots. It opens none.
func openImages(ctx context.Context, sysroots []string, room *kept.Room) images {
	var list images
	for _, path := range sysroots {
		if st, err := os.Stat(path); err != nil || st.IsDir() && !rootfs.IsDir(path) {
			continue
		}
		if list == nil {
			list = images{}
		}
		list[path] = rootfs.Open(ctx, path, room)
	}
	return list
}

// Keep writes to disk what the next run wants to know of images. Nothing more is written once ctx is done.
func (f *Finder) Keep(ctx context.Context) {
	for _, im := range f.images {
		im.Keep(ctx)
	}
}

// Close closes the files of images. What was opened of them stays open. It is for all Finders that share them, and the last that is done
// with any.
func (f *Finder) Close() error {
	var failed error
	for _, im := range f.images {
		failed = errors.Join(failed, im.Close())
	}
	return failed
}

// root returns the root directory in an image that a path stands for, or nil.
func (l images) root(path string) *rootfs.Root {
	for _, im := range l {
		for _, r := range im.Roots() {
			if r.Path() == path {
				return r
			}
		}
	}
	return nil
}

// file returns the root directory that has a path, and the path in it.
func (l images) file(path string) (*rootfs.Root, string) {
	for _, im := range l {
		for _, r := range im.Roots() {
			if rest, ok := cutRoot(path, r.Path()); ok {
				return r, rest
			}
		}
	}
	return nil, ""
}

// notes lists what could not be read.
func (l images) notes() []string {
	var list []string
	for _, im := range l {
		list = append(list, im.Notes()...)
	}
	return list
}

// sysroots returns the sysroots. For an image, these are the paths that stand for the root
// directories in it, but not those for other machines than the dump's.
func (f *Finder) sysroots() []string {
	if len(f.images) == 0 {
		return f.opts.Sysroots
	}
	var list []string
	for _, path := range f.opts.Sysroots {
		im := f.images[path]
		if im == nil {
			list = append(list, path)
			continue
		}
		for _, r := range im.Roots() {
			if isFor(f.opts.Machine, r.Arch()) {
				list = append(list, r.Path())
			}
		}
	}
	return list
}

// isFor reports whether an image for an architecture, as Go calls it, may be a machine's.
func isFor(machine, goarch string) bool {
	var names []string
	switch goarch {
	case "amd64":
		names = []string{"x86-64", "i386"} // which runs programs of both
	case "386":
		names = []string{"i386"}
	case "arm64":
		names = []string{"aarch64", "arm"}
	case "arm":
		names = []string{"arm"}
	case "riscv64":
		names = []string{"riscv64"}
	case "loong64":
		names = []string{"loongarch64"}
	default: // what is not known is tried: files are compared with the dump
		return true
	}
	return machine == "" || slices.Contains(names, machine)
}

// within is the function within, also for the images.
func (f *Finder) within(root, path string) string {
	if r := f.images.root(root); r != nil {
		return filepath.Join(root, r.Resolve(filepath.ToSlash(path)))
	}
	return within(root, path)
}

// names lists the names in a directory, sorted; none if it cannot be read.
func (f *Finder) names(dir string) []string {
	if r, rest := f.images.file(dir); r != nil {
		return r.List(rest)
	}
	var names []string
	for _, e := range list(dir) {
		names = append(names, e.Name())
	}
	return names
}

// Open maps the file at a path that the Finder proposed. Files of images are unpacked, if they
// have to be; libraries in zip archives are mapped where they lie.
func (f *Finder) Open(path string) (*mmapfile.File, error) {
	if f != nil {
		if e, ok := f.zips.entry(path); ok {
			return f.openEntry(path, e)
		}
		if r, rest := f.images.file(path); r != nil {
			return r.Open(rest)
		}
	}
	return mmapfile.Open(path)
}

// Read returns the beginning of a file that the Finder proposed, at most so many bytes. What
// it says of a file in an image is its name, size and time.
func (f *Finder) Read(path string, most int64) ([]byte, fs.FileInfo, error) {
	if r, rest := f.images.file(path); r != nil {
		m, err := r.Open(rest)
		if err != nil {
			return nil, nil, err
		}
		defer m.Close()
		var data []byte
		err = mmapfile.Guard(func() { data = append(data, m.Data()[:min(int64(len(m.Data())), most)]...) })
		return data, packedInfo{filepath.Base(path), m.ID()}, err
	}
	file, st, err := mmapfile.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	b := bytes.NewBuffer(make([]byte, 0, min(st.Size(), most)+bytes.MinRead)) // io.ReadAll takes five times the size of a large file
	_, err = b.ReadFrom(io.LimitReader(file, most))
	return b.Bytes(), st, err
}

// packedInfo describes a file in an image.
type packedInfo struct {
	name string
	id   mmapfile.ID
}

func (i packedInfo) Name() string       { return i.name }
func (i packedInfo) Size() int64        { return i.id.Size }
func (i packedInfo) Mode() fs.FileMode  { return 0o444 }
func (i packedInfo) ModTime() time.Time { return time.Unix(0, i.id.MtimeNs) }
func (i packedInfo) IsDir() bool        { return false }
func (i packedInfo) Sys() any           { return nil }

// globIn returns the paths in an image that match an absolute pattern.
func globIn(r *rootfs.Root, pattern string) []string {
	found := []string{"/"}
	for _, c := range components(pattern) {
		var next []string
		for _, dir := range found {
			for _, name := range r.List(dir) {
				if ok, err := path.Match(c, name); ok && err == nil && len(next) < maxLoaderDirs {
					next = append(next, strings.TrimSuffix(dir, "/")+"/"+name)
				}
			}
		}
		found = next
	}
	return found
}

// CheckSysroot returns nil if a path can be a sysroot: a directory, or an image as far as its
// first bytes tell.
func CheckSysroot(path string) error {
	if st, err := os.Stat(path); err != nil {
		return err
	} else if st.IsDir() {
		return nil
	}
	err := rootfs.Check(path)
	if errors.Is(err, rootfs.ErrNoImage) {
		return rootfs.ErrNoImage
	}
	return err
}
