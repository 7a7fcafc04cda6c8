package find

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/codeview"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// Files of a symbol store that are its own.
const (
	storePointer = "file.ptr"   // says where the file is instead
	indexed      = "index2.txt" // the names are in directories of their first two letters
)

// A StoreKey is where a symbol store, or a Breakpad symbol tree, has a file:
// Name/ID/File. Its parts are safe to make a path or a URL of.
type StoreKey struct {
	Name string // base name of the debug file, or of the module
	ID   string // in hexadecimal digits, in the case that symbol servers write it
	File string // base name of the file
	Kind SymbolKind
}

// Paths are the forms of the key's path that stores may have, the likeliest first:
// as it is, and with identifier and names in the other case, for there is no
// agreement and not every system tells them apart (SSQP wants all in lower case).
// They are separated by slashes.
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

// Compressed is the path of the file in a compressed form: the last character of
// its name is an underscore.
func Compressed(path string) string {
	if path == "" {
		return ""
	}
	return path[:len(path)-1] + "_"
}

// symbolKeys are where stores may have a module's files of a kind.
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
		of := debug
		if of == "" {
			of = name
		}
		add(of, breakpadID(m), breakpadFile(of), minDebugID, maxDebugID)
		if strings.EqualFold(filepath.Ext(name), ".dll") {
			add(name, m.CodeID, stem(name)+".sym", minCodeID, maxBuildID)
		}
		add(name, m.CodeID, breakpadFile(name), minCodeID, maxBuildID)
	}
	return slices.Compact(keys)
}

// Lengths of identifiers, in digits: the time stamp has eight, sizes and ages up to
// eight, build-ids of ELF any number.
const (
	minCodeID, maxCodeID   = 9, 16
	minDebugID, maxDebugID = 33, 40
	maxBuildID             = 128
)

// breakpadID is the module's debug identifier as Breakpad's tools make it, of ELF
// of the build-id.
func breakpadID(m Module) string {
	if m.DebugID == "" {
		return codeview.OfBuildID(m.BuildID)
	}
	return m.DebugID
}

// breakpadFile is the base name of the symbol file of a debug file: .sym instead
// of .pdb, and behind every other extension.
func breakpadFile(name string) string {
	if strings.EqualFold(filepath.Ext(name), ".pdb") {
		name = stem(name)
	}
	return name + ".sym"
}

// inStores proposes the files that directories which are stores, or symbol trees,
// have by one of the keys. Where a directory is none, that costs two look-ups.
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

// inStore lists the files that a store has by a key, in either of the layouts, as
// they are, compressed or somewhere else.
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
		for _, p := range []string{p, Compressed(p), pointed(filepath.Dir(p))} {
			if isRegular(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// expanded is the path of a file that may be compressed: in the cache then, "" when
// it cannot be expanded.
func (f *Finder) expanded(path string, k StoreKey) string {
	if !isCabinet(path) {
		return path
	}
	f.expandMu.Lock() // a cabinet at a time: they take the processor, not the network
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

// Unusable lists the files of stores that could not be expanded so far, each with
// the reason, in alphabetical order.
func (f *Finder) Unusable() []string { return f.unusable.list() }

// MaxSymbolFile bounds what is expanded or fetched as one file, in bytes: a
// program database has 4 GiB at most.
const MaxSymbolFile = 4 << 30

// isCabinet reports whether a file is compressed.
func isCabinet(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var head [4]byte
	n, _ := file.ReadAt(head[:], 0)
	return decompress.IsCabinet(head[:n])
}

// pointed is where a store's directory of an identifier says that the file is; "" of
// one that says nothing, or no path of this machine. What is there has to be what
// the key says, like all that is found.
func pointed(dir string) string {
	path := filepath.Join(dir, storePointer)
	if !isRegular(path) {
		return ""
	}
	file, err := os.Open(path)
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

// PointedPath is the path that a file.ptr has; "" of a message instead.
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

// maxPointer bounds what is read of a file.ptr, in bytes.
const maxPointer = 4096

// isRegular reports whether there is a file at a path that reading cannot block on.
func isRegular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Check tells why a file is not what the key says, or nil.
func (k StoreKey) Check(path string) error {
	got := identify(path, make([]byte, headSize))
	want := map[SymbolKind]fileKind{KindPDB: pdbFile, KindBreakpad: symFile, KindPE: peFile}[k.Kind]
	switch {
	case got.kind != want:
		return fmt.Errorf("the file is no %v", k.Kind)
	case strings.EqualFold(k.ID, got.debugID) && k.Kind != KindPE, strings.EqualFold(k.ID, got.codeID):
		return nil
	}
	id := got.debugID
	if k.Kind == KindPE {
		id = got.codeID
	}
	return fmt.Errorf("the file has identifier %s, want %s", id, k.ID)
}
