package elffile

import (
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/lazy"
)

// ParsePlaced reads an ELF file made by a JIT compiler, whose sections have the addresses
// (sh_addr) at which the program placed their contents. A relocatable file is linked to
// these addresses, as a debugger must do: symbols get addresses instead of offsets, and
// relocations are applied to a copy of data. Other files are read as by Parse.
//
// Relocations of unknown types are not applied, with a warning.
func ParsePlaced(data []byte) (*File, error) {
	f, err := Parse(data)
	if err != nil || f.Type != ET_REL {
		return f, err
	}
	p := placer{f: f, out: slices.Clone(data), left: maxPlacedRelocs}
	p.headers()
	p.symbols()
	p.relocations()
	placed, err := Parse(p.out)
	if err == nil && p.unknown > 0 {
		placed.warnf("JIT compiler's file: %d relocations of unknown types not applied", p.unknown)
	}
	return placed, err
}

// maxPlacedRelocs limits the number of relocations applied to one file.
const maxPlacedRelocs = 1 << 22

// A placer links one relocatable file.
type placer struct {
	f       *File
	out     []byte   // the linked file
	addrs   []uint64 // of the sections
	left    int      // how many more relocations may be applied
	unknown int
}

// headers turns the file into an executable. Loaded sections without an address (unwind
// tables that the program keeps elsewhere or not at all) get one after the others, so that
// relative references in them stay in range.
func (p *placer) headers() {
	p.f.Order.PutUint16(p.out[16:], ET_EXEC)
	list := p.f.Sections()
	p.addrs = make([]uint64, len(list))
	end := uint64(0)
	for i := range list {
		if s := &list[i]; s.Flags&SHF_ALLOC != 0 && s.Addr != 0 {
			p.addrs[i] = s.Addr
			end = max(end, endOf(s.Addr, s.Size))
		}
	}
	const align = 64
	for i := range list {
		s := &list[i]
		if s.Flags&SHF_ALLOC != 0 && s.Addr == 0 && end < 1<<63 && s.Size < 1<<32 {
			p.addrs[i] = (end + align - 1) &^ (align - 1)
			end = p.addrs[i] + s.Size
		}
		p.putWord(p.f.shoff+uint64(i)*uint64(p.f.shentsize)+p.wide(12, 16), p.addrs[i])
	}
}

// wide returns n32 or n64 depending on the class.
func (p *placer) wide(n32, n64 uint64) uint64 {
	if p.f.Class == 64 {
		return n64
	}
	return n32
}

func (p *placer) putWord(off, v uint64) { p.put(off, p.f.PtrSize(), v) }

// put writes size bytes at a file offset, if the file has them.
func (p *placer) put(off uint64, size int, v uint64) {
	if off > uint64(len(p.out)) || uint64(size) > uint64(len(p.out))-off {
		return
	}
	b := p.out[off:][:size]
	switch size {
	case 2:
		p.f.Order.PutUint16(b, uint16(v))
	case 4:
		p.f.Order.PutUint32(b, uint32(v))
	case 8:
		p.f.Order.PutUint64(b, v)
	}
}

// symbols adds the sections' addresses to the symbols' values, which are offsets (gABI,
// "Symbol Table").
func (p *placer) symbols() {
	for i := range p.f.Sections() {
		s := &p.f.sections[i]
		t := p.table(s)
		if t == nil {
			continue
		}
		for k := 1; k < t.Len(); k++ {
			y := t.sym(k)
			p.putWord(s.Off+uint64(k*t.ent)+p.wide(4, 8), p.value(&y))
		}
	}
}

// table returns the symbol table in a section, or nil if it is another kind of section.
func (p *placer) table(s *Section) *SymTab {
	if s.Type != SHT_SYMTAB {
		return nil
	}
	data, err := p.f.rawSection(s)
	if err != nil {
		return nil
	}
	t, err := p.f.newTab(data, nil, s.Entsize)
	if err != nil {
		return nil
	}
	return t
}

// value returns the address of a symbol.
func (p *placer) value(y *Sym) uint64 {
	if uint64(y.Shndx) < uint64(len(p.addrs)) {
		return y.Value + p.addrs[y.Shndx]
	}
	return y.Value
}

// relocations applies all relocation sections.
func (p *placer) relocations() {
	list := p.f.Sections()
	kinds := placedRelocs.Get()[p.f.Machine]
	for i := range list {
		s := &list[i]
		if s.Type != SHT_RELA && s.Type != SHT_REL || uint64(s.Info) >= uint64(len(list)) || uint64(s.Link) >= uint64(len(list)) {
			continue
		}
		target, tab := &list[s.Info], p.table(&list[s.Link])
		data, err := p.f.rawSection(s)
		if err != nil || tab == nil || target.Type == SHT_NOBITS || target.Flags&SHF_COMPRESSED != 0 {
			continue
		}
		size := p.f.relocSize(s.Type)
		for ; len(data) >= size && p.left > 0; data = data[size:] {
			p.left--
			r := p.f.reloc(data[:size])
			k, ok := kinds[r.Type]
			y, found := tab.Sym(int(r.Sym))
			switch {
			case !ok || !found:
				p.unknown++
			case k.size > 0 && r.Offset < target.Size && uint64(k.size) <= target.Size-r.Offset:
				p.apply(target, k, &r, p.value(&y), s.Type == SHT_REL)
			}
		}
	}
}

// apply writes symbol plus addend, minus the address of the relocated place if k is
// relative.
func (p *placer) apply(target *Section, k relocKind, r *Reloc, symbol uint64, inPlace bool) {
	off := target.Off + r.Offset
	if off > uint64(len(p.out)) || uint64(k.size) > uint64(len(p.out))-off {
		return
	}
	addend := r.Addend
	if inPlace {
		addend = readInt(p.f.Order, p.out[off:], k.size)
	}
	v := symbol + addend
	if k.relative {
		v -= p.addrs[target.Index] + r.Offset
	}
	p.put(off, k.size, v)
}

func readInt(o binary.ByteOrder, b []byte, size int) uint64 {
	switch size {
	case 2:
		return uint64(int64(int16(o.Uint16(b))))
	case 4:
		return uint64(int64(int32(o.Uint32(b))))
	}
	return o.Uint64(b)
}

// A relocKind describes what a relocation type does: it writes size bytes, or nothing if
// size is 0.
type relocKind struct {
	size     int
	relative bool
}

// placedRelocs are the relocation types used in debug sections and unwind tables, from each
// processor's ABI supplement. Relocations of code need not be applied: the code is in the
// process.
var placedRelocs = lazy.Value[map[uint16]map[uint32]relocKind]{Make: func() map[uint16]map[uint32]relocKind {
	return map[uint16]map[uint32]relocKind{
		EM_X86_64:  {0: {}, 1: {8, false}, 2: {4, true}, 4: {4, true}, 10: {4, false}, 11: {4, false}, 24: {8, true}},
		EM_386:     {0: {}, 1: {4, false}, 2: {4, true}, 4: {4, true}},
		EM_AARCH64: {0: {}, 257: {8, false}, 258: {4, false}, 260: {8, true}, 261: {4, true}},
		EM_ARM:     {0: {}, 2: {4, false}, 3: {4, true}},
		EM_PPC64:   {0: {}, 1: {4, false}, 26: {4, true}, 38: {8, false}, 44: {8, true}},
		EM_S390:    {0: {}, 4: {4, false}, 5: {4, true}, 22: {8, false}, 23: {8, true}},
	}
}}
