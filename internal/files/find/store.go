package find

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/codeview"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// Names of files that a symbol store reserves.
const (
	storePointer = "file.ptr"   // says where the file is instead
	indexed      = "index2.txt" // present if names are in subdirectories named by their first two letters
)

// A StoreKey identifies a file in a symbol store or Breakpad symbol tree, at Name/ID/File.
// Its parts are safe as components of a path or URL.
type StoreKey struct {
	Name string // base name of the debug file, or of the module
	ID   string // hexadecimal, in the case that symbol servers use
	File string // base name of the file
	Kind SymbolKind
}

// Valid reports whether the parts of a key are safe as components of a path or URL, and of the lengths that
// identifiers have.
func (k StoreKey) Valid() bool {
	return component(k.Name) && component(k.File) && isHex(k.ID, minCodeID, maxBuildID) && k.Kind <= KindPE
}

// Paths returns the forms of the key's path that stores may use, the likeliest first: as it
// is, and with identifier and names in other cases. Stores do not agree on the case, and
// file systems may be case-sensitive (SSQP requires lower case). The separator is a slash.
func (k StoreKey) Paths() []string {
	var paths []string
	add := func(name, id, file string) {
		if p := path.Join(name, id, file); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	lower := strings.ToLower
	for _, id := range []string{k.ID, strings.ToUpper(k.ID), lower(k.ID)} {
		add(k.Name, id, k.File)
	}
	for _, id := range []string{lower(k.ID), k.ID, strings.ToUpper(k.ID)} {
		add(lower(k.Name), id, lower(k.File))
	}
	return paths
}

// Compressed returns the path of a file's compressed form: the last character of its name
// is replaced by an underscore.
func Compressed(path string) string {
	if path == "" {
		return ""
	}
	return path[:len(path)-1] + "_"
}

// storedForms returns the paths at which a directory may have a file: as it is, which may be
// a cabinet, too, or compressed under the name that symbol stores use, or under its own with
// another extension.
func storedForms(path string) []string { return []string{path, Compressed(path), path + ".cab"} }

// symbolKeys returns the keys under which stores may have a module's files of a kind.
func symbolKeys(m Module, kind SymbolKind) []StoreKey {
	name, debug := BaseName(m.Path), BaseName(m.DebugFile)
	var keys []StoreKey
	add := func(name, id, file string, lo, hi int) {
		if component(name) && component(file) && isHex(id, lo, hi) {
			keys = append(keys, StoreKey{name, id, file, kind})
		}
	}
	switch kind {
	case KindPE:
		if len(m.BuildID) == 0 {
			add(name, m.CodeID, name, minCodeID, maxCodeID)
		}
	case KindPDB:
		if debug == "" && name != "" && len(m.BuildID) == 0 {
			debug = stem(name) + ".pdb"
		}
		if strings.EqualFold(filepath.Ext(debug), ".pdb") {
			add(debug, m.DebugID, debug, minDebugID, maxDebugID)
		}
	case KindBreakpad:
		add(debug, breakpadID(m), breakpadFile(debug), minDebugID, maxDebugID)
		if debug == "" || len(m.BuildID) > 0 {
			add(name, breakpadID(m), breakpadFile(name), minDebugID, maxDebugID)
		}
		if strings.EqualFold(filepath.Ext(name), ".dll") {
			add(name, m.CodeID, stem(name)+".sym", minCodeID, maxBuildID)
		}
		add(name, m.CodeID, breakpadFile(name), minCodeID, maxBuildID)
	}
	return slices.Compact(keys)
}

// Lengths of identifiers in digits: time stamps have eight, sizes and ages up to eight, ELF
// build-ids any number.
const (
	minCodeID, maxCodeID   = 9, 16
	minDebugID, maxDebugID = 33, 40
	maxBuildID             = 128
)

// breakpadID is the module's debug identifier as Breakpad's tools compute it; for ELF it is
// derived from the build-id.
func breakpadID(m Module) string {
	if m.DebugID == "" {
		return codeview.OfBuildID(m.BuildID)
	}
	return m.DebugID
}

// breakpadFile returns the base name of the symbol file for a debug file: .sym replaces
// .pdb, and is appended to any other extension.
func breakpadFile(name string) string {
	if strings.EqualFold(filepath.Ext(name), ".pdb") {
		name = stem(name)
	}
	return name + ".sym"
}

// inStores proposes the files that the directories have under one of the keys, if they are
// symbol stores or trees. For other directories this costs two look-ups.
func (f *Finder) inStores(dirs []string, keys []StoreKey, yield func(path string, k StoreKey) bool) bool {
	for _, k := range keys {
		for _, dir := range dirs {
			for _, p := range inStore(dir, k) {
				if p = f.expanded(p, k); p != "" && !yield(p, k) {
					return false
				}
			}
		}
	}
	return true
}

// inStore lists the files that a store has under a key, in either layout: as they are,
// compressed, or in another place named by file.ptr.
func inStore(dir string, k StoreKey) []string {
	byLetters := false
	if !isDir(filepath.Join(dir, k.Name)) && !isDir(filepath.Join(dir, strings.ToLower(k.Name))) {
		if byLetters = isRegular(filepath.Join(dir, indexed)); !byLetters {
			return nil
		}
	}
	var found []string
	for _, p := range k.Paths() {
		if byLetters {
			p = path.Join(p[:min(2, strings.IndexByte(p, '/'))], p)
		}
		p = filepath.Join(dir, filepath.FromSlash(p))
		for _, p := range append(storedForms(p), pointed(filepath.Dir(p))) {
			if isRegular(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// expanded returns the path of a file that may be compressed. A compressed file is expanded
// into the cache; "" means that this failed.
func (f *Finder) expanded(path string, k StoreKey) string {
	if !isCabinet(path) {
		return path
	}
	f.expandMu.Lock() // one cabinet at a time: expanding is limited by the processor, not the network
	defer f.expandMu.Unlock()
	if to, known := f.expandedTo[path]; known {
		return to
	}
	c := f.opts.SymbolCache
	var to string
	var err error
	if c.Dir == "" {
		c, err = DefaultSymbolCache()
	}
	if err == nil {
		if to = c.Lookup(k); to == "" {
			to, err = c.Expand(path, k, MaxSymbolFile)
		}
	}
	if err != nil {
		f.unusable.add([]string{fmt.Sprintf("%s: %v", path, err)})
	}
	if f.expandedTo == nil {
		f.expandedTo = map[string]string{}
	}
	f.expandedTo[path] = to
	return to
}

// Unusable lists the files of stores that could not be expanded so far, and what could not be
// read of images, each with the reason, in alphabetical order.
func (f *Finder) Unusable() []string {
	list := append(f.unusable.list(), f.images.notes()...)
	slices.Sort(list)
	return list
}

// MaxSymbolFile limits the size in bytes of a file that is expanded or fetched; a program
// database has at most 4 GiB.
const MaxSymbolFile = 4 << 30

// isCabinet reports whether a file is a cabinet, that is, compressed.
func isCabinet(path string) bool {
	file, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var head [4]byte
	n, _ := file.ReadAt(head[:], 0)
	return decompress.IsCabinet(head[:n])
}

// pointed returns the path to which the file.ptr in a store's directory refers, or "" if
// there is none or if it is not a path of this machine. The file there must match the key,
// like every candidate.
func pointed(dir string) string {
	path := filepath.Join(dir, storePointer)
	if !isRegular(path) {
		return ""
	}
	file, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	buf := make([]byte, maxPointer)
	n, _ := file.ReadAt(buf, 0)
	to, _, _ := strings.Cut(string(buf[:n]), "\n")
	to = PointedPath(to)
	if to == "" || strings.ContainsAny(to, "\\\x00") {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return to
}

// PointedPath returns the path in the text of a file.ptr, or "" if it contains a message
// instead.
func PointedPath(text string) string {
	text = strings.TrimSpace(text)
	switch kind, rest, _ := strings.Cut(text, ":"); strings.ToUpper(kind) {
	case "PATH":
		return strings.TrimSpace(rest)
	case "MSG":
		return ""
	}
	return text
}

// maxPointer limits how much of a file.ptr is read, in bytes.
const maxPointer = 4096

// isRegular reports whether a path is a regular file, so that reading it cannot block.
func isRegular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Check returns nil if a file matches the key, otherwise an error that says why not.
func (k StoreKey) Check(path string) error {
	got := identify(path, make([]byte, headSize))
	want := map[SymbolKind]fileKind{KindPDB: pdbFile, KindBreakpad: symFile, KindPE: peFile}[k.Kind]
	switch {
	case got.kind != want:
		return fmt.Errorf("not a %v", k.Kind)
	case strings.EqualFold(k.ID, got.debugID) && k.Kind != KindPE, strings.EqualFold(k.ID, got.codeID):
		return nil
	}
	id := got.debugID
	if k.Kind == KindPE {
		id = got.codeID
	}
	return fmt.Errorf("identifier is %s, want %s", id, k.ID)
}
