package find

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A walker looks at the files below directories. It does not go into symbol
// stores, which may have millions of files: their paths say what they are.
type walker struct {
	budget int // files that may still be looked at
	found  func(path string, got ids)
	stores []string

	buf [headSize]byte
}

// top looks at one of the directories given, which may be a symbolic link.
func (w *walker) top(dir string) {
	st, err := os.Stat(dir)
	switch {
	case err != nil: // what cannot be read is not found
	case st.IsDir():
		w.dir(dir, list(dir))
	case st.Mode().IsRegular():
		w.file(dir)
	}
}

// list is what is in a directory, in alphabetical order; what came before an error
// counts.
func list(dir string) []fs.DirEntry {
	entries, _ := os.ReadDir(dir)
	return entries
}

// dir looks at what is in a directory.
func (w *walker) dir(dir string, entries []fs.DirEntry) {
	if isStore(entries) {
		w.stores = append(w.stores, dir)
		return
	}
	alike := true // all entries so far are names of a store
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

// surelyStore is how many entries of a directory are looked at when all are names of a
// store: the others, of which there may be hundreds of thousands, are so too then.
const surelyStore = 64

func (w *walker) file(path string) {
	if got := identify(path, w.buf[:]); got.kind != otherFile {
		w.found(path, got)
	}
}

// isStore reports whether a directory is the top of a symbol store: its tools
// leave such files there.
func isStore(entries []fs.DirEntry) bool {
	for _, e := range entries {
		switch strings.ToLower(e.Name()) {
		case indexed, "pingme.txt", "000admin":
			return true
		}
	}
	return false
}

// storedName reports whether a directory has the files of one name of a symbol
// store or tree, each in a directory that is named by its identifier. The first
// of them must be as stores have it, so that other directories with such names
// are not passed over.
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
		for _, want := range []string{name, Compressed(name), breakpadFile(name), stem(name) + ".sym", storePointer} {
			if strings.EqualFold(n, want) {
				return true
			}
		}
	}
	return false
}
