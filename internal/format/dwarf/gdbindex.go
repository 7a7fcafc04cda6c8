package dwarf

import (
	"encoding/binary"
	"sync"
)

// The section .gdb_index (gdb's manual, "Index Section Format"; versions 7 to 9), which lld, gold,
// mold and gdb-add-index write, lists which unit has the code at an address. It serves for files
// without .debug_aranges: otherwise the first entries of all units must be read. An index may be
// older than the rest of the file. So a unit counts only if it claims the address itself.

// gdbIndex finds units with the section.
type gdbIndex struct {
	mu    sync.Mutex
	read  bool
	units []byte // pairs of a unit's offset and its length
	areas []byte // triples of low, high and the number of a unit
	scans int

	indexOnce sync.Once
	index     spanIndex
}

const (
	gdbUnitSize = 16 // bytes of an element of gdbIndex.units
	gdbAreaSize = 20 // and of areas
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
	if !x.read {
		x.read = true
		x.parse(d.bytes(SecGDBIndex))
	}
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
		return x.index.find(pc, &skip)
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
	n := uint64(binary.LittleEndian.Uint32(b[16:])) * gdbUnitSize
	if s.low >= s.high || n >= uint64(len(x.units)) || d.dead(s.low, 8) {
		return span{}, false
	}
	s.id = binary.LittleEndian.Uint64(x.units[n:])
	return s, true
}

// parse finds the two lists. All numbers of the section are little-endian.
func (x *gdbIndex) parse(data []byte) {
	const header = 24
	if len(data) < header {
		return
	}
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(data[4*i:])) }
	version, units, types, areas, symbols := word(0), word(1), word(2), word(3), word(4)
	if version < 7 || version > 9 || units > types || types > areas || areas > symbols || symbols > uint64(len(data)) {
		return
	}
	x.units = data[units : types-(types-units)%gdbUnitSize]
	x.areas = data[areas:symbols]
}

// claims reports whether the unit's first entry says that it has the code at pc.
func (u *Unit) claims(pc uint64) bool {
	it := u.rangesOf(&pcAttrs{u.root.low, u.root.high, u.root.ranges})
	for n := 0; n < maxPathRanges; n++ {
		r, ok := it.next()
		if !ok {
			return false
		}
		if r.Contains(pc) {
			return true
		}
	}
	return false
}
