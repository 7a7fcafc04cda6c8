package find

import (
	"cmp"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
)

// maxSearched limits how many files below the search directories are examined.
const maxSearched = 1 << 20

// A searchIndex lists the files below the search directories by identifier and name.
// Identifiers, and names of files other than ELF, are in lower case.
type searchIndex struct {
	byID   map[string][]string // ELF, by build-id in hex
	byName map[string][]string // ELF, by base name

	peByID    map[string][]string // PE, by code id
	peByDebug map[string][]string // PE, by the identifier of its PDB
	peByName  map[string][]string

	symByID   map[string][]SymbolFile // by debug identifier
	symByCode map[string][]SymbolFile // Breakpad, by the code id in the file
	symByName map[string][]SymbolFile

	stores []string // symbol stores and trees; their contents are not indexed
	zips   []string // archives with libraries
}

// files returns the index, which the first call builds.
func (f *Finder) files() *searchIndex {
	f.once.Do(func() {
		x := searchIndex{byID: map[string][]string{}, byName: map[string][]string{}, peByID: map[string][]string{}, peByDebug: map[string][]string{},
			peByName: map[string][]string{}, symByID: map[string][]SymbolFile{}, symByCode: map[string][]SymbolFile{}, symByName: map[string][]SymbolFile{}}
		w := walker{budget: maxSearched, found: x.add, inZip: f.inZip}
		for _, dir := range f.opts.Search {
			w.top(dir)
		}
		x.stores, x.zips = w.stores, w.zips
		f.index = x
	})
	return &f.index
}

// searched proposes files below the search directories, by build-id if it is known,
// otherwise by name. debugFirst puts files named *.debug first.
func (f *Finder) searched(m Module, debugFirst bool) []string {
	if len(f.opts.Search) == 0 {
		return nil
	}
	x := f.files()
	if len(m.BuildID) > 0 && m.PartialID {
		return prefer(like(x.byID, beginning(m.BuildID)), debugFirst)
	}
	if len(m.BuildID) > 0 {
		return prefer(x.byID[hex.EncodeToString(m.BuildID)], debugFirst)
	}
	if m.Path == "" {
		return nil
	}
	return x.byName[BaseName(m.Path)]
}

// searchedPE proposes PE images below the search directories, by code id or by PDB
// identifier if one is known, otherwise by name.
func (f *Finder) searchedPE(m Module) []string {
	if len(f.opts.Search) == 0 || len(m.BuildID) > 0 {
		return nil
	}
	x := f.files()
	if m.CodeID == "" && m.DebugID == "" {
		return x.peByName[strings.ToLower(BaseName(m.Path))]
	}
	list := x.peByID[strings.ToLower(m.CodeID)]
	if m.CodeID == "" {
		list = x.peByDebug[strings.ToLower(m.DebugID)]
	}
	return named(list, m.Path)
}

// searchedSymbols proposes symbol files below the search directories, by debug identifier
// or code id if one is known, otherwise by name. PDBs come first.
func (f *Finder) searchedSymbols(m Module) []SymbolFile {
	if len(f.opts.Search) == 0 {
		return nil
	}
	x := f.files()
	var list []SymbolFile
	if id := breakpadID(m); id != "" {
		list = append(list, x.symByID[strings.ToLower(id)]...)
	}
	switch {
	case len(m.BuildID) > 0:
		list = append(list, x.symByCode[hex.EncodeToString(m.BuildID)]...)
	case m.CodeID != "":
		list = append(list, x.symByCode[strings.ToLower(m.CodeID)]...)
	}
	if breakpadID(m) == "" && len(list) == 0 {
		for _, n := range symbolNames(m) {
			list = append(list, x.symByName[strings.ToLower(n)]...)
		}
	}
	slices.SortStableFunc(list, func(a, b SymbolFile) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Path, b.Path))
	})
	return slices.Compact(list)
}

// foundStores returns the symbol stores below the search directories.
func (f *Finder) foundStores() []string {
	if len(f.opts.Search) == 0 {
		return nil
	}
	return f.files().stores
}

// named moves the files with the module's name to the front: several modules may have the
// same code id.
func named(paths []string, name string) []string {
	name = BaseName(name)
	var first, second []string
	for _, p := range paths {
		if strings.EqualFold(filepath.Base(p), name) {
			first = append(first, p)
		} else {
			second = append(second, p)
		}
	}
	return append(first, second...)
}

// like lists the files whose build-id begins with prefix.
func like(byID map[string][]string, prefix string) []string {
	var paths []string
	for id, list := range byID {
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

// add adds a file to the index.
func (x *searchIndex) add(path string, got ids) {
	put := func(m map[string][]string, key string) {
		if key != "" {
			m[key] = append(m[key], path)
		}
	}
	name := filepath.Base(path)
	switch got.kind {
	case elfFile:
		put(x.byName, name)
		put(x.byID, got.buildID)
	case peFile:
		put(x.peByName, strings.ToLower(name))
		put(x.peByID, got.codeID)
		put(x.peByDebug, got.debugID)
	case pdbFile:
		x.addSymbols(SymbolFile{path, KindPDB}, got)
	case symFile:
		x.addSymbols(SymbolFile{path, KindBreakpad}, got)
	}
}

func (x *searchIndex) addSymbols(s SymbolFile, got ids) {
	put := func(m map[string][]SymbolFile, key string) {
		if key != "" {
			m[key] = append(m[key], s)
		}
	}
	put(x.symByName, strings.ToLower(filepath.Base(s.Path)))
	put(x.symByID, got.debugID)
	put(x.symByCode, got.codeID)
}
