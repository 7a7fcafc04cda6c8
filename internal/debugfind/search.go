package debugfind

import (
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/elffile"
	"github.com/corewalk/corewalk/internal/mmapfile"
)

// maxSearched bounds how many files below the search directories are looked at.
const maxSearched = 1 << 20

// A searchIndex lists the ELF files below the search directories.
type searchIndex struct {
	byID   map[string][]string // build-id in hex
	byName map[string][]string // base name
}

// searched proposes files below the search directories: by build-id when one is
// known, else by name. debugFirst puts files named *.debug first.
func (f *Finder) searched(m Module, debugFirst bool) []string {
	if len(f.opts.Search) == 0 {
		return nil
	}
	f.once.Do(f.buildIndex)
	if len(m.BuildID) > 0 && m.PartialID {
		return prefer(f.index.like(beginning(m.BuildID)), debugFirst)
	}
	if len(m.BuildID) > 0 {
		return prefer(f.index.byID[hex.EncodeToString(m.BuildID)], debugFirst)
	}
	if m.Path == "" {
		return nil
	}
	return f.index.byName[filepath.Base(m.Path)]
}

// like lists the files whose build-id begins with prefix.
func (x *searchIndex) like(prefix string) []string {
	var paths []string
	for id, list := range x.byID {
		if prefix != "" && strings.HasPrefix(id, prefix) {
			paths = append(paths, list...)
		}
	}
	slices.Sort(paths)
	return paths
}

func prefer(paths []string, debug bool) []string {
	var first, second []string
	for _, p := range paths {
		if (filepath.Ext(p) == ".debug") == debug {
			first = append(first, p)
		} else {
			second = append(second, p)
		}
	}
	return append(first, second...)
}

// buildIndex reads the build-ids of all files below the search directories.
func (f *Finder) buildIndex() {
	f.index = searchIndex{byID: map[string][]string{}, byName: map[string][]string{}}
	budget := maxSearched
	for _, dir := range f.opts.Search {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // what cannot be read is not found
			}
			if d.Type()&fs.ModeSymlink == 0 && !d.Type().IsRegular() {
				return nil
			}
			if budget--; budget < 0 {
				return fs.SkipAll
			}
			if id, ok := fileBuildID(path); ok {
				f.index.byName[filepath.Base(path)] = append(f.index.byName[filepath.Base(path)], path)
				if id != "" {
					f.index.byID[id] = append(f.index.byID[id], path)
				}
			}
			return nil
		})
	}
}

// fileBuildID reads the build-id of an ELF file in hex, "" when it has none; false
// when it is no ELF file, or a core. Only regular files are opened, so that a
// FIFO cannot block the search.
func fileBuildID(path string) (string, bool) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	file, err := os.Open(path)
	if err != nil {
		return "", false
	}
	var head [20]byte
	_, err = file.ReadAt(head[:], 0)
	file.Close()
	if err != nil || string(head[:4]) != "\x7fELF" || isCore(head[:]) {
		return "", false
	}
	m, err := mmapfile.Open(path)
	if err != nil {
		return "", false
	}
	defer m.Close()
	var id string
	err = mmapfile.Guard(func() {
		if elf, perr := elffile.Parse(m.Data()); perr == nil {
			id = hex.EncodeToString(elf.BuildID())
		}
	})
	return id, err == nil
}

// isCore reports whether an ELF header is that of a core: e_type, in the file's
// byte order.
func isCore(head []byte) bool {
	lo, hi := head[16], head[17]
	if head[5] == 2 {
		lo, hi = hi, lo
	}
	return hi == 0 && lo == 4
}
