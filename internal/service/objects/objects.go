// Package objects stores the files of a crash service, by key. Store is the interface; Dir is a directory.
package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/holes"
)

// A Store stores files. Keys are paths with slashes, of clean elements. It is safe for concurrent use.
type Store interface {
	// New begins a file whose key is not known yet.
	New(ctx context.Context) (File, error)
	// Local returns the path of a file on this machine, and what releases it. The error is fs.ErrNotExist if there is none.
	Local(ctx context.Context, key string) (path string, release func(), err error)
	// Rename gives a file another key, in place of a file that has it.
	Rename(ctx context.Context, from, to string) error
	// Remove removes a file; it is no error if there is none.
	Remove(ctx context.Context, key string) error
	// List lists the files whose keys begin with prefix and a slash, in no order. What is stored or removed meanwhile may be among them or not.
	List(ctx context.Context, prefix string) iter.Seq2[Listed, error]
}

// A Listed file is one of List.
type Listed struct {
	Key     string
	Size    int64 // bytes
	Changed time.Time
}

// A File is a file that is being written.
type File interface {
	io.Writer
	// Sum returns the SHA-256 digest of what was written, in hex, and its size in bytes.
	Sum() (sum string, size int64)
	// Path is where what was written is on this machine, until it is kept or dropped. It may be read once nothing more is written.
	Path() string
	// Keep stores the file by its key for good, in place of one that is there. It is stored once Keep returns no error.
	Keep(ctx context.Context, key string) error
	// Drop ends a file that was not kept; after Keep it does nothing.
	Drop()
}

// CheckKey returns an error for a key that is no clean path below the store.
func CheckKey(key string) error {
	if !fs.ValidPath(key) || key == "." || strings.ContainsAny(key, "\\\x00:") {
		return fmt.Errorf("%q is no key of a file", key)
	}
	return nil
}

// Dir is a Store in a directory of this machine, or of a file system that several share.
type Dir struct{ path, tmp string }

// temporary is where files are written before they have a key.
const temporary = "tmp"

// OpenDir returns the store in a directory, which it makes if it is not there. What was left half written is removed.
func OpenDir(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.RemoveAll(filepath.Join(path, temporary))
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(path, temporary), 0o700)
	}
	return &Dir{path, filepath.Join(path, temporary)}, err
}

// abandoned is how long what another process began to write may lie there.
const abandoned = 48 * time.Hour

// OpenShared is OpenDir of a directory that other processes use at the same time. What they have half written is removed after two days.
func OpenShared(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	all := filepath.Join(path, temporary)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(all)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(all, e.Name())) // it is tried again at the next start
		}
	}
	tmp, err := os.MkdirTemp(all, "process")
	return &Dir{path, tmp}, err
}

// Close removes what OpenShared made. Nothing is stored after it.
func (d *Dir) Close() error { return os.RemoveAll(d.tmp) }

// OpenRead returns the store in a directory of which another process may be in charge: nothing is stored in it.
func OpenRead(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	return &Dir{path: path}, err
}

// List implements Store.
func (d *Dir) List(ctx context.Context, prefix string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		err := CheckKey(prefix)
		if err == nil {
			err = filepath.WalkDir(d.Path(prefix), func(p string, e fs.DirEntry, err error) error {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil || !e.Type().IsRegular() {
					if errors.Is(err, fs.ErrNotExist) { // it was removed, or there is none
						err = nil
					}
					return err
				}
				key, err := filepath.Rel(d.path, p)
				if err != nil {
					return err
				}
				st, err := e.Info()
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil {
					return err
				}
				if !yield(Listed{filepath.ToSlash(key), st.Size(), st.ModTime()}, nil) {
					return fs.SkipAll
				}
				return nil
			})
		}
		if err != nil {
			yield(Listed{}, err)
		}
	}
}

// Path returns the path that a key has, whether or not there is a file.
func (d *Dir) Path(key string) string { return filepath.Join(d.path, filepath.FromSlash(key)) }

// New implements Store.
func (d *Dir) New(context.Context) (File, error) {
	if d.tmp == "" {
		return nil, fmt.Errorf("%s was opened for reading only", d.path)
	}
	f, err := os.CreateTemp(d.tmp, "*")
	if err != nil {
		return nil, err
	}
	return &file{d: d, f: f, to: holes.Writer{File: f}, hash: sha256.New()}, nil
}

// Local implements Store.
func (d *Dir) Local(_ context.Context, key string) (string, func(), error) {
	if err := CheckKey(key); err != nil {
		return "", nil, errors.Join(fs.ErrNotExist, err)
	}
	path := d.Path(key)
	st, err := os.Lstat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	return path, func() {}, err
}

// Rename implements Store.
func (d *Dir) Rename(_ context.Context, from, to string) error {
	if err := errors.Join(CheckKey(from), CheckKey(to)); err != nil {
		return err
	}
	path := d.Path(to)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Rename(d.Path(from), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Remove implements Store.
func (d *Dir) Remove(_ context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := os.Remove(d.Path(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

type file struct {
	d    *Dir
	f    *os.File
	to   holes.Writer // a dump is sent with the zeros that the kernel left out
	hash hash.Hash
	kept bool
}

func (f *file) Write(b []byte) (int, error) {
	n, err := f.to.Write(b)
	if err == nil {
		err = f.to.Settle() // it may be read at any time
	}
	f.hash.Write(b[:n])
	return n, err
}

func (f *file) Sum() (string, int64) { return hex.EncodeToString(f.hash.Sum(nil)), f.to.Size() }

func (f *file) Path() string { return f.f.Name() }

func (f *file) Keep(_ context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	path := f.d.Path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := errors.Join(f.f.Sync(), f.f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.f.Name(), path); err != nil {
		return err
	}
	f.kept = true
	return syncDir(filepath.Dir(path))
}

func (f *file) Drop() {
	if !f.kept {
		f.f.Close()
		os.Remove(f.f.Name())
	}
}

// syncDir has the name of a file survive a failure of power.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && runtime.GOOS != "windows" { // which has no such thing
		return err
	}
	return nil
}
