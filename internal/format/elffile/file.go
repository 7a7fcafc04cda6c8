// Package elffile reads ELF files of both classes and byte orders from a byte slice,
// usually a mapping. It copies nothing and reads no more than the caller asks for.
//
// The standard library's debug/elf does not fit: it reads every section's header and name
// at once; it refuses files with a truncated or damaged section table, as cores and partly
// written files have; it does not support more than 65,535 segments; and it returns symbols
// only as one slice with every name allocated. Here Parse reads the program headers, and
// everything else is read on demand. A damaged part causes a warning, or an error for that
// part only.
//
// The format is specified by the System V gABI (https://gabi.xinuos.com/), the GNU parts by
// the GNU gABI supplement and the gdb manual ("Debugging Information in Separate Files").
//
// A File and everything reached from it are safe for concurrent use. The slices it returns
// point into the parsed bytes and must not be written to.
package elffile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/spans"
)

// Reasons why something cannot be read. Every error of this package wraps one of these.
var (
	// ErrNotELF: the bytes do not begin with a usable ELF header.
	ErrNotELF = errors.New("not an ELF file")
	// ErrTruncated: the bytes should be in the file, but it ends before them.
	ErrTruncated = errors.New("past the end of the ELF file")
	// ErrNoBits: the section or segment has an address and a size, but no bytes in the file
	// (.bss, or anything in a separate debug file).
	ErrNoBits = errors.New("no bytes in the file")
	// ErrNotFound: the file has no such section, segment or table.
	ErrNotFound = errors.New("not found")
	// ErrMalformed: the bytes are inconsistent or violate the specification.
	ErrMalformed = errors.New("malformed")
	// ErrCompressed: the compressed section cannot be decompressed, or File.Decompress is
	// nil.
	ErrCompressed = errors.New("cannot decompress")
)

// DefaultMaxSection is the limit in bytes on one decompressed section if File.MaxSection is
// 0.
const DefaultMaxSection = 4 << 30

// A File is one parsed ELF file. Parse sets the exported fields, except Decompress,
// Release and MaxSection: the caller sets these before using the File and must not change them
// afterwards.
type File struct {
	Data       []byte
	Class      int // 32 or 64
	Order      binary.ByteOrder
	Type       uint16 // ET_...
	Machine    uint16 // EM_...
	OSABI      uint8
	ABIVersion uint8
	Flags      uint32 // e_flags; meaning depends on the machine
	Entry      uint64 // virtual address at which the process starts, or 0
	Progs      []Prog
	// LinkBase is the file's base address, for formats whose load bias is relative to it; 0
	// for ELF (see View).
	LinkBase uint64
	Warnings []string // problems that Parse found and worked around

	// Decompress decompresses a section. If it is nil, compressed sections cause
	// ErrCompressed.
	Decompress func(Packed) (Inflated, error)
	// Release, if set, is called with ranges of Data that were read as a whole and are not
	// needed soon.
	Release func(off, size uint64)
	// Stored, if set, returns what Storable returned for a table in an earlier run, or nil. It may be called
	// concurrently.
	Stored func(Index, *Section) []byte
	// MaxSection limits the decompressed size of a section in bytes; 0 means
	// DefaultMaxSection.
	MaxSection uint64

	big    bool
	memory bool   // Data is laid out as in memory; see ParseMemory
	base   uint64 // memory: link-time address of Data[0]
	bias   uint64 // memory: run-time minus link-time address, modulo 2^64

	shoff     uint64
	shnum     int
	shentsize int
	shstrndx  uint32

	sectionsOnce sync.Once
	sections     []Section
	shstr        []byte

	plainMu sync.Mutex
	plain   map[int]*plainData

	loads, loaded spanTable // of Progs: what is in the file, and what is in memory
	sectionSpans  spanTable

	debugOnlyOnce, buildIDOnce sync.Once
	debugOnly                  bool
	buildID                    []byte

	symtab, dynsym lazyTab
	relocs         relocTabs
	pltOnce        sync.Once
	plt            relocTab // the relocations of linkage stubs

	view                      bool // presents another format; see View
	layoutSyms, layoutExports func() []LayoutSymbol
	layoutLoaded              func(base uint64) func(addr uint64) []byte
}

// A spanTable is an order by address that is made when it is needed.
type spanTable struct {
	once  sync.Once
	table spans.Table
}

func (t *spanTable) get(n int, at func(i int) (first, last uint64, ok bool)) spans.Table {
	t.once.Do(func() { t.table = spans.New(n, at) })
	return t.table
}

// A Prog is one program header. Offsets and sizes are those in the file and may lie outside
// it.
type Prog struct {
	Type, Flags                             uint32
	Off, Vaddr, Paddr, Filesz, Memsz, Align uint64
}

// Parse reads the ELF header and the program headers of data. It fails only if there is no
// usable ELF header. Truncated or damaged tables are read as far as possible, with a
// warning.
func Parse(data []byte) (*File, error) {
	f := &File{Data: data}
	h, err := f.parseHeader()
	if err != nil {
		return nil, err
	}
	f.locateSections(h)
	f.parseProgs(h)
	return f, nil
}

// Big reports whether the file is big-endian.
func (f *File) Big() bool { return f.big }

// PtrSize is the size of an address in bytes: 4 or 8.
func (f *File) PtrSize() int { return f.Class / 8 }

// header holds the fields of the ELF header that only Parse needs.
type header struct {
	phoff, shoff                                 uint64
	phentsize, phnum, shentsize, shnum, shstrndx uint16
}

func (f *File) parseHeader() (header, error) {
	var h header
	d := f.Data
	if len(d) < 16 || d[0] != 0x7f || d[1] != 'E' || d[2] != 'L' || d[3] != 'F' {
		return h, fmt.Errorf("no ELF magic at offset 0: %w", ErrNotELF)
	}
	switch d[4] {
	case 1:
		f.Class = 32
	case 2:
		f.Class = 64
	default:
		return h, fmt.Errorf("class %d at offset 4, want 1 or 2: %w", d[4], ErrNotELF)
	}
	switch d[5] {
	case 1:
		f.Order = binary.LittleEndian
	case 2:
		f.Order, f.big = binary.BigEndian, true
	default:
		return h, fmt.Errorf("byte order %d at offset 5, want 1 or 2: %w", d[5], ErrNotELF)
	}
	f.OSABI, f.ABIVersion = d[7], d[8]
	c := f.cursor(d, 16)
	f.Type, f.Machine = c.U16(), c.U16()
	c.Skip(4) // e_version
	f.Entry = f.word(&c)
	h.phoff, h.shoff = f.word(&c), f.word(&c)
	f.Flags = c.U32()
	c.Skip(2) // e_ehsize
	h.phentsize, h.phnum = c.U16(), c.U16()
	h.shentsize, h.shnum, h.shstrndx = c.U16(), c.U16(), c.U16()
	if c.Error != nil {
		return h, fmt.Errorf("ELF header: %v: %w (%w)", c.Error, ErrNotELF, ErrTruncated)
	}
	return h, nil
}

func (f *File) cursor(data []byte, off int) binbuf.Cursor { return binbuf.New(data, off, f.big) }

// word reads an address, offset or size of the file's class.
func (f *File) word(c *binbuf.Cursor) uint64 {
	if f.Class == 64 {
		return c.U64()
	}
	return uint64(c.U32())
}

// minReleased is the size in bytes from which on what was read as a whole is released: to
// get less back would cost more than it saves.
const minReleased = 256 << 10

func (f *File) release(off, size uint64) {
	if f.Release != nil && size >= minReleased {
		f.Release(off, size)
	}
}

func (f *File) warnf(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}
