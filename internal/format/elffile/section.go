package elffile

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// maxName limits returned names, in bytes. Mangled C++ names of tens of kilobytes exist,
// but in a malicious table every name could be as long as the table.
const maxName = 1 << 20

// maxSections limits the section headers of a file, each of which takes some 100 bytes of
// memory. Linked files have some dozens, and object files with a section for each function
// tens of thousands.
const maxSections = 1 << 18

// A Section is one section header. Offsets and sizes are those in the file and may lie
// outside it.
type Section struct {
	Index                                  int
	Type                                   uint32 // SHT_...
	Flags, Addr, Off, Size, Align, Entsize uint64
	Link, Info                             uint32

	nameOff  uint32
	nameHash uint32
	file     *File
}

// Name returns the section's name, or "" if it has none or there is no name table.
func (s *Section) Name() string {
	names := s.file.sectionNames()
	if uint64(s.nameOff) >= uint64(len(names)) {
		return ""
	}
	names = names[s.nameOff:]
	if len(names) > maxName {
		names = names[:maxName]
	}
	name, _ := binbuf.CStringAt(names, 0)
	return string(name)
}

// Contains reports whether a link-time virtual address is in the loaded section.
func (s *Section) Contains(vaddr uint64) bool {
	return s.Flags&SHF_ALLOC != 0 && vaddr >= s.Addr && vaddr-s.Addr < s.Size
}

func sectionSize(class int) int {
	if class == 64 {
		return 64
	}
	return 40
}

// locateSections checks the position and number of the section headers, reading no more
// than section 0.
func (f *File) locateSections(h header) {
	if h.shoff == 0 {
		if h.shnum != 0 {
			f.warnf("%d section headers without an offset: ignored", h.shnum)
		}
		return
	}
	f.shoff, f.shentsize, f.shstrndx = h.shoff, int(h.shentsize), uint32(h.shstrndx)
	if f.shentsize < sectionSize(f.Class) {
		if h.shnum != 0 {
			f.warnf("section headers have %d bytes, want %d: ignored", f.shentsize, sectionSize(f.Class))
		}
		f.shentsize = 0
		return
	}
	n := uint64(h.shnum)
	zero, ok := f.sectionHeader(0)
	if !ok {
		f.warnf("section headers at offset %#x are past the end of the file (%#x)", h.shoff, len(f.Data))
		return
	}
	if n == 0 {
		n = zero.Size
	}
	if h.shstrndx == rawXIndex {
		f.shstrndx = zero.Link
	}
	if room := (uint64(len(f.Data)) - h.shoff + uint64(f.shentsize-sectionSize(f.Class))) / uint64(f.shentsize); n > room {
		f.warnf("%d section headers at offset %#x, but the file has only %d", n, h.shoff, room)
		n = room
	}
	if n > maxSections {
		f.warnf("%d section headers: those after the first %d are left out", n, maxSections)
		n = maxSections
	}
	f.shnum = int(n)
}

// sectionHeader reads header i of the table, without checking the number of sections.
func (f *File) sectionHeader(i int) (Section, bool) {
	size := uint64(sectionSize(f.Class))
	if f.shentsize == 0 || f.shoff > uint64(len(f.Data)) {
		return Section{}, false
	}
	b, ok := binbuf.Slice(f.Data, f.shoff+uint64(i)*uint64(f.shentsize), size)
	if !ok {
		return Section{}, false
	}
	c := f.cursor(b, 0)
	s := Section{Index: i, file: f, nameOff: c.U32(), Type: c.U32()}
	s.Flags, s.Addr, s.Off, s.Size = f.word(&c), f.word(&c), f.word(&c), f.word(&c)
	s.Link, s.Info = c.U32(), c.U32()
	s.Align, s.Entsize = f.word(&c), f.word(&c)
	return s, true
}

