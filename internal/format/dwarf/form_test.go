package dwarf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// shapes are the ways in which units differ.
func eachShape(t *testing.T, test func(t *testing.T, f *dwarfFile, u *unitSpec)) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for version := 2; version <= 5; version++ {
			for _, addrSize := range []int{4, 8} {
				for _, dwarf64 := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/v%d/addr%d/64=%v", order, version, addrSize, dwarf64), func(t *testing.T) {
						test(t, newFile(order), &unitSpec{version: version, addrSize: addrSize, dwarf64: dwarf64})
					})
				}
			}
		}
	}
}

// TestForms reads and skips each form, and checks that what follows is then read correctly.
func TestForms(t *testing.T) {
	block := bytes.Repeat([]byte{0xab}, 200)
	cases := []struct {
		form  Form
		value any
		u     uint64
		b     []byte
		class Class
	}{
		{FormAddr, uint64(0x12345678), 0x12345678, nil, ClassAddress},
		{FormAddrx, uint64(300), 300, nil, ClassAddress},
		{FormAddrx1, 200, 200, nil, ClassAddress},
		{FormAddrx2, 50000, 50000, nil, ClassAddress},
		{FormAddrx3, 0x123456, 0x123456, nil, ClassAddress},
		{FormAddrx4, 0x12345678, 0x12345678, nil, ClassAddress},
		{FormBlock, block, 0, block, ClassBlock},
		{FormBlock1, block, 0, block, ClassBlock},
		{FormBlock2, block, 0, block, ClassBlock},
		{FormBlock4, block, 0, block, ClassBlock},
		{FormExprloc, block, 0, block, ClassExprloc},
		{FormExprloc, block[:3], 0, block[:3], ClassExprloc},
		{FormData1, 0xfe, 0xfe, nil, ClassConstant},
		{FormData2, 0xfedc, 0xfedc, nil, ClassConstant},
		{FormData4, uint64(0xfedcba98), 0xfedcba98, nil, ClassConstant},
		{FormData8, uint64(0xfedcba9876543210), 0xfedcba9876543210, nil, ClassConstant},
		{FormData16, block[:16], 0, block[:16], ClassConstant},
		{FormSdata, -5, ^uint64(4), nil, ClassConstant},
		{FormUdata, uint64(1) << 40, 1 << 40, nil, ClassConstant},
		{FormImplicitConst, -7, ^uint64(6), nil, ClassConstant},
		{FormFlag, 1, 1, nil, ClassFlag},
		{FormFlagPresent, 1, 1, nil, ClassFlag},
		{FormString, "hello", 0, []byte("hello"), ClassString},
		{FormStrp, "s", 1, nil, ClassString},
		{FormLineStrp, "s", 1, nil, ClassString},
		{FormStrpSup, 77, 77, nil, ClassString},
		{FormGNUStrpAlt, 77, 77, nil, ClassString},
		{FormStrx, 1000, 1000, nil, ClassString},
		{FormStrx1, 100, 100, nil, ClassString},
		{FormStrx2, 1000, 1000, nil, ClassString},
		{FormStrx3, 70000, 70000, nil, ClassString},
		{FormStrx4, 1 << 20, 1 << 20, nil, ClassString},
		{FormGNUStrIndex, 1000, 1000, nil, ClassString},
		{FormGNUAddrIndex, 1000, 1000, nil, ClassAddress},
		{FormRef1, 12, 12, nil, ClassReference},
		{FormRef2, 12, 12, nil, ClassReference},
		{FormRef4, 12, 12, nil, ClassReference},
		{FormRef8, 12, 12, nil, ClassReference},
		{FormRefUdata, 300, 300, nil, ClassReference},
		{FormRefAddr, 0x1234, 0x1234, nil, ClassReference},
		{FormRefSig8, uint64(1) << 63, 1 << 63, nil, ClassReference},
		{FormRefSup4, 9, 9, nil, ClassReference},
		{FormRefSup8, 9, 9, nil, ClassReference},
		{FormGNURefAlt, 9, 9, nil, ClassReference},
		{FormSecOffset, 0x4321, 0x4321, nil, ClassOffset},
		{FormLoclistx, 300, 300, nil, ClassOffset},
		{FormRnglistx, 300, 300, nil, ClassOffset},
	}
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		u.root = die(TagCompileUnit)
		for _, c := range cases {
			u.root.add(die(TagVariable, at(AttrConstValue, c.form, c.value), at(AttrDeclLine, FormData2, 0x4142)))
			in := c
			if c.form == FormImplicitConst { // has no indirect form
				in.form, in.value = FormSdata, c.value
			}
			u.root.add(die(TagConstant, at(AttrConstValue, FormIndirect, at(0, in.form, in.value)), at(AttrDeclLine, FormData2, 0x4142)))
		}
		f.unit(u)
		unit, err := f.data().UnitAt(SecInfo, u.off)
		if err != nil {
			t.Fatal(err)
		}
		var e, e2 Entry
		var v Value
		c := unit.Cursor(unit.Root())
		skip := c
		c.Next(&e)
		skip.Next(&e2)
		for i := range cases {
			want := cases[i]
			for _, tag := range []Tag{TagVariable, TagConstant} {
				if !c.Next(&e) || !skip.Next(&e2) || e != e2 || e.Tag != tag {
					t.Fatalf("before form %#x: reading leads to %+v (%v), skipping to %+v (%v)", want.form, e, c.Err(), e2, skip.Err())
				}
				if tag == TagConstant && want.form == FormImplicitConst {
					want.form = FormSdata
				}
				if !c.Attr(&v) || v.Form != want.form || v.U != want.u || !bytes.Equal(v.B, want.b) || v.Form.Class() != want.class {
					t.Errorf("form %#x: got %+v of class %d, want %#x %x of class %d", want.form, v, v.Form.Class(), want.u, want.b, want.class)
				}
				if got := unit.Value(e.Off, AttrDeclLine); got.U != 0x4142 {
					t.Errorf("form %#x is followed by %+v", want.form, got)
				}
				if !c.Attr(&v) || v.U != 0x4142 || c.Attr(&v) {
					t.Errorf("form %#x is followed by %+v: %v", want.form, v, c.Err())
				}
			}
		}
		if c.Next(&e); e.Tag != 0 || c.Err() != nil {
			t.Errorf("at the end: %+v, %v", e, c.Err())
		}
	})
}

