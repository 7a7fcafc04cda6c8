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

// A symbolFile is either a PDB or a Breakpad symbol file; the other is nil.
type symbolFile struct {
	path string
	file *mmapfile.File
	pdb  *pdb.File
	sym  *breakpad.File
}

// id is the debug identifier in the file.
func (s *symbolFile) id() string {
	if s.pdb != nil {
		return s.pdb.DebugID()
	}
	return s.sym.ID
}

// symbolFiles are an image's symbol files, found on first use.
type symbolFiles struct {
	who find.Module // the module, for images without a file

	knownOnce sync.Once
	pdb, sym  *symbolFile // found in directories

	fetchOnce sync.Once
	fetchDone atomic.Bool
	fetched   atomic.Pointer[symbolFile]
}

// Bare makes an image of a module whose own file is missing. It has only what symbol files
// provide.
func (c *Cache) Bare(m find.Module) *Image {
	if m.DebugID == "" {
		m.DebugID = codeview.OfBuildID(m.BuildID)
	}
	im := &Image{elf: nothing(), cache: c, finder: c.finder, bare: true}
	im.symbols.who = m
	return im
}

// nothing is the file of a module without one. It has no code.
func nothing() *elffile.File {
	none := elffile.LayoutSection{Name: ".text", Flags: elffile.SHF_ALLOC | elffile.SHF_EXECINSTR, NoBits: true}
	return elffile.View(elffile.Layout{Class: 64, Sections: []elffile.LayoutSection{none}})
}

// identify returns what identifies the image's module when symbol files are searched for.
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

// PDB returns the module's program database, or nil if there is none. If no directory has
// it, it is fetched.
func (im *Image) PDB() *pdb.File {
	if s := im.symbolFile(); s != nil {
		return s.pdb
	}
	return nil
}

// Breakpad returns the module's Breakpad symbol file, or nil if there is none or if a
// server had a PDB. If no directory has either, it is fetched.
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

// symbolFile returns the PDB, or the Breakpad symbol file if there is no PDB.
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

// SymbolsUnfetched reports whether a server may have a symbol file of the module and nobody
// has asked for it yet.
func (im *Image) SymbolsUnfetched() bool {
	return im != nil && im.finder != nil && im.finder.FetchesSymbols() && im.served() && !im.HasDWARF() &&
		!im.symbols.fetchDone.Load() && im.knownSymbols() == nil
}

// served reports whether symbol servers may have files that are useful for the module. For
// an ELF module that is a Breakpad file, which nobody needs if the module's own file is
// present.
func (im *Image) served() bool { return im.pe != nil || im.bare }

// HasPDB and HasBreakpad report whether PDB and Breakpad would return a file without
// fetching.
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

// SymbolPath is the path of the PDB or Breakpad symbol file, or "" if there is none. It
// fetches nothing.
func (im *Image) SymbolPath() string {
	if im == nil {
		return ""
	}
	if s := im.knownSymbols(); s != nil {
		return s.path
	}
	return ""
}

// findSymbols searches the directories for the first PDB and the first Breakpad file that
// match the module.
func (im *Image) findSymbols() {
	im.symbols.knownOnce.Do(func() {
		if im.finder == nil || !im.served() && !im.finder.Searches() {
			return // an ELF file that is present normally has no symbol file beside it
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
				return // it contains what the other has, and more
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
			im.warn(fmt.Sprintf("%s: cannot fetch symbols: %v", find.BaseName(who.Path), err))
		}
	}
	return nil
}

// openSymbols opens a candidate for the module's symbol file, and checks that it matches.
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
		return nil, fmt.Errorf("%s: not used: cannot tell whether it matches the build of %s that ran", path, find.BaseName(who.Path))
	default:
		return nil, fmt.Errorf("%s: symbols are from a different build of %s (debug id %s, want %s)", path, find.BaseName(who.Path), have, who.DebugID)
	}
}

// A symbolEntry is a cached symbol file or failure.
type symbolEntry struct {
	once sync.Once
	file *symbolFile
	err  error
}

// openSymbols opens a PDB or a Breakpad symbol file. Failures are cached too.
func (c *Cache) openSymbols(path string) (*symbolFile, error) {
	c.mu.Lock()
	e := c.symbols[path]
	if e == nil {
		e = &symbolEntry{}
		c.symbols[path] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		e.err = mmapfile.ErrChanged // remains set if reading the file faults
		if e.file, e.err = c.openSymbolFile(path); e.err == nil {
			c.mapped.Add(int64(len(e.file.file.Data())))
		}
	})
	return e.file, e.err
}

func (c *Cache) openSymbolFile(path string) (*symbolFile, error) {
	m, err := c.finder.Open(path)
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
