// Package image opens the files of modules: the binary and its companions
// (separate debug file, supplementary file), each part read when it is first
// asked for and shared by everyone who asks.
//
// A Cache keeps images by the file they were read from, never by the id that a
// dump claims. A Set belongs to one dump: it finds the image of each library and
// tells how well it matches.
//
// Everything here may be used by several goroutines.
package image

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/exidx"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
)

// An Image is one module's binary with its companions. Addresses are the file's
// own, those that it is linked for: subtract Bias of a library's load bias first.
// What PDBs and Breakpad's symbol files know goes by offsets from the module's base.
type Image struct {
	path   string         // "" for an image read from memory
	elf    *elffile.File  // of a PE file, the view of it
	pe     *pefile.File   // nil for ELF
	bare   bool           // the module's file is not at hand, see Bare
	file   *mmapfile.File // nil for an image read from memory
	cache  *Cache
	finder *find.Finder

	debugOnce sync.Once
	debug     *Image // separate debug file in a directory, or nil

	fetchOnce sync.Once
	fetchDone atomic.Bool
	fetched   atomic.Pointer[Image] // separate debug file from a server, or nil

	ehOnce, dfOnce sync.Once
	eh, df         *cfi.Table

	exidxOnce sync.Once
	exidx     *exidx.Table

	dwarfOnce sync.Once
	dwarf     *dwarf.Data

	dwpOnce sync.Once
	dwp     *dwarf.Package // split debug information, or nil

	symsOnce sync.Once
	syms     []*elffile.SymTab

	damagedOnce sync.Once

	unwindOnce sync.Once
	unwind     *winunwind.Table

	symbols symbolFiles

	goOnce  sync.Once
	goFuncs map[uint64]GoFunc

	flows flowCache

	warnMu   sync.Mutex
	warnings []string
}

// FromMemory makes an image of an ELF file that a process has in its memory (the
// vDSO, code registered by a JIT compiler): data is what lies at addr on.
func FromMemory(data []byte, addr uint64) (*Image, error) {
	elf, err := elffile.ParseMemory(data, addr)
	if err != nil {
		return nil, err
	}
	return &Image{elf: elf}, nil
}

// Path is the file's path, "" for an image read from memory.
func (im *Image) Path() string { return im.path }

// ELF is the binary; nil for a nil image.
func (im *Image) ELF() *elffile.File {
	if im == nil {
		return nil
	}
	return im.elf
}

// Warnings lists what was wrong with the module's files, in alphabetical order:
// which came first depends on the goroutines that read them.
func (im *Image) Warnings() []string {
	im.warnMu.Lock()
	defer im.warnMu.Unlock()
	return slices.Sorted(slices.Values(im.warnings))
}

// DamagedDWARF notes that the module's debug information cannot be read as it
// should. The first such error becomes a warning.
func (im *Image) DamagedDWARF(err error) {
	im.damagedOnce.Do(func() {
		im.warn(fmt.Sprintf("%s: damaged debug information, names and lines are lost: %v", im.DebugPath(), err))
	})
}

// DamagedSymbols is DamagedDWARF for PDBs and Breakpad's symbol files.
func (im *Image) DamagedSymbols(err error) {
	im.damagedOnce.Do(func() {
		im.warn(fmt.Sprintf("%s: damaged symbols, names and lines are lost: %v", im.SymbolPath(), err))
	})
}

func (im *Image) warn(s string) {
	im.warnMu.Lock()
	defer im.warnMu.Unlock()
	im.warnings = append(im.warnings, s)
}

// inflate is what elffile calls for compressed sections.
func inflate(m elffile.Method, src []byte, size uint64) (elffile.Inflated, error) {
	l, err := decompress.NewLazy(decompress.Method(m), src, size, elffile.DefaultMaxSection)
	if err != nil {
		return nil, err // not a nil *Lazy in an interface
	}
	return l, nil
}
