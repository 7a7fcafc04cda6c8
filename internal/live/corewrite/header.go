package corewrite

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// A Header is an ELF header, directly followed by program headers.
type Header struct {
	Class         int
	Order         binary.ByteOrder
	Type, Machine uint16
	OSABI         byte
	Flags         uint32 // e_flags
	Entry         uint64
	Progs         []elffile.Prog
	Sections      int    // e_shnum
	SectionOffset uint64 // e_shoff, if there are sections
}

// xnum in e_phnum means that the count does not fit: section header 0 has it (PN_XNUM).
const xnum = 0xffff

func (h Header) many() bool { return len(h.Progs) >= xnum }

// sectionSize returns the size of a section header, in bytes.
func (h Header) sectionSize() int {
	if h.Class == 32 {
		return 40
	}
	return 64
}

// sections returns the section headers: all null, except that the first holds the number of program headers if
// that does not fit e_phnum.
func (h Header) sections() []byte {
	n := h.Sections
	if h.many() {
		n = max(n, 1)
	}
	b := make([]byte, n*h.sectionSize())
	if h.many() {
		size, info := 32, 44
		if h.Class == 32 {
			size, info = 20, 28
		}
		c := Core{Class: h.Class, Order: h.Order}
		copy(b[size:], c.Word(nil, uint64(n)))
		h.Order.PutUint32(b[info:], uint32(len(h.Progs)))
	}
	return b
}

// Bytes returns the header as it is in a file.
func (h Header) Bytes() []byte {
	c := Core{Class: h.Class, Order: h.Order}
	class, order := byte(2), byte(1)
	if h.Class == 32 {
		class = 1
	}
	if h.Order == binary.ByteOrder(binary.BigEndian) {
		order = 2
	}
	ehsize, phentsize := 64, 56
	if h.Class == 32 {
		ehsize, phentsize = 52, 32
	}
	phnum, shnum, shoff := len(h.Progs), h.Sections, uint64(0)
	if h.many() {
		phnum, shnum = xnum, max(shnum, 1)
	}
	if shnum > 0 {
		shoff = h.SectionOffset
	}
	b := append([]byte{0x7f, 'E', 'L', 'F', class, order, 1, h.OSABI}, make([]byte, 8)...)
	b = c.append16(b, h.Type, h.Machine)
	b = c.append32(b, 1)
	b = c.Word(b, h.Entry, uint64(ehsize), shoff)
	b = c.append32(b, h.Flags)
	b = c.append16(b, uint16(ehsize), uint16(phentsize), uint16(phnum), uint16(h.sectionSize()), uint16(shnum), 0)
	for _, p := range h.Progs {
		b = c.prog(b, p)
	}
	return b
}

func (c *Core) prog(b []byte, p elffile.Prog) []byte {
	if c.Class == 64 {
		b = c.append32(b, p.Type, p.Flags)
		return c.Word(b, p.Off, p.Vaddr, p.Paddr, p.Filesz, p.Memsz, p.Align)
	}
	b = c.append32(b, p.Type)
	b = c.Word(b, p.Off, p.Vaddr, p.Paddr, p.Filesz, p.Memsz)
	b = c.append32(b, p.Flags)
	return c.Word(b, p.Align)
}
