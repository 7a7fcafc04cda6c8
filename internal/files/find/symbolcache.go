package find

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/pefile"
)

// A SymbolCache is a directory that keeps files fetched or expanded from symbol stores. It
// has the layout of a symbol store. Files are written under a temporary name and renamed
// once they are complete and match their key, so several processes may use one directory,
// also of different users if their umask allows it.
type SymbolCache struct{ Dir string }

// DefaultSymbolCache is the cache used if none is given: corewalk/symbols in the user's
// cache directory.
func DefaultSymbolCache() (SymbolCache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return SymbolCache{}, fmt.Errorf("no cache directory for symbol files: %w", err)
	}
	return SymbolCache{filepath.Join(dir, "corewalk", "symbols")}, nil
}

func (c SymbolCache) path(k StoreKey) string { return filepath.Join(c.Dir, k.Name, k.ID, k.File) }

// Lookup returns the path of a file in the cache after checking it, or "" if it is not
// there.
func (c SymbolCache) Lookup(k StoreKey) string {
	if p := c.path(k); isRegular(p) && k.Check(p) == nil {
		return p
	}
	return ""
}

// Create makes a temporary file to write to. Pass it to Keep or Discard.
func (c SymbolCache) Create(k StoreKey) (*os.File, error) {
	dir := filepath.Dir(c.path(k))
	var f *os.File
	var err error
	for range 2 { // another process may remove the empty directory
		if err = os.MkdirAll(dir, 0o777); err == nil {
			if f, err = os.CreateTemp(dir, k.File+".*"); err == nil {
				return f, nil
			}
		}
	}
	return nil, err
}

// Discard removes what Create made, and directories that become empty. It does not remove a
// kept file.
func (c SymbolCache) Discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
	os.Remove(filepath.Dir(f.Name()))
	os.Remove(filepath.Dir(filepath.Dir(f.Name())))
}

// Keep closes a file, expands it to at most limit bytes if it is a cabinet, and renames it
// to its final name if it matches the key.
func (c SymbolCache) Keep(f *os.File, k StoreKey, limit uint64) (string, error) {
	path, err := c.Expand(f.Name(), k, limit)
	if !errors.Is(err, errNoCabinet) {
		return path, err
	}
	if err := k.verify(f.Name()); err != nil {
		return "", err
	}
	mode := f.Chmod(0o444)
	if errors.Is(mode, fs.ErrPermission) {
		mode = nil // in a sandbox; then other users do not share this file
	}
	if err := errors.Join(mode, f.Close()); err != nil {
		return "", err
	}
	if err := os.Rename(f.Name(), c.path(k)); err != nil {
		return "", err
	}
	return c.path(k), nil
}

// errNoCabinet: the file is not compressed.
var errNoCabinet = errors.New("not a cabinet")

// Expand puts the file inside a cabinet into the cache, if it has at most limit bytes.
func (c SymbolCache) Expand(cabinet string, k StoreKey, limit uint64) (string, error) {
	m, err := mmapfile.Open(cabinet)
	if err != nil {
		return "", err
	}
	defer m.Close()
	var path string
	fault := mmapfile.Guard(func() { path, err = c.expand(m.Data(), k, limit) })
	if fault != nil {
		return "", fault
	}
	return path, err
}

func (c SymbolCache) expand(data []byte, k StoreKey, limit uint64) (string, error) {
	if !decompress.IsCabinet(data) {
		return "", errNoCabinet
	}
	cab, err := decompress.OpenCabinet(data)
	if err != nil {
		return "", err
	}
	f, err := c.Create(k)
	if err != nil {
		return "", err
	}
	defer c.Discard(f)
	// Reading the mapping may fault; the partly written file is removed then, too.
	if fault := mmapfile.Guard(func() { err = cab.Expand(f, limit) }); fault != nil || err != nil {
		return "", errors.Join(fault, err)
	}
	path, err := c.Keep(f, k, 0)
	if errors.Is(err, decompress.ErrTooLarge) {
		err = errors.New("cabinet contains another cabinet")
	}
	return path, err
}

// absence is how long to remember that a server does not have a file.
const absence = 10 * time.Minute

// Miss records that a server does not have a file.
func (c SymbolCache) Miss(k StoreKey, server string) {
	path := c.absent(k, server)
	if os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	// O_EXCL does not follow a link that somebody else has put there.
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil {
		f.Close()
	}
}

// Missed reports whether a server recently did not have a file.
func (c SymbolCache) Missed(k StoreKey, server string, now time.Time) bool {
	path := c.absent(k, server)
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	if age := now.Sub(st.ModTime()); age >= 0 && age < absence {
		return true
	}
	os.Remove(path)
	return false
}

// absent returns the path of the file that records that a server has no such file.
func (c SymbolCache) absent(k StoreKey, server string) string {
	h := fnv.New64a()
	h.Write([]byte(server))
	return fmt.Sprintf("%s.absent-%016x", c.path(k), h.Sum64())
}

// verify is Check for a downloaded or expanded file: it also checks that the file is
// complete, as far as possible.
func (k StoreKey) verify(path string) error {
	if err := k.Check(path); err != nil {
		return err
	}
	m, err := mmapfile.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	fault := mmapfile.Guard(func() {
		if end := wholeSize(m.Data(), k.Kind); end > uint64(len(m.Data())) {
			err = fmt.Errorf("file is truncated: should have %d bytes, has %d", end, len(m.Data()))
		}
	})
	return errors.Join(fault, err)
}

// wholeSize returns the minimum size of a file according to its headers, in bytes.
func wholeSize(data []byte, kind SymbolKind) uint64 {
	switch kind {
	case KindPDB:
		if len(data) < 56 {
			return 56
		}
		return uint64(binary.LittleEndian.Uint32(data[32:])) * uint64(binary.LittleEndian.Uint32(data[40:]))
	case KindPE:
		f, err := pefile.Parse(data)
		if err != nil {
			return uint64(len(data)) + 1
		}
		var end uint64
		for i := range f.Sections {
			if s := &f.Sections[i]; s.RawSize > 0 {
				end = max(end, uint64(s.Off)+uint64(s.RawSize))
			}
		}
		return end
	}
	if n := len(data); n == 0 || data[n-1] != '\n' {
		return uint64(n) + 1
	}
	return 0
}
