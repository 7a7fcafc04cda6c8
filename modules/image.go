package modules

import (
	"context"
	"slices"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// An Image is the opened file of a module with its companions: the separate debug
// file, the PDB or Breakpad symbol file. Each part is read when it is first needed.
//
// Addresses are those for which the file was linked: an address in the process minus
// Bias.
//
// Methods that say "may fetch" ask the Fetchers of the Set for a companion that no
// directory has. Nil is a valid Image, that of a module without a file. All methods may
// be called by several goroutines.
type Image opaque

// opaque is the type that other packages of this module use: they convert the pointer.
type opaque = image.Image

func (im *Image) file() *image.Image { return (*image.Image)(im) }

// OpenImage opens the ELF or PE file at path. opts say where its debug files and symbol
// files may be; nothing is fetched once ctx is done. Close the image after use.
func OpenImage(ctx context.Context, path string, opts ...Option) (*Image, error) {
	im, err := image.OpenAlone(path, find.New(ctx, newConfig(opts).find))
	return (*Image)(im), err
}

// NewImage makes an image of the contents of an ELF or PE file. The image keeps data,
// which must not change.
func NewImage(data []byte) (*Image, error) {
	im, err := image.New(data)
	return (*Image)(im), err
}

// Close unmaps the files of an image that OpenImage opened. Do not use anything that
// came from the image afterwards. An image of a Set is closed with the Set.
func (im *Image) Close() error {
	if im == nil {
		return nil
	}
	return im.file().Close()
}

// Path is the path of the module's file; "" if it was read from memory, or if only a
// symbol file was found.
func (im *Image) Path() string {
	if im == nil {
		return ""
	}
	return im.file().Path()
}

// BuildID is the GNU build-id of an ELF file; nil for none.
func (im *Image) BuildID() []byte {
	if im == nil {
		return nil
	}
	return slices.Clone(im.file().ELF().BuildID())
}

// CodeID identifies a PE file as symbol servers do, by its time stamp and size in
// memory; "" for other files.
func (im *Image) CodeID() string {
	if pe := im.file().PE(); pe != nil {
		return pe.CodeID()
	}
	return ""
}

// Bias is the number to add to an address in the file to get the address in the
// process. loadBias is the library's LoadBias; for ELF files Bias is equal to it.
func (im *Image) Bias(loadBias uint64) uint64 { return im.file().Bias(loadBias) }

// DebugPath is the path of the file that has the debug information: the module's own
// or a separate one; "" for none. It fetches nothing.
func (im *Image) DebugPath() string { return im.file().DebugPath() }

// SymbolPath is the path of the module's PDB or Breakpad symbol file; "" for none. It
// fetches nothing.
func (im *Image) SymbolPath() string { return im.file().SymbolPath() }

// DebugOnly reports whether the file has debug information only, and no code.
func (im *Image) DebugOnly() bool { return im != nil && im.file().ELF().DebugOnly() }

// HasUnwindTables reports whether the module has tables for walking its frames: call
// frame information, ARM's exception index, Windows unwind tables, or Go's pc-line
// table. It may fetch.
func (im *Image) HasUnwindTables() bool {
	f := im.file()
	return f.EHFrame() != nil || f.DebugFrame() != nil || f.Exidx() != nil || f.PEUnwind() != nil || f.GoTable() != nil
}

// HasDebugInfo reports whether the module has debug information in DWARF or in a PDB.
// It fetches nothing.
func (im *Image) HasDebugInfo() bool { return im.file().HasDWARF() || im.file().HasPDB() }

// Warnings lists the defects found so far in the module's files.
func (im *Image) Warnings() []string {
	if im == nil {
		return nil
	}
	return im.file().Warnings()
}

// A Symbol is an entry of a module's symbol tables.
type Symbol struct {
	Name string // as the linker has it: see package demangle
	Addr uint64 // in the file
	Size uint64 // bytes; 0 when not known
}

func toSymbol(s elffile.Sym, ok bool) (Symbol, bool) {
	if !ok {
		return Symbol{}, false
	}
	return Symbol{Name: s.Name(), Addr: s.Value, Size: s.Size}, true
}

// SymbolAt returns the symbol that contains an address in the file. It may fetch.
func (im *Image) SymbolAt(addr uint64) (Symbol, bool) { return toSymbol(im.file().SymbolAt(addr)) }

// SymbolByName returns the symbol with a linkage name. It may fetch.
func (im *Image) SymbolByName(name string) (Symbol, bool) {
	return toSymbol(im.file().SymbolByName(name))
}
