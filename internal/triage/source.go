package triage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/archive"
)

// Files is a Source of files and directories. Files that are named are always taken; in directories only files
// that look like dumps are.
type Files struct {
	Paths     []string // files, directories or patterns, as in filepath.Match
	Recursive bool     // descend into subdirectories
}

// Dumps implements Source: in the order of Paths, each directory by name.
func (f Files) Dumps(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		w := filesWalk{ctx: ctx, recursive: f.Recursive, yield: yield, seen: map[string]bool{}}
		for _, p := range f.Paths {
			if w.over || ctx.Err() != nil {
				return
			}
			w.top(p)
		}
		if len(w.seen) == 0 && w.passed+w.below > 0 && ctx.Err() == nil {
			w.give("", w.nothing())
		}
	}
}

// nothing says why nothing was found where there are files.
func (w *filesWalk) nothing() error {
	if w.passed == 0 {
		return errors.New("no dumps: there are directories only: -r descends into them")
	}
	text := "no dumps: no file begins as one; compressed ones must be called core*, *.dmp or *.mdmp, or be named one by one"
	if w.below > 0 {
		text += "; -r descends into directories"
	}
	return errors.New(text)
}

// A filesWalk is one walk through Files.
type filesWalk struct {
	ctx       context.Context
	recursive bool
	yield     func(string, error) bool
	seen      map[string]bool // paths, so that overlapping arguments count once
	over      bool
	passed    int // files that look like no dumps
	below     int // directories that were not descended into
}

func (w *filesWalk) give(path string, err error) {
	if err == nil {
		if w.seen[path] {
			return
		}
		w.seen[path] = true
	}
	if !w.over && !w.yield(path, err) {
		w.over = true
	}
}

// top processes one argument.
func (w *filesWalk) top(path string) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[") {
		list, gerr := filepath.Glob(path)
		if gerr == nil && len(list) > 0 {
			for _, p := range list {
				w.top(p)
			}
			return
		}
	}
	switch {
	case err != nil:
		w.give("", fmt.Errorf("%w: pass existing files or directories", err))
	case st.IsDir():
		w.dir(path)
	default:
		w.give(filepath.Clean(path), nil)
	}
}

// dir processes the entries of a directory.
func (w *filesWalk) dir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.give("", err)
	}
	for _, e := range entries {
		if w.over || w.ctx.Err() != nil {
			return
		}
		path := filepath.Join(dir, e.Name())
		typ := e.Type()
		if typ&fs.ModeSymlink != 0 {
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				typ = 0 // links to files count; links to directories might form loops
			}
		}
		switch {
		case typ.IsDir() && w.recursive:
			w.dir(path)
		case typ.IsDir():
			w.below++
		case typ.IsRegular() && looksLikeDump(path):
			w.give(path, nil)
		case typ.IsRegular():
			w.passed++
		}
	}
}

// dumpNames are parts of file names that mark dumps.
var dumpNames = []string{"core", ".dmp", ".mdmp"}

// looksLikeDump reports whether a file in a directory may be a dump: by its first bytes or, if these say
// nothing, by its name.
func looksLikeDump(path string) bool {
	f, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return named(path) // the analysis reports the error
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	switch {
	case n >= 20 && string(head[:4]) == "\x7fELF":
		return slices.Contains([]byte{head[16], head[17]}, 4) // e_type, in either byte order
	case n >= 4 && (string(head[:4]) == "MDMP" || string(head[:4]) == "PMDM"):
		return true
	case archive.Sniff(head) == archive.Apport:
		return filepath.Ext(path) == ".crash" // other kinds of problems have other reports
	case n == 0:
		return named(path) // an empty file may be a dump that was never written
	}
	return named(path) && !isText(head)
}

func named(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return slices.ContainsFunc(dumpNames, func(s string) bool {
		if s == "core" {
			return name == s || strings.HasPrefix(name, "core.") || strings.HasPrefix(name, "core-") || strings.Contains(name, ".core")
		}
		return strings.HasSuffix(name, s) || strings.Contains(name, s+".")
	})
}

// isText reports whether the first bytes are text, as in sources and notes named core.c or core.txt.
func isText(head []byte) bool {
	return !slices.ContainsFunc(head, func(c byte) bool { return c == 0 || c >= 0x80 || c < ' ' && c != '\n' && c != '\t' && c != '\r' })
}
