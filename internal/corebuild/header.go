package corebuild

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/elffile"
)

// A Header is an ELF header with program headers right behind it.
type Header struct {
	Class         int
	Order         binary.ByteOrder
	Type, Machine uint16
	Entry         uint64
	Progs         []elffile.Prog
	Sections      int    // e_shnum
	SectionOffset uint64 // e_shoff when there are sections
}

// Lib is the header of a shared library for x86-64.
func Lib(progs ...elffile.Prog) Header {
	return Header{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_DYN, Machine: elffile.EM_X86_64, Progs: progs}
}

// Bytes is the header as it lies in a file.
func (h Header) Bytes() []byte {
	c := Core{Class: h.Class, Order: h.Order}
	class, order := byte(2), byte(1)
	if h.Class == 32 {
		class = 1
	}
	if h.Order == binary.ByteOrder(binary.BigEndian) {
		order = 2
	}
	ehsize, phentsize, shentsize := 64, 56, 64
	if h.Class == 32 {
		ehsize, phentsize, shentsize = 52, 32, 40
	}
	shoff := uint64(0)
	if h.Sections > 0 {
		shoff = h.SectionOffset
	}
	b := append([]byte{0x7f, 'E', 'L', 'F', class, order, 1}, make([]byte, 9)...)
	b = c.append16(c.append16(b, h.Type), h.Machine)
	b = c.append32(b, 1)
	b = c.Word(b, h.Entry, uint64(ehsize), shoff)
	b = c.append32(b, 0)
	for _, v := range []int{ehsize, phentsize, len(h.Progs), shentsize, h.Sections, 0} {
		b = c.append16(b, uint16(v))
	}
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

// BuildIDNote is a GNU build-id note.
func BuildIDNote(order binary.ByteOrder, id []byte) []byte {
	c := Core{Order: order, NoteAlign: 4}
	c.Note("GNU", elffile.NT_GNU_BUILD_ID, id)
	return c.notes
}
