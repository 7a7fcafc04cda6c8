package dwarfvars

import (
	"math"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/unwind/arch"
)

// symbols finds the symbols around addresses of a Reader's process.
type symbols Reader

// SymbolAt implements Symbols: ELF's symbols first, then those of a PDB.
func (r *symbols) SymbolAt(addr arch.Address) (Symbol, bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil || addr == 0 {
		return Symbol{}, false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return Symbol{}, false
	}
	im := (*Reader)(r).file(lib)
	at := addr - im.Bias(lib.LoadBias)
	if s, ok := im.SymbolAt(at); ok {
		return Symbol{Linkage: s.Name(), Off: at - s.Value}, true
	}
	return recordSymbol(im, addr-lib.Start)
}

// recordSymbol finds an address of a module in its PDB. Of what only the linker knows
// the end is not known: then it is the name of that very address.
func recordSymbol(im *image.Image, rva uint64) (Symbol, bool) {
	file := im.PDB()
	if file == nil || rva > math.MaxUint32 {
		return Symbol{}, false
	}
	s, ok, _ := file.Lookup(uint32(rva))
	off := uint32(rva) - s.Start
	if !ok || s.Public && off != 0 {
		return Symbol{}, false
	}
	return Symbol{Linkage: s.Name, Off: uint64(off), Record: true}, true
}
