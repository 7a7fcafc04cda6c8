// Package image opens the files of modules: the binary and its companions (separate debug
// file, supplementary debug file, PDB, Breakpad symbol file). Each part is read on first
// use and shared.
//
// A Cache keys images by the file that was opened, never by an identifier that a dump
// claims. Package modules decides which image belongs to which library of a dump, and how
// well it matches.
//
// Everything here is safe for concurrent use.
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

// An Image is one module's binary with its companions. Addresses are the file's link-time
// addresses: to get one, subtract Bias from an address of the process. PDBs and Breakpad
// symbol files use offsets from the module's base.
type Image struct {
	path   string         // "" if read from memory
	elf    *elffile.File  // for a PE file, a view of it as ELF
	pe     *pefile.File   // nil for ELF
	bare   bool           // the module's own file is missing; see Bare
	alone  bool           // no other image is in the cache; see OpenAlone
	file   *mmapfile.File // nil if read from memory
	cache  *Cache
	finder *find.Finder

	hasInfoOnce sync.Once
	hasInfo     bool // the file itself has debug information

	debugOnce sync.Once
	debug     *Image // separate debug file found in a directory, or nil

	fetchOnce sync.Once
	fetchDone atomic.Bool
	fetched   atomic.Pointer[Image] // separate debug file fetched from a server, or nil

	ehOnce, dfOnce sync.Once
	eh, df         *cfi.Table

	exidxOnce sync.Once
	exidx     *exidx.Table

	side sync.WaitGroup // what decompresses other sections; see beside

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
	frames  WinFrames  // of FromParts; nil for those of the symbol files
	sizes   FrameSizes // like frames

	goOnce  sync.Once
	goFuncs map[uint64]GoFunc

	goTableOnce sync.Once
	goTable     goTable

	flows flowCache
	kept  keeper

	disk    onDisk
	answers answers

	warnMu   sync.Mutex // guards the three below; no other lock is taken inside
	warnings []string
	with     []string // files that were opened beside it; under warnMu
	parted   bool     // the debug information is partly in other files; under warnMu
}

// FromMemory makes an image of an ELF file in the memory of a process (the vDSO, code
// registered by a JIT compiler). data is what the process has at addr.
func FromMemory(data []byte, addr uint64) (*Image, error) {
	elf, err := elffile.ParseMemory(data, addr)
	if err != nil {
		return nil, err
	}
	return &Image{elf: elf}, nil
}

// Path is the file's path, or "" if the image was read from memory.
func (im *Image) Path() string { return im.path }

// ELF returns the binary, or nil for a nil image.
func (im *Image) ELF() *elffile.File {
	if im == nil {
		return nil
	}
	return im.elf
}

// Warnings lists what is wrong with the module's files. It is sorted, because the order in
// which goroutines find problems varies.
func (im *Image) Warnings() []string {
	im.warnMu.Lock()
	defer im.warnMu.Unlock()
	return slices.Sorted(slices.Values(im.warnings))
}

// DamagedDWARF records that the module's debug information is damaged. Only the first error
// becomes a warning.
func (im *Image) DamagedDWARF(err error) {
	im.damagedOnce.Do(func() {
		im.warn(fmt.Sprintf("%s: damaged debug information, names and lines may be missing: %v", im.DebugPath(), err))
	})
}

// DamagedSymbols is DamagedDWARF for PDBs and Breakpad symbol files.
func (im *Image) DamagedSymbols(err error) {
	im.damagedOnce.Do(func() {
		im.warn(fmt.Sprintf("%s: damaged symbols, names and lines may be missing: %v", im.SymbolPath(), err))
	})
}

func (im *Image) warn(s string) {
	im.warnMu.Lock()
	defer im.warnMu.Unlock()
	im.warnings = append(im.warnings, s)
}

// inflate decompresses sections for elffile.
func inflate(p elffile.Packed) (elffile.Inflated, error) {
	l, err := newLazy(p)
	if err != nil {
		return nil, err
	}
	return lazySection{Lazy: l}, nil
}

func newLazy(p elffile.Packed) (*decompress.Lazy, error) {
	return decompress.NewLazy(decompress.Method(p.Method), p.Data, p.Size, elffile.DefaultMaxSection)
}

// A lazySection is decompressed from its start, so whatever is below what is needed is, too.
type lazySection struct {
	*decompress.Lazy
	info *Image // if the section is .debug_info
}

// Need implements elffile.Inflated.
func (l lazySection) Need(_, end uint64) error {
	if l.info != nil {
		l.info.beside(l.Lazy, end)
	}
	return l.Lazy.Need(end)
}
