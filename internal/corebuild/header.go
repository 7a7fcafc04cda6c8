package corebuild

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/corewrite"
)

// A Header is an ELF header with program headers right behind it.
type Header = corewrite.Header

// Lib is the header of a shared library for x86-64.
func Lib(progs ...elffile.Prog) Header {
	return Header{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_DYN, Machine: elffile.EM_X86_64, Progs: progs}
}

// BuildIDNote is a GNU build-id note.
func BuildIDNote(order binary.ByteOrder, id []byte) []byte {
	c := corewrite.Core{Order: order, NoteAlign: 4}
	c.Note("GNU", elffile.NT_GNU_BUILD_ID, id)
	return c.Notes()
}
