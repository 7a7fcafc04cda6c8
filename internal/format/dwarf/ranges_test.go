package dwarf

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

func TestRangesV4(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		if u.version >= 5 {
			t.Skip("version 5 has another section")
		}
		o := f.section(SecRanges)
		o.bytes(make([]byte, 7)) // lists need not be aligned
		off := o.len()
		top := maxAddr(uint8(u.addrSize))
		for _, p := range [][2]uint64{
			{0x10, 0x20}, // from the unit's low pc
			{5, 5},
			{top, 0x5000}, {0x100, 0x180}, // from a base
			{top, 0}, {0x7000, 0x7010}, {1, 1}, // absolute; what GNU ld leaves of discarded code
			{0, 0}, {0x9000, 0x9010},
		} {
			o.uint(u.addrSize, p[0])
			o.uint(u.addrSize, p[1])
		}
		form := FormSecOffset
		if u.version < 4 {
			form = FormData4
		}
		u.root = die(TagCompileUnit, at(AttrLowPC, FormAddr, 0x1000), at(AttrRanges, form, off))
		f.unit(u)
		unit, err := f.data().UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := []Range{{0x1010, 0x1020}, {0x5100, 0x5180}, {0x7000, 0x7010}}
		if got := unit.Ranges(unit.Root(), new(1<<20)); !slices.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

func TestRangesV5(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		if u.version < 5 {
			t.Skip("lists of version 5")
		}
		addrs := f.section(SecAddr)
		addrBase := addrHeader(addrs, u)
		for _, a := range []uint64{0x2000, 0x3000, 0x3040, maxAddr(uint8(u.addrSize))} {
			addrs.uint(u.addrSize, a)
		}
		o := f.section(SecRnglists)
		start := beginLength(o, u.dwarf64)
		o.u16(5)
		o.u8(uint8(u.addrSize), 0)
		o.u32(2)
		base := o.len()
		o.uint(u.offSize(), 0) // list 0 is not used
		o.uint(u.offSize(), uint64(2*u.offSize()))
		addr := func(a uint64) { o.uint(u.addrSize, a) }
		o.u8(rleOffsetPair, 0x10, 0x20)
		o.u8(rleBaseAddressx, 0, rleOffsetPair, 0x10, 0x20)
		o.u8(rleBaseAddressx, 3, rleOffsetPair, 0x10, 0x20) // discarded
		o.u8(rleStartxEndx, 1, 2)
		o.u8(rleStartxLength, 2, 0x10)
		o.u8(rleStartxLength, 3, 0x10) // discarded
		o.u8(rleBaseAddress)
		addr(0x6000)
		o.u8(rleOffsetPair, 1, 2)
		o.u8(rleStartEnd)
		addr(0x7000)
		addr(0x7001)
		o.u8(rleStartLength)
		addr(0x8000)
		o.uleb(0x1000)
		o.u8(rleStartLength)
		addr(0) // discarded
		o.uleb(0x1000)
		o.u8(rleEndOfList)
		endLength(o, start, u.dwarf64)
		u.root = die(TagCompileUnit, at(AttrRanges, FormRnglistx, 1), at(AttrLowPC, FormAddr, 0x1000),
			at(AttrRnglistsBase, FormSecOffset, base), at(AttrAddrBase, FormSecOffset, addrBase))
		f.unit(u)
		unit, err := f.data().UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := []Range{{0x1010, 0x1020}, {0x2010, 0x2020}, {0x3000, 0x3040}, {0x3040, 0x3050}, {0x6001, 0x6002}, {0x7000, 0x7001}, {0x8000, 0x9000}}
		if got := unit.Ranges(unit.Root(), new(1<<20)); !slices.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

// addrHeader writes the header of a part of .debug_addr, and returns the base.
func addrHeader(o *out, u *unitSpec) uint64 {
	start := beginLength(o, u.dwarf64)
	o.u16(5)
	o.u8(uint8(u.addrSize), 0)
	o.patch(start-u.offSize(), u.offSize(), uint64(4+4*u.addrSize))
	return o.len()
}

func TestSpans(t *testing.T) {
	x := newSpanIndex([]span{{10, 50, 1}, {20, 30, 2}, {22, 25, 3}, {60, 70, 4}, {60, 70, 5}, {60, 65, 6}})
	for _, c := range []struct {
		pc, skip, id uint64
	}{
		{9, 0, 0}, {10, 0, 1}, {19, 0, 1}, {20, 0, 2}, {23, 0, 3}, {23, 1, 2}, {23, 2, 1}, {23, 3, 0},
		{25, 0, 2}, {30, 0, 1}, {49, 0, 1}, {50, 0, 0}, {55, 0, 0}, {66, 0, 4}, {66, 1, 5}, {61, 0, 6}, {70, 0, 0},
	} {
		skip := int(c.skip)
		s, ok := x.find(c.pc, &skip, new(atomic.Int64))
		if ok != (c.id != 0) || s.id != c.id {
			t.Errorf("%d skipping %d: got %d, want %d", c.pc, c.skip, s.id, c.id)
		}
	}
}

// aranges writes a set for the unit at off.
func (f *dwarfFile) aranges(u *unitSpec, tuples ...[2]uint64) {
	o := f.section(SecAranges)
	begin := len(o.b)
	start := beginLength(o, u.dwarf64)
	o.u16(2)
	o.uint(u.offSize(), u.off)
	o.u8(uint8(u.addrSize), 0)
	for (len(o.b)-begin)%(2*u.addrSize) != 0 {
		o.u8(0xff)
	}
	for _, t := range append(tuples, [2]uint64{}) {
		o.uint(u.addrSize, t[0])
		o.uint(u.addrSize, t[1])
	}
	endLength(o, start, u.dwarf64)
}

func TestUnitForPC(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		unit := func(parts ...any) *unitSpec {
			n := *u
			n.root = die(TagCompileUnit, parts...)
			f.unit(&n)
			return &n
		}
		listed := unit(name("listed"), pcs(0x1000, 0x100))
		ranged := unit(name("ranged"), pcs(0x2000, 0x100))
		unit(name("discarded"), pcs(0, 0x10000))
		rangeless := unit(name("rangeless"), die(TagNamespace, die(TagSubprogram, name("f"), pcs(0x3000, 0x100))))
		f.aranges(listed, [2]uint64{0x1000, 0x80}, [2]uint64{0, 0x5000}, [2]uint64{0x1080, 0x80})
		d := f.data()
		for pc, want := range map[uint64]*unitSpec{
			0xfff: nil, 0x1000: listed, 0x1080: listed, 0x10ff: listed, 0x1100: nil,
			0x2000: ranged, 0x20ff: ranged, 0x2100: nil, 0x3000: rangeless, 0x30ff: rangeless, 0x3100: nil,
		} {
			got, err := d.UnitForPC(pc)
			switch {
			case want == nil && !errors.Is(err, ErrNotFound):
				t.Errorf("%#x: %v, %v", pc, got, err)
			case want != nil && (err != nil || got.Off != want.off):
				t.Errorf("%#x: %v (%v), want unit %#x", pc, got, err, want.off)
			}
		}
	})
}

