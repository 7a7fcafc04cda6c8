package dwarf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// locationOf returns the location at pc of a variable of the only unit, or "-" if there is
// none.
func locationOf(t *testing.T, d *Data, v *node, pc uint64) string {
	t.Helper()
	u, err := d.UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	loc := u.Value(v.off, AttrLocation)
	expr, found, err := u.Location(&loc, pc, nil)
	if err != nil {
		t.Fatalf("%#x: %v", pc, err)
	}
	if !found {
		return "-"
	}
	return string(expr)
}

func TestLocationV4(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		if u.version == 5 {
			t.Skip("version 5 has another section")
		}
		o := f.section(SecLoc)
		o.u8(0)
		off := o.len()
		entry := func(a, b uint64, expr string) {
			o.uint(u.addrSize, a)
			o.uint(u.addrSize, b)
			if expr != "" {
				o.u16(uint16(len(expr)))
				o.bytes([]byte(expr))
			}
		}
		entry(0x10, 0x20, "A")
		entry(0x20, 0x20, "M") // no longer than the moment before the instruction runs
		entry(0x20, 0x20, "N")
		entry(0x20, 0x21, "L")
		entry(0x21, 0x30, "L")
		entry(maxAddr(uint8(u.addrSize)), 0x5000, "")
		entry(0, 0x10, "BB")
		entry(0, 0, "")
		form := FormSecOffset
		if u.version < 4 {
			form = FormData4
		}
		v := die(TagVariable, at(AttrLocation, form, off))
		w := die(TagVariable, at(AttrLocation, FormBlock1, []byte("E")))
		u.root = die(TagCompileUnit, at(AttrLowPC, FormAddr, 0x1000), v, w)
		f.unit(u)
		d := f.data()
		for pc, want := range map[uint64]string{0x100f: "-", 0x1010: "A", 0x101f: "A", 0x1020: "L", 0x1030: "-", 0x5000: "BB", 0x5010: "-"} {
			if got := locationOf(t, d, v, pc); got != want {
				t.Errorf("%#x: %q, want %q", pc, got, want)
			}
		}
		if got := locationOf(t, d, w, 1); got != "E" {
			t.Errorf("expression %q", got)
		}
		unit, err := d.UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		for pc, want := range map[uint64]string{0x1010: "[]", 0x101f: "[]", 0x1020: "[M N]", 0x1021: "[]", 0x5000: "[]"} {
			loc := unit.Value(v.off, AttrLocation)
			all, err := unit.Momentary(&loc, pc, nil)
			if got := fmt.Sprintf("%s", all); err != nil || got != want {
				t.Errorf("%#x: %s, %v, want %s", pc, got, err, want)
			}
		}
	})
}

func TestLocationV5(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		if u.version < 5 {
			t.Skip("lists of version 5")
		}
		addrs := f.section(SecAddr)
		addrBase := addrHeader(addrs, u)
		for _, a := range []uint64{0x2000, 0x3000, 0x3040} {
			addrs.uint(u.addrSize, a)
		}
		o := f.section(SecLoclists)
		start := beginLength(o, u.dwarf64)
		o.u16(5)
		o.u8(uint8(u.addrSize), 0)
		o.u32(1)
		base := o.len()
		o.uint(u.offSize(), uint64(u.offSize()))
		addr := func(a uint64) { o.uint(u.addrSize, a) }
		expr := func(s string) {
			o.uleb(uint64(len(s)))
			o.bytes([]byte(s))
		}
		o.u8(lleGNUViewPair, 1, 2, lleDefaultLocation)
		expr("D")
		o.u8(lleOffsetPair, 0x10, 0x20)
		expr("A")
		o.u8(lleBaseAddressx, 0, lleOffsetPair, 0x10, 0x20)
		expr("B")
		o.u8(lleStartxEndx, 1, 2)
		expr("C")
		o.u8(lleStartxLength, 2, 8)
		expr("")
		o.u8(lleBaseAddress)
		addr(0x6000)
		o.u8(lleOffsetPair, 0, 1)
		expr("F")
		o.u8(lleStartEnd)
		addr(0x7000)
		addr(0x7001)
		expr("G")
		o.u8(lleStartLength)
		addr(0x8000)
		o.uleb(1)
		expr("H")
		o.u8(lleEndOfList)
		endLength(o, start, u.dwarf64)
		v := die(TagVariable, at(AttrLocation, FormLoclistx, 0))
		u.root = die(TagCompileUnit, at(AttrLowPC, FormAddr, 0x1000),
			at(AttrLoclistsBase, FormSecOffset, base), at(AttrAddrBase, FormSecOffset, addrBase), v)
		f.unit(u)
		d := f.data()
		for pc, want := range map[uint64]string{0x1010: "A", 0x2010: "B", 0x3000: "C", 0x303f: "C", 0x3040: "", 0x6000: "F", 0x7000: "G", 0x8000: "H", 0x9000: "D"} {
			if got := locationOf(t, d, v, pc); got != want {
				t.Errorf("%#x: %q, want %q", pc, got, want)
			}
		}
	})
}

