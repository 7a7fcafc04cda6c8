package symlookup

import (
	"iter"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// SymbolByName implements unwind.SymbolReader: names are linkage names.
func (l *Lookup) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	im := l.file(lib)
	s, ok := im.SymbolByName(name)
	if !ok { // an address of 0 says so, too
		return unwind.Symbol{}, false
	}
	sym := toSymbol(s, im.Bias(lib.LoadBias))
	l.asked.add(lib, sym)
	return sym, true
}

// SymbolAt implements unwind.SymbolReader: the name is the linkage name.
func (l *Lookup) SymbolAt(lib *libstate.Library, addr unwind.Address) (unwind.Symbol, bool) {
	im := l.file(lib)
	bias := im.Bias(lib.LoadBias)
	s, ok := im.SymbolAt(addr - bias)
	if !ok {
		return unwind.Symbol{}, false
	}
	sym := toSymbol(s, bias)
	kept := sym
	kept.Size = max(kept.Size, addr-kept.Addr+1)
	l.asked.add(lib, kept)
	return sym, true
}

func toSymbol(s elffile.Sym, bias unwind.Address) unwind.Symbol {
	return unwind.Symbol{Name: s.KeptName(), Addr: s.Value + bias, Size: s.Size}
}

// Functions iterates over the functions that a module's tables name, in no order: names are linkage names, or, of PDBs and Breakpad
// symbol files, what the compiler wrote. It may fetch.
func (l *Lookup) Functions(lib *libstate.Library) iter.Seq[unwind.Symbol] {
	return func(yield func(unwind.Symbol) bool) {
		im := l.file(lib)
		bias := im.Bias(lib.LoadBias)
		for f := range im.Functions() {
			from := bias
			if f.FromBase {
				from = lib.Start
			}
			if !yield(unwind.Symbol{Name: f.Name, Addr: f.Addr + from, Size: f.Size}) {
				return
			}
		}
	}
}

// Variables iterates over the variables that a module's symbol table names, in no order, with the names that the linker has.
func (l *Lookup) Variables(lib *libstate.Library) iter.Seq[unwind.Symbol] {
	return func(yield func(unwind.Symbol) bool) {
		im := l.file(lib)
		bias := im.Bias(lib.LoadBias)
		for v := range im.Variables() {
			if !yield(unwind.Symbol{Name: v.Name, Addr: v.Addr + bias, Size: v.Size}) {
				return
			}
		}
	}
}
