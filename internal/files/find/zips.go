package find

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/ziplist"
)

// zips are the zip archives that were looked into: the libraries in them that are not compressed, which a process can
// map where they lie. Android does so with those of APKs.
type zips struct {
	mu      sync.Mutex            // guards the two below; no other lock is taken inside
	listed  map[string][]zipEntry // by the archive's path
	entries map[string]zipEntry   // by the path that stands for the library
}

// A zipEntry is a library in a zip archive.
type zipEntry struct {
	archive   string
	name      string
	off, size int64
	buildID   string // in hexadecimal; "" for none
}

// path stands for the library. No file is there.
func (e *zipEntry) path() string { return e.archive + "!/" + strings.TrimLeft(e.name, "/") }

// Limits of the archives that are looked into.
const (
	maxZipDirectory = 32 << 20 // bytes of the list of files
	maxZipEntries   = 1 << 14  // libraries
	maxZips         = 256      // archives, for one module
)

// entry returns the library that a path stands for.
func (z *zips) entry(path string) (zipEntry, bool) {
	if !strings.Contains(path, "!/") {
		return zipEntry{}, false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	e, ok := z.entries[path]
	return e, ok
}

// openEntry maps a library in an archive.
func (f *Finder) openEntry(path string, e zipEntry) (*mmapfile.File, error) {
	m, err := f.Open(e.archive)
	if err != nil {
		return nil, err
	}
	if err := m.Narrow(path, e.off, e.size); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// inZip lists the libraries in the archive at a path; none if it is no archive.
func (f *Finder) inZip(path string) []zipEntry {
	z := &f.zips
	z.mu.Lock()
	list, ok := z.listed[path]
	z.mu.Unlock()
	if ok {
		return list
	}
	if m, err := f.Open(path); err == nil {
		if mmapfile.Guard(func() { list = libraries(f.ctx, path, m.Data(), maxZipDirectory) }) != nil {
			list = nil
		}
		m.Close()
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.listed == nil {
		z.listed, z.entries = map[string][]zipEntry{}, map[string]zipEntry{}
	}
	z.listed[path] = list
	for _, e := range list {
		z.entries[e.path()] = e
	}
	return list
}

const zipMagic = "PK\x03\x04"

// libraries lists the ELF files in the bytes of an archive that are not compressed. Its list of files may have maxList bytes.
func libraries(ctx context.Context, path string, data []byte, maxList int64) []zipEntry {
	if !bytes.HasPrefix(data, []byte(zipMagic)) {
		return nil
	}
	r, err := ziplist.Open(ctx, bytes.NewReader(data), int64(len(data)), maxList)
	if err != nil {
		return nil
	}
	var list []zipEntry
	left := int64(len(data)) // libraries do not lie over each other, or a small archive would have many large ones
	for _, e := range r.File {
		if e.Method != zip.Store || e.UncompressedSize64 < minHead || e.UncompressedSize64 != e.CompressedSize64 || len(list) == maxZipEntries {
			continue
		}
		off, err := e.DataOffset()
		size := int64(e.UncompressedSize64)
		if err != nil || off < 0 || size < 0 || off > int64(len(data)) || size > int64(len(data))-off {
			continue
		}
		lib := data[off : off+size]
		if string(lib[:4]) != "\x7fELF" || isCore(lib) {
			continue
		}
		if left -= size; left < 0 || ctx.Err() != nil {
			break
		}
		list = append(list, zipEntry{archive: path, name: e.Name, off: off, size: size, buildID: elfIDs(lib).buildID})
	}
	return list
}

// archived proposes the files of a module that was mapped from an archive: a library in an archive of that name, or a
// file of its own.
func (f *Finder) archived(m Module) iter.Seq[string] {
	return func(yield func(string) bool) {
		outer := m
		outer.Path, outer.Archive = m.Archive, ""
		for path := range f.Binaries(outer) {
			list := f.inZip(path)
			if list == nil && len(m.BuildID) > 0 && !yield(path) { // a file of its own
				return
			}
			for _, e := range likely(list, m) {
				if !yield(e.path()) {
					return
				}
			}
		}
		if len(m.BuildID) == 0 {
			for _, path := range f.searchedZips(BaseName(m.Archive)) {
				for _, e := range likely(f.inZip(path), m) {
					if !yield(e.path()) {
						return
					}
				}
			}
		}
		name := strings.TrimPrefix(strings.TrimPrefix(m.Path, m.Archive), "!")
		for _, path := range f.searched(Module{Path: name, BuildID: m.BuildID, PartialID: m.PartialID}, false) {
			if !yield(path) {
				return
			}
		}
	}
}

// searchedZips proposes the archives with libraries below the search directories, those with a name first.
func (f *Finder) searchedZips(name string) []string {
	if len(f.opts.Search) == 0 {
		return nil
	}
	list := named(f.files().zips, name)
	return list[:min(len(list), maxZips)]
}

// likely returns the libraries of an archive that may be a module, those with its build-id first.
func likely(list []zipEntry, m Module) (out []zipEntry) {
	for _, e := range list {
		if len(m.BuildID) > 0 && e.buildID == hex.EncodeToString(m.BuildID) {
			out = append(out, e)
		}
	}
	for _, e := range list {
		if uint64(e.off) == m.Offset && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
