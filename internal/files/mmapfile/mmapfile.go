// Package mmapfile gives a file's bytes as a read-only mapping: nothing is read
// until it is looked at, and nothing is copied.
//
// A mapping has one danger. When another process shortens the file, touching
// the pages that went away is a memory fault, which kills a Go program unless
// the goroutine that touches them has called debug.SetPanicOnFault. Whoever
// reads a File's Data does so inside Guard, on every goroutine that does.
//
// Where there is no mmap, the file is read into memory instead.
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
	// ErrNotRegular: the path names a directory, a device, a pipe or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrChanged: a mapped file became shorter while it was read.
	ErrChanged = errors.New("file changed while read")
	// ErrTooLarge: the file does not fit the address space.
	ErrTooLarge = errors.New("file too large to map")
)

// An ID tells opened files apart: two paths with equal IDs are the same file in
// the same state. It is comparable and may key a map. Where the system knows no
// device and inode, those are 0 and Path is the absolute path.
type ID struct {
	Dev, Ino uint64
	Size     int64
	MtimeNs  int64 // nanoseconds since 1970
	Path     string
}

// A File is a mapped file. Its methods may be called by several goroutines, but
// Close only when no slice of Data is used any more.
type File struct {
	Path string // as given to Open, or the os.File's name

	data  []byte
	id    ID
	close sync.Once
	err   error
}

// Open maps the regular file at path. An empty file has empty Data.
func Open(path string) (*File, error) {
	// Asked before opening: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return FromOS(f)
}

// FromOS maps a file that is already open, from its first byte on whatever its
// offset. The mapping does not need f after that; closing f stays with the
// caller.
func FromOS(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := regular(f.Name(), info); err != nil {
		return nil, err
	}
	if int64(int(info.Size())) != info.Size() {
		return nil, fmt.Errorf("%s: %d bytes: %w", f.Name(), info.Size(), ErrTooLarge)
	}
	m := &File{Path: f.Name(), id: idOf(f.Name(), info)}
	if info.Size() > 0 {
		if m.data, err = mapFile(f, int(info.Size())); err != nil {
			return nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
		}
	}
	return m, nil
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kind := "special file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	}
	return fmt.Errorf("%s is a %s: %w", path, kind, ErrNotRegular)
}

// Data is the file's bytes at the time it was opened, as long as nobody changes
// the file. They must not be written, nor used after Close.
func (f *File) Data() []byte { return f.data }

// ID identifies the opened file.
func (f *File) ID() ID { return f.id }

// Close gives the mapping back. Later calls do nothing and answer the same.
func (f *File) Close() error {
	f.close.Do(func() {
		if f.data != nil {
			f.err = unmap(f.data)
			f.data = nil
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