func TestLocationSplitV4(t *testing.T) {
	main, dwo := splitFiles(4, 1)
	o := dwo.section(SecLoc)
	o.u8(lleStartxLength, 2)
	o.u32(0x10)
	o.u16(1)
	o.u8('A', lleBaseAddressx, 1, lleOffsetPair)
	o.u32(0)
	o.u32(8)
	o.u16(1)
	o.u8('B', lleStartxEndx, 1, 2)
	o.u16(1)
	o.u8('C', lleEndOfList)
	d := main.data(WithSplit(func(*Unit) (*Data, error) { return dwo.data(), nil }))
	u, err := d.UnitForPC(0x1000)
	if err != nil {
		t.Fatal(err)
	}
	s, err := u.Split()
	if err != nil {
		t.Fatal(err)
	}
	for pc, want := range map[uint64]string{0x1000: "B", 0x1008: "C", 0x1010: "A", 0x101f: "A"} {
		expr, found, err := s.Location(&Value{Form: FormSecOffset}, pc, nil)
		if err != nil || !found || string(expr) != want {
			t.Errorf("%#x: %q, %v, %v; want %q", pc, expr, found, err, want)
		}
	}
}

func TestLocationDamaged(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.section(SecLoclists).u8(0x77)
	f.unit(&unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit)})
	u, err := f.data().UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []Value{{Form: FormSecOffset}, {Form: FormSecOffset, U: 99}, {Form: FormLoclistx, U: 5}, {Form: FormString}} {
		if _, found, err := u.Location(&v, 0, nil); err == nil || found {
			t.Errorf("%+v: found %v, %v", v, found, err)
		}
	}
	if _, _, err := u.Location(&Value{Form: FormSecOffset}, 0, nil); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

type allowance int

var errAllowance = errors.New("spent")

func (a *allowance) Spend(units int) error {
	if *a -= allowance(units); *a < 0 {
		return errAllowance
	}
	return nil
}

// Long lists are charged, and their number of entries can be limited.
func TestLongLists(t *testing.T) {
	f := newFile(binary.LittleEndian)
	u := &unitSpec{version: 4, addrSize: 8}
	loc, rng := f.section(SecLoc), f.section(SecRanges)
	const n = 10_000
	for i := range uint64(n) {
		loc.uint(8, i)
		loc.uint(8, i+1)
		loc.u16(1)
		loc.bytes([]byte("x"))
		rng.uint(8, 2*i)
		rng.uint(8, 2*i+1)
	}
	loc.bytes(make([]byte, 16))
	rng.bytes(make([]byte, 16))
	v := die(TagVariable, at(AttrLocation, FormSecOffset, uint64(0)))
	u.root = die(TagCompileUnit, at(AttrLowPC, FormAddr, uint64(0x1000)), at(AttrRanges, FormSecOffset, uint64(0)), v)
	f.unit(u)
	d := f.data()
	unit, err := d.UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	value := unit.Value(v.off, AttrLocation)
	for _, tt := range []struct {
		pc    uint64
		money allowance
		want  error
	}{{0x1000 + n - 1, n / 2, errAllowance}, {0x1000 + n - 1, 2 * n, nil}, {0x1000 + n - 1, 0, nil}, // it is remembered
		{0x1000 + n - 2, n / 2, errAllowance}, {0x1000 + 10, 0, nil}, {0, n / 2, errAllowance}, {0, 2 * n, nil}, {0, 0, nil}} {
		left := tt.money
		expr, found, err := unit.Location(&value, tt.pc, &left)
		if !errors.Is(err, tt.want) || err == nil && (found != (tt.pc != 0) || found && string(expr) != "x") {
			t.Errorf("%#x with %d: %q %v %v", tt.pc, tt.money, expr, found, err)
		}
	}
	for pc := range uint64(n) {
		if _, found, err := unit.Location(&value, 0x1000+pc, nil); !found || err != nil {
			t.Fatalf("%#x: %v %v", pc, found, err)
		}
	}
	if n := len(unit.locs.list); n != maxRemembered {
		t.Errorf("%d answers are remembered", n)
	}
	if got := unit.Ranges(unit.Root(), new(1<<20)); len(got) < n-1 {
		t.Errorf("%d ranges", len(got))
	}
	if got := unit.Ranges(unit.Root(), new(100)); len(got) != 100 {
		t.Errorf("%d ranges of 100", len(got))
	}
}
