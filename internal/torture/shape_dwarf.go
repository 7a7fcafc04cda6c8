package main

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// maxFields bounds what is known of one file.
const maxFields = 1 << 18

// dwarfShape is that of a file's debug information: entries, the values of their attributes and their
// abbreviations, line programs, lists of ranges and locations. Compressed sections have none.
func dwarfShape(data []byte) *shape {
	f, err := elffile.Parse(data)
	if err != nil {
		return &shape{}
	}
	s := &shape{big: f.Order.Uint16([]byte{1, 0}) != 1, word: wordSize(f)}
	w := &dwarfWalk{s: s, rd: mutator{data: data, shape: s}, data: data}
	sections := map[string]region{}
	for _, sec := range f.Sections() {
		name := strings.TrimSuffix(sec.Name(), ".dwo")
		if strings.HasPrefix(name, ".debug_") && sec.Flags&elffile.SHF_COMPRESSED == 0 && sec.Type != elffile.SHT_NOBITS && int(sec.Off) < len(data) {
			sections[name] = region{int(sec.Off), min(int(sec.Size), len(data)-int(sec.Off))}
		}
	}
	w.abbrev = sections[".debug_abbrev"]
	for _, name := range slices.Sorted(maps.Keys(sections)) { // the same order each time
		r := sections[name]
		s.regions = append(s.regions, r)
		switch name {
		case ".debug_info", ".debug_types":
			w.units(r, name == ".debug_types")
		case ".debug_line":
			w.lines(r)
		case ".debug_loclists", ".debug_rnglists", ".debug_loc", ".debug_ranges", ".debug_aranges", ".debug_names":
			n := min(r.size, 8192)
			s.fields = append(s.fields, words(r.off, n, 4, roleNumber, nil)...)
			s.fields = append(s.fields, words(r.off, n, 1, roleCode, opcodes)...)
		case ".debug_str_offsets", ".debug_addr", ".debug_cu_index", ".debug_tu_index":
			s.fields = append(s.fields, words(r.off, min(r.size, 8192), 4, roleNumber, nil)...)
		}
	}
	if w.abbrev.size == 0 {
		return &shape{}
	}
	return s
}

var (
	forms = []uint64{0x01, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
		0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c}
	tags = []uint64{0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x0a, 0x0b, 0x0d, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1c, 0x1d,
		0x1f, 0x20, 0x21, 0x24, 0x26, 0x28, 0x2e, 0x2f, 0x30, 0x32, 0x33, 0x34, 0x35, 0x37, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x40, 0x41, 0x42, 0x43, 0x44,
		0x47, 0x48, 0x49, 0x4a, 0x4109, 0x410a}
	attrs = []uint64{0x01, 0x02, 0x03, 0x0b, 0x0d, 0x10, 0x11, 0x12, 0x13, 0x15, 0x16, 0x17, 0x1b, 0x1c, 0x1d, 0x20, 0x21, 0x22, 0x25, 0x2e, 0x2f, 0x31,
		0x32, 0x37, 0x38, 0x3a, 0x3b, 0x3c, 0x3e, 0x3f, 0x40, 0x43, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4c, 0x4d, 0x50, 0x51, 0x52, 0x55, 0x57, 0x58, 0x59,
		0x63, 0x64, 0x65, 0x69, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x76, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f, 0x80, 0x81, 0x82,
		0x83, 0x85, 0x87, 0x88, 0x8b, 0x8c, 0x2111, 0x2116, 0x2117, 0x2119, 0x3fe1}
	opcodes = []uint64{0x03, 0x06, 0x08, 0x0a, 0x0c, 0x0e, 0x10, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1e, 0x1f, 0x20, 0x22,
		0x23, 0x24, 0x25, 0x26, 0x28, 0x29, 0x2f, 0x30, 0x50, 0x57, 0x70, 0x77, 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b,
		0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa8, 0xa9, 0xe0, 0xf0, 0xf2, 0xf3, 0xf5, 0xf7, 0xf9, 0xfa, 0xfb, 0xfc}
)

type dwarfWalk struct {
	s      *shape
	rd     mutator
	data   []byte
	abbrev region
	tables map[int]*declarations
}

// declarations are an abbreviation table.
type declarations struct {
	codes []uint64
	of    map[uint64]*declaration
}

type declaration struct {
	children bool
	specs    [][2]uint64 // attribute and form
}

func (w *dwarfWalk) add(off, size int, r role, choices []uint64) {
	if len(w.s.fields) < maxFields {
		w.s.fields = append(w.s.fields, field{off, size, r, choices})
	}
}

