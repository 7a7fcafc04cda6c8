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

// Characteristics of sections (IMAGE_SCN_...).
const (
	SectionCode     = 0x20
	SectionBSS      = 0x80
	SectionExecute  = 0x20000000
	SectionRead     = 0x40000000
	SectionWritable = 0x80000000
)

// A Section is one section header. Offsets and sizes are as the file states them
// and may lie outside it.
type Section struct {
	Name            string // of long names the whole
	RVA             uint32
	VirtualSize     uint32 // bytes in memory
	Off, RawSize    uint32 // where its bytes are in the file, and how many
	Characteristics uint32
}

// size is how many bytes of the image's addresses the section takes.
func (s *Section) size() uint32 {
	if s.VirtualSize == 0 {
		return s.RawSize
	}
	return s.VirtualSize
}

// Contains reports whether the section has the byte at rva.
func (s *Section) Contains(rva uint32) bool { return rva >= s.RVA && rva-s.RVA < s.size() }

func (f *File) parseSections(off, n int) {
	if room := max(0, len(f.Data)-off) / sectionSize; n > room {
		f.warnf("%d section headers at offset %#x, only %d are there", n, off, room)
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
	if f.memory {
		f.symOff, f.symCount = 0, 0
	}
	if f.symOff == 0 {
		return
	}
	off, size := uint64(f.symOff), uint64(f.symCount)*symbolSize
	if _, ok := binbuf.Slice(f.Data, off, size); !ok {
		f.warnf("%d COFF symbols at offset %#x of %#x: none read", f.symCount, off, len(f.Data))
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
		f.warnf("COFF string table of %#x bytes at offset %#x of %#x: cut", n, off+size, len(f.Data))
		b = f.Data[off+size:]
	}
	f.strings = b
}

// maxSectionName bounds names of sections, in bytes: there may be 65,535 of them.
const maxSectionName = 256

// maxName bounds names, in bytes. Those of C++ functions get long.
const maxName = 1 << 16

// stringAt returns a name of the COFF string table.
func (f *File) stringAt(off uint64) (string, bool) {
	if off < 4 || off >= uint64(len(f.strings)) {
		return "", false
	}
	return string(name(f.strings[off:])), true
}

// name cuts b at its first NUL, and where it is longer than names are.
func name(b []byte) []byte { return untilNUL(b[:min(len(b), maxName)]) }

func untilNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// nameSections replaces the names that say where in the string table the whole
// name is.
func (f *File) nameSections() {
	for i := range f.Sections {
		s := &f.Sections[i]
		off, ok := longName(s.Name)
		if !ok {
			continue
		}
		if long, ok := f.stringAt(off); ok {
			s.Name = strings.Clone(long[:min(len(long), maxSectionName)])
		} else if !f.memory {
			f.warnf("section %d: name %q is not in the string table", i+1, s.Name)
		}
	}
}

// longName is the offset that a section's short name stands for: "/" and a
// decimal number, or "//" and six digits of base 64 where that is too large.
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

// SectionAt returns the section that rva lies in, nil for none.
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

// Section returns the first section of a name, nil for none. That is how the
// DWARF sections of MinGW's images are found (".debug_info").
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i]
		}
	}
	return nil
}

// SectionData returns the bytes that a section has in the file, without what pads
// them: fewer than VirtualSize where the loader fills with zeros.
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
		return nil, fmt.Errorf("section %s: %#x bytes, only %#x are there: %w", s.Name, want, len(b), ErrTruncated)
	}
	return b[:want], nil
}

// sectionBytes is what there is of a section.
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

// At returns the image's bytes from rva on, as many as the file has in one piece:
// nothing where it has none, which the loader may have filled with zeros.
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

// Bytes returns the bytes of a piece of the image, all of them or an error.
func (f *File) Bytes(r Range) ([]byte, error) {
	b := f.At(r.RVA)
	if uint64(len(b)) < uint64(r.Size) {
		return nil, fmt.Errorf("%#x bytes at RVA %#x, only %#x are there: %w", r.Size, r.RVA, len(b), ErrTruncated)
	}
	return b[:r.Size], nil
}

// Pdata returns the function table (.pdata), as much of it as there is; nothing
// where the image has none.
func (f *File) Pdata() []byte {
	r := f.Directory(DirException)
	b := f.At(r.RVA)
	return b[:min(uint64(len(b)), uint64(r.Size))]
}
