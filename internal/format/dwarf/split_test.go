package dwarf

import (
	"encoding/binary"
	"errors"
	"testing"
)

// splitFiles makes a skeleton and its .dwo file. The function's addresses and name use the
// tables that are divided between the two files.
func splitFiles(version int, id uint64) (main, dwo *dwarfFile) {
	order := binary.LittleEndian
	main, dwo = newFile(order), newFile(order)
	dwo.dwo = true
	u := &unitSpec{version: version, addrSize: 8}

	addr := main.section(SecAddr)
	addr.bytes(make([]byte, 24)) // another unit's
	base := addr.len()
	if version >= 5 {
		base = addrHeader(addr, u)
	}
	for _, a := range []uint64{0x9999, 0x1000, 0x1010} {
		addr.u64(a)
	}
	l := lineSpec{version: version, addrSize: 8, files: []fileSpec{{"s.c", 0}}, program: func(p *program) {
		p.setAddress(0x1000)
		p.row(0, 6)
		p.advance(0x40)
		p.end()
	}}
	if version >= 5 {
		l.files = append(l.files, l.files[0])
	}
	lines := at(AttrStmtList, FormSecOffset, main.lines(l))

	str := dwo.addString(SecStr, "split_fn")
	offs := dwo.section(SecStrOffsets)
	if version >= 5 {
		offs.u32(12)
		offs.u16(5)
		offs.u16(0)
	}
	offs.u32(0)
	offs.u32(uint32(str))

	addrForm, strForm := FormGNUAddrIndex, FormGNUStrIndex
	var ranges nattr
	if version >= 5 {
		addrForm, strForm = FormAddrx, FormStrx
		o := dwo.section(SecRnglists)
		start := beginLength(o, false)
		o.u16(5)
		o.u8(8, 0)
		o.u32(1)
		o.u32(4)
		o.u8(rleStartxLength, 2, 0x10, rleEndOfList)
		endLength(o, start, false)
		ranges = at(AttrRanges, FormRnglistx, 0)
	} else {
		o := main.section(SecRanges)
		o.bytes(make([]byte, 32))                      // other units'
		for _, v := range []uint64{0x10, 0x20, 0, 0} { // from the skeleton's low pc
			o.u64(v)
		}
		ranges = at(AttrRanges, FormSecOffset, 0)
	}
	callee := die(TagSubprogram, name("callee"), at(AttrInline, FormData1, 1))
	fn := die(TagSubprogram, at(AttrName, strForm, 1), at(AttrLowPC, addrForm, 1), at(AttrHighPC, FormData4, 0x40),
		die(TagInlinedSubroutine, at(AttrAbstractOrigin, FormRef4, callee), at(AttrCallFile, FormData1, 1), at(AttrCallLine, FormData1, 33), ranges))
	skeleton := []nattr{lines, at(AttrCompDir, FormString, "/build")}
	if version >= 5 {
		main.unit(&unitSpec{version: 5, addrSize: 8, kind: UnitSkeleton, id: id,
			root: die(TagSkeletonUnit, skeleton, pcs(0x1000, 0x40), at(AttrDwoName, FormString, "s.dwo"), at(AttrAddrBase, FormSecOffset, base))})
		dwo.unit(&unitSpec{version: 5, addrSize: 8, kind: UnitSplitCompile, id: id, root: die(TagCompileUnit, callee, fn)})
		return main, dwo
	}
	idAttr := at(AttrGNUDwoID, FormData8, id)
	main.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, skeleton, pcs(0x1000, 0x40), idAttr,
		at(AttrGNUDwoName, FormString, "s.dwo"), at(AttrGNUAddrBase, FormSecOffset, base), at(AttrGNURangesBase, FormSecOffset, 32))})
	dwo.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, idAttr, at(AttrGNUDwoName, FormString, "s.dwo"), callee, fn)})
	return main, dwo
}

