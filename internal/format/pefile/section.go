package pefile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Section characteristics (IMAGE_SCN_...).
const (
	SectionCode     = 0x20
	SectionBSS      = 0x80
	SectionExecute  = 0x20000000
	SectionRead     = 0x40000000
	SectionWritable = 0x80000000
)

// A Section is one section header. Offsets and sizes are those in the file and may lie
// outside it.
type Section struct {
	Name            string // the full name if it is long
	RVA             uint32
	VirtualSize     uint32 // bytes in memory
	Off, RawSize    uint32 // offset and number of its bytes in the file
	Characteristics uint32
}

// size returns how many bytes of the image's address space the section occupies.
func (s *Section) size() uint32 {
	if s.VirtualSize == 0 {
		return s.RawSize
	}
	return s.VirtualSize
}

// Contains reports whether the section contains the byte at rva.
func (s *Section) Contains(rva uint32) bool { return rva >= s.RVA && rva-s.RVA < s.size() }

func (f *File) parseSections(off, n int) {
	if room := max(0, len(f.Data)-off) / sectionSize; n > room {
		f.warnf("%d section headers at offset %#x, but the file has only %d", n, off, room)
		n = room
	}
	f.Sections = make([]Section, n)
	for i := range f.Sections {
		c := binbuf.New(f.Data, off+i*sectionSize, false)
		s := &f.Sections[i]
		s.Name = string(untilNUL(c.Bytes(8)))
		s.VirtualSize, s.RVA, s.RawSize, s.Off = c.U32(), c.U32(), c.U32(), c.U32()
		c.Skip(12)
		s.Characteristics = c.U32()
	}
}

// locateStrings finds the COFF string table, which follows the symbols.
func (f *File) locateStrings() {
	if f.memory || f.symOff == 0 {
		f.symOff, f.symCount = 0, 0 // a count without a table is not believed
		return
	}
	off, size := uint64(f.symOff), uint64(f.symCount)*symbolSize
	if _, ok := binbuf.Slice(f.Data, off, size); !ok {
		f.warnf("%d COFF symbols at offset %#x of %#x: ignored", f.symCount, off, len(f.Data))
		f.symOff, f.symCount = 0, 0
		return
	}
	c := binbuf.New(f.Data, int(off+size), false)
	n := c.U32()
	b, ok := binbuf.Slice(f.Data, off+size, uint64(n))
	if c.Error != nil || n < 4 {
		return // a file may end with its symbols
	}
	if !ok {
		f.warnf("COFF string table of %#x bytes at offset %#x of %#x: truncated", n, off+size, len(f.Data))
		b = f.Data[off+size:]
	}
	f.strings = b
}

// maxSectionName limits section names, in bytes: there may be 65,535 of them.
const maxSectionName = 256

// maxName limits names, in bytes. Names of C++ functions can be long.
const maxName = 1 << 16

// stringAt returns a name of the COFF string table.
func (f *File) stringAt(off uint64) (string, bool) {
	b, ok := f.stringBytes(off)
	return string(b), ok
}

func (f *File) stringBytes(off uint64) ([]byte, bool) {
	if off < 4 || off >= uint64(len(f.strings)) {
		return nil, false
	}
	return name(f.strings[off:]), true
}

// name cuts b at its first NUL and to the maximum length of names.
func name(b []byte) []byte { return untilNUL(b[:min(len(b), maxName)]) }

func untilNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// nameSections replaces names that refer to the string table by the full name.
func (f *File) nameSections() {
	for i := range f.Sections {
		s := &f.Sections[i]
		off, ok := longName(s.Name)
		if !ok {
			continue
		}
		if long, ok := f.stringBytes(off); ok { // tens of thousands may have one long name
			s.Name = string(long[:min(len(long), maxSectionName)])
		} else if !f.memory {
			f.warnf("section %d: name %q is not in the string table", i+1, s.Name)
		}
	}
}

