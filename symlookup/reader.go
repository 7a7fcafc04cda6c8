package symlookup

import (
	"github.com/corewalk/corewalk/internal/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// SymbolByName implements unwind.SymbolReader: names are linkage names.
func (l *Lookup) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := l.images(lib).SymbolByName(name)
	return toSymbol(s, lib), ok
}

// SymbolAt implements unwind.SymbolReader: the name is the linkage name.
func (l *Lookup) SymbolAt(lib *libstate.Library, addr unwind.Address) (unwind.Symbol, bool) {
	s, ok := l.images(lib).SymbolAt(addr - lib.LoadBias)
	return toSymbol(s, lib), ok
}

func toSymbol(s elffile.Sym, lib *libstate.Library) unwind.Symbol {
	return unwind.Symbol{Name: s.Name(), Addr: s.Value + lib.LoadBias, Size: s.Size}
}