func TestSplit(t *testing.T) {
	for _, version := range []int{4, 5} {
		main, dwo := splitFiles(version, 0x1122334455667788)
		calls := 0
		d := main.data(WithSplit(func(u *Unit) (*Data, error) {
			calls++
			if n, ok := u.Skeleton(); !ok || n != "s.dwo" || u.CompDir() != "/build" || u.ID != 0x1122334455667788 {
				t.Errorf("skeleton %q of %q with id %#x", n, u.CompDir(), u.ID)
			}
			return dwo.data(), nil
		}))
		checkFrames(t, d, map[uint64]string{0x1000: "split_fn@s.c:7", 0x1010: "callee@s.c:7[inlined] <- split_fn@s.c:33", 0x1020: "split_fn@s.c:7"})
		if calls != 1 {
			t.Errorf("the .dwo was asked for %d times", calls)
		}
		// Without the .dwo the line is known.
		checkFrames(t, main.data(), map[uint64]string{0x1010: "@s.c:7"})

		_, other := splitFiles(version, 42)
		d = main.data(WithSplit(func(*Unit) (*Data, error) { return other.data(), nil }))
		u, err := d.UnitForPC(0x1000)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := u.Split(); s != nil || !errors.Is(err, ErrNotFound) {
			t.Errorf("a .dwo with another id was taken: %v, %v", s, err)
		}
		checkFrames(t, d, map[uint64]string{0x1010: "@s.c:7"})
	}
}

// makePackage joins .dwo files.
func makePackage(version int, ids []uint64, files []*dwarfFile) *dwarfFile {
	p := newFile(files[0].order)
	p.dwo = true
	columns := []Section{SecInfo, SecAbbrev, SecStrOffsets, SecRnglists}
	idsOf := map[Section]uint32{SecInfo: 1, SecAbbrev: 3, SecStrOffsets: 6, SecRnglists: 8}
	if version < 5 {
		columns = columns[:3]
	}
	var offs, sizes out
	offs.order, sizes.order = p.order, p.order
	for _, f := range files {
		f.data() // patches references
		for _, c := range columns {
			offs.u32(uint32(p.section(c).len()))
			sizes.u32(uint32(f.section(c).len()))
			p.section(c).bytes(f.section(c).b)
		}
	}
	p.section(SecStr).bytes(files[0].section(SecStr).b)
	const slots = 4
	var hashes [slots]uint64
	var rows [slots]uint32
	for i, id := range ids {
		at := id % slots
		for rows[at] != 0 {
			at = (at + (id>>32%slots | 1)) % slots
		}
		hashes[at], rows[at] = id, uint32(i+1)
	}
	o := p.section(SecCUIndex)
	if version >= 5 {
		o.u16(5)
		o.u16(0)
	} else {
		o.u32(2)
	}
	o.u32(uint32(len(columns)))
	o.u32(uint32(len(ids)))
	o.u32(slots)
	for _, h := range hashes {
		o.u64(h)
	}
	for _, r := range rows {
		o.u32(r)
	}
	for _, c := range columns {
		o.u32(idsOf[c])
	}
	o.bytes(offs.b)
	o.bytes(sizes.b)
	return p
}

func TestPackage(t *testing.T) {
	for _, version := range []int{4, 5} {
		ids := []uint64{0x10, 0x300000020, 0x30}
		var dwos []*dwarfFile
		var mains []*dwarfFile
		for _, id := range ids {
			m, d := splitFiles(version, id)
			mains, dwos = append(mains, m), append(dwos, d)
		}
		p, err := NewPackage(makePackage(version, ids, dwos), binary.LittleEndian)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mains {
			d := m.data(WithSplit(func(u *Unit) (*Data, error) { return p.Unit(u.ID) }))
			checkFrames(t, d, map[uint64]string{0x1010: "callee@s.c:7[inlined] <- split_fn@s.c:33"})
		}
		if _, err := p.Unit(0x40); !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown unit: %v", err)
		}
	}
	if _, err := NewPackage(newFile(binary.LittleEndian), binary.LittleEndian); !errors.Is(err, ErrNotFound) {
		t.Errorf("no index: %v", err)
	}
}
