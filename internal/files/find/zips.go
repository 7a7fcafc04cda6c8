package find

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
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
	maxZipDirectory = 32 << 20 // bytes of the list of files, about
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
		if mmapfile.Guard(func() { list = libraries(path, m.Data()) }) != nil {
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

// libraries lists the ELF files in the bytes of an archive that are not compressed.
func libraries(path string, data []byte) []zipEntry {
	if !bytes.HasPrefix(data, []byte(zipMagic)) || zipDirectory(data) > maxZipDirectory {
		return nil
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var list []zipEntry
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
		list = append(list, zipEntry{archive: path, name: e.Name, off: off, size: size, buildID: elfIDs(lib).buildID})
	}
	return list
}

// zipDirectory returns how many bytes of an archive are said to be its list of files: more than there are if it does
// not say.
func zipDirectory(data []byte) int64 {
	const record, comment = 22, 1 << 16 // the record at the end, and what may follow it
	tail := data[max(0, len(data)-record-comment):]
	k := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if k < 0 || len(tail)-k < record {
		return maxZipDirectory + 1
	}
	size := int64(tail[k+12]) | int64(tail[k+13])<<8 | int64(tail[k+14])<<16 | int64(tail[k+15])<<24
	if size == 1<<32-1 { // zip64 has it elsewhere: the files before it are bound by the archive's size
		size = int64(len(data))
	}
	return size
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
