package find

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// A SymbolKind is a kind of file found in symbol stores.
type SymbolKind uint8

const (
	KindPDB      SymbolKind = iota // program database of Microsoft's tools
	KindBreakpad                   // symbol file of Breakpad (.sym)
	KindPE                         // the module itself (Windows)
)

// String returns the name of the kind for messages.
func (k SymbolKind) String() string {
	switch k {
	case KindBreakpad:
		return "symbol file"
	case KindPE:
		return "PE image"
	}
	return "PDB"
}

// A SymbolFile is a candidate for a module's debug information. It may belong to another
// module or another build.
type SymbolFile struct {
	Path string
	Kind SymbolKind // KindPDB or KindBreakpad
}

// SymbolFiles proposes PDBs and Breakpad symbol files of a module, best candidates first:
// beside the dump and the module's file, then in stores by identifier, then anywhere below
// the search directories. It may repeat a path; all files exist.
//
// The search directories are read only if the caller iterates that far and no earlier
// candidate had the module's identifier. They are not read for an ELF file that has been
// found, which normally has its own symbols.
func (f *Finder) SymbolFiles(m Module) iter.Seq[SymbolFile] {
	return func(yield func(SymbolFile) bool) {
		right := false
		for _, p := range f.symbolsBeside(m) {
			kind := symbolKind(p)
			for _, p := range storedForms(p) {
				if !isRegular(p) {
					continue
				}
				s, ok := f.unpacked(SymbolFile{p, kind}, m)
				if ok && !yield(s) {
					return
				}
				right = right || ok && s.isOf(m)
			}
		}
		propose := func(dirs []string) bool {
			for _, kind := range []SymbolKind{KindPDB, KindBreakpad} {
				for p := range f.stored(m, kind, dirs) {
					s := SymbolFile{p, kind}
					if !yield(s) {
						return false
					}
					right = right || s.isOf(m)
				}
			}
			return true
		}
		if !propose(f.roots()) || right || len(m.BuildID) > 0 && m.File != "" {
			return
		}
		for _, s := range f.searchedSymbols(m) {
			if s, ok := f.unpacked(s, m); ok && !yield(s) {
				return
			}
		}
		propose(f.foundStores())
	}
}

// unpacked returns a candidate for a module's file expanded, if it is a cabinet. It returns
// false if that fails; a module without an identifier has no file that can be expanded,
// because nothing would tell whether it is the right one.
func (f *Finder) unpacked(s SymbolFile, m Module) (SymbolFile, bool) {
	if !isCabinet(s.Path) {
		return s, true
	}
	keys := symbolKeys(m, s.Kind)
	if len(keys) == 0 {
		return s, false
	}
	s.Path = f.expanded(s.Path, keys[0])
	return s, s.Path != ""
}

// isOf reports whether a file has one of the module's identifiers.
func (s SymbolFile) isOf(m Module) bool {
	got := identify(s.Path, make([]byte, headSize))
	if id := breakpadID(m); id != "" {
		return strings.EqualFold(got.debugID, id)
	}
	return got.codeID != "" && strings.EqualFold(got.codeID, m.CodeID)
}

// roots returns the directories that may be stores.
func (f *Finder) roots() []string {
	return append(slices.Clip(f.opts.SymbolDirs), f.opts.Search...)
}

// stored proposes a module's files of a kind in stores.
func (f *Finder) stored(m Module, kind SymbolKind, dirs []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		f.inStores(dirs, symbolKeys(m, kind), func(path string, _ StoreKey) bool { return yield(path) })
	}
}

// symbolsBeside returns where symbol files can be found without searching: the PDB's path
// when the module was built; beside the dump, the executable and the module's own file; and
// in the directories of the symbol path.
func (f *Finder) symbolsBeside(m Module) []string {
	var paths []string
	if m.DebugID != "" && filepath.IsAbs(m.DebugFile) && strings.EqualFold(filepath.Ext(m.DebugFile), ".pdb") && MayAsk(m.DebugFile) {
		paths = append(paths, m.DebugFile)
	}
	dirs := slices.Clone(f.opts.Beside)
	if m.File != "" && !slices.Contains(dirs, filepath.Dir(m.File)) {
		dirs = append(dirs, filepath.Dir(m.File))
	}
	for _, n := range symbolNames(m) {
		for _, dir := range dirs {
			paths = append(paths, filepath.Join(dir, n))
		}
		paths = append(paths, f.inSymbolDirs(m, n)...)
	}
	return paths
}

// inSymbolDirs returns where a module's file can be in directories of the symbol path that
// are not stores: in the directory itself and in the subdirectory named by the module's
// extension.
func (f *Finder) inSymbolDirs(m Module, name string) []string {
	ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(BaseName(m.Path))), ".")
	var paths []string
	for _, dir := range f.opts.SymbolDirs {
		paths = append(paths, filepath.Join(dir, name))
		if component(ext) {
			paths = append(paths, filepath.Join(dir, ext, name), filepath.Join(dir, "symbols", ext, name))
		}
	}
	return paths
}

// symbolNames returns the base names that a module's symbol files may have.
func symbolNames(m Module) []string {
	var names []string
	add := func(n string) {
		if component(n) && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	name, debug := BaseName(m.Path), BaseName(m.DebugFile)
	if strings.EqualFold(filepath.Ext(debug), ".pdb") {
		add(debug)
	}
	if name != "" {
		add(stem(name) + ".pdb")
	}
	for _, n := range []string{debug, name} {
		if n != "" {
			add(breakpadFile(n))
			add(stem(n) + ".sym")
		}
	}
	return names
}

// symbolKind returns the kind of file that a name suggests.
func symbolKind(path string) SymbolKind {
	if strings.EqualFold(filepath.Ext(path), ".sym") {
		return KindBreakpad
	}
	return KindPDB
}