// If the text's range is known, address 0 may be code, and leftovers at low addresses are
// not.
func TestTextBounds(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, name("at 0"), pcs(0, 0x100))})
	f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, name("remains"), pcs(0x5000, 0x100))})
	for _, c := range []struct {
		low, high, pc uint64
		found         bool
	}{{0, 0x1000, 0x10, true}, {0, 0x1000, 0x5000, false}, {0x4000, 0x6000, 0x10, false}, {0x4000, 0x6000, 0x5000, true}} {
		_, err := f.data(WithText(c.low, c.high)).UnitForPC(c.pc)
		if (err == nil) != c.found {
			t.Errorf("text %#x-%#x, address %#x: %v", c.low, c.high, c.pc, err)
		}
	}
}

// Zeros between units, and units of a future version, are skipped.
func TestUnitList(t *testing.T) {
	f := newFile(binary.BigEndian)
	var want []uint64
	for i := range 3 {
		u := &unitSpec{version: 4, addrSize: 4, root: die(TagCompileUnit)}
		f.unit(u)
		want = append(want, u.off)
		o := f.section(SecInfo)
		switch i {
		case 0:
			o.bytes(make([]byte, 12))
		case 1:
			start := beginLength(o, false)
			o.u16(9)
			o.bytes(make([]byte, 20))
			endLength(o, start, false)
		}
	}
	d := f.data()
	got, err := d.unitStarts(SecInfo)
	if !slices.Equal(got, want) || !errors.Is(err, ErrFormat) {
		t.Errorf("got %x, %v, want %x and an error about version 9", got, err, want)
	}
	if u, err := d.UnitContaining(SecInfo, want[2]+11); err != nil || u.Off != want[2] {
		t.Errorf("unit of an entry: %v, %v", u, err)
	}
	if _, err := d.UnitContaining(SecInfo, want[2]-1); !errors.Is(err, ErrNotFound) {
		t.Errorf("entry between units: %v", err)
	}
}

