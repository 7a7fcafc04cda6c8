// Package pefile reads 32- and 64-bit PE images (Windows executables and DLLs) from a byte
// slice, usually a mapping. It copies nothing and reads no more than the caller asks for.
//
// The standard library's debug/pe does not fit: it reads all symbols and strings at once,
// knows no exports, debug directory or unwind tables, cannot read an image as it is in
// memory, and fails completely if one part is damaged. Here Parse reads the headers and the
// section table, and everything else is read on demand. A damaged part causes a warning, or
// an error for that part only.
//
// The format is specified by Microsoft's "PE Format"
// (https://learn.microsoft.com/windows/win32/debug/pe-format); long section names and DWARF
// sections in PE are conventions of the GNU and LLVM tools. Unless stated otherwise,
// addresses are relative to the image's base (RVA), in bytes.
//
// A File and everything reached from it are safe for concurrent use. The slices it returns
// point into the parsed bytes and must not be written to.
package pefile

import (
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Reasons why something cannot be read. Every error of this package wraps one of these.
var (
	// ErrNotPE: the bytes do not begin with usable headers of a PE image.
	ErrNotPE = errors.New("not a PE image")
	// ErrTruncated: the bytes should be in the image, but it ends before them.
	ErrTruncated = errors.New("past the end of the PE image")
	// ErrNotFound: the image has no such section, directory or record.
	ErrNotFound = errors.New("not found")
	// ErrMalformed: the bytes are inconsistent or violate the specification.
	ErrMalformed = errors.New("malformed")
)

// Machine types of the COFF header (IMAGE_FILE_MACHINE_...).
const (
	MachineI386    = 0x14c
	MachineARM     = 0x1c0
	MachineARMNT   = 0x1c4
	MachineAMD64   = 0x8664
	MachineARM64   = 0xaa64
	MachineARM64EC = 0xa641
	MachineARM64X  = 0xa64e
)

// A Directory is one of the data directories in the optional header: its index there.
type Directory int

// The data directories that this package reads.
const (
	DirExport    Directory = 0
	DirException Directory = 3 // the function table, .pdata
	DirDebug     Directory = 6
)

// maxDirectories is the maximum number of data directories.
const maxDirectories = 16

// A Range is a part of the image: Size bytes at RVA.
type Range struct{ RVA, Size uint32 }

// A File is one parsed PE image. Parse sets the exported fields, which do not change
// afterwards.
type File struct {
	Data            []byte
	Bits            int // 32 (PE32) or 64 (PE32+)
	Machine         uint16
	Characteristics uint16 // IMAGE_FILE_...
	TimeDateStamp   uint32 // normally seconds since 1970; a hash in reproducible builds
	SizeOfImage     uint32 // bytes that the image occupies in memory
	SizeOfHeaders   uint32
	CheckSum        uint32
	Entry           uint32 // RVA of the entry point, or 0
	ImageBase       uint64 // preferred base address, which addresses in DWARF include
	Subsystem       uint16
	Sections        []Section // in the order of the file
	Warnings        []string  // problems that Parse found and worked around

	memory      bool // Data is laid out as in memory: offsets are RVAs
	fileAligned bool // the loader rounds file offsets of sections down
	dirs        [maxDirectories]Range
	ndirs       int
	byRVA       []int32 // indexes of the Sections that occupy addresses, by address
	symOff      uint32  // file offset of the COFF symbols, or 0
	symCount    uint32
	strings     []byte // the COFF string table, including its length field

	exportOnce sync.Once
	exports    *exportTable
	exportErr  error
	symOnce    sync.Once
	symIndex   []symRef

	writtenOnce sync.Once
	written     writtenList
	relocOnce   sync.Once
	relocData   []byte
	relocIndex  []relocBlock
}

// Parse reads the headers of an image as it is in a file. It fails only if there are no
// usable headers; a truncated section table is read as far as it exists, with a warning.
func Parse(data []byte) (*File, error) { return parse(data, false) }

// ParseMemory is Parse for an image as it is in the memory of a process: data is indexed by
// RVA. Such an image has no COFF symbols.
func ParseMemory(data []byte) (*File, error) { return parse(data, true) }

func parse(data []byte, memory bool) (*File, error) {
	f := &File{Data: data, memory: memory}
	if err := f.parseHeaders(); err != nil {
		return nil, err
	}
	f.locateStrings()
	f.nameSections()
	f.sortSections()
	return f, nil
}

// Sizes and magic numbers of headers.
const (
	dosLfanew   = 0x3c // offset in the DOS header of the PE header's offset
	coffSize    = 20
	magicPE32   = 0x10b
	magicPE32P  = 0x20b
	pageSize    = 0x1000
	sectorSize  = 0x200
	sectionSize = 40
)

func (f *File) parseHeaders() error {
	d := f.Data
	if len(d) < 2 || d[0] != 'M' || d[1] != 'Z' {
		return fmt.Errorf("no MZ at offset 0: %w", ErrNotPE)
	}
	c := binbuf.New(d, min(dosLfanew, len(d)), false)
	lfanew := c.U32()
	if c.Error != nil {
		return fmt.Errorf("offset of the PE header: %v: %w (%w)", c.Error, ErrNotPE, ErrTruncated)
	}
	if uint64(lfanew) > uint64(len(d)) {
		return fmt.Errorf("PE header at offset %#x of %#x: %w (%w)", lfanew, len(d), ErrNotPE, ErrTruncated)
	}
	c = binbuf.New(d, int(lfanew), false)
	if sig := c.U32(); c.Error == nil && sig != 'P'|'E'<<8 {
		return fmt.Errorf("signature %#x at offset %#x, want PE: %w", sig, lfanew, ErrNotPE)
	}
	f.Machine = c.U16()
	nsections := c.U16()
	f.TimeDateStamp = c.U32()
	f.symOff, f.symCount = c.U32(), c.U32()
	optSize := c.U16()
	f.Characteristics = c.U16()
	opt := c.Off
	if err := f.parseOptional(&c, int(optSize)); err != nil {
		return err
	}
	if c.Error != nil {
		return fmt.Errorf("PE header: %v: %w (%w)", c.Error, ErrNotPE, ErrTruncated)
	}
	f.parseSections(opt+int(optSize), int(nsections))
	return nil
}

// parseOptional reads the optional header, which is at c and has size bytes.
func (f *File) parseOptional(c *binbuf.Cursor, size int) error {
	start := c.Off
	magic := c.U16()
	switch {
	case c.Error != nil:
		return nil // the caller reports it
	case magic == magicPE32:
		f.Bits = 32
	case magic == magicPE32P:
		f.Bits = 64
	default:
		return fmt.Errorf("optional header with magic %#x at offset %#x, want %#x or %#x: %w", magic, start, magicPE32, magicPE32P, ErrNotPE)
	}
	c.Skip(14)
	f.Entry = c.U32()
	c.Skip(4)
	if f.Bits == 32 {
		c.Skip(4)
		f.ImageBase = uint64(c.U32())
	} else {
		f.ImageBase = c.U64()
	}
	align := c.U32()
	f.fileAligned = align >= pageSize
	c.Skip(4 + 16)
	f.SizeOfImage, f.SizeOfHeaders, f.CheckSum = c.U32(), c.U32(), c.U32()
	f.Subsystem = c.U16()
	c.Skip(2 + 4*f.Bits/8 + 4)
	n := c.U32()
	if c.Error != nil {
		return nil
	}
	if room := uint32(max(0, start+size-c.Off)) / 8; n > room {
		f.warnf("%d data directories, but the optional header has only %d", n, room)
		n = room
	}
	f.ndirs = int(min(n, maxDirectories))
	for i := range f.ndirs {
		f.dirs[i] = Range{c.U32(), c.U32()}
	}
	return nil
}

// Directory returns where a data directory is, or an empty Range if the image has none.
func (f *File) Directory(d Directory) Range {
	if d < 0 || int(d) >= f.ndirs || f.dirs[d].RVA == 0 {
		return Range{}
	}
	return f.dirs[d]
}

// CodeID identifies the image as symbol servers do: its time stamp in eight digits and its
// size in memory, both hexadecimal.
func (f *File) CodeID() string { return fmt.Sprintf("%08X%x", f.TimeDateStamp, f.SizeOfImage) }

func (f *File) warnf(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}
