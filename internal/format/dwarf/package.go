package dwarf

import (
	"encoding/binary"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/lazy"
)

// A Package is a .dwp file: many .dwo files combined. Each section is the concatenation of
// theirs, and an index says which part of each section belongs to which unit (DWARF 5,
// 7.3.5; version 2 is GNU's for DWARF 4). It is safe for concurrent use.
type Package struct {
	d     *Data
	order binary.ByteOrder

	columns []Section // section of each index column; numSections if unknown
	slots   uint32
	units   uint32
	hashes  int // offset in .debug_cu_index
	rows    int
	offsets int
	sizes   int
}

// Columns of the index by section id (DWARF 5, 7.3.5.3).
var (
	packageColumns5 = lazy.Value[map[uint32]Section]{Make: func() map[uint32]Section {
		return map[uint32]Section{1: SecInfo, 3: SecAbbrev, 4: SecLine, 5: SecLoclists, 6: SecStrOffsets, 8: SecRnglists}
	}}
	packageColumns2 = lazy.Value[map[uint32]Section]{Make: func() map[uint32]Section {
		return map[uint32]Section{1: SecInfo, 2: SecTypes, 3: SecAbbrev, 4: SecLine, 5: SecLoc, 6: SecStrOffsets}
	}}
)

// NewPackage reads the index of a .dwp file.
func NewPackage(src Source, order binary.ByteOrder) (*Package, error) {
	p := &Package{d: New(src, order, DWO()), order: order}
	data, err := p.d.Bytes(SecCUIndex)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("no .debug_cu_index: %w", ErrNotFound)
	}
	c := binbuf.New(data, 0, p.d.big)
	names := packageColumns2.Get()
	version := c.U32()
	if p.d.big {
		version = version<<16 | version>>16 // DWARF 5: two bytes and padding
	}
	switch {
	case version&0xffff == 5:
		names = packageColumns5.Get()
	case c.Error == nil && version != 2 && version != 2<<16:
		return nil, fmt.Errorf("package index has version %#x, want 2 or 5: %w", version, ErrFormat)
	}
	columns := c.U32()
	p.units, p.slots = c.U32(), c.U32()
	if c.Error != nil {
		return nil, fmt.Errorf("package index: %w", c.Error)
	}
	if columns == 0 || columns > 64 || p.slots&(p.slots-1) != 0 {
		return nil, fmt.Errorf("package index has %d columns and %d slots, which is invalid: %w", columns, p.slots, ErrFormat)
	}
	p.hashes = c.Off
	c.Skip64(8 * uint64(p.slots))
	p.rows = c.Off
	c.Skip64(4 * uint64(p.slots))
	for range columns {
		sec, ok := names[c.U32()]
		if !ok {
			sec = numSections
		}
		p.columns = append(p.columns, sec)
	}
	row := 4 * uint64(columns) * uint64(p.units)
	p.offsets = c.Off
	c.Skip64(row)
	p.sizes = c.Off
	c.Skip64(row)
	if c.Error != nil {
		return nil, fmt.Errorf("package index: %w", c.Error)
	}
	return p, nil
}

// Unit returns the debugging information of the unit with a dwo id, as for a separate .dwo
// file: return it from the function passed to WithSplit.
func (p *Package) Unit(id uint64) (*Data, error) {
	row, ok := p.find(id)
	if !ok {
		return nil, fmt.Errorf("unit %#x of the package: %w", id, ErrNotFound)
	}
	src := packageUnit{p: p, off: make([]uint32, numSections), size: make([]uint32, numSections), has: make([]bool, numSections)}
	data := p.d.bytes(SecCUIndex)
	at := 4 * len(p.columns) * int(row)
	offs, sizes := binbuf.New(data, p.offsets+at, p.d.big), binbuf.New(data, p.sizes+at, p.d.big)
	for _, sec := range p.columns {
		off, size := offs.U32(), sizes.U32()
		if sec < numSections {
			src.off[sec], src.size[sec], src.has[sec] = off, size, true
		}
	}
	return New(&src, p.order, DWO()), nil
}

// find looks up id in the open hash table of the index.
func (p *Package) find(id uint64) (row uint32, ok bool) {
	if p.slots == 0 {
		return 0, false
	}
	data := p.d.bytes(SecCUIndex)
	mask := uint64(p.slots - 1)
	step := id>>32&mask | 1
	for i, n := id&mask, uint32(0); n < p.slots; i, n = (i+step)&mask, n+1 {
		r := binbuf.New(data, p.rows+4*int(i), p.d.big)
		row = r.U32()
		if row == 0 || row > p.units {
			return 0, false
		}
		h := binbuf.New(data, p.hashes+8*int(i), p.d.big)
		if h.U64() == id {
			return row - 1, true
		}
	}
	return 0, false
}

// packageUnit is the Source of one unit: its parts of the combined sections.
type packageUnit struct {
	p         *Package
	off, size []uint32 // indexed by Section
	has       []bool
}

func (s *packageUnit) Section(name string) ([]byte, error) {
	for sec := range numSections {
		if sec.String()+".dwo" != name {
			continue
		}
		data, err := s.p.d.Bytes(sec)
		if err != nil || !s.has[sec] {
			// All units share the string sections. Any other section has nothing of this
			// unit if it is not listed.
			if sec != SecStr && sec != SecLineStr {
				data = nil
			}
			return data, err
		}
		part, ok := binbuf.Slice(data, uint64(s.off[sec]), uint64(s.size[sec]))
		if !ok {
			return nil, fmt.Errorf("package index: %#x bytes at %#x exceed the %#x bytes of the section: %w", s.size[sec], s.off[sec], len(data), ErrFormat)
		}
		return part, nil
	}
	return nil, nil
}
