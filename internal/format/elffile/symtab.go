package elffile

import (
	"bytes"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A SymTab is one symbol table. It refers to slices of the file and, after some number of
// lookups, has an index by address. It is safe for concurrent use.
type SymTab struct {
	file *File
	data []byte // whole entries only
	strs []byte
	// Sections of data and strs that are in the file as they are; nil for others.
	dataIn, strsIn *Section
	xndx           []byte   // SHT_SYMTAB_SHNDX, 4 bytes per symbol, or nil
	ent            int      // bytes per entry
	opd            *Section // big-endian PPC64: the section of function descriptors
	descs          []byte   // the bytes of opd
	follow         sync.Once
	loads          []load // used if sections cannot tell where a symbol's code ends
	marks          bool   // the machine has mapping symbols
	moved          bool   // a function's code may be elsewhere than st_value

	long    atomic.Pointer[longText]
	lookups atomic.Int32
	once    sync.Once
	index   index

	nameLookups atomic.Int32
	namesOnce   sync.Once
	names       nameIndex

	storedOnce sync.Once
	stored     [numIndexes]bool // which indexes File.Stored had
}

type lazyTab struct {
	once sync.Once
	tab  *SymTab
	err  error
}

// A Sym is one symbol. Value is a link-time virtual address. For functions it is the
// address of the code, with the instruction-set bit of ARM and MIPS cleared and the
// function descriptor of big-endian PPC64 followed.
type Sym struct {
	Value, Size uint64
	Type, Bind  uint8  // STT_..., STB_...
	Other       uint8  // st_other
	Shndx       uint32 // section index (extended indexes resolved) or SHN_...
	Index       int    // in its table

	tab  *SymTab
	name uint32
}

// SymTab returns the table in .symtab, or ErrNotFound if the file is stripped.
func (f *File) SymTab() (*SymTab, error) {
	f.symtab.once.Do(func() {
		if f.view {
			f.symtab.tab, f.symtab.err = f.viewTab(f.layoutSyms)
			return
		}
		f.symtab.tab, f.symtab.err = f.sectionTab(SHT_SYMTAB)
	})
	return f.symtab.tab, f.symtab.err
}

// DynSym returns the table in .dynsym, found through the section headers or, failing that,
// through PT_DYNAMIC.
func (f *File) DynSym() (*SymTab, error) {
	f.dynsym.once.Do(func() {
		if f.view {
			f.dynsym.tab, f.dynsym.err = f.viewTab(f.layoutExports)
			return
		}
		t, err := f.sectionTab(SHT_DYNSYM)
		if err != nil {
			if dyn, derr := f.dynamicTab(); derr == nil {
				t, err = dyn, nil
			}
		}
		f.dynsym.tab, f.dynsym.err = t, err
	})
	return f.dynsym.tab, f.dynsym.err
}

// sectionTab returns the table in the first section of a type.
func (f *File) sectionTab(typ uint32) (*SymTab, error) {
	s := f.sectionOfType(typ)
	if s == nil {
		return nil, fmt.Errorf("symbol table (section type %d): %w", typ, ErrNotFound)
	}
	data, err := f.SectionData(s)
	if err != nil {
		return nil, fmt.Errorf("symbol table: %w", err)
	}
	list := f.Sections()
	if uint64(s.Link) >= uint64(len(list)) {
		return nil, fmt.Errorf("symbol table: string table is section %d of %d: %w", s.Link, len(list), ErrMalformed)
	}
	strs, err := f.SectionData(&list[s.Link])
	if err != nil {
		return nil, fmt.Errorf("symbol table: names: %w", err)
	}
	t, err := f.newTab(data, strs, s.Entsize)
	if err != nil {
		return nil, err
	}
	if s.Flags&SHF_COMPRESSED == 0 {
		t.dataIn = s
	}
	if names := &list[s.Link]; names.Flags&SHF_COMPRESSED == 0 {
		t.strsIn = names
	}
	for i := range list {
		if list[i].Type == SHT_SYMTAB_SHNDX && list[i].Link == uint32(s.Index) {
			t.xndx, _ = f.SectionData(&list[i])
		}
	}
	return t, nil
}

func symSize(class int) int {
	if class == 64 {
		return 24
	}
	return 16
}

// passed is called after a pass over all entries, and with names, over all their names.
func (t *SymTab) passed(names bool) {
	if t.dataIn != nil {
		t.file.release(t.dataIn.Off, t.dataIn.Size)
	}
	if names && t.strsIn != nil {
		t.file.release(t.strsIn.Off, t.strsIn.Size)
	}
}

func (f *File) newTab(data, strs []byte, ent uint64) (*SymTab, error) {
	if ent == 0 {
		ent = uint64(symSize(f.Class))
	}
	if ent < uint64(symSize(f.Class)) || ent > 1<<16 {
		return nil, fmt.Errorf("symbol table entries have %d bytes, want %d: %w", ent, symSize(f.Class), ErrMalformed)
	}
	t := &SymTab{file: f, strs: strs, ent: int(ent)}
	t.data = data[:len(data)-len(data)%int(ent)]
	if f.Machine == EM_PPC64 && f.Flags&3 != 2 {
		if t.opd = f.Section(".opd"); t.opd != nil {
			t.descs, _ = f.rawSection(t.opd)
		}
	}
	if t.opd != nil || len(f.Sections()) == 0 {
		t.loads = f.loadsByAddr()
	}
	t.moved = t.opd != nil || f.Machine == EM_ARM || f.Machine == EM_MIPS
	t.marks = f.Machine == EM_ARM || f.Machine == EM_AARCH64 || f.Machine == EM_RISCV
	return t, nil
}

// Len is the number of entries, including the null symbol at index 0.
func (t *SymTab) Len() int { return len(t.data) / t.ent }

// Sym returns entry i, or false if there is none.
func (t *SymTab) Sym(i int) (Sym, bool) {
	if i < 0 || i >= t.Len() {
		return Sym{}, false
	}
	return t.sym(i), true
}

// sym decodes entry i, which must exist.
func (t *SymTab) sym(i int) Sym {
	b := t.data[i*t.ent:]
	s := Sym{Index: i, tab: t}
	var info uint8
	o := t.file.Order
	if t.file.Class == 64 {
		b = b[:24]
		s.name, info, s.Other, s.Shndx = o.Uint32(b), b[4], b[5], wideShndx(o.Uint16(b[6:]))
		s.Value, s.Size = o.Uint64(b[8:]), o.Uint64(b[16:])
	} else {
		b = b[:16]
		s.name, s.Value, s.Size = o.Uint32(b), uint64(o.Uint32(b[4:])), uint64(o.Uint32(b[8:]))
		info, s.Other, s.Shndx = b[12], b[13], wideShndx(o.Uint16(b[14:]))
	}
	s.Type, s.Bind = info&15, info>>4
	if s.Shndx == SHN_XINDEX {
		if x, ok := binbuf.Slice(t.xndx, uint64(i)*4, 4); ok {
			s.Shndx = o.Uint32(x)
		}
	}
	s.Value = t.codeAddr(&s)
	return s
}

func wideShndx(x uint16) uint32 {
	if x >= rawReserve {
		return uint32(x) | 0xffff0000
	}
	return uint32(x)
}

// codeAddr returns the address of a function symbol's code. ARM (AAELF32, 5.5.3) and MIPS
// mark the other instruction set in bit 0. In the 64-bit PowerPC ELF ABI 1.9 (3.5.3),
// function symbols refer to a descriptor in .opd, whose first word is the address.
func (t *SymTab) codeAddr(s *Sym) uint64 {
	if s.Type != STT_FUNC && s.Type != STT_GNU_IFUNC {
		return s.Value
	}
	switch t.file.Machine {
	case EM_ARM, EM_MIPS:
		return s.Value &^ 1
	case EM_PPC64:
		if t.opd != nil && t.opd.Contains(s.Value) {
			if b, ok := binbuf.Slice(t.descs, s.Value-t.opd.Addr, 8); ok {
				return t.file.Order.Uint64(b)
			}
		}
	}
	return s.Value
}

// FollowDescriptors makes t follow the function descriptors in f. It is needed if t's own
// file was split from f and has the descriptors' addresses but not their bytes.
func (t *SymTab) FollowDescriptors(f *File) {
	t.follow.Do(func() {
		if t.opd == nil || len(t.descs) != 0 {
			return
		}
		if s := f.Section(".opd"); s != nil && s.Addr == t.opd.Addr {
			t.descs, _ = f.rawSection(s)
		}
	})
}

// All iterates over the table, without the null symbol.
func (t *SymTab) All() iter.Seq[Sym] {
	return func(yield func(Sym) bool) {
		for i := 1; i < t.Len(); i++ {
			if !yield(t.sym(i)) {
				return
			}
		}
	}
}

// literal marks the tables of NamedFunc, whose names are taken as they are.
var literal = &File{view: true}

// NamedFunc makes a symbol of a function that another table than ELF's names.
func NamedFunc(name string, value, size uint64) Sym {
	tab := &SymTab{file: literal, strs: append(append(make([]byte, 1, len(name)+2), name...), 0)}
	return Sym{Value: value, Size: size, Type: STT_FUNC, Bind: STB_LOCAL, Shndx: SHN_ABS, tab: tab, name: 1}
}

// Defined reports whether the symbol is defined in this file.
func (s Sym) Defined() bool { return s.Shndx != SHN_UNDEF && s.tab != nil }

// IsFunc reports whether the symbol is a function.
func (s Sym) IsFunc() bool { return s.Type == STT_FUNC || s.Type == STT_GNU_IFUNC }

// Name returns the symbol's name without the version that linkers append ("memcpy" for
// "memcpy@@GLIBC_2.14"), or "" if it has none.
func (s Sym) Name() string { return string(s.NameBytes()) } // inlined: what only compares it copies nothing

// KeptName is Name for what keeps it. A long one is copied once, however many ask for it one after another.
func (s Sym) KeptName() string {
	b := s.NameBytes()
	if len(b) < longName {
		return string(b)
	}
	if l := s.tab.long.Load(); l != nil && l.at == s.name {
		return l.text
	}
	l := &longText{s.name, string(b)}
	s.tab.long.Store(l)
	return l.text
}

// longName is from which length on, in bytes, a name is kept for whoever asks for the same one again: several ask for the symbol of
// a frame, and a hostile author may give each a name of a megabyte.
const longName = 4 << 10

// A longText is the last long name of a table that was asked for.
type longText struct {
	at   uint32
	text string
}

// NameBytes is Name without copying: it returns a slice of the file.
func (s Sym) NameBytes() []byte {
	b := s.RawName()
	if s.tab != nil && s.tab.file.view { // Microsoft's names contain "@"
		return b
	}
	if i := bytes.IndexByte(b, '@'); i > 0 {
		b = b[:i]
	}
	return b
}

// RawName returns the name as in the string table, with its version.
func (s Sym) RawName() []byte {
	if s.tab == nil || s.name == 0 || uint64(s.name) >= uint64(len(s.tab.strs)) {
		return nil
	}
	b := s.tab.strs[s.name:]
	b, _ = binbuf.CStringAt(b[:min(len(b), maxName)], 0)
	return b
}

// mentionsStep is how many bytes of names are read before they are released.
const mentionsStep = 2 * minReleased

// NamesSize is the size in bytes of the table of names.
func (t *SymTab) NamesSize() int { return len(t.strs) }

// Mentions reports whether a text occurs among the names of the table's symbols.
func (t *SymTab) Mentions(text string) bool {
	want := []byte(text)
	for at := 0; at < len(t.strs); at += mentionsStep {
		end := min(at+mentionsStep, len(t.strs))
		found := bytes.Contains(t.strs[at:min(end+max(len(want)-1, 0), len(t.strs))], want)
		if t.strsIn != nil && t.strsIn.Size >= uint64(len(t.strs)) {
			t.file.release(t.strsIn.Off+uint64(at), uint64(end-at))
		}
		if found {
			return true
		}
	}
	return len(want) == 0
}
