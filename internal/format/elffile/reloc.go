package elffile

import (
	"cmp"
	"iter"
	"slices"
	"sync"
)

// maxRelocSections limits the sections that are searched for a relocation; normal files
// have three.
const maxRelocSections = 16

// maxUnsorted limits the relocations of one section that are put in order. The largest
// programs have some millions, nearly all in ascending order.
const maxUnsorted = 1 << 24

// A Reloc is one relocation that the dynamic linker applies.
type Reloc struct {
	Offset uint64 // link-time virtual address of the relocated word
	Type   uint32 // R_..., depending on the machine
	Sym    uint32 // index in the dynamic symbol table; 0 if none
	Addend uint64 // 0 if it is stored in the relocated word (SHT_REL)
}

// relocTabs are the relocations of a file, found once.
type relocTabs struct {
	once   sync.Once
	tables []relocTab
}

// A relocTab is one section of relocations.
type relocTab struct {
	file *File
	data []byte // whole entries only
	size int    // bytes per entry

	once   sync.Once
	sorted int      // so many entries from the start are in ascending order
	rest   []uint32 // the entries after them, by ascending address
}

// relocSize is the size of an entry in bytes (gABI, "Relocation").
func (f *File) relocSize(typ uint32) int {
	if typ == SHT_RELA {
		return 3 * f.PtrSize()
	}
	return 2 * f.PtrSize()
}

// relocTables lists the relocations in loaded sections, in the order of the sections.
// Sections that claim more bytes than the file has overlap; those after that are left out.
func (f *File) relocTables() []relocTab {
	f.relocs.once.Do(func() {
		list := f.Sections()
		left, room := maxRelocSections, len(f.Data)
		for i := range list {
			s := &list[i]
			if s.Flags&SHF_ALLOC == 0 || s.Type != SHT_RELA && s.Type != SHT_REL {
				continue
			}
			data, err := f.rawSection(s)
			if left--; left < 0 {
				break
			}
			if err != nil || len(data) > room {
				continue
			}
			room -= len(data)
			size := f.relocSize(s.Type)
			f.relocs.tables = append(f.relocs.tables, relocTab{file: f, data: data[:len(data)/size*size], size: size})
		}
	})
	return f.relocs.tables
}

// Relocs returns the relocations in loaded sections, in the order of the sections.
func (f *File) Relocs() iter.Seq[Reloc] {
	return func(yield func(Reloc) bool) {
		tables := f.relocTables()
		for i := range tables {
			t := &tables[i]
			for n := range t.len() {
				if !yield(t.at(n)) {
					return
				}
			}
		}
	}
}

// RelocOf returns the relocation of the word at a link-time virtual address, of
// those in loaded sections; false when there is none. If there are several, which
// one it returns is not specified, but always the same.
//
// Linkers sort the relocations of linkage stubs by address, and the others by kind first.
// So the address is looked for as if all were sorted, which is right whenever something is
// found. Only if nothing is, the order is made, once.
func (f *File) RelocOf(vaddr uint64) (Reloc, bool) {
	tables := f.relocTables()
	for i := range tables {
		if r, ok := tables[i].guess(vaddr); ok {
			return r, true
		}
	}
	for i := range tables {
		if r, ok := tables[i].find(vaddr); ok {
			return r, true
		}
	}
	return Reloc{}, false
}

func (t *relocTab) len() int { return len(t.data) / t.size }

// at decodes entry i, which must exist.
func (t *relocTab) at(i int) Reloc { return t.file.reloc(t.data[i*t.size:][:t.size]) }

// offset is at(i).Offset.
func (t *relocTab) offset(i int) uint64 {
	if t.file.Class == 64 {
		return t.file.Order.Uint64(t.data[i*t.size:])
	}
	return uint64(t.file.Order.Uint32(t.data[i*t.size:]))
}

// guess finds a relocation by binary search, whether or not the table is sorted.
func (t *relocTab) guess(vaddr uint64) (Reloc, bool) { return t.search(t.len(), vaddr) }

// search finds a relocation among the first n by binary search.
func (t *relocTab) search(n int, vaddr uint64) (Reloc, bool) {
	lo, hi := 0, n
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t.offset(mid) < vaddr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == n || t.offset(lo) != vaddr {
		return Reloc{}, false
	}
	return t.at(lo), true
}

// find finds a relocation in a table that may not be sorted.
func (t *relocTab) find(vaddr uint64) (Reloc, bool) {
	t.once.Do(t.sort)
	if r, ok := t.search(t.sorted, vaddr); ok {
		return r, true
	}
	i, ok := slices.BinarySearchFunc(t.rest, vaddr, func(i uint32, a uint64) int { return cmp.Compare(t.offset(int(i)), a) })
	if !ok {
		return Reloc{}, false
	}
	return t.at(int(t.rest[i])), true
}

// sort puts the entries after the ascending ones into rest: 4 bytes for each.
func (t *relocTab) sort() {
	n := t.len()
	for t.sorted < n && (t.sorted == 0 || t.offset(t.sorted) >= t.offset(t.sorted-1)) {
		t.sorted++
	}
	if n-t.sorted > maxUnsorted {
		return
	}
	t.rest = make([]uint32, 0, n-t.sorted)
	for i := t.sorted; i < n; i++ {
		t.rest = append(t.rest, uint32(i))
	}
	slices.SortStableFunc(t.rest, func(a, b uint32) int { return cmp.Compare(t.offset(int(a)), t.offset(int(b))) })
}

// PLTReloc returns the n-th relocation of the procedure linkage stubs.
func (f *File) PLTReloc(n uint64) (Reloc, bool) {
	f.pltOnce.Do(func() {
		s := f.Section(".rela.plt")
		if s == nil {
			if s = f.Section(".rel.plt"); s == nil {
				return
			}
		}
		data, _ := f.rawSection(s)
		f.plt = relocTab{file: f, data: data, size: f.relocSize(s.Type)}
	})
	if t := &f.plt; t.size > 0 && n < uint64(t.len()) {
		return t.at(int(n)), true
	}
	return Reloc{}, false
}

// reloc decodes an entry.
func (f *File) reloc(b []byte) Reloc {
	if f.Class == 64 {
		info := f.Order.Uint64(b[8:])
		r := Reloc{Offset: f.Order.Uint64(b), Sym: uint32(info >> 32), Type: uint32(info)}
		if len(b) > 16 {
			r.Addend = f.Order.Uint64(b[16:])
		}
		return r
	}
	info := f.Order.Uint32(b[4:])
	r := Reloc{Offset: uint64(f.Order.Uint32(b)), Sym: info >> 8, Type: info & 0xff}
	if len(b) > 8 {
		r.Addend = uint64(f.Order.Uint32(b[8:]))
	}
	return r
}
