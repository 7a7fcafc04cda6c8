package dwarf

import (
	"encoding/binary"
	"slices"
	"testing"
)

// A fuzzed file is one byte of flags, then sections: a number, a length of two
// bytes, and the contents.

const (
	fuzzBig = 1 << iota
	fuzzDWO
)

func pack(f *dwarfFile, flags byte) []byte {
	f.data()
	b := []byte{flags}
	for s := range numSections {
		name := s.String()
		if f.dwo {
			name += ".dwo"
		}
		o := f.sec[name]
		if o == nil {
			o = f.sec[s.String()]
		}
		if o == nil || len(o.b) > 0xffff {
			continue
		}
		b = append(b, byte(s))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(o.b)))
		b = append(b, o.b...)
	}
	return b
}

func unpack(b []byte) (f *dwarfFile, flags byte) {
	f = newFile(binary.LittleEndian)
	if len(b) == 0 {
		return f, 0
	}
	flags = b[0]
	if flags&fuzzBig != 0 {
		f.order = binary.BigEndian
	}
	f.dwo = flags&fuzzDWO != 0
	for b = b[1:]; len(b) >= 3; {
		s, n := Section(b[0]), int(binary.LittleEndian.Uint16(b[1:]))
		if b = b[3:]; s >= numSections {
			continue
		}
		n = min(n, len(b))
		f.section(s).bytes(b[:n])
		b = b[n:]
	}
	return f, flags
}

// seeds are files with a bit of everything.
func seeds(f *testing.F) {
	for _, version := range []int{4, 5} {
		main, dwo := splitFiles(version, 0x10)
		f.Add(pack(main, 0))
		f.Add(pack(dwo, fuzzDWO))
		f.Add(pack(makePackage(version, []uint64{0x10}, []*dwarfFile{dwo}), fuzzDWO))
	}
	f.Add(pack(newCallGraph(false, "main a b c d", "main>a", "a~b", "a~c", "b~d", "c~d", "a~a").f, 0))
	f.Add(pack(manyUnits(3, true), 0))
	indexed := manyUnits(3, false)
	indexed.gdbIndex(8, offsets(indexed), []gdbArea{{0x10000, 0x10100, 0}, {0x10100, 0x10200, 1}, {0x1000, 0x2000, 2}})
	f.Add(pack(indexed, 0))
	big := newFile(binary.BigEndian)
	a := die(TagSubprogram, name("a"), at(AttrInline, FormData1, 1))
	fn := die(TagSubprogram, at(AttrSpecification, FormRefAddr, a), pcs(0x1000, 0x100), inlined(a, 3, pcs(0x1010, 0x10)))
	l := lineSpec{version: 5, addrSize: 4, dirs: []string{"/d"}, files: []fileSpec{{"f", 0}, {"f", 0}}, program: func(p *program) {
		p.setAddress(0x1000)
		p.row(1, 1)
		p.u8(0, 2, lneSetDiscriminator, 1, lnsConstAddPC, 200, 100)
		p.advance(0x100)
		p.end()
	}}
	big.unit(&unitSpec{version: 5, addrSize: 4, sibling: true, root: die(TagCompileUnit, at(AttrLanguage, FormData1, 4), pcs(0x1000, 0x100),
		at(AttrStmtList, FormSecOffset, big.lines(l)), die(TagNamespace, name("n"), a), fn)})
	big.unit(&unitSpec{version: 4, addrSize: 4, kind: UnitTypes, id: 1, typ: a, root: die(TagTypeUnit)})
	f.Add(pack(big, fuzzBig))
}

