package corebuild

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/corewrite"
)

// A Header is an ELF header followed by program headers.
type Header = corewrite.Header

// Lib returns the header of an x86-64 shared library.
func Lib(progs ...elffile.Prog) Header {
	return Header{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_DYN, Machine: elffile.EM_X86_64, Progs: progs}
}

// BuildIDNote makes a GNU build-id note.
func BuildIDNote(order binary.ByteOrder, id []byte) []byte {
	c := corewrite.Core{Order: order, NoteAlign: 4}
	c.Note("GNU", elffile.NT_GNU_BUILD_ID, id)
	return c.Notes()
}
