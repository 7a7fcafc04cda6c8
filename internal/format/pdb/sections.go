package pdb

import (
	"fmt"
	"sort"

	"github.com/corewalk/corewalk/internal/format/spans"
)

// sections converts between RVAs and the section numbers and offsets used in records. The
// records of code that was moved after linking have its original address; two maps (OMAP)
// convert between it and the current address.
type sections struct {
	list     []section
	order    spans.Table // of list
	to, from []omap      // from current RVA to original RVA, and back; sorted by src
}

type section struct {
	start, size uint32
	code        bool
}

// Flags of sections (IMAGE_SCN_CNT_CODE, IMAGE_SCN_MEM_EXECUTE).
const sectionCode = 0x20 | 0x20000000

// An omap entry maps the addresses from src to the next entry's; a dst of 0 means unmapped.
type omap struct{ src, dst uint32 }

// A place is an address in records. Section numbers start at 1.
type place struct {
	sect uint16
	off  uint32
}

func (p place) less(q place) bool { return p.sect < q.sect || p.sect == q.sect && p.off < q.off }

func (f *File) readSections() (*sections, error) {
	x := new(sections)
	var err error
	n := f.dbi.debug[debugSections]
	if f.dbi.debug[debugOmapFrom] >= 0 && f.dbi.debug[debugOldSections] >= 0 {
		n = f.dbi.debug[debugOldSections]
		if x.to, err = f.readOmap(f.dbi.debug[debugOmapTo]); err != nil {
			return nil, err
		}
		if x.from, err = f.readOmap(f.dbi.debug[debugOmapFrom]); err != nil {
			return nil, err
		}
	}
	s, err := f.c.stream(n)
	if err != nil {
		return nil, err
	}
	if s.size > 40<<16 {
		return nil, fmt.Errorf("section headers of %#x bytes: %w", s.size, ErrFormat)
	}
	for off := 0; off+40 <= s.size; off += 40 {
		h, _ := s.bytes(off, 40)
		x.list = append(x.list, section{le.Uint32(h[12:]), max(le.Uint32(h[8:]), le.Uint32(h[16:])), le.Uint32(h[36:])&sectionCode != 0})
	}
	if len(x.list) == 0 {
		return nil, fmt.Errorf("no section headers: %w", ErrFormat)
	}
	x.order = orderOf(x.list)
	return x, nil
}

// orderOf orders sections by address.
func orderOf(list []section) spans.Table {
	return spans.New(len(list), func(i int) (first, last uint64, ok bool) {
		s := &list[i]
		return uint64(s.start), min(uint64(s.start)+uint64(s.size)-1, 1<<32-1), s.size > 0
	})
}

func (f *File) readOmap(n int) ([]omap, error) {
	s, err := f.c.stream(n)
	if err != nil {
		return nil, err
	}
	list := make([]omap, 0, s.size/8)
	for off := 0; off+8 <= s.size; off += 8 {
		b, _ := s.bytes(off, 8)
		list = append(list, omap{le.Uint32(b), le.Uint32(b[4:])})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].src < list[j].src })
	return list, nil
}

// moved maps an address. An empty map does not change it.
func moved(m []omap, rva uint32) (uint32, bool) {
	if len(m) == 0 {
		return rva, true
	}
	i := sort.Search(len(m), func(i int) bool { return m[i].src > rva }) - 1
	if i < 0 || m[i].dst == 0 {
		return 0, false
	}
	return m[i].dst + (rva - m[i].src), true
}

func (x *sections) place(rva uint32) (place, bool) {
	rva, ok := moved(x.to, rva)
	if !ok {
		return place{}, false
	}
	i, ok := x.order.Find(uint64(rva))
	if !ok || i >= 1<<16-2 {
		return place{}, false
	}
	return place{uint16(i + 1), rva - x.list[i].start}, true
}

// IsCode reports whether an RVA is in a section of code; known is false if the PDB has no
// headers of sections.
func (f *File) IsCode(rva uint32) (code, known bool) {
	x, err := f.sections()
	if err != nil {
		return false, false
	}
	if len(x.to) > 0 { // moved code is in the sections of before
		if rva, known = moved(x.to, rva); !known {
			return false, false
		}
	}
	i, ok := x.order.Find(uint64(rva))
	return ok && x.list[i].code, true
}

func (x *sections) rva(p place) (uint32, bool) {
	if p.sect == 0 || int(p.sect) > len(x.list) {
		return 0, false
	}
	return moved(x.from, x.list[p.sect-1].start+p.off)
}
