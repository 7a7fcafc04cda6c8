package pack

import (
	"archive/zip"
	"bytes"
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
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotPack, err)
	}
	defer z.Close()
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("%w: %d files", ErrTooBig, len(z.File))
	}
	named := map[string]*zip.File{}
	for _, f := range z.File {
		named[f.Name] = f
	}
	u := &Unpacked{Dir: dir}
	if err := readManifest(named[manifestName], &u.Manifest); err != nil {
		return nil, err
	}
	left, disk := uint64(maxSize), uint64(maxDisk)
	take := func(name string, m Member) error {
		if m.Size > left {
			return fmt.Errorf("%w: %s has %d bytes", ErrTooBig, name, m.Size)
		}
		left -= m.Size
		return extract(ctx, named[name], filepath.Join(dir, filepath.FromSlash(name)), m, &disk)
	}
	if err := take(coreName, u.Manifest.Core); err != nil {
		return nil, err
	}
	for _, m := range u.Manifest.Files {
		p, err := inside(exact(m.Path, m.PathBytes))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if err := take(path.Join(filesDir, p), m); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func readManifest(f *zip.File, m *Manifest) error {
	if f == nil {
		return fmt.Errorf("%w: a zip archive without %s", ErrNotPack, manifestName)
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxManifest))
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	case m.Format != format:
		return fmt.Errorf("%w: %s is of something else", ErrNotPack, manifestName)
	case m.Version != version:
		return fmt.Errorf("%w: it has version %d, this program reads version %d", ErrNotPack, m.Version, version)
	case len(m.Files) > maxFiles:
		return fmt.Errorf("%w: %d files", ErrTooBig, len(m.Files))
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
func extract(ctx context.Context, f *zip.File, to string, m Member, disk *uint64) error {
	if f == nil || !f.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not in it", ErrDamaged, m.Path)
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, m.Path, err)
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
	n, err := io.Copy(io.MultiWriter(&holes{f: out, disk: disk}, sum), io.LimitReader(stopping{ctx, in}, int64(m.Size)+1))
	err = errors.Join(err, out.Truncate(n), out.Close())
	switch {
	case errors.Is(err, ErrTooBig), ctx.Err() != nil:
		return err
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrDamaged, m.Path, err)
	case uint64(n) != m.Size || hex.EncodeToString(sum.Sum(nil)) != m.SHA256:
		return fmt.Errorf("%w: %s is not what %s says", ErrDamaged, m.Path, manifestName)
	}
	return nil
}

// holes writes a file in which zeros take no space on the disk.
type holes struct {
	f    *os.File
	disk *uint64 // how many bytes may still be written
}

func (h *holes) Write(b []byte) (int, error) {
	if len(bytes.Trim(b, "\x00")) == 0 {
		_, err := h.f.Seek(int64(len(b)), io.SeekCurrent)
		return len(b), err
	}
	if uint64(len(b)) > *h.disk {
		return 0, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooBig, uint64(maxDisk))
	}
	*h.disk -= uint64(len(b))
	return h.f.Write(b)
}