// Sets that are read the short way are read like others.
func TestPlainSet(t *testing.T) {
	f := manyUnits(20, true)
	whole := f.section(SecAranges).b
	for cut := range len(whole) {
		data := whole[:cut]
		plain, lazy := New(SourceFunc(func(string) ([]byte, error) { return data, nil }), binary.LittleEndian), New(onlyLazy(data), binary.LittleEndian)
		a, b := slices.Collect(arangeSets(plain)), slices.Collect(arangeSets(lazy))
		if !slices.EqualFunc(a, b, func(a, b arangeSet) bool {
			return a.unit == b.unit && a.addrSize == b.addrSize && string(a.tuples) == string(b.tuples)
		}) {
			t.Fatalf("%d bytes: %v, want %v", cut, a, b)
		}
	}
	if set, end := plainSet(whole, 0); end == 0 || set.unit != 0 {
		t.Error("the first set is not plain")
	}
}

// onlyLazy is a source with one section, which is provided as asked for.
type onlyLazy []byte

func (s onlyLazy) Section(string) ([]byte, error) { return s, nil }

func (s onlyLazy) LazySection(string) ([]byte, func(from, end uint64) error, error) {
	return s, func(from, end uint64) error { return nil }, nil
}

var _ LazySource = onlyLazy(nil)

// Entries of discarded code cost what others cost: all units and functions may have one long list of them.
func TestRangesOfDiscardedCode(t *testing.T) {
	const n = 1000
	for _, version := range []int{4, 5} {
		f := newFile(binary.LittleEndian)
		u := &unitSpec{version: version, addrSize: 8}
		sec, form := SecRanges, FormSecOffset
		if version == 5 {
			sec = SecRnglists
		}
		o := f.section(sec)
		for range n {
			if version == 5 {
				o.u8(rleStartEnd)
			}
			o.uint(8, 1)
			o.uint(8, 2)
		}
		if version == 5 {
			o.u8(rleBaseAddress)
			o.uint(8, 0)
			o.u8(rleStartEnd)
		}
		o.uint(8, 0x1000)
		o.uint(8, 0x1010)
		o.uint(8, 0)
		o.uint(8, 0)
		u.root = die(TagCompileUnit, at(AttrRanges, form, 0))
		f.unit(u)
		unit, err := f.data().UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ left, found int }{{2 * n, 1}, {n / 2, 0}, {n + 3, 1}} {
			left := tt.left
			if got := unit.Ranges(unit.Root(), &left); len(got) != tt.found || tt.left-left < min(n, tt.left) {
				t.Errorf("version %d: %d ranges of %d entries, of which %d may be read and %d are", version, len(got), n+1, tt.left, tt.left-left)
			}
		}
	}
}
