package elffile

import (
	"iter"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// ByName finds a defined symbol by its exact name, ignoring versions: for "memcpy" it
// prefers "memcpy@@GLIBC_2.14" to "memcpy@GLIBC_2.2.5", and global symbols to weak and then
// local ones. The first lookups read every entry, but only those names that begin with the
// same byte; later ones have an index.
func (t *SymTab) ByName(name string) (Sym, bool) {
	if name == "" {
		return Sym{}, false
	}
	t.findStored()
	if t.nameLookups.Load() < namesAfter {
		t.nameLookups.Add(1)
		return t.scanNames(name)
	}
	t.namesOnce.Do(func() { t.names = t.indexNames() })
	best := named{tab: t, name: name, rank: -1}
	for i := range t.names.of(name) {
		if uint(i) < uint(t.Len()) && best.look(i) { // large indexes are negative where an int has 32 bits
			break
		}
	}
	return best.sym, best.rank >= 0
}

// scanNames implements ByName by reading every entry.
func (t *SymTab) scanNames(name string) (Sym, bool) {
	best := named{tab: t, name: name, rank: -1}
	for i, n := 1, t.Len(); i < n && !best.look(i); i++ {
	}
	t.passed(true)
	return best.sym, best.rank >= 0
}

// A named is the best symbol with a name so far.
type named struct {
	tab  *SymTab
	name string
	sym  Sym
	rank int // -1 if there is none
}

// look looks at symbol i, and reports whether no other can be better.
func (b *named) look(i int) bool {
	t, off := b.tab, uint64(b.tab.nameOff(i))
	if off == 0 || off >= uint64(len(t.strs)) || t.strs[off] != b.name[0] {
		return false
	}
	m := matchName(t.strs, off, b.name)
	if m < 0 {
		return false
	}
	s := t.sym(i)
	if s.Shndx == SHN_UNDEF || s.Type == STT_FILE || s.Type == STT_SECTION {
		return false
	}
	if r := m*4 + bindRank(s.Bind); r > b.rank {
		b.sym, b.rank = s, r
	}
	return b.rank == 4+2
}

// WithPrefix iterates over the defined functions whose names begin with prefix,
// in the table's order. It reads only the names that begin with its first byte.
func (t *SymTab) WithPrefix(prefix string) iter.Seq[Sym] {
	return func(yield func(Sym) bool) {
		for i, n := 1, t.Len(); i < n && prefix != ""; i++ {
			off := uint64(t.nameOff(i))
			b, ok := binbuf.Slice(t.strs, off, uint64(len(prefix)))
			if !ok || off == 0 || b[0] != prefix[0] || string(b) != prefix {
				continue
			}
			if s := t.sym(i); s.Defined() && s.IsFunc() && !yield(s) {
				return
			}
		}
	}
}

// matchName returns 1 if the string at off is name or its default version, 0 if it is
// another version of name, -1 otherwise.
func matchName(strs []byte, off uint64, name string) int {
	b, ok := binbuf.Slice(strs, off, uint64(len(name))+1)
	if !ok || string(b[:len(name)]) != name {
		return -1
	}
	if b[len(name)] == 0 {
		return 1
	}
	if b[len(name)] != '@' {
		return -1
	}
	if next := off + uint64(len(b)); next < uint64(len(strs)) && strs[next] == '@' {
		return 1
	}
	return 0
}

func (t *SymTab) nameOff(i int) uint32 { return t.file.Order.Uint32(t.data[i*t.ent:]) }

// SymByName searches .symtab, then .dynsym.
func (f *File) SymByName(name string) (Sym, bool) {
	if t, err := f.SymTab(); err == nil {
		if s, ok := t.ByName(name); ok {
			return s, true
		}
	}
	if t, err := f.DynSym(); err == nil {
		return t.ByName(name)
	}
	return Sym{}, false
}

// LookupSym finds the best symbol at an address in .symtab and .dynsym. A stripped file has
// only .dynsym, and the table in .gnu_debugdata omits the symbols of .dynsym.
func (f *File) LookupSym(addr uint64) (Sym, bool) {
	var a, b Sym
	var okA, okB bool
	if t, err := f.SymTab(); err == nil {
		if a, okA = t.Lookup(addr); okA && a.Size != 0 {
			return a, true
		}
	}
	if t, err := f.DynSym(); err == nil {
		b, okB = t.Lookup(addr)
	}
	if okB && (!okA || b.better(&a)) {
		return b, true
	}
	return a, okA
}
