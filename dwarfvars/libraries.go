package dwarfvars

import (
	"math"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// file returns the file of a library; nil for none.
func (r *Reader) file(lib *libstate.Library) *image.Image { return (*image.Image)(r.files.Image(lib)) }

// localFile is file for a library that no frame may be in: it need not be fetched.
func (r *Reader) localFile(lib *libstate.Library) *image.Image {
	return (*image.Image)(modules.LocalImage(r.files, lib))
}

// libraries is a Reader as types.Libraries and values.Symbols.
type libraries Reader

// All implements types.Libraries.
func (r *libraries) All() []*libstate.Library {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return nil
	}
	all, err := libs.Libraries(false)
	if err != nil {
		return nil
	}
	return all
}

// File implements types.Libraries.
func (r *libraries) File(lib *libstate.Library) *image.Image { return (*Reader)(r).localFile(lib) }

// SymbolAt implements values.Symbols: ELF's symbols first, then those of a PDB.
func (r *libraries) SymbolAt(addr arch.Address) (values.Symbol, bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return values.Symbol{}, false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return values.Symbol{}, false
	}
	im := (*Reader)(r).file(lib)
	at := addr - im.Bias(lib.LoadBias)
	if s, ok := im.SymbolAt(at); ok {
		return values.Symbol{Linkage: s.Name(), Off: at - s.Value}, true
	}
	return recordSymbol(im, addr-lib.Start)
}

// recordSymbol finds the symbol around an address of a module in its PDB. A public symbol has no
// end, so it is only the symbol of its own address.
func recordSymbol(im *image.Image, rva uint64) (values.Symbol, bool) {
	file := im.PDB()
	if file == nil || rva > math.MaxUint32 {
		return values.Symbol{}, false
	}
	s, ok, _ := file.Lookup(uint32(rva))
	off := uint32(rva) - s.Start
	if !ok || s.Public && off != 0 {
		return values.Symbol{}, false
	}
	return values.Symbol{Linkage: s.Name, Off: uint64(off), Record: true}, true
}
