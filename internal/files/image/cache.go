package image

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pefile"
)

// A Cache keeps open images, so that each file is mapped and indexed once however many
// modules, threads and dumps use it. All images of a cache use one Finder to locate
// companion files.
type Cache struct {
	// Kept is where decompressed sections are kept from one run to the next; nil for nowhere. It
	// is set before the first image is opened.
	Kept *kept.Room

	finder  *find.Finder
	closing time.Duration // see closing.go; tests have less of it

	mu     sync.Mutex // guards the four below; no other lock is taken inside
	byPath map[string]*entry
	byFile map[mmapfile.ID]*Image
	// symbols are PDBs and Breakpad symbol files, by path.
	symbols map[string]*symbolEntry
	keeping chan struct{} // closed when the Keep that runs ends; nil if none does

	served servedKinds

	mapped atomic.Int64

	programOnce sync.Once
	programID   uint64 // 0 if this program's own file is not known
}

type entry struct {
	once sync.Once
	im   *Image
	err  error
}

// NewCache returns an empty cache whose images locate companion files with finder.
func NewCache(finder *find.Finder) *Cache {
	return &Cache{finder: finder, closing: closing, byPath: map[string]*entry{}, byFile: map[mmapfile.ID]*Image{}, symbols: map[string]*symbolEntry{}}
}

// Open returns the image of the ELF or PE file at path. Failures are cached too.
func (c *Cache) Open(path string) (*Image, error) { return c.openWith(path, c.finder.Open) }

// OpenPacked is like Open, but the file may be compressed. It is for files that the user
// names: a path in a dump may lead to a file that is large when it is unpacked.
func (c *Cache) OpenPacked(ctx context.Context, path string, opts decompress.Options) (*Image, error) {
	return c.openWith(path, func(path string) (*mmapfile.File, error) { return openPacked(ctx, path, opts) })
}

// openPacked maps a file or, if it is compressed, its unpacked contents.
func openPacked(ctx context.Context, path string, opts decompress.Options) (*mmapfile.File, error) {
	m, err := mmapfile.Open(path)
	if err != nil {
		return nil, err
	}
	kind := decompress.Sniff(m.Data()[:min(len(m.Data()), decompress.SniffLen)])
	if kind == decompress.None {
		return m, nil
	}
	m.Close()
	packed, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	f, _, err := decompress.ToSparse(ctx, packed, kind, opts)
	if f != nil {
		defer f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: could not be unpacked: %w", path, err)
	}
	return mmapfile.FromOS(f)
}

func (c *Cache) openWith(path string, open func(string) (*mmapfile.File, error)) (*Image, error) {
	c.mu.Lock()
	e := c.byPath[path]
	if e == nil {
		e = &entry{}
		c.byPath[path] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		e.err = mmapfile.ErrChanged // remains set if reading the file faults
		e.im, e.err = c.open(path, open)
	})
	return e.im, e.err
}

func (c *Cache) open(path string, open func(string) (*mmapfile.File, error)) (*Image, error) {
	m, err := open(path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	known := c.byFile[m.ID()]
	c.mu.Unlock()
	if known != nil {
		m.Close()
		return known, nil
	}
	im := &Image{path: path, file: m, cache: c, finder: c.finder}
	if err := im.parse(m.Data()); err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if known = c.add(im); known != im { // another goroutine was faster
		m.Close()
		return known, nil
	}
	c.mapped.Add(int64(len(m.Data())))
	return im, nil
}

// add returns the image that the cache has of a file: im, if it had none.
func (c *Cache) add(im *Image) *Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byFile[im.file.ID()]; known != nil {
		return known
	}
	c.byFile[im.file.ID()] = im
	return im
}

// Mapped is the total size in bytes of the files that the cache has open. The memory used
// for what was parsed from them is normally proportional to it.
func (c *Cache) Mapped() int64 { return c.mapped.Load() }

// parse reads the headers of an ELF or PE file.
func (im *Image) parse(data []byte) (err error) {
	if bytes.HasPrefix(data, []byte("MZ")) {
		if im.pe, err = pefile.Parse(data); err == nil {
			im.elf = viewPE(im.pe)
		}
		return err
	}
	if im.elf, err = elffile.Parse(data); err == nil {
		im.elf.Decompress = im.inflate
		if im.file != nil {
			im.elf.Release = im.file.Release
			if im.cache != nil && im.cache.Kept != nil {
				im.elf.Stored = im.storedIndex
			}
		}
	}
	return err
}