// Sections returns all section headers, including the null one at index 0, or nil if there
// is no usable table. The slice is shared and must not be written to.
func (f *File) Sections() []Section {
	f.sectionsOnce.Do(func() {
		if f.shnum == 0 {
			return
		}
		list := make([]Section, f.shnum)
		for i := range list {
			list[i], _ = f.sectionHeader(i)
		}
		f.sections = list
		if uint64(f.shstrndx) < uint64(len(list)) && f.shstrndx != 0 {
			f.shstr, _ = f.rawSection(&list[f.shstrndx])
		}
		f.hashSections()
	})
	return f.sections
}

// hashSections sets what Section compares first.
func (f *File) hashSections() {
	for i := range f.sections {
		s := &f.sections[i]
		if off := uint64(s.nameOff); off < uint64(len(f.shstr)) {
			s.nameHash = hashSection(f.shstr[off:min(off+maxSectionHash, uint64(len(f.shstr)))])
		}
	}
}

func (f *File) sectionNames() []byte {
	f.Sections()
	return f.shstr
}

// Section returns the first section with a name, or nil. It looks at all sections.
func (f *File) Section(name string) *Section {
	list, hash := f.Sections(), hashSection([]byte(name[:min(len(name), maxSectionHash)]))
	for i := range list {
		if list[i].nameHash == hash && list[i].Type != SHT_NULL && hasName(f.shstr, uint64(list[i].nameOff), name) {
			return &list[i]
		}
	}
	return nil
}

// maxSectionHash is how many bytes of a section's name are hashed. Names may overlap in one as long as the file.
const maxSectionHash = 24

// hashSection hashes the string that begins in b, up to its end (FNV-1a).
func hashSection(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		if c == 0 {
			break
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// hasName reports whether the NUL-terminated string at off in table is name.
func hasName(table []byte, off uint64, name string) bool {
	b, ok := binbuf.Slice(table, off, uint64(len(name))+1)
	return ok && string(b[:len(name)]) == name && b[len(name)] == 0
}

// sectionOfType returns the first section of a type, or nil.
func (f *File) sectionOfType(typ uint32) *Section {
	list := f.Sections()
	for i := range list {
		if list[i].Type == typ {
			return &list[i]
		}
	}
	return nil
}

// SectionAt returns the loaded section that contains a link-time virtual address, or nil.
// Thread-local .tbss occupies no addresses and is skipped.
func (f *File) SectionAt(vaddr uint64) *Section {
	list := f.Sections()
	i, ok := f.sectionSpans.get(len(list), func(i int) (uint64, uint64, bool) {
		s := &list[i]
		ok := s.Flags&SHF_ALLOC != 0 && s.Size > 0 && (s.Type != SHT_NOBITS || s.Flags&SHF_TLS == 0)
		return s.Addr, max(s.Addr, endOf(s.Addr, s.Size)-1), ok
	}).Find(vaddr)
	if !ok {
		return nil
	}
	return &list[i]
}

// rawSection returns a section's bytes as they are in the file.
func (f *File) rawSection(s *Section) ([]byte, error) {
	if s.Type == SHT_NOBITS {
		return nil, fmt.Errorf("section %d: %w", s.Index, ErrNoBits)
	}
	b, ok := binbuf.Slice(f.Data, s.Off, s.Size)
	if !ok {
		return nil, fmt.Errorf("section %d: needs %#x bytes at offset %#x of %#x: %w", s.Index, s.Size, s.Off, len(f.Data), ErrTruncated)
	}
	return b, nil
}

// DebugOnly reports whether this is a separate debug file: it has code sections, but none
// with bytes. Its program headers are those of the original file and may point at other
// bytes, so loaded content (VaddrToOff, DataAt) must come from the original file.
func (f *File) DebugOnly() bool {
	f.debugOnlyOnce.Do(func() { f.debugOnly = f.isDebugOnly() })
	return f.debugOnly
}

func (f *File) isDebugOnly() bool {
	found := false
	list := f.Sections()
	for i := range list {
		if list[i].Flags&(SHF_ALLOC|SHF_EXECINSTR) != SHF_ALLOC|SHF_EXECINSTR {
			continue
		}
		if list[i].Type != SHT_NOBITS {
			return false
		}
		found = true
	}
	return found
}
