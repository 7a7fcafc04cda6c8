package dwarf

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// A name that no system has is none, and a directory that none has is left out: each file of a unit would repeat it.
func TestLongPaths(t *testing.T) {
	for _, tt := range []struct{ dir, name, want int }{{10, 10, 21}, {maxPath, 10, maxPath + 11}, {maxPath + 1, 10, 10}, {10, maxPath, maxPath + 11}, {10, maxPath + 1, 0}} {
		f := newFile(binary.LittleEndian)
		off := f.lines(lineSpec{version: 4, addrSize: 8, dirs: []string{"/" + strings.Repeat("d", tt.dir-1)}, files: []fileSpec{{strings.Repeat("n", tt.name), 1}}, program: func(p *program) {}})
		f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, at(AttrStmtList, FormSecOffset, off))})
		u, err := f.data().UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.File(1); len(got.Path) != tt.want {
			t.Errorf("a directory of %d bytes, a name of %d: a path of %d, want %d", tt.dir, tt.name, len(got.Path), tt.want)
		}
	}
}

// A program of megabytes without rows is executed once, not at each look-up. What is before the first row, and between two, is passed over.
func TestBlocksOfBytes(t *testing.T) {
	const n = 1 << 20
	f := newFile(binary.LittleEndian)
	off := f.lines(lineSpec{version: 4, addrSize: 8, files: []fileSpec{{"a.c", 0}}, program: func(p *program) {
		p.setAddress(0x1000)
		for range 4 {
			p.u8(bytes.Repeat([]byte{lnsSetBasicBlock}, n)...)
			p.u8(lnsAdvanceLine, 1, lnsCopy, lnsAdvancePC, 16)
		}
		p.end()
	}})
	f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, at(AttrStmtList, FormSecOffset, off))})
	d := f.data()
	u, err := d.UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i := range 64 {
			if row, ok := u.Line(0x1000 + uint64(i)); !ok || row.Line != 2+i/16 || row.Low != 0x1000+uint64(i)&^15 || row.High != row.Low+16 {
				t.Fatalf("%#x: %+v, %t", i, row, ok)
			}
		}
	}
	if read := d.lines.executed.Load(); read < 4*n || read > 5*n || d.Work() != 0 {
		t.Errorf("%d bytes of %d are counted", read, 4*n)
	}
	m, _, _, ok := u.lines().block(0x1008)
	for m.next() {
	}
	if seen := m.c.Off - u.lines().program; !ok || seen > n+n/8 {
		t.Errorf("a look-up executes %d bytes", seen)
	}
}

// The names of all tables together are bounded, since tables may lie over one another.
func TestNamesOfAllTables(t *testing.T) {
	f := newFile(binary.LittleEndian)
	names := append([]byte{0}, bytes.Repeat([]byte("a\x00\x00\x00\x00"), 1<<14)...)
	line := f.section(SecLine)
	line.bytes(names)
	d := f.data()
	limit := 1<<16 + len(names)/4
	kept := 0
	for range 8 {
		t := &lineTable{from: d, data: names, lineHeader: lineHeader{program: len(names), lineRange: 1, opcodeBase: 1}}
		t.readFiles()
		kept += len(t.dirs) + len(t.files)
	}
	if kept < limit || kept > limit+32 {
		t.Errorf("%d names, want %d", kept, limit)
	}
}

// Programs of tables that lie over one another are work; those of others are not.
func TestProgramsOverOneAnother(t *testing.T) {
	const n = 1 << 16
	f := newFile(binary.LittleEndian)
	f.section(SecLine).bytes(make([]byte, n))
	d := f.data()
	u := &lineTable{from: d}
	for i := range 4 {
		u.execute(n)
		if want := int64(max(0, i-1) * n / bytesPerUnit); d.Work() != want {
			t.Errorf("%d times: %d units, want %d", i+1, d.Work(), want)
		}
	}
}