// leb reads a LEB128 number, and adds it as a field.
func (w *dwarfWalk) leb(at *int, r role, choices []uint64) uint64 {
	v, n := binary.Uvarint(w.data[min(*at, len(w.data)):])
	if n <= 0 {
		*at = len(w.data) + 1
		return 0
	}
	w.add(*at, 0, r, choices)
	*at += n
	return v
}

func (w *dwarfWalk) declarations(off int) *declarations {
	if t := w.tables[off]; t != nil {
		return t
	}
	t := &declarations{of: map[uint64]*declaration{}}
	if w.tables == nil {
		w.tables = map[int]*declarations{}
	}
	w.tables[off] = t
	end := w.abbrev.off + w.abbrev.size
	for at := w.abbrev.off + off; at < end; {
		code := w.leb(&at, roleNumber, nil)
		if code == 0 {
			break
		}
		w.leb(&at, roleCode, tags)
		if at >= end {
			break
		}
		d := &declaration{children: w.data[at] != 0}
		w.add(at, 1, roleCode, []uint64{0, 1})
		at++
		for at < end {
			a, f := w.leb(&at, roleCode, attrs), w.leb(&at, roleCode, forms)
			if f == 0x21 {
				w.leb(&at, roleNumber, nil)
			}
			if a == 0 && f == 0 {
				break
			}
			d.specs = append(d.specs, [2]uint64{a, f})
		}
		t.of[code] = d
		t.codes = append(t.codes, code)
	}
	return t
}

// units walks the units of a section.
func (w *dwarfWalk) units(r region, types bool) {
	for at, end := r.off, r.off+r.size; at+11 < end && len(w.s.fields) < maxFields; {
		start := at
		length := int(w.rd.read(at, 4))
		if length >= 0xfffffff0 {
			return // 64-bit DWARF is for bytes alone
		}
		next := min(at+4+length, end)
		version := w.rd.read(at+4, 2)
		w.add(at, 4, roleNumber, nil)
		w.add(at+4, 2, roleCode, []uint64{2, 3, 4, 5, 6})
		at += 6
		var addr, table int
		if version >= 5 {
			kind := w.data[at]
			addr, table = int(w.data[at+1]), int(w.rd.read(at+2, 4))
			w.add(at, 1, roleCode, []uint64{1, 2, 3, 4, 5, 6})
			w.add(at+1, 1, roleCode, []uint64{1, 2, 4, 8})
			w.add(at+2, 4, roleNumber, nil)
			at += 6
			switch kind {
			case 2, 6:
				at += 12
			case 4, 5:
				at += 8
			}
		} else {
			table, addr = int(w.rd.read(at, 4)), int(w.data[at+4])
			w.add(at, 4, roleNumber, nil)
			w.add(at+4, 1, roleCode, []uint64{1, 2, 4, 8})
			at += 5
			if types {
				at += 12
			}
		}
		w.entries(start, at, next, addr, int(version), w.declarations(table))
		at = next
		if at <= start {
			return
		}
	}
}

// entries walks the entries of a unit. A reference can lead to each of them, and often to an ancestor.
func (w *dwarfWalk) entries(start, at, end, addr, version int, t *declarations) {
	first := len(w.s.fields)
	var dies, open []uint64
	for at < end && len(w.s.fields) < maxFields {
		self := uint64(at - start)
		code := w.leb(&at, roleCode, t.codes)
		if code == 0 {
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			continue
		}
		d := t.of[code]
		if d == nil {
			break
		}
		dies = append(dies, self)
		near := append(append([]uint64(nil), open...), self)
		for _, spec := range d.specs {
			if at >= end {
				break
			}
			w.value(&at, spec[1], addr, version, near)
		}
		if d.children {
			open = append(open, self)
		}
	}
	for i := first; i < len(w.s.fields); i++ {
		if f := &w.s.fields[i]; f.role == roleRef && i%2 == 0 { // every other one leads to itself and its ancestors
			f.choices = dies
		}
	}
}

