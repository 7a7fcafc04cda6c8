package pack

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/ziplist"
)

// Sniff reports whether a file that begins so may be a pack.
func Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// An Unpacked pack is in a directory of its own.
type Unpacked struct {
	Manifest Manifest
	Dir      string
}

// Dump is the path of the dump.
func (u *Unpacked) Dump() string { return filepath.Join(u.Dir, coreName) }

// Files is the directory that stands for the root directory of the machine that made the pack.
func (u *Unpacked) Files() string { return filepath.Join(u.Dir, filesDir) }

// Executable is where the program is now; "" if it is not in the pack.
func (u *Unpacked) Executable() string {
	p, err := inside(exact(u.Manifest.Executable, u.Manifest.ExecutableBytes))
	if u.Manifest.Executable == "" || err != nil {
		return ""
	}
	return filepath.Join(u.Files(), filepath.FromSlash(p))
}

// Extract unpacks the pack at file into the directory dir, which must be empty. Each file must have the size and
// the sum that the manifest says. When ctx is done, it ends, and what it has unpacked stays in dir.
func Extract(ctx context.Context, file, dir string) (*Unpacked, error) {
	return limits.extract(ctx, file, dir)
}

// A bounds has limits of what is taken out of a pack, in bytes. Tests have less.
type bounds struct{ size, disk, list uint64 }

var limits = bounds{maxSize, maxDisk, maxList}

// A taking is a file that is to be taken out.
type taking struct {
	file *zip.File
	name string
	Member
}

func (b bounds) extract(ctx context.Context, file, dir string) (*Unpacked, error) {
	f, st, err := mmapfile.OpenRegular(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotPack, err)
	}
	defer f.Close()
	z, err := ziplist.Open(ctx, f, st.Size(), int64(b.list))
	switch {
	case errors.Is(err, ziplist.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrTooBig, err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotPack, err)
	}
	if len(z.File) > maxFiles+2 {
		return nil, fmt.Errorf("%w: %d files", ErrTooBig, len(z.File))
	}
	named := map[string]*zip.File{}
	for _, f := range z.File {
		named[f.Name] = f
	}
	u := &Unpacked{Dir: dir}
	if err := readManifest(ctx, named[manifestName], &u.Manifest); err != nil {
		return nil, err
	}
	list := []taking{{named[coreName], coreName, u.Manifest.Core}}
	for _, m := range u.Manifest.Files {
		p, err := inside(exact(m.Path, m.PathBytes))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		name := path.Join(filesDir, p)
		list = append(list, taking{named[name], name, m})
	}
	if err := b.check(list, uint64(st.Size())); err != nil {
		return nil, err
	}
	disk := b.disk
	for _, t := range list {
		if err := t.extract(ctx, filepath.Join(dir, filepath.FromSlash(t.name)), &disk); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// check compares what the manifest and the list of a pack say, before anything is unpacked. packed is the pack's size.
func (b bounds) check(list []taking, packed uint64) error {
	left := b.size
	for _, t := range list {
		if t.Size > left {
			return fmt.Errorf("%w: it unpacks to more than %d bytes, %s has %d: unzip it, and give the core in it", ErrTooBig, b.size, t.name, t.Size)
		}
		left -= t.Size
	}
	for _, t := range list {
		f := t.file
		switch {
		case f == nil || !f.Mode().IsRegular():
			return fmt.Errorf("%w: %s is not in it", ErrDamaged, t.Path)
		case f.UncompressedSize64 != t.Size:
			return fmt.Errorf("%w: %s has %d bytes, and %s says %d", ErrDamaged, t.Path, f.UncompressedSize64, manifestName, t.Size)
		case f.CompressedSize64 > packed:
			return fmt.Errorf("%w: its files lie over each other", ErrDamaged)
		}
		packed -= f.CompressedSize64
	}
	return nil
}

func readManifest(ctx context.Context, f *zip.File, m *Manifest) error {
	if f == nil {
		return fmt.Errorf("%w: a zip archive without %s", ErrNotPack, manifestName)
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(stopping{ctx, in}, maxManifest+1))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case len(b) > maxManifest:
		return fmt.Errorf("%w: %s has more than %d bytes", ErrTooBig, manifestName, maxManifest)
	}
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	switch {
	case errors.Is(err, ErrTooBig):
		return err
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	case m.Format != format:
		return fmt.Errorf("%w: %s is of something else", ErrNotPack, manifestName)
	case m.Version != version:
		return fmt.Errorf("%w: it has version %d, this program reads version %d", ErrNotPack, m.Version, version)
	}
	return nil
}

// UnmarshalJSON reads a list as far as it may go: three bytes of a hostile one become a hundred of memory.
func (l *Members) UnmarshalJSON(b []byte) error {
	*l = nil
	if string(b) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("files are no list")
	}
	for d.More() {
		if len(*l) == maxFiles {
			return fmt.Errorf("%w: more than %d files", ErrTooBig, maxFiles)
		}
		var m Member
		if err := d.Decode(&m); err != nil {
			return err
		}
		*l = append(*l, m)
	}
	return nil
}

// A stopping reader ends when its context is done.
type stopping struct {
	ctx context.Context
	io.Reader
}

func (s stopping) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(b)
}

// extract writes one file, and compares it with what the manifest says.
func (t *taking) extract(ctx context.Context, to string, disk *uint64) error {
	in, err := t.file.Open()
	if err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("%w: %s: %w", ErrDamaged, t.Path, err))
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	// A path that is in the manifest twice, or leads through a file, is refused by O_EXCL and MkdirAll.
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	h := &holes{f: out, disk: disk}
	n, err := io.Copy(io.MultiWriter(h, sum), io.LimitReader(stopping{ctx, in}, int64(t.Size)+1))
	if h.err == nil {
		h.err = out.Truncate(n)
	}
	h.err = cmp.Or(h.err, out.Close())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(h.err, ErrTooBig):
		return h.err
	case h.err != nil:
		return fmt.Errorf("the pack could not be unpacked: %w: set TMPDIR to a directory with more room", h.err)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrDamaged, t.Path, err)
	case uint64(n) != t.Size || hex.EncodeToString(sum.Sum(nil)) != t.SHA256:
		return fmt.Errorf("%w: %s is not what %s says", ErrDamaged, t.Path, manifestName)
	}
	return nil
}

// holes writes a file in which zeros take no space on the disk.
type holes struct {
	f    *os.File
	disk *uint64 // how many bytes may still be written
	err  error   // of writing
}

func (h *holes) Write(b []byte) (n int, err error) {
	defer func() { h.err = err }()
	if len(bytes.Trim(b, "\x00")) == 0 {
		_, err := h.f.Seek(int64(len(b)), io.SeekCurrent)
		return len(b), err
	}
	if uint64(len(b)) > *h.disk {
		return 0, fmt.Errorf("%w: it unpacks to more than %d bytes that are not zeros: unzip it, and give the core in it", ErrTooBig, uint64(maxDisk))
	}
	*h.disk -= uint64(len(b))
	return h.f.Write(b)
}
