package mmapfile

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// FromRange maps size bytes of an open file from off on, as the file at path that was last
// changed at a time. No file need be at path: it is part of the ID. The mapping does not need
// f afterwards.
func FromRange(f *os.File, path string, off, size int64, changed time.Time) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := regular(f.Name(), info); err != nil {
		return nil, err
	}
	if off < 0 || size < 0 || off > info.Size() || size > info.Size()-off {
		return nil, fmt.Errorf("%s: %d bytes at %d of a file with %d: %w", path, size, off, info.Size(), ErrChanged)
	}
	const page = 64 << 10 // a multiple of every page size
	start := off &^ (page - 1)
	if whole := off - start + size; int64(int(whole)) != whole {
		return nil, fmt.Errorf("%s has %d bytes: %w", path, size, ErrTooLarge)
	}
	id := idOf(f.Name(), info)
	m := &File{Path: path, id: ID{Dev: id.Dev, Ino: id.Ino, Size: size, MtimeNs: changed.UnixNano(), CtimeNs: id.CtimeNs, Path: path}}
	if size > 0 {
		if m.mapping, err = mapRange(f, start, int(off-start+size)); err != nil {
			return nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
		}
		m.data = m.mapping[off-start:]
	}
	return m, nil
}

// Narrow makes f the file at path that is size bytes of it from off on. No file need be at path: it is part of
// the ID. Nothing may have used f before.
func (f *File) Narrow(path string, off, size int64) error {
	if total := int64(len(f.data)); off < 0 || size < 0 || off > total || size > total-off {
		return fmt.Errorf("%s: %d bytes at %d of a file with %d: %w", path, size, off, len(f.data), ErrChanged)
	}
	f.Path, f.data = path, f.data[off:off+size]
	f.id.Size, f.id.Path = size, path
	return nil
}
