// Package mmapfile maps files read-only: bytes are read on first access and not copied.
//
// A mapping has one danger. If another process truncates the file, accessing the removed
// pages is a memory fault, which kills a Go program unless the goroutine has called
// debug.SetPanicOnFault. Every goroutine that reads a File's Data must therefore do so
// inside Guard.
//
// On systems without mmap, the file is read into memory instead.
package mmapfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Sentinel errors.
var (
	// ErrNotRegular: the path is a directory, a device, a pipe or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrChanged: a mapped file was truncated while it was read.
	ErrChanged = errors.New("file changed while read")
	// ErrTooLarge: the file does not fit in the address space.
	ErrTooLarge = errors.New("file too large to map")
)

// An ID identifies an opened file: two paths with equal IDs are the same file in the same
// state. It is comparable and can be a map key. On systems without device and inode
// numbers, those are 0 and Path is the absolute path.
type ID struct {
	Dev, Ino uint64
	Size     int64
	MtimeNs  int64 // last change of the contents, in nanoseconds since 1970
	CtimeNs  int64 // last change of the inode; 0 where the system does not tell
	Path     string
}

// A File is a mapped file. It is safe for concurrent use, but call Close only when no slice
// of Data is in use any more.
type File struct {
	Path string // as given to Open, or the os.File's name

	data    []byte
	mapping []byte // data, or of FromRange more
	id      ID
	close   sync.Once
	err     error
}

// Open maps the regular file at path, opened with OpenRegular. An empty file has empty Data.
func Open(path string) (*File, error) {
	f, _, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return FromOS(f)
}

// FromOS maps a file that is already open, from its first byte regardless of its offset.
// The mapping does not need f afterwards; the caller still has to close f.
func FromOS(f *os.File) (*File, error) { return fromOS(f, mapFile) }

// Private is like FromOS, but the mapping may be written to: what is written is seen by this
// process alone, and never reaches the file. Release would undo it.
func Private(f *os.File) (*File, error) { return fromOS(f, mapPrivate) }

func fromOS(f *os.File, mapFile func(*os.File, int) ([]byte, error)) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := regular(f.Name(), info); err != nil {
		return nil, err
	}
	if int64(int(info.Size())) != info.Size() {
		return nil, fmt.Errorf("%s has %d bytes: %w", f.Name(), info.Size(), ErrTooLarge)
	}
	m := &File{Path: f.Name(), id: idOf(f.Name(), info)}
	if info.Size() > 0 {
		if m.data, err = mapFile(f, int(info.Size())); err != nil {
			return nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
		}
		m.mapping = m.data
	}
	return m, nil
}

// Stat returns the ID that a file would have if it were opened now.
func Stat(path string) (ID, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ID{}, err
	}
	if err := regular(path, info); err != nil {
		return ID{}, err
	}
	return idOf(path, info), nil
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is a %s: %w", path, Kind(info.Mode()), ErrNotRegular)
}

// Kind names what is not a regular file.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// Data returns the file's bytes. They are those at the time of opening unless somebody
// changes the file. They must not be written to, and not be used after Close.
func (f *File) Data() []byte { return f.data }

// Release says that size bytes of Data from off on will not be needed soon, so that they
// need not stay in memory. They can still be read. Whole pages are released, those at the
// ends too.
func (f *File) Release(off, size uint64) {
	const page = 64 << 10 // a multiple of every page size
	total := uint64(len(f.data))
	if size == 0 || off >= total {
		return
	}
	end := min((off+min(size, total-off)+page-1)&^(page-1), total)
	release(f.data[off&^(page-1) : end])
}

// ID identifies the opened file.
func (f *File) ID() ID { return f.id }

// Close removes the mapping. Later calls do nothing and return the same error.
func (f *File) Close() error {
	f.close.Do(func() {
		if f.mapping != nil {
			f.err = unmap(f.mapping)
			f.data, f.mapping = nil, nil
		}
	})
	return f.err
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
