package pefile

import (
	"cmp"
	"iter"
	"slices"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// symbolSize is the size in bytes of a COFF symbol and of an auxiliary record.
const symbolSize = 18

// A Symbol is one entry of the COFF symbol table, which MinGW's linkers write.
type Symbol struct {
	Name string
	RVA  uint32
	// Section is the number of its section, from 1. Otherwise Value is not an offset: 0
	// means undefined, -1 absolute, -2 a debugging symbol.
	Section  int16
	Value    uint32
	Function bool  // the type is a function
	Class    uint8 // IMAGE_SYM_CLASS_...: 2 external, 3 static
}

// Storage classes of symbols.
const (
	ClassExternal = 2
	ClassStatic   = 3
)

// Symbols iterates over the COFF symbols, if any, in the order of the file. It ends early when the names of
// symbols are parts of one another to an extent that no linker causes: a million of them could be one long name.
func (f *File) Symbols() iter.Seq[Symbol] {
	return func(yield func(Symbol) bool) {
		left := f.nameBytes()
		for i := uint32(0); i < f.symCount; {
			s, aux := f.symbol(i)
			if left -= len(s.Name); left < 0 || !yield(s) {
				return
			}
			i += 1 + uint32(aux)
		}
	}
}

// nameBytes is how long all names of a table may be together: those of normal files do not overlap much.
func (f *File) nameBytes() int { return 4 * len(f.Data) }

// symbol reads symbol i, and returns the number of its auxiliary records.
func (f *File) symbol(i uint32) (Symbol, uint8) {
	s, short, aux := f.unnamed(i)
	if n := binbuf.New(short, 0, false); n.U32() == 0 {
		s.Name, _ = f.stringAt(uint64(n.U32()))
	} else {
		s.Name = string(untilNUL(short))
	}
	return s, aux
}

// unnamed returns the symbol without its name, and the bytes that contain or locate the
// name.
func (f *File) unnamed(i uint32) (s Symbol, short []byte, aux uint8) {
	b, _ := binbuf.Slice(f.Data, uint64(f.symOff)+uint64(i)*symbolSize, symbolSize)
	c := binbuf.New(b, 0, false)
	short = c.Bytes(8)
	s = Symbol{Value: c.U32(), Section: int16(c.U16())}
	s.Function = c.U16()&0xf0 == 0x20
	s.Class = c.U8()
	aux = c.U8()
	if s.Section > 0 && int(s.Section) <= len(f.Sections) {
		s.RVA = f.Sections[s.Section-1].RVA + s.Value
	}
	return s, short, aux
}

// A symRef is a function among the symbols.
type symRef struct {
	rva, index uint32
	local      bool
}

// SymbolAt returns the last function in the COFF symbol table that begins at or before rva
// in the same section. COFF symbols have no sizes.
func (f *File) SymbolAt(rva uint32) (Symbol, bool) {
	f.symOnce.Do(f.indexSymbols)
	i, _ := slices.BinarySearchFunc(f.symIndex, rva, func(s symRef, at uint32) int {
		if s.rva <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return Symbol{}, false
	}
	at := f.symIndex[i-1].rva
	for i > 1 && f.symIndex[i-2].rva == at {
		i--
	}
	if s := f.SectionAt(rva); s == nil || !s.Contains(at) {
		return Symbol{}, false
	}
	s, _ := f.symbol(f.symIndex[i-1].index)
	return s, true
}

// indexSymbols sorts the functions by address, external names first.
func (f *File) indexSymbols() {
	for i := uint32(0); i < f.symCount; {
		s, _, aux := f.unnamed(i)
		if s.Function && s.RVA != 0 {
			f.symIndex = append(f.symIndex, symRef{s.RVA, i, s.Class != ClassExternal})
		}
		i += 1 + uint32(aux)
	}
	slices.SortFunc(f.symIndex, func(a, b symRef) int {
		if a.rva == b.rva && a.local != b.local {
			if b.local {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.rva, b.rva), cmp.Compare(a.index, b.index))
	})
}