// FuzzFrames reads everything needed to get from an address to its calls.
func FuzzFrames(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, _ := unpack(b)
		sup := file.data()
		d := file.data(WithSup(sup), WithSplit(func(*Unit) (*Data, error) { return sup, nil }))
		var buf []Call
		for _, pc := range []uint64{0, 0x1000, 0x1010, 0x101f, 0x1020, 0x1110, 0x10100, 0x80000000} {
			calls, err := d.Frames(pc, buf[:0])
			if err == nil && len(calls) == 0 {
				t.Error("no calls and no error")
			}
			for _, c := range calls {
				if c.Func.Valid() && !c.Range.Contains(pc) {
					t.Errorf("call at %#x has range %#x", pc, c.Range)
				}
			}
			buf = calls
			d.TailChain(pc, Callee{PC: 0x1210}, func(string) (uint64, bool) { return 0x1200, true }, nil)
			if u, err := d.UnitForPC(pc); err == nil {
				u.PrologueEnd(pc, pc+0x100)
				if row, ok := u.Line(pc); ok && !row.Approximate && row.Low > pc {
					t.Errorf("row for %#x begins at %#x", pc, row.Low)
				}
			}
		}
	})
}

// FuzzEntries iterates over all entries of all units in every way.
func FuzzEntries(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, _ := unpack(b)
		d := file.data()
		d.TypeUnit(1)
		units := 0
		d.Units(func(u *Unit) bool {
			units++
			walkAll(t, u)
			return units < 20
		})
		if p, err := NewPackage(file, file.order); err == nil {
			p.Unit(0x10)
		}
	})
}

func walkAll(t *testing.T, u *Unit) {
	read, skip := u.Cursor(u.Root()), u.Cursor(u.Root())
	var e, e2 Entry
	var v Value
	for n := 0; n < 2000 && read.Next(&e); n++ {
		if !skip.Next(&e2) || e != e2 {
			t.Errorf("passing over attributes leads to %+v, reading them to %+v", e2, e)
		}
		for read.Attr(&v) {
			u.Text(&v)
			u.Address(&v)
			if v.Form.Class() == ClassReference {
				if to, err := u.Ref(&v); err == nil && (to.Off < to.Unit.Root() || to.Off >= to.Unit.End) {
					t.Errorf("reference to %#x outside %v", to.Off, to.Unit)
				}
			}
		}
		if read.Err() != nil {
			return // the other cursor may have jumped over the damage
		}
		if n < 50 {
			u.Ranges(e.Off, new(1<<20))
			DIE{u, e.Off}.FuncInfo()
			u.CallSites(e.Off, nil)
			jump := u.Cursor(e.Off)
			jump.Next(&e2)
			jump.SkipChildren()
		}
		e2 = Entry{}
	}
}

// FuzzNames looks names up in damaged indexes. What they lead to is there, and no unit is searched twice.
func FuzzNames(f *testing.F) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		c := newCatalogue(order, 4)
		c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units[:3], entries: slices.Concat(c.entries[:3]...)})
		c.f.names(&namesSpec{buckets: 0, units: c.units[3:], entries: c.entries[3]})
		flags := byte(0)
		if order == binary.ByteOrder(binary.BigEndian) {
			flags = fuzzBig
		}
		f.Add(pack(c.f, flags))
	}
	for _, version := range []uint32{6, 7, 9} {
		c := newCatalogue(binary.LittleEndian, 4)
		c.symbols(version, c.qualified())
		f.Add(pack(c.f, 0))
	}
	wanted := new(catalogue).wanted()
	f.Fuzz(func(t *testing.T, b []byte) {
		file, _ := unpack(b)
		d := file.data()
		units := 0
		d.Units(func(*Unit) bool { units++; return units < 50 })
		if units == 50 {
			return
		}
		for _, q := range wanted {
			off, searched := lookFor(d, q)
			if searched > units {
				t.Errorf("%s: %d searches of %d units", q.Name, searched, units)
			}
			if off != 0 {
				u, err := d.UnitContaining(SecInfo, off)
				if err != nil {
					if u, err = d.UnitContaining(SecTypes, off); err != nil {
						t.Errorf("%s at %#x, which is in no unit", q.Name, off)
					}
				}
				_ = u
			}
		}
	})
}