// longName returns the offset to which a section's short name refers: "/" and a decimal
// number, or "//" and six base64 digits if the offset is too large for that.
func longName(short string) (uint64, bool) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	rest, ok := strings.CutPrefix(short, "/")
	if !ok {
		return 0, false
	}
	if rest, ok = strings.CutPrefix(rest, "/"); !ok {
		n, err := strconv.ParseUint(rest, 10, 32)
		return n, err == nil
	}
	var n uint64
	for i := range len(rest) {
		d := strings.IndexByte(digits, rest[i])
		if d < 0 {
			return 0, false
		}
		n = n<<6 | uint64(d)
	}
	return n, rest != ""
}

func (f *File) sortSections() {
	for i := range f.Sections {
		if f.Sections[i].size() != 0 {
			f.byRVA = append(f.byRVA, int32(i))
		}
	}
	slices.SortStableFunc(f.byRVA, func(a, b int32) int { return cmp.Compare(f.Sections[a].RVA, f.Sections[b].RVA) })
}

// SectionAt returns the section that contains rva, or nil.
func (f *File) SectionAt(rva uint32) *Section {
	lo, hi := 0, len(f.byRVA)
	for lo < hi {
		mid := (lo + hi) / 2
		if f.Sections[f.byRVA[mid]].RVA <= rva {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil
	}
	if s := &f.Sections[f.byRVA[lo-1]]; s.Contains(rva) {
		return s
	}
	return nil
}

// Section returns the first section with a name, or nil. It finds the DWARF sections of
// MinGW's images (".debug_info").
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i]
		}
	}
	return nil
}

// SectionData returns a section's bytes in the file, without padding: fewer than
// VirtualSize if the loader fills up with zeros.
func (f *File) SectionData(s *Section) ([]byte, error) {
	b := f.sectionBytes(s)
	want := s.RawSize
	if s.VirtualSize != 0 {
		want = min(want, s.VirtualSize)
	}
	if f.memory {
		want = s.size()
	}
	if s.Characteristics&SectionBSS != 0 && s.Off == 0 && !f.memory {
		want = 0
	}
	if uint64(len(b)) < uint64(want) {
		return nil, fmt.Errorf("section %s has %#x bytes, but only %#x exist: %w", s.Name, want, len(b), ErrTruncated)
	}
	return b[:want], nil
}

// sectionBytes returns the bytes of a section that exist.
func (f *File) sectionBytes(s *Section) []byte {
	off, n := uint64(s.Off), s.RawSize
	switch {
	case f.memory:
		off, n = uint64(s.RVA), s.size()
	case f.fileAligned:
		off &^= sectorSize - 1 // as the loader does
	}
	if !f.memory && s.VirtualSize != 0 {
		n = min(n, s.VirtualSize)
	}
	if s.Off == 0 && !f.memory || off >= uint64(len(f.Data)) {
		return nil
	}
	return f.Data[off:min(off+uint64(n), uint64(len(f.Data)))]
}

// At returns the contiguous bytes of the image from rva on that the file has. It returns
// nothing if the file has none, though the loader may have filled the place with zeros.
func (f *File) At(rva uint32) []byte {
	if f.memory {
		if uint64(rva) >= uint64(len(f.Data)) {
			return nil
		}
		return f.Data[rva:]
	}
	if s := f.SectionAt(rva); s != nil {
		b := f.sectionBytes(s)
		if off := uint64(rva - s.RVA); off < uint64(len(b)) {
			return b[off:]
		}
		return nil
	}
	if end := min(uint64(f.SizeOfHeaders), uint64(len(f.Data))); uint64(rva) < end {
		return f.Data[rva:end]
	}
	return nil
}

// Bytes returns all bytes of a range of the image, or an error.
func (f *File) Bytes(r Range) ([]byte, error) {
	b := f.At(r.RVA)
	if uint64(len(b)) < uint64(r.Size) {
		return nil, fmt.Errorf("need %#x bytes at RVA %#x, but only %#x exist: %w", r.Size, r.RVA, len(b), ErrTruncated)
	}
	return b[:r.Size], nil
}

// Pdata returns the existing part of the function table (.pdata), or nothing if the image
// has none.
func (f *File) Pdata() []byte {
	r := f.Directory(DirException)
	b := f.At(r.RVA)
	return b[:min(uint64(len(b)), uint64(r.Size))]
}
