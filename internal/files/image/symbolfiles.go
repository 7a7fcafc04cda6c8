package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/codeview"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pdb"
)

// A symbolFile is a PDB, or a Breakpad symbol file. Of the two one is nil.
type symbolFile struct {
	path string
	file *mmapfile.File
	pdb  *pdb.File
	sym  *breakpad.File
}

// id is the debug identifier that the file says it belongs to.
func (s *symbolFile) id() string {
	if s.pdb != nil {
		return s.pdb.DebugID()
	}
	return s.sym.ID
}

// symbolFiles are an image's, found when first asked for.
type symbolFiles struct {
	who find.Module // whose they are, for images without a file

	knownOnce sync.Once
	pdb, sym  *symbolFile // in directories

	fetchOnce sync.Once
	fetchDone atomic.Bool
	fetched   atomic.Pointer[symbolFile]
}

// Bare makes an image of a module whose own file is not at hand: what symbol files
// tell of it, and nothing else.
func (c *Cache) Bare(m find.Module) *Image {
	none := elffile.LayoutSection{Name: ".text", Flags: elffile.SHF_ALLOC | elffile.SHF_EXECINSTR, NoBits: true}
	if m.DebugID == "" {
		m.DebugID = codeview.OfBuildID(m.BuildID)
	}
	im := &Image{elf: elffile.View(elffile.Layout{Class: 64, Sections: []elffile.LayoutSection{none}}), cache: c, finder: c.finder, bare: true}
	im.symbols.who = m
	return im
}

// identify tells by what the symbol files of an image's module are found.
func (im *Image) identify() find.Module {
	if im.path == "" {
		return im.symbols.who
	}
	m := find.Module{Path: im.path, File: im.path, BuildID: im.elf.BuildID()}
	if im.pe == nil {
		m.DebugID = codeview.OfBuildID(m.BuildID)
		return m
	}
	m.CodeID = im.pe.CodeID()
	if cv, err := im.pe.CodeView(); err == nil {
		m.DebugID, m.DebugFile = cv.DebugID(), cv.Path
	}
	return m
}

// PDB is the module's program database; nil for none. Where no directory has it, it
// is fetched.
func (im *Image) PDB() *pdb.File {
	if s := im.symbolFile(); s != nil {
		return s.pdb
	}
	return nil
}

// Breakpad is the module's Breakpad symbol file; nil for none, and where there is a
// PDB that a server had. Where no directory has either, it is fetched.
func (im *Image) Breakpad() *breakpad.File {
	if im == nil {
		return nil
	}
	im.findSymbols()
	if s := im.symbols.sym; s != nil {
		return s.sym
	}
	if s := im.symbolFile(); s != nil {
		return s.sym
	}
	return nil
}

// symbolFile is the PDB, or the Breakpad symbol file where there is none.
func (im *Image) symbolFile() *symbolFile {
	if im == nil {
		return nil
	}
	if s := im.knownSymbols(); s != nil {
		return s
	}
	if !im.SymbolsUnfetched() {
		return im.symbols.fetched.Load()
	}
	im.symbols.fetchOnce.Do(func() {
		defer im.symbols.fetchDone.Store(true)
		im.symbols.fetched.Store(im.fetchSymbols())
	})
	return im.symbols.fetched.Load()
}

// knownSymbols is symbolFile without fetching.
func (im *Image) knownSymbols() *symbolFile {
	im.findSymbols()
	switch {
	case im.symbols.pdb != nil:
		return im.symbols.pdb
	case im.symbols.sym != nil:
		return im.symbols.sym
	}
	return im.symbols.fetched.Load()
}

// SymbolsUnfetched reports whether a server may have a symbol file of the module that
// nobody has asked for yet.
func (im *Image) SymbolsUnfetched() bool {
	return im != nil && im.finder != nil && im.finder.FetchesSymbols() && im.served() && !im.HasDWARF() &&
		!im.symbols.fetchDone.Load() && im.knownSymbols() == nil
}

// served reports whether the module is one that symbol servers have files of. Of ELF
// these are Breakpad's, which nobody needs beside the file itself.
func (im *Image) served() bool { return im.pe != nil || im.bare }

