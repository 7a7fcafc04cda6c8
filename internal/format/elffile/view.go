package elffile

import (
	"encoding/binary"
	"fmt"
)

// A Layout presents a file of another format (PE) in ELF's terms.
type Layout struct {
	Data    []byte // the whole file
	Class   int    // 32 or 64
	Machine uint16 // EM_...
	Entry   uint64
	// LinkBase is the address for which the file is linked; all other addresses here
	// include it.
	LinkBase uint64
	Progs    []Prog
	Sections []LayoutSection
	// Symbols returns the entries of the symbol table, and is called on first use; it may
	// be nil. Exports does the same for dynamic symbols.
	Symbols, Exports func() []LayoutSymbol
	// Loaded reads the file as its system's loader lays it out at base; see File.Loaded.
	Loaded func(base uint64) func(addr uint64) []byte
}

// A LayoutSection is one section. NoBits means that the file has no bytes for it.
type LayoutSection struct {
	Name            string
	Flags           uint64 // SHF_...
	Addr, Off, Size uint64
	NoBits          bool
}

// A LayoutSymbol is one symbol. A Size of 0 means unknown.
type LayoutSymbol struct {
	Name        string
	Value, Size uint64
	Func        bool
	Local       bool
}

// View makes a little-endian File from a file in another format, so that code that reads
// sections, segments and symbols need not know the format. Symbol names are not changed.
func View(l Layout) *File {
	f := &File{Data: l.Data, Class: l.Class, Order: binary.LittleEndian, Type: ET_DYN, Machine: l.Machine, Entry: l.Entry,
		Progs: l.Progs, LinkBase: l.LinkBase, view: true}
	f.layoutSyms, f.layoutExports, f.layoutLoaded = l.Symbols, l.Exports, l.Loaded
	f.sectionsOnce.Do(func() { f.layOut(l.Sections) })
	return f
}

// Loaded reads a file of another format as it looks in the memory of a process, with its
// first byte at base. The returned function returns the contiguous bytes from an address of
// the process on that the process cannot have changed. It is nil for ELF, whose segments
// are sufficient, and safe for concurrent use.
func (f *File) Loaded(base uint64) func(addr uint64) []byte {
	if f.layoutLoaded == nil {
		return nil
	}
	return f.layoutLoaded(base)
}

func (f *File) layOut(list []LayoutSection) {
	f.sections = make([]Section, 1, len(list)+1)
	f.shstr = []byte{0}
	for _, s := range list {
		typ := uint32(SHT_PROGBITS)
		if s.NoBits {
			typ = SHT_NOBITS
		}
		f.sections = append(f.sections, Section{Index: len(f.sections), Type: typ, Flags: s.Flags, Addr: s.Addr, Off: s.Off, Size: s.Size,
			nameOff: uint32(len(f.shstr)), file: f})
		f.shstr = append(append(f.shstr, s.Name...), 0)
	}
	f.hashSections()
}

// sectionOver returns the number of the section that contains an address, or of the first
// section if none does, since 0 would mean an undefined symbol.
func (f *File) sectionOver(addr uint64) uint16 {
	if s := f.SectionAt(addr); s != nil {
		return uint16(min(s.Index, rawReserve-1))
	}
	return 1
}

// viewTab writes a symbol table in the layout of the file's class.
func (f *File) viewTab(symbols func() []LayoutSymbol) (*SymTab, error) {
	if symbols == nil {
		return nil, fmt.Errorf("symbol table: %w", ErrNotFound)
	}
	list := symbols()
	if len(list) == 0 {
		return nil, fmt.Errorf("symbol table: %w", ErrNotFound)
	}
	size := symSize(f.Class)
	data, strs := make([]byte, size, (len(list)+1)*size), []byte{0}
	for _, s := range list {
		info := byte(STT_NOTYPE)
		if s.Func {
			info = STT_FUNC
		}
		if !s.Local {
			info |= STB_GLOBAL << 4
		}
		name := uint32(len(strs))
		strs = append(append(strs, s.Name...), 0)
		data = binary.LittleEndian.AppendUint32(data, name)
		shndx := f.sectionOver(s.Value)
		if f.Class == 64 {
			data = append(data, info, 0)
			data = binary.LittleEndian.AppendUint16(data, shndx)
			data = binary.LittleEndian.AppendUint64(data, s.Value)
			data = binary.LittleEndian.AppendUint64(data, s.Size)
			continue
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(s.Value))
		data = binary.LittleEndian.AppendUint32(data, uint32(s.Size))
		data = append(data, info, 0)
		data = binary.LittleEndian.AppendUint16(data, shndx)
	}
	return f.newTab(data, strs, 0)
}