func TestUnknownForm(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.section(SecAbbrev).u8(1, uint8(TagCompileUnit), 0, 3, 0x7e, 0, 0, 0)
	o := f.section(SecInfo)
	start := beginLength(o, false)
	o.u16(4)
	o.u32(0)
	o.u8(8, 1, 0, 0, 0, 0)
	endLength(o, start, false)
	if _, err := f.data().UnitAt(SecInfo, 0); err == nil {
		t.Error("no error for an unknown form")
	}
}

func TestSkipChildren(t *testing.T) {
	for _, sibling := range []bool{false, true} {
		f := newFile(binary.LittleEndian)
		inner := die(TagNamespace, name("a"), die(TagClassType, name("b"), die(TagMember, name("c"))), die(TagVariable, name("d")))
		last := die(TagVariable, name("e"))
		u := &unitSpec{version: 5, addrSize: 8, sibling: sibling, root: die(TagCompileUnit, inner, last)}
		f.unit(u)
		unit, err := f.data().UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, readFirst := range []int{0, 1, 2} {
			c := unit.Cursor(unit.Root())
			var e Entry
			var v Value
			c.Next(&e)
			c.Next(&e)
			for range readFirst {
				c.Attr(&v)
			}
			c.SkipChildren()
			if c.Level() != 1 {
				t.Errorf("level %d after the children, want 1", c.Level())
			}
			if !c.Next(&e) || e.Off != last.off || e.Depth != 1 {
				t.Errorf("sibling=%v, %d attributes read: at %+v, want offset %#x", sibling, readFirst, e, last.off)
			}
		}
	}
}

// A DW_AT_sibling that leads backwards must not make a walk endless.
func TestSiblingBackwards(t *testing.T) {
	f := newFile(binary.LittleEndian)
	root := die(TagCompileUnit)
	root.add(die(TagNamespace, at(AttrSibling, FormRef4, root), die(TagVariable, name("x"))), die(TagVariable, name("y")))
	f.unit(&unitSpec{version: 4, addrSize: 8, root: root})
	unit, err := f.data().UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := unit.Cursor(unit.Root())
	var e Entry
	c.Next(&e)
	c.Next(&e)
	c.SkipChildren()
	if !c.Next(&e) || e.Tag != TagVariable || e.Depth != 1 {
		t.Errorf("after the children: %+v, %v", e, c.Err())
	}
}

func TestAbbrevCodes(t *testing.T) {
	// Codes that are not consecutive from 1, and one declared twice.
	a := &out{order: binary.LittleEndian}
	for _, code := range []uint64{7, 1, 2, 1 << 40, 2} {
		a.uleb(code)
		a.uleb(uint64(TagVariable) + code&0xff)
		a.u8(0, 0, 0)
	}
	a.u8(0)
	table := new(abbrevTable)
	table.parse(a.b, 0, encoding{4, 8, 4})
	for _, code := range []uint64{7, 1, 2, 1 << 40} {
		got := table.find(code)
		if got == nil || got.tag != TagVariable+Tag(code&0xff) {
			t.Errorf("code %d: %+v", code, got)
		}
	}
	for _, code := range []uint64{0, 3, 5, 1 << 41} {
		if got := table.find(code); got != nil {
			t.Errorf("code %d: %+v, want none", code, got)
		}
	}
}
