package elffile

import "iter"

// maxRelocSections limits the sections that are searched for a relocation; normal files
// have three.
const maxRelocSections = 16

// A Reloc is one relocation that the dynamic linker applies.
type Reloc struct {
	Offset uint64 // link-time virtual address of the relocated word
	Type   uint32 // R_..., depending on the machine
	Sym    uint32 // index in the dynamic symbol table; 0 if none
	Addend uint64 // 0 if it is stored in the relocated word (SHT_REL)
}

// relocSize is the size of an entry in bytes (gABI, "Relocation").
func (f *File) relocSize(typ uint32) int {
	if typ == SHT_RELA {
		return 3 * f.PtrSize()
	}
	return 2 * f.PtrSize()
}

// Relocs returns the relocations in loaded sections, in the order of the sections.
func (f *File) Relocs() iter.Seq[Reloc] {
	return func(yield func(Reloc) bool) {
		list := f.Sections()
		left := maxRelocSections
		for i := range list {
			s := &list[i]
			if s.Flags&SHF_ALLOC == 0 || s.Type != SHT_RELA && s.Type != SHT_REL {
				continue
			}
			if left--; left < 0 {
				return
			}
			data, err := f.rawSection(s)
			if err != nil {
				continue
			}
			size := f.relocSize(s.Type)
			for ; len(data) >= size; data = data[size:] {
				if !yield(f.reloc(data[:size])) {
					return
				}
			}
		}
	}
}

// RelocOf returns the relocation of the word at a link-time virtual address, of
// those in loaded sections; false when there is none. It reads them all.
func (f *File) RelocOf(vaddr uint64) (Reloc, bool) {
	for r := range f.Relocs() {
		if r.Offset == vaddr {
			return r, true
		}
	}
	return Reloc{}, false
}

// PLTReloc returns the n-th relocation of the procedure linkage stubs.
func (f *File) PLTReloc(n uint64) (Reloc, bool) {
	s := f.Section(".rela.plt")
	if s == nil {
		if s = f.Section(".rel.plt"); s == nil {
			return Reloc{}, false
		}
	}
	size := uint64(f.relocSize(s.Type))
	data, err := f.rawSection(s)
	if err != nil || n >= uint64(len(data))/size {
		return Reloc{}, false
	}
	return f.reloc(data[n*size:][:size]), true
}

// reloc decodes an entry.
func (f *File) reloc(data []byte) Reloc {
	c := f.cursor(data, 0)
	r := Reloc{Offset: f.word(&c)}
	info := f.word(&c)
	if f.Class == 64 {
		r.Sym, r.Type = uint32(info>>32), uint32(info)
	} else {
		r.Sym, r.Type = uint32(info)>>8, uint32(info)&0xff
	}
	if c.Len() > 0 {
		r.Addend = f.word(&c)
	}
	return r
}
