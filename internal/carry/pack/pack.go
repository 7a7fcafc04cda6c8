// Package pack puts a dump and the files of its modules into one file, and takes them out again. A pack is a zip
// archive:
//
//	manifest.json   what is in it (Manifest)
//	core            the dump
//	files/...       binaries, debug files and symbol files, at the paths where they were found; what compilers recorded, where the process wrote it
//
// A pack is as hostile as a dump: what is taken out of it is bounded, and stays in its directory.
package pack

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/report"
)

// Names in a pack.
const (
	manifestName = "manifest.json"
	coreName     = "core"
	filesDir     = "files"
)

// A Manifest lists what is in a pack. Sizes are in bytes.
type Manifest struct {
	Format  string `json:"format"` // "corewalk-pack"
	Version int    `json:"version"`
	Core    Member `json:"core"`
	// Name is the name of the dump that the pack was made of.
	Name string `json:"name"`
	// Executable is the path of the program among Files; "" if it is not there. The dump may not name it.
	Executable      string  `json:"executable,omitempty"`
	ExecutableBytes []byte  `json:"executable_bytes,omitempty"` // if it is not UTF-8: JSON cannot hold such a path
	Files           Members `json:"files"`
}

// Members are files in a pack.
type Members []Member

const (
	format  = "corewalk-pack"
	version = 1
)

// A Member is a file in a pack.
type Member struct {
	Path      string `json:"path"`                 // where it was on the machine that made the pack
	PathBytes []byte `json:"path_bytes,omitempty"` // the same, if it is not UTF-8
	Size      uint64 `json:"size"`
	SHA256    string `json:"sha256"`
}

// bytesOf returns the bytes of a path that is not UTF-8, nil for others.
func bytesOf(path string) []byte {
	if utf8.ValidString(path) {
		return nil
	}
	return []byte(path)
}

// exact returns the path as it was on the machine that made the pack.
func exact(path string, bytes []byte) string {
	if len(bytes) > 0 {
		return string(bytes)
	}
	return path
}

// Limits of what is taken out of a pack.
const (
	maxFiles    = 1 << 14
	maxManifest = 16 << 20
	maxList     = 8 << 20 // bytes of the zip archive's list of files
	MaxPath     = 4096    // of a file, in bytes
	// maxSize is how many bytes are unpacked in all, maxDisk how many of them may be other than zero.
	maxSize = 64 << 30
	maxDisk = 16 << 30
)

// Errors of packs.
var (
	ErrNotPack = errors.New("not a pack")
	ErrTooBig  = errors.New("the pack is larger than any honest one")
	ErrDamaged = errors.New("the pack is damaged")
)

// Write writes a pack with the dump at core, which is called name, and files, which are absolute paths that
// contents reads: they need not be on this machine's disk as they are. executable is that of the program. Packs of
// the same files are the same bytes.
func Write(w io.Writer, name, core, executable string, files []string, contents func(w io.Writer, path string) error) (*Manifest, error) {
	m := &Manifest{Format: format, Version: version, Name: filepath.Base(name), Files: []Member{}}
	if slices.Contains(files, executable) {
		m.Executable, m.ExecutableBytes = executable, bytesOf(executable)
	}
	z := zip.NewWriter(w)
	var err error
	if m.Core, err = add(z, coreName, core, fromDisk); err != nil {
		return nil, err
	}
	m.Core.Path, m.Core.PathBytes = coreName, nil
	for _, f := range files {
		clean, err := inside(f)
		if err != nil {
			return nil, err
		}
		member, err := add(z, path.Join(filesDir, clean), f, contents)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, member)
	}
	// The manifest comes last: it has the sums of what was written.
	out, err := z.Create(manifestName)
	if err != nil {
		return nil, err
	}
	list, err := report.JSON(m, "  ")
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(append(list, '\n')); err != nil {
		return nil, err
	}
	return m, z.Close()
}

func add(z *zip.Writer, name, file string, contents func(io.Writer, string) error) (Member, error) {
	out, err := z.Create(name)
	if err != nil {
		return Member{}, err
	}
	sum := counted{Hash: sha256.New()}
	err = contents(io.MultiWriter(out, &sum), file)
	return Member{Path: file, PathBytes: bytesOf(file), Size: sum.n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// fromDisk copies the file at a path.
func fromDisk(w io.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}

// counted counts the bytes that are hashed.
type counted struct {
	hash.Hash
	n uint64
}

func (c *counted) Write(b []byte) (int, error) {
	c.n += uint64(len(b))
	return c.Hash.Write(b)
}

// inside returns an absolute path as one below a directory, with slashes.
func inside(file string) (string, error) {
	p := filepath.ToSlash(filepath.Clean(file))
	p = strings.TrimPrefix(strings.TrimPrefix(p, filepath.VolumeName(p)), "/")
	if len(p) > MaxPath || !filepath.IsLocal(p) {
		return "", fmt.Errorf("%s: not a path of a file", file)
	}
	return p, nil
}
