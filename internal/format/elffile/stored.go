package elffile

import (
	"encoding/binary"
)

// Indexes of symbol tables may be kept from one run to the next, by whoever knows where. An index is a function of the
// file and of the code that makes it: a change of the rules of Lookup, of ByName or of these formats needs new numbers.

// An Index is a kind of index of a symbol table, and the version of its rules.
type Index uint32

// Kinds of indexes.
const (
	IndexByAddr Index = 1
	IndexByName Index = 1 << 16

	numIndexes = 2
)

// minStored is the number of symbols below which a dozen scans of a table take no longer than opening what is kept of
// its file: libc's 3,000 exported ones are below it.
const minStored = 3200

// storedAfter is how many lookups in one run make an index worth keeping.
const storedAfter = 2

// storable reports whether indexes of the table may be kept: it is in the file as it is, and needs no other file.
func (t *SymTab) storable() bool {
	return t.Len() >= minStored && t.dataIn != nil && t.strsIn != nil && t.plainLayout() && t.xndx == nil && t.loads == nil
}

// findStored looks for indexes that an earlier run made.
func (t *SymTab) findStored() {
	t.storedOnce.Do(func() {
		if t.file.Stored == nil || !t.storable() {
			return
		}
		if x, ok := parseIndex(t.file.Stored(IndexByAddr, t.dataIn)); ok {
			t.once.Do(func() { t.index = x })
			t.lookups.Store(indexAfter)
			t.stored[0] = true
		}
		if x, ok := parseNames(t.file.Stored(IndexByName, t.dataIn), t.Len()); ok {
			t.namesOnce.Do(func() { t.names = x })
			t.nameLookups.Store(namesAfter)
			t.stored[1] = true
		}
	})
}

// Storable calls keep with the indexes of the file's tables that are worth keeping: those that File.Stored did not have,
// and that were used in this run. They are made if they were not needed.
func (f *File) Storable(keep func(kind Index, table *Section, data []byte)) {
	for _, t := range []*SymTab{f.symtab.tab, f.dynsym.tab} {
		if t == nil || f.Stored == nil || !t.storable() {
			continue
		}
		if !t.stored[0] && t.lookups.Load() >= storedAfter {
			t.once.Do(func() { t.index = t.buildIndex() })
			keep(IndexByAddr, t.dataIn, t.index.bytes())
		}
		if !t.stored[1] && t.nameLookups.Load() >= storedAfter {
			t.namesOnce.Do(func() { t.names = t.indexNames() })
			keep(IndexByName, t.dataIn, t.names.bytes())
		}
	}
}

func (x *index) bytes() []byte {
	b := make([]byte, 0, len(x.starts)+len(x.syms))
	return append(append(b, x.starts...), x.syms...)
}

// parseIndex is the reverse of bytes. What the numbers say is checked where they are used.
func parseIndex(b []byte) (index, bool) {
	n := len(b) / 12
	return index{b[:8*n], b[8*n:]}, n > 0 && len(b) == 12*n
}

func (x *nameIndex) bytes() []byte {
	b := make([]byte, 0, 8+len(x.starts)+len(x.syms))
	b = binary.LittleEndian.AppendUint64(b, x.seed)
	return append(append(b, x.starts...), x.syms...)
}

// parseNames is the reverse of bytes for a table of n symbols.
func parseNames(b []byte, n int) (nameIndex, bool) {
	shift := nameShift(n)
	starts := 8 + 4*(1<<(64-shift)+1)
	if len(b) < starts {
		return nameIndex{}, false
	}
	return nameIndex{seed: binary.LittleEndian.Uint64(b), shift: shift, starts: b[8:starts], syms: b[starts:]}, len(b)%4 == 0
}
