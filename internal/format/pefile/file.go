// Package pefile reads PE images (executables and DLLs of Windows) of 32 and 64
// bits from a byte slice, usually a mapping, without copying or looking at more
// of it than is asked for.
//
// The standard library's debug/pe reads all symbols and strings at once, knows
// no exports, no debug directory and no unwind tables, cannot read an image as it
// lies in memory, and fails as a whole for what is broken in one part. Here the
// headers and the section table are read by Parse and everything else on demand,
// and what is broken in one part is a warning or an error of that part only.
//
// The format is specified by Microsoft's "PE Format"
// (https://learn.microsoft.com/windows/win32/debug/pe-format); long names of
// sections and DWARF sections in PE are conventions of the GNU and LLVM tools.
// Addresses are relative to the image's base (RVA), in bytes, where nothing else
// is said.
//
// A File and everything reached from it may be used by several goroutines. The
// slices it returns point into the parsed bytes and must not be written.
package pefile

import (
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Why something could not be read. Every error of this package wraps one of
// these.
var (
	// ErrNotPE: the bytes do not begin with usable headers of a PE image.
	ErrNotPE = errors.New("not a PE image")
	// ErrTruncated: the image says it has the bytes, but they end before.
	ErrTruncated = errors.New("past the end of the PE image")
	// ErrNotFound: the image has no such section, directory or record.
	ErrNotFound = errors.New("not found")
	// ErrMalformed: the bytes contradict themselves or the specification.
	ErrMalformed = errors.New("malformed")
)

// Machines of the COFF header (IMAGE_FILE_MACHINE_...).
const (
	MachineI386    = 0x14c
	MachineARM     = 0x1c0
	MachineARMNT   = 0x1c4
	MachineAMD64   = 0x8664
	MachineARM64   = 0xaa64
	MachineARM64EC = 0xa641
	MachineARM64X  = 0xa64e
)

// A Directory is one of the data directories of the optional header, by its
// index there.
type Directory int

// The data directories that are read here.
const (
	DirExport    Directory = 0
	DirException Directory = 3 // the function table, .pdata
	DirDebug     Directory = 6
)

// maxDirectories is how many data directories there are at most.
const maxDirectories = 16

// A Range is a piece of the image: Size bytes at RVA.
type Range struct{ RVA, Size uint32 }

// A File is one parsed PE image. The exported fields are set by Parse and not
// changed after.
type File struct {
	Data            []byte
	Bits            int // 32 (PE32) or 64 (PE32+)
	Machine         uint16
	Characteristics uint16 // IMAGE_FILE_...
	TimeDateStamp   uint32 // seconds since 1970 as a rule, of reproducible builds a hash
	SizeOfImage     uint32 // bytes that the image takes in memory
	SizeOfHeaders   uint32
	CheckSum        uint32
	Entry           uint32 // RVA where the image is entered, 0 for nowhere
	ImageBase       uint64 // the address that the image is linked for; DWARF counts from 0 to it
	Subsystem       uint16
	Sections        []Section // in the order of the file
	Warnings        []string  // what Parse found wrong and worked around

	memory      bool // Data is laid out as in memory: offsets are RVAs
	fileAligned bool // the loader rounds file offsets of sections down
	dirs        [maxDirectories]Range
	ndirs       int
	byRVA       []int32 // indices of Sections that occupy addresses, by address
	symOff      uint32  // offset of the COFF symbols in the file, 0 for none
	symCount    uint32
	strings     []byte // the COFF string table, its length included

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

// Parse reads the headers of an image as it lies in a file. It fails only where
// there are no usable headers; a section table that is cut is read as far as it
// exists, with a warning.
func Parse(data []byte) (*File, error) { return parse(data, false) }

// ParseMemory is Parse for an image as it lies in the memory of a process: what
// is at an RVA is at that offset of data. Such an image has no COFF symbols.
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

// Sizes and magic numbers of the headers.
const (
	dosLfanew   = 0x3c // offset in the DOS header of the offset of the PE header
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
		return fmt.Errorf("no MZ in the first two bytes: %w", ErrNotPE)
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

// parseOptional reads the optional header, which c is at and which has size
// bytes.
func (f *File) parseOptional(c *binbuf.Cursor, size int) error {
	start := c.Off
	magic := c.U16()
	switch {
	case c.Error != nil:
		return nil // said by the caller
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
		f.warnf("%d data directories, only %d are in the optional header", n, room)
		n = room
	}
	f.ndirs = int(min(n, maxDirectories))
	for i := range f.ndirs {
		f.dirs[i] = Range{c.U32(), c.U32()}
	}
	return nil
}

// Directory returns where a data directory is; a Range without bytes where the
// image has none.
func (f *File) Directory(d Directory) Range {
	if d < 0 || int(d) >= f.ndirs || f.dirs[d].RVA == 0 {
		return Range{}
	}
	return f.dirs[d]
}

// CodeID identifies the image as symbol servers do: its time stamp as eight
// digits and its size in memory, in hexadecimal.
func (f *File) CodeID() string { return fmt.Sprintf("%08X%x", f.TimeDateStamp, f.SizeOfImage) }

func (f *File) warnf(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}
