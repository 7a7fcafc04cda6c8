package elffile

import (
	"encoding/binary"
	"testing"
)

// An image builds ELF files. Sections with an address lie at that offset of the
// file, so that one PT_LOAD with equal offset and address covers them.
type image struct {
	class   int
	big     bool
	typ     uint16
	machine uint16
	flags   uint32
	entry   uint64
	base    uint64 // link-time address of file offset 0
	secs    []sec
	progs   []Prog
	noShdrs bool
	ext     bool // extended numbering for all three counts
}

type sec struct {
	name                string
	typ                 uint32
	flags, addr, size   uint64 // addr counts from base; size only for SHT_NOBITS
	data                []byte
	link, info          uint32
	align, entsize, off uint64
}

func (m *image) order() binary.AppendByteOrder {
	if m.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// An enc appends integers in the image's byte order; word has its class's size.
type enc struct {
	b []byte
	m *image
}

func (e *enc) u16(v uint16) { e.b = e.m.order().AppendUint16(e.b, v) }
func (e *enc) u32(v uint32) { e.b = e.m.order().AppendUint32(e.b, v) }
func (e *enc) u64(v uint64) { e.b = e.m.order().AppendUint64(e.b, v) }
func (e *enc) word(v uint64) {
	if e.m.class == 64 {
		e.u64(v)
	} else {
		e.u32(uint32(v))
	}
}

func (e *enc) pad(to int) {
	for len(e.b) < to {
		e.b = append(e.b, 0)
	}
}

func (m *image) sym(name uint32, value, size uint64, typ, bind uint8, shndx uint16) []byte {
	e := enc{m: m}
	if m.class == 64 {
		e.u32(name)
		e.b = append(e.b, bind<<4|typ, 0)
		e.u16(shndx)
		e.u64(value)
		e.u64(size)
	} else {
		e.u32(name)
		e.u32(uint32(value))
		e.u32(uint32(size))
		e.b = append(e.b, bind<<4|typ, 0)
		e.u16(shndx)
	}
	return e.b
}

func (m *image) note(name string, typ uint32, desc []byte, align int) []byte {
	e := enc{m: m}
	e.u32(uint32(len(name) + 1))
	e.u32(uint32(len(desc)))
	e.u32(typ)
	e.b = append(append(e.b, name...), 0)
	e.pad((len(e.b) + align - 1) &^ (align - 1))
	e.b = append(e.b, desc...)
	e.pad((len(e.b) + align - 1) &^ (align - 1))
	return e.b
}

// build lays the file out: header, program headers, sections, names, section
// headers. Section 0 is added, .shstrtab comes last.
func (m *image) build(t testing.TB) []byte {
	t.Helper()
	ehsize := map[int]int{32: 52, 64: 64}[m.class]
	body := enc{m: m}
	body.pad(ehsize + len(m.progs)*progSize(m.class))
	names := []byte{0}
	secs := append([]sec{{}}, m.secs...)
	secs = append(secs, sec{name: ".shstrtab", typ: SHT_STRTAB})
	nameOff := make([]uint32, len(secs))
	for i := 1; i < len(secs); i++ {
		nameOff[i] = uint32(len(names))
		names = append(append(names, secs[i].name...), 0)
	}
	secs[len(secs)-1].data = names
	for i := 1; i < len(secs); i++ {
		s := &secs[i]
		if s.addr != 0 && s.typ != SHT_NOBITS {
			if int(s.addr) < len(body.b) {
				t.Fatalf("section %s at %#x overlaps %#x", s.name, s.addr, len(body.b))
			}
			body.pad(int(s.addr))
		}
		s.off = uint64(len(body.b))
		body.b = append(body.b, s.data...)
		if s.typ != SHT_NOBITS {
			s.size = uint64(len(s.data))
		}
	}
	body.pad((len(body.b) + 7) &^ 7)
	shoff := len(body.b)
	shnum, shstrndx, phnum := len(secs), len(secs)-1, len(m.progs)
	if m.ext {
		secs[0].size, secs[0].link, secs[0].info = uint64(shnum), uint32(shstrndx), uint32(phnum)
		shnum, shstrndx, phnum = 0, rawXIndex, pnXNum
	}
	if m.noShdrs {
		shoff, shnum, shstrndx = 0, 0, 0
	} else {
		for i, s := range secs {
			addr := s.addr
			if addr != 0 {
				addr += m.base
			}
			body.u32(nameOff[i])
			body.u32(s.typ)
			body.word(s.flags)
			body.word(addr)
			body.word(s.off)
			body.word(s.size)
			body.u32(s.link)
			body.u32(s.info)
			body.word(s.align)
			body.word(s.entsize)
		}
	}
	h := enc{m: m}
	h.b = append(h.b, 0x7f, 'E', 'L', 'F', byte(m.class/32), 1, 1, 0)
	if m.big {
		h.b[5] = 2
	}
	h.pad(16)
	h.u16(m.typ)
	h.u16(m.machine)
	h.u32(1)
	h.word(m.entry)
	h.word(uint64(ehsize))
	h.word(uint64(shoff))
	h.u32(m.flags)
	h.u16(uint16(ehsize))
	h.u16(uint16(progSize(m.class)))
	h.u16(uint16(phnum))
	h.u16(uint16(sectionSize(m.class)))
	h.u16(uint16(shnum))
	h.u16(uint16(shstrndx))
	for _, p := range m.progs {
		h.prog(p)
	}
	copy(body.b, h.b)
	return body.b
}

func (e *enc) prog(p Prog) {
	e.u32(p.Type)
	if e.m.class == 64 {
		e.u32(p.Flags)
	}
	for _, v := range []uint64{p.Off, p.Vaddr, p.Paddr, p.Filesz, p.Memsz} {
		e.word(v)
	}
	if e.m.class == 32 {
		e.u32(p.Flags)
	}
	e.word(p.Align)
}

// kinds are the four layouts that a reader must support.
var kinds = []struct {
	name  string
	class int
	big   bool
}{{"32le", 32, false}, {"32be", 32, true}, {"64le", 64, false}, {"64be", 64, true}}

func mustParse(t testing.TB, data []byte) *File {
	t.Helper()
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// strtab makes a string table and returns the offset of each name.
func strtab(names ...string) ([]byte, map[string]uint32) {
	b, at := []byte{0}, map[string]uint32{"": 0}
	for _, n := range names {
		at[n] = uint32(len(b))
		b = append(append(b, n...), 0)
	}
	return b, at
}