// HasPDB and HasBreakpad report what PDB and Breakpad would answer without fetching.
func (im *Image) HasPDB() bool {
	if im == nil {
		return false
	}
	s := im.knownSymbols()
	return s != nil && s.pdb != nil
}

// HasBreakpad: see HasPDB.
func (im *Image) HasBreakpad() bool {
	if im == nil {
		return false
	}
	s := im.knownSymbols()
	return im.symbols.sym != nil || s != nil && s.sym != nil
}

// SymbolPath is the path of the PDB or Breakpad symbol file; "" for none. It fetches
// nothing.
func (im *Image) SymbolPath() string {
	if im == nil {
		return ""
	}
	if s := im.knownSymbols(); s != nil {
		return s.path
	}
	return ""
}

// findSymbols looks through the directories: for a PDB and for a Breakpad file, the
// first of each that is the module's own.
func (im *Image) findSymbols() {
	im.symbols.knownOnce.Do(func() {
		if im.finder == nil || !im.served() && !im.finder.Searches() {
			return // beside an ELF file that is at hand there is none as a rule
		}
		who := im.identify()
		for f := range im.finder.SymbolFiles(who) {
			have := im.symbols.pdb
			if f.Kind == find.KindBreakpad {
				have = im.symbols.sym
			}
			if have != nil {
				continue
			}
			s, err := im.openSymbols(f.Path, who)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				im.warn(err.Error())
			case s.pdb != nil:
				im.symbols.pdb = s
				return // it has what the other has, and more
			default:
				im.symbols.sym = s
			}
		}
	})
}

func (im *Image) fetchSymbols() *symbolFile {
	who := im.identify()
	kinds := im.cache.served.order()
	if len(who.BuildID) > 0 {
		kinds = []find.SymbolKind{find.KindBreakpad}
	}
	for _, kind := range kinds {
		path, err := im.finder.FetchSymbolFile(who, kind)
		if err == nil {
			var s *symbolFile
			if s, err = im.openSymbols(path, who); err == nil {
				im.cache.served.had(kind)
				return s
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			im.cache.served.lacked(kind)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, context.Canceled) {
			im.warn(fmt.Sprintf("%s: symbols could not be fetched: %v", find.BaseName(who.Path), err))
		}
	}
	return nil
}

// openSymbols opens a file that may be the module's, and checks that it is.
func (im *Image) openSymbols(path string, who find.Module) (*symbolFile, error) {
	s, err := im.cache.openSymbols(path)
	if err != nil {
		return nil, err
	}
	switch have := s.id(); {
	case who.DebugID != "" && strings.EqualFold(have, who.DebugID):
		return s, nil
	case who.DebugID == "" && s.sym != nil && who.CodeID != "" && strings.EqualFold(s.sym.CodeID, who.CodeID):
		return s, nil
	case who.DebugID == "":
		return nil, fmt.Errorf("%s: not used: nothing tells whether it is of the build of %s that ran", path, find.BaseName(who.Path))
	default:
		return nil, fmt.Errorf("%s: symbols are of another build of %s (debug id %s, wanted %s)", path, find.BaseName(who.Path), have, who.DebugID)
	}
}

// A symbolEntry is a symbol file in the cache.
type symbolEntry struct {
	once sync.Once
	file *symbolFile
	err  error
}

// openSymbols opens a PDB or a Breakpad symbol file. A failure is remembered too.
func (c *Cache) openSymbols(path string) (*symbolFile, error) {
	c.mu.Lock()
	e := c.symbols[path]
	if e == nil {
		e = &symbolEntry{}
		c.symbols[path] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		e.err = mmapfile.ErrChanged // what stays when reading the file faults
		if e.file, e.err = openSymbolFile(path); e.err == nil {
			c.mapped.Add(int64(len(e.file.file.Data())))
		}
	})
	return e.file, e.err
}

func openSymbolFile(path string) (*symbolFile, error) {
	m, err := mmapfile.Open(path)
	if err != nil {
		return nil, err
	}
	s := &symbolFile{path: path, file: m}
	if bytes.HasPrefix(m.Data(), []byte("MODULE ")) {
		s.sym, err = breakpad.Parse(m.Data())
	} else {
		s.pdb, err = pdb.Open(m.Data())
	}
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
