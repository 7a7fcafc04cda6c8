package find

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A walker examines the files below directories. It skips the contents of symbol stores,
// which may have millions of files: their paths identify them.
type walker struct {
	budget int // how many more files to examine
	found  func(path string, got ids)
	inZip  func(path string) []zipEntry
	stores []string
	zips   []string // archives with libraries

	buf [headSize]byte
}

// top examines one of the given directories, which may be a symbolic link.
func (w *walker) top(dir string) {
	st, err := os.Stat(dir)
	switch {
	case err != nil: // unreadable files are ignored
	case st.IsDir():
		w.dir(dir, list(dir))
	case st.Mode().IsRegular():
		w.file(dir)
	}
}

// list returns the entries of a directory in alphabetical order, including those read
// before an error.
func list(dir string) []fs.DirEntry {
	entries, _ := os.ReadDir(dir)
	return entries
}

// dir examines the entries of a directory.
func (w *walker) dir(dir string, entries []fs.DirEntry) {
	if isStore(entries) {
		w.stores = append(w.stores, dir)
		return
	}
	alike := true // all entries so far look like names in a store
	for i, e := range entries {
		if w.budget--; w.budget < 0 || i == surelyStore && alike {
			return
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			below := list(path)
			if !storedName(path, below) {
				alike = false
				w.dir(path, below)
			} else if !slices.Contains(w.stores, dir) {
				w.stores = append(w.stores, dir)
			}
			continue
		case e.Type().IsRegular(), e.Type()&fs.ModeSymlink != 0 && isRegular(path):
			w.file(path)
		}
		alike = false
	}
}

// surelyStore is the number of entries after which a directory counts as a store if all of
// them look like names in a store; there may be hundreds of thousands more.
const surelyStore = 64

func (w *walker) file(path string) {
	got := identifyPacked(path, w.buf[:])
	if got.kind != otherFile {
		w.found(path, got)
	} else if w.inZip != nil && string(w.buf[:len(zipMagic)]) == zipMagic {
		list := w.inZip(path)
		if len(list) > 0 {
			w.zips = append(w.zips, path)
		}
		for _, e := range list {
			w.found(e.path(), ids{kind: elfFile, buildID: e.buildID})
		}
	}
}

// isStore reports whether a directory is the top of a symbol store, according to the files
// that the store's tools create.
func isStore(entries []fs.DirEntry) bool {
	for _, e := range entries {
		switch strings.ToLower(e.Name()) {
		case indexed, "pingme.txt", "000admin":
			return true
		}
	}
	return false
}

// storedName reports whether a directory holds the files of one name in a symbol store or
// tree, each in a subdirectory named by its identifier. The first one must have a store's
// layout, so that other directories with such names are not skipped.
func storedName(dir string, entries []fs.DirEntry) bool {
	if len(entries) == 0 || !entries[0].IsDir() || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() }) {
		return false
	}
	name, id := filepath.Base(dir), entries[0].Name()
	if !isHex(id, minDebugID, maxDebugID) && !(isHex(id, minCodeID, maxCodeID) && strings.Contains(name, ".")) {
		return false
	}
	for _, e := range list(filepath.Join(dir, id)) {
		n := e.Name()
		if strings.EqualFold(n, storePointer) {
			return true
		}
		for _, want := range []string{name, breakpadFile(name), stem(name) + ".sym"} {
			if slices.ContainsFunc(storedForms(want), func(f string) bool { return strings.EqualFold(n, f) }) {
				return true
			}
		}
	}
	return false
}
