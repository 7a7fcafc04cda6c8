package dwarf

import (
	"encoding/binary"
	"sort"
	"sync"
)

// The section .gdb_index (gdb's manual, "Index Section Format"; versions 5 to 9), which lld, gold,
// mold and gdb-add-index write, lists which unit has the code at an address (from version 7 on), and which
// units have a symbol (names.go). Addresses serve for files
// without .debug_aranges: otherwise the first entries of all units must be read. An index may be
// older than the rest of the file. So a unit counts only if it claims the address itself.

// gdbIndex finds units with the section.
type gdbIndex struct {
	mu    sync.Mutex
	read  bool
	units []byte // pairs of a unit's offset and its length
	types uint64 // how many type units are listed; they have the numbers after units
	areas []byte // triples of low, high and the number of a unit
	names symbolTable
	scans int

	indexOnce sync.Once
	index     spanIndex
}

const (
	gdbUnitSize = 16 // bytes of an element of gdbIndex.units
	gdbAreaSize = 20 // and of areas
	gdbTypeSize = 24 // and of the list of type units
)

// unit returns the unit with the code at pc, if the section has it.
func (x *gdbIndex) unit(d *Data, pc uint64) (*Unit, bool) {
	if d.dwo || d.size(SecGDBIndex) == 0 {
		return nil, false
	}
	s, ok := x.find(d, pc)
	if !ok {
		return nil, false
	}
	u, err := d.UnitAt(SecInfo, s.id)
	if err != nil || u.Type != UnitCompile && u.Type != UnitSkeleton || !u.claims(pc) {
		return nil, false
	}
	return u, true
}

// find returns the span with pc that begins last. Like .debug_aranges, the section is first
// searched from end to end.
func (x *gdbIndex) find(d *Data, pc uint64) (best span, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load(d)
	if x.scans >= maxArangeScans {
		x.indexOnce.Do(func() {
			var spans []span
			for areas := x.areas; len(areas) >= gdbAreaSize; areas = areas[gdbAreaSize:] {
				if s, live := x.area(d, areas); live {
					spans = append(spans, s)
				}
			}
			x.index = newSpanIndex(spans)
		})
		skip := 0
		return x.index.find(pc, &skip, &d.work)
	}
	x.scans++
	for areas := x.areas; len(areas) >= gdbAreaSize; areas = areas[gdbAreaSize:] {
		low, high := binary.LittleEndian.Uint64(areas), binary.LittleEndian.Uint64(areas[8:])
		if pc < low || pc >= high {
			continue
		}
		if s, live := x.area(d, areas); live && (!ok || byLow(best, s) < 0) {
			best, ok = s, true
		}
	}
	return best, ok
}

// area decodes an element of areas. It returns false for discarded code and for units that the
// section does not list, such as type units.
func (x *gdbIndex) area(d *Data, b []byte) (span, bool) {
	s := span{low: binary.LittleEndian.Uint64(b), high: binary.LittleEndian.Uint64(b[8:])}
	off, _, ok := x.listed(uint64(binary.LittleEndian.Uint32(b[16:])))
	if s.low >= s.high || !ok || d.dead(s.low, 8) {
		return span{}, false
	}
	s.id = off
	return s, true
}

// load reads the section, once. The caller holds the lock.
func (x *gdbIndex) load(d *Data) {
	if !x.read {
		x.read = true
		x.parse(d.bytes(SecGDBIndex))
	}
}

// parse finds the lists. All numbers of the section are little-endian.
func (x *gdbIndex) parse(data []byte) {
	const header = 24
	if len(data) < header {
		return
	}
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(data[4*i:])) }
	version, units, types, areas, symbols, pool := word(0), word(1), word(2), word(3), word(4), word(5)
	end := pool // of the symbols
	if version >= 9 && len(data) >= header+4 {
		pool = word(6) // behind what tells gdb of the main function
	}
	if version < 5 || version > 9 || units > types || types > areas || areas > symbols || symbols > uint64(len(data)) {
		return
	}
	x.units = data[units : types-(types-units)%gdbUnitSize]
	x.types = (areas - types) / gdbTypeSize
	if version >= 7 {
		x.areas = data[areas:symbols]
	}
	if symbols > end || end > pool || pool > uint64(len(data)) {
		return
	}
	if n := (end - symbols) / symbolSize; n&(n-1) == 0 {
		x.names = symbolTable{uint32(version), data[symbols : symbols+n*symbolSize], data[pool:]}
	}
}

// symbols returns the table of symbols; nil if there is none.
func (x *gdbIndex) symbols(d *Data) *symbolTable {
	if d.size(SecGDBIndex) == 0 || d.load(SecGDBIndex).need != nil && d.size(SecGDBIndex) > maxPackedIndex {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load(d)
	if len(x.names.slots) == 0 {
		return nil
	}
	return &x.names
}

// listed returns unit n of the list, and its length.
func (x *gdbIndex) listed(n uint64) (off, size uint64, ok bool) {
	if n >= uint64(len(x.units)/gdbUnitSize) {
		return 0, 0, false
	}
	b := x.units[n*gdbUnitSize:]
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), true
}

// all returns how many units are listed, type units included.
func (x *gdbIndex) all() uint64 { return uint64(len(x.units)/gdbUnitSize) + x.types }

// lists reports whether the list has a unit, with its length. Units that are not in order are not found.
func (x *gdbIndex) lists(d *Data, u *Unit) bool {
	if x.symbols(d) == nil {
		return false
	}
	i := sort.Search(len(x.units)/gdbUnitSize, func(i int) bool {
		off, _, _ := x.listed(uint64(i))
		return off >= u.Off
	})
	off, size, ok := x.listed(uint64(i))
	return ok && off == u.Off && size == u.End-u.Off
}

// claims reports whether the unit's first entry says that it has the code at pc.
func (u *Unit) claims(pc uint64) bool {
	it := u.rangesOf(&pcAttrs{u.root.low, u.root.high, u.root.ranges}, maxPathRanges)
	r, ok := it.next()
	for ok && !r.Contains(pc) {
		r, ok = it.next()
	}
	countSearch(&u.Data.work, maxPathRanges-it.left)
	return ok
}
