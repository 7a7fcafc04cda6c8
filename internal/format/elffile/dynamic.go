package elffile

import (
	"iter"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// maxDynamic limits the entries of the dynamic section that are read. Normal files have some
// dozens, and one for each library that they need.
const maxDynamic = 1 << 14

// Dynamic iterates over the tags and values of the dynamic section up to DT_NULL (gABI,
// "Dynamic Section"). It uses PT_DYNAMIC or, if there is none, the section .dynamic.
func (f *File) Dynamic() iter.Seq2[int64, uint64] {
	data := f.dynamicData()
	return func(yield func(int64, uint64) bool) {
		size := 2 * f.PtrSize()
		c := f.cursor(data, 0)
		for left := maxDynamic; c.Len() >= size && left > 0; left-- {
			tag := c.Int(size / 2)
			val := f.word(&c)
			if tag == DT_NULL || !yield(tag, val) {
				return
			}
		}
	}
}

func (f *File) dynamicData() []byte {
	if p := f.segment(PT_DYNAMIC); p != nil {
		if f.memory || p.Filesz > 0 && !f.DebugOnly() {
			return f.SegmentData(p)
		}
	}
	if s := f.sectionOfType(SHT_DYNAMIC); s != nil {
		d, _ := f.rawSection(s)
		return d
	}
	return nil
}

// DynValue returns the value of the first dynamic entry with a tag.
func (f *File) DynValue(tag int64) (uint64, bool) {
	for t, v := range f.Dynamic() {
		if t == tag {
			return v, true
		}
	}
	return 0, false
}

// SONAME returns DT_SONAME, or "" if there is none.
func (f *File) SONAME() string {
	off, ok := f.DynValue(DT_SONAME)
	if !ok {
		return ""
	}
	return dynString(f.dynStrings(), off)
}

// RunPath returns DT_RUNPATH, or else DT_RPATH: directories in which the dynamic loader
// looks for the libraries that the file needs, with colons between them; "" if there are
// none.
func (f *File) RunPath() string {
	if f == nil {
		return ""
	}
	for _, tag := range []int64{DT_RUNPATH, DT_RPATH} {
		if off, ok := f.DynValue(tag); ok {
			return dynString(f.dynStrings(), off)
		}
	}
	return ""
}

// Needed returns the DT_NEEDED names, in the file's order.
func (f *File) Needed() []string {
	var list []string
	total := 0
	strs := f.dynStrings()
	for t, v := range f.Dynamic() {
		if t != DT_NEEDED {
			continue
		}
		name := dynString(strs, v)
		if total += len(name); total > maxName {
			break
		}
		list = append(list, name)
	}
	return list
}

func dynString(table []byte, off uint64) string {
	if off < uint64(len(table)) {
		table = table[off:]
		b, _ := binbuf.CStringAt(table[:min(len(table), maxName)], 0)
		return string(b)
	}
	return ""
}

// dynStrings returns the table of DT_STRTAB, found through the segments or, failing that,
// through the section headers.
func (f *File) dynStrings() []byte {
	if ptr, ok := f.DynValue(DT_STRTAB); ok {
		d := f.DataFrom(f.linkAddr(ptr))
		if size, ok := f.DynValue(DT_STRSZ); ok && size < uint64(len(d)) {
			d = d[:size]
		}
		if d != nil {
			return d
		}
	}
	s := f.sectionOfType(SHT_DYNAMIC)
	list := f.Sections()
	if s == nil || uint64(s.Link) >= uint64(len(list)) {
		return nil
	}
	d, _ := f.rawSection(&list[s.Link])
	return d
}