// value adds an attribute's value, and goes past it.
func (w *dwarfWalk) value(at *int, form uint64, addr, version int, near []uint64) {
	fixed := func(n int, r role, choices []uint64) {
		w.add(*at, n, r, choices)
		*at += n
	}
	block := func(n int) {
		end := min(*at+n, len(w.data))
		for i := *at; i < min(end, *at+24); i++ {
			w.add(i, 1, roleCode, opcodes)
		}
		*at = max(end, *at)
	}
	switch form {
	case 0x01:
		fixed(addr, roleAddr, nil)
	case 0x03:
		n := int(w.rd.read(*at, 2))
		fixed(2, roleNumber, nil)
		block(n)
	case 0x04:
		n := int(w.rd.read(*at, 4))
		fixed(4, roleNumber, nil)
		block(n)
	case 0x0a:
		n := int(w.rd.read(*at, 1))
		fixed(1, roleNumber, nil)
		block(n)
	case 0x09, 0x18:
		block(int(w.leb(at, roleNumber, nil)))
	case 0x05, 0x26, 0x2a:
		fixed(2, roleNumber, nil)
	case 0x06, 0x0e, 0x17, 0x1d, 0x1c, 0x1f, 0x28, 0x2c:
		fixed(4, roleNumber, nil)
	case 0x07, 0x20, 0x24:
		fixed(8, roleNumber, nil)
	case 0x08:
		for *at < len(w.data) && w.data[*at] != 0 {
			*at++
		}
		*at++
	case 0x0b, 0x0c, 0x25, 0x29:
		fixed(1, roleNumber, nil)
	case 0x0d, 0x0f, 0x1a, 0x1b, 0x22, 0x23:
		w.leb(at, roleNumber, nil)
	case 0x10:
		if version <= 2 {
			fixed(addr, roleNumber, nil)
		} else {
			fixed(4, roleNumber, near)
		}
	case 0x11:
		fixed(1, roleRef, near)
	case 0x12:
		fixed(2, roleRef, near)
	case 0x13:
		fixed(4, roleRef, near)
	case 0x14:
		fixed(8, roleRef, near)
	case 0x15:
		w.leb(at, roleRef, near)
	case 0x1e:
		*at += 16
	case 0x16:
		w.value(at, w.leb(at, roleCode, forms), addr, version, near)
	case 0x27, 0x2b:
		*at += 3
	}
}

// lines adds the headers and the programs of line tables.
func (w *dwarfWalk) lines(r region) {
	for at, end := r.off, r.off+r.size; at+4 < end; {
		length := int(w.rd.read(at, 4))
		next := min(at+4+length, end)
		n := min(next-at, 4096)
		w.add(at, 4, roleNumber, nil)
		w.add(at+4, 2, roleCode, []uint64{2, 3, 4, 5})
		for i := at + 6; i < at+n; i++ {
			w.add(i, 1, roleCode, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xff})
		}
		if next <= at {
			return
		}
		at = next
	}
}

// cfiShape is that of a file's unwind tables.
func cfiShape(data []byte) *shape {
	f, err := elffile.Parse(data)
	if err != nil {
		return &shape{}
	}
	s := &shape{big: f.Order.Uint16([]byte{1, 0}) != 1, word: wordSize(f)}
	w := &dwarfWalk{s: s, rd: mutator{data: data, shape: s}, data: data}
	for _, sec := range f.Sections() {
		if sec.Type == elffile.SHT_NOBITS || sec.Flags&elffile.SHF_COMPRESSED != 0 || int(sec.Off) >= len(data) {
			continue
		}
		r := region{int(sec.Off), min(int(sec.Size), len(data)-int(sec.Off))}
		switch sec.Name() {
		case ".eh_frame", ".debug_frame":
			s.regions = append(s.regions, r)
			w.records(r)
		case ".eh_frame_hdr", ".ARM.exidx", ".ARM.extab":
			s.regions = append(s.regions, r)
			s.fields = append(s.fields, words(r.off, min(r.size, 8192), 4, roleNumber, nil)...)
			s.fields = append(s.fields, words(r.off, min(r.size, 8192), 1, roleCode, nil)...)
		}
	}
	return s
}

// callFrame are the instructions of call frame information.
var callFrame = []uint64{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14,
	0x15, 0x16, 0x1d, 0x2d, 0x2e, 0x2f, 0x40, 0x44, 0x7f, 0x80, 0x86, 0x90, 0xc6, 0xd0}

// records adds CIEs and FDEs.
func (w *dwarfWalk) records(r region) {
	for at, end := r.off, r.off+r.size; at+8 < end; {
		length := int(w.rd.read(at, 4))
		next := min(at+4+length, end)
		w.add(at, 4, roleNumber, nil)
		w.add(at+4, 4, roleRef, []uint64{0, uint64(at + 4 - r.off), 0xffffffff})
		for i := at + 8; i+4 <= min(next, at+24); i += 4 {
			w.add(i, 4, roleNumber, nil)
		}
		for i := at + 8; i < min(next, at+512); i++ {
			choices := callFrame
			if i%3 == 0 {
				choices = opcodes
			}
			w.add(i, 1, roleCode, choices)
		}
		if next <= at {
			return
		}
		at = next
	}
}
