package dwarf

import (
	"encoding/binary"
	"errors"
	"testing"
)

// A gdbArea is an element of the address list of .gdb_index.
type gdbArea struct {
	low, high uint64
	unit      uint32
}

// gdbIndex writes the section for units at offsets.
func (f *dwarfFile) gdbIndex(version uint32, units []uint64, areas []gdbArea) {
	o := &out{order: binary.LittleEndian}
	f.sec[SecGDBIndex.String()] = o
	list := uint32(24)
	end := list + uint32(16*len(units))
	o.u32(version)
	for _, v := range []uint32{list, end, end, end + uint32(20*len(areas)), end + uint32(20*len(areas))} {
		o.u32(v)
	}
	for _, off := range units {
		o.u64(off)
		o.u64(0)
	}
	for _, a := range areas {
		o.u64(a.low)
		o.u64(a.high)
		o.u32(a.unit)
	}
}

// offsets lists the units of a file.
func offsets(f *dwarfFile) []uint64 {
	all, _ := f.data().unitStarts(SecInfo)
	return all
}

// With .gdb_index no first entries are read but that of the unit found.
func TestGDBIndex(t *testing.T) {
	for _, version := range []uint32{6, 7, 8, 9} {
		f := manyUnits(100, false)
		var areas []gdbArea
		for i := range uint64(100) {
			areas = append(areas, gdbArea{0x10000 + 0x100*i, 0x10100 + 0x100*i, uint32(i)})
		}
		f.gdbIndex(version, offsets(f), areas)
		d := f.data()
		for n := range uint64(3 * maxArangeScans) { // scans, then look-ups in an index
			i := n * 7 % 100
			u, err := d.UnitForPC(0x10020 + 0x100*i)
			if err != nil || u.Off != offsets(f)[i] {
				t.Fatalf("version %d: unit %v of address %d: %v", version, u, i, err)
			}
		}
		if read := len(d.index.roots.spans) > 0; read != (version < 7) {
			t.Errorf("version %d: all first entries read: %v", version, read)
		}
	}
}

// An index that is wrong changes no answer.
func TestGDBIndexLies(t *testing.T) {
	f := manyUnits(10, false)
	units := offsets(f)
	truth := make([]gdbArea, 10)
	for i := range truth {
		truth[i] = gdbArea{0x10000 + 0x100*uint64(i), 0x10100 + 0x100*uint64(i), uint32(i)}
	}
	lie := func(change func(a *gdbArea)) []gdbArea {
		var all []gdbArea
		for _, a := range truth {
			change(&a)
			all = append(all, a)
		}
		return all
	}
	for name, c := range map[string]struct {
		units []uint64
		areas []gdbArea
	}{
		"another unit":            {units, lie(func(a *gdbArea) { a.unit = (a.unit + 1) % 10 })},
		"a unit not in the list":  {units, lie(func(a *gdbArea) { a.unit = 1 << 30 })},
		"an offset of no unit":    {[]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 60}, truth},
		"offsets moved":           {append(units[1:], units[0]), truth},
		"one unit has everything": {units, []gdbArea{{0, 1 << 40, 3}}},
		"other addresses":         {units, lie(func(a *gdbArea) { a.low += 0x80; a.high += 0x80 })},
		"ends before it begins":   {units, lie(func(a *gdbArea) { a.low, a.high = a.high, a.low })},
		"nothing":                 {nil, nil},
	} {
		f.gdbIndex(8, c.units, c.areas)
		d := f.data()
		for i := range uint64(10) {
			u, err := d.UnitForPC(0x10020 + 0x100*i)
			if err != nil || u.Off != units[i] {
				t.Errorf("%s: unit %v of address %d: %v", name, u, i, err)
			}
		}
		if u, err := d.UnitForPC(0x20000); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: unit %v of an address that none has", name, u)
		}
	}
	whole := f.section(SecGDBIndex).b
	for n := range len(whole) { // truncated
		f.sec[SecGDBIndex.String()].b = whole[:n]
		if u, err := f.data().UnitForPC(0x10020); err != nil || u.Off != units[0] {
			t.Errorf("%d bytes: unit %v: %v", n, u, err)
		}
	}
}
