package dwarf

import (
	"encoding/binary"
	"slices"
	"testing"
)

// stored returns the debug information of f with an index of an earlier run, which may be wrong.
func (f *dwarfFile) stored(index []byte) *Data {
	return f.data(WithUnitIndex(func() []byte { return index }))
}

// indexOf returns what a run keeps that has looked up two addresses.
func indexOf(t *testing.T, f *dwarfFile) []byte {
	t.Helper()
	d := f.stored(nil)
	if d.UnitForPC(0x10000); d.UnitIndex() != nil {
		t.Error("an index is kept after one look-up")
	}
	d.UnitForPC(0x10100)
	d.UnitForPC(0x10200)
	index := d.UnitIndex()
	if f.data().UnitIndex() != nil {
		t.Error("an index is made where nothing may be kept")
	}
	return index
}

// A run with an index finds the units that one without finds, and reads no other sets.
func TestStoredAranges(t *testing.T) {
	f := manyUnits(400, true)
	index := indexOf(t, f)
	with, without := f.stored(index), f.data()
	for pc := uint64(0xff00); pc < 0x10000+400*0x100+0x200; pc += 0x40 {
		a, errA := with.UnitForPC(pc)
		b, errB := without.UnitForPC(pc)
		if (errA == nil) != (errB == nil) || errA == nil && a.Off != b.Off {
			t.Errorf("%#x: %v (%v) with the index, %v (%v) without", pc, a, errA, b, errB)
		}
	}
	if with.index.aranges.scans != 0 || with.UnitIndex() != nil {
		t.Errorf("%d scans, and %d bytes of index to keep again", with.index.aranges.scans, len(with.UnitIndex()))
	}
}

// Whatever an index says, no unit is found that the section does not have for the address.
func TestStoredArangesLie(t *testing.T) {
	f := manyUnits(400, true)
	index := indexOf(t, f)
	n := len(index) / 12
	if n != 400 {
		t.Fatalf("%d entries", n)
	}
	for name, change := range map[string]func(b []byte){
		"sets of others":   func(b []byte) { copy(b[8*n:], b[8*n+4:]) },
		"sets outside":     func(b []byte) { binary.LittleEndian.PutUint32(b[8*n:], 1<<31) },
		"sets within sets": func(b []byte) { binary.LittleEndian.PutUint32(b[8*n:], 7) },
		"other addresses": func(b []byte) {
			for i := range n {
				binary.LittleEndian.PutUint64(b[8*i:], 0x10000)
			}
		},
		"no order": func(b []byte) { slices.Reverse(b[:8*n]) },
	} {
		lies := slices.Clone(index)
		change(lies)
		d, truth := f.stored(lies), f.data()
		for pc := uint64(0x10000); pc < 0x12000; pc += 0x40 {
			u, err := d.UnitForPC(pc)
			if right, _ := truth.UnitForPC(pc); err == nil && u.Off != right.Off {
				t.Errorf("%s: %#x is in unit %#x, found %#x", name, pc, right.Off, u.Off)
			}
		}
	}
	for _, short := range [][]byte{{}, {1}, index[:11], index[:12*n-1], noIndex} {
		if u, err := f.stored(short).UnitForPC(0x10100); err != nil || u.Off == 0 {
			t.Errorf("index of %d bytes: %v", len(short), err)
		}
	}
}

// Of equal ranges the first unit is found, as without an index; of ranges that overlap otherwise there is none, and it is
// not made again.
func TestStoredArangesOverlap(t *testing.T) {
	f := manyUnits(400, true)
	last := &unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit, name("again.c"), pcs(0x10100, 0x100))}
	f.unit(last)
	f.aranges(last, [2]uint64{0x10100, 0x100})
	index := indexOf(t, f)
	want, _ := f.data().UnitForPC(0x10100)
	if u, err := f.stored(index).UnitForPC(0x10100); err != nil || u.Off != want.Off || u.Off == last.off {
		t.Errorf("found unit %v (%v), want %#x", u, err, want.Off)
	}
	f.aranges(last, [2]uint64{0x10180, 0x100})
	if index = indexOf(t, f); !slices.Equal(index, noIndex) {
		t.Fatalf("%d bytes of index", len(index))
	}
	d := f.stored(index)
	for pc := uint64(0x10000); pc < 0x10400; pc += 0x80 {
		if u, err := d.UnitForPC(pc); err != nil || u == nil {
			t.Errorf("%#x: %v", pc, err)
		}
	}
	if d.UnitIndex() != nil {
		t.Error("it is made again")
	}
}
