package corewalk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/carry/pack"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/files/scratch"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/modules"
)

// Files lists the files of this machine that were used for the Target so far: binaries, debug files and symbol
// files; executable is that of the program, "" if it is not there. Nothing may use the Target meanwhile.
func (t *Target) Files() (files []string, executable string) {
	if lib, ok := t.subject.LibraryTracker().AOut(); ok {
		executable = t.images.Resolve(lib).Path
	}
	return t.images.Files(), executable
}

// A Packed describes a pack that was written. Sizes are in bytes.
type Packed struct {
	Core  uint64       // of the dump
	Files []PackedFile // without the dump
}

// A PackedFile is a file in a pack.
type PackedFile struct {
	Path string
	Size uint64
}

// WritePack writes a pack: a zip archive with the dump at core and the files that Files lists, also those in images
// (modules.WithSysroot), and the maps of perf and jitdump files by which code was named, so that Open makes the same report of it on a machine that has neither. name is the
// dump's name in it. Nothing may use the Target meanwhile.
func (t *Target) WritePack(w io.Writer, name, core string) (*Packed, error) {
	files, executable := t.Files()
	// Flags and the place of the dump may have given relative paths, which could lead out of the pack.
	as := func(path string) string {
		if abs, err := filepath.Abs(path); err == nil && path != "" {
			return abs
		}
		return path
	}
	was := map[string]string{}
	for i, path := range files {
		files[i] = as(path)
		was[files[i]] = path
	}
	recorded := map[string][]byte{}
	for _, f := range t.made.Used() {
		if apart(files, f.Path) {
			files = append(files, f.Path)
			recorded[f.Path] = f.Data
		}
	}
	m, err := pack.Write(w, name, core, as(executable), files, func(w io.Writer, path string) error {
		if data := recorded[path]; data != nil {
			_, err := w.Write(data)
			return err
		}
		return t.images.CopyFile(w, was[path])
	})
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	p := &Packed{Core: m.Core.Size}
	for _, f := range m.Files {
		p.Files = append(p.Files, PackedFile{f.Path, f.Size})
	}
	return p, nil
}

// apart reports whether a file can be at a path of the process, which a dump may have made up, beside other files in a pack: none of them is the same, or
// would have to be a directory.
func apart(files []string, wrote string) bool {
	if !path.IsAbs(wrote) || path.Clean(wrote) != wrote || len(wrote) > pack.MaxPath {
		return false
	}
	return !slices.ContainsFunc(files, func(f string) bool {
		return f == wrote || strings.HasPrefix(f, wrote+"/") || strings.HasPrefix(wrote, f+"/")
	})
}

// isPack reports whether the file at path begins as a pack does.
func isPack(path string) bool {
	f, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && pack.Sniff(head[:])
}

// openPack unpacks a pack and opens its dump with its files.
func openPack(ctx context.Context, path string, cfg *config) (*Target, error) {
	dir, err := scratch.Make("", "corewalk-pack-*")
	if err != nil { // a machine without a /tmp: beside the pack
		if dir, err = scratch.Make(filepath.Dir(path), ".corewalk-pack-*"); err != nil {
			return nil, fmt.Errorf("%s: no directory to unpack it: %w", path, err)
		}
	}
	fail := func(err error) (*Target, error) { return nil, errors.Join(err, dir.Remove()) }
	u, err := pack.Extract(ctx, path, dir.Path)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", path, err))
	}
	f, err := os.Open(u.Dump())
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	s, err := subject.OpenDumpReader(ctx, f, path, cfg.core...)
	if s == nil {
		return fail(err)
	}
	cfg.files = append(cfg.files, modules.WithSysroot(u.Files()), modules.WithSearch(u.Files()))
	if debug := filepath.Join(u.Files(), "usr", "lib", "debug"); isDir(debug) {
		cfg.files = append(cfg.files, modules.WithDebugDir(debug))
	}
	if exe := u.Executable(); exe != "" {
		cfg.files = append([]modules.Option{modules.WithExecutable(exe)}, cfg.files...)
	}
	t, fault := openDump(ctx, s, err, path, cfg)
	if t == nil {
		return fail(fault)
	}
	t.unpacked = dir
	return t, fault
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
