package dwarf

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// oneLineUnit makes a unit with the line table l and opens it.
func oneLineUnit(t *testing.T, f *dwarfFile, u *unitSpec, l lineSpec, opts ...Option) *Unit {
	t.Helper()
	l.version, l.addrSize, l.dwarf64 = u.version, u.addrSize, u.dwarf64
	form := FormSecOffset
	if u.version < 4 {
		form = FormData4
		if u.dwarf64 {
			form = FormData8
		}
	}
	u.root = die(TagCompileUnit, at(AttrCompDir, FormString, "/build"), at(AttrStmtList, form, f.lines(l)))
	f.unit(u)
	unit, err := f.data(opts...).UnitAt(SecInfo, u.off)
	if err != nil {
		t.Fatal(err)
	}
	return unit
}

// names4 and names5 name the same files, with the numbers of each version.
func sampleNames(version int) (dirs []string, files []fileSpec) {
	files = []fileSpec{{"main.c", 0}, {"inc.h", 1}, {"/abs/x.h", 1}, {"y.h", 2}}
	if version >= 5 {
		return []string{"/build", "include", "/usr/include"}, append([]fileSpec{{"main.c", 0}}, files...)
	}
	return []string{"include", "/usr/include"}, files
}

func TestLineFiles(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		l := lineSpec{program: func(p *program) {}}
		l.dirs, l.files = sampleNames(u.version)
		unit := oneLineUnit(t, f, u, l)
		for i, want := range []FileName{1: {"/build/main.c", "main.c"}, 2: {"/build/include/inc.h", "inc.h"},
			3: {"/abs/x.h", "/abs/x.h"}, 4: {"/usr/include/y.h", "y.h"}, 5: {}} {
			if i == 0 && u.version >= 5 {
				want = FileName{"/build/main.c", "main.c"}
			}
			if got := unit.File(uint64(i)); got != want {
				t.Errorf("file %d: %+v, want %+v", i, got, want)
			}
		}
	})
}

type lineCase struct {
	pc   uint64
	file string
	line int // -1 for no row
	col  int
}

func checkLines(t *testing.T, u *Unit, cases []lineCase) {
	t.Helper()
	for _, c := range cases {
		row, ok := u.Line(c.pc)
		if ok != (c.line >= 0) {
			t.Errorf("%#x: %+v, %v", c.pc, row, ok)
			continue
		}
		if ok && (row.Line != c.line || row.Column != c.col || row.File.Name != c.file) {
			t.Errorf("%#x: %s:%d:%d, want %s:%d:%d", c.pc, row.File.Name, row.Line, row.Column, c.file, c.line, c.col)
		}
		if ok && !row.Approximate && (c.pc < row.Low || c.pc >= row.High) {
			t.Errorf("%#x: row of %#x-%#x", c.pc, row.Low, row.High)
		}
	}
}

func TestLineProgram(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		l := lineSpec{minInst: 2, opBase: 15, program: func(p *program) {
			p.setAddress(0x1000)
			p.u8(lnsSetColumn, 7, lnsAdvanceLine, 9, lnsCopy) // 10 at 0x1000
			p.u8(15 + 3*14 + 5 + 1)                           // 11 at 0x1006
			p.u8(0, 2, lneSetDiscriminator, 3)                // applies to the next row
			p.u8(lnsConstAddPC)                               // (255-15)/14 = 17 operations: 0x1028
			p.u8(lnsSetFile, 2, lnsNegateStmt, lnsSetBasicBlock, lnsSetISA, 1, lnsCopy)
			p.u8(13, 1, 2)               // unknown standard opcodes
			p.u8(14, 0x81, 0x01, 5)      //
			p.u8(0, 5, 0xee, 1, 2, 3, 4) // unknown extended opcode
			p.u8(lnsFixedAdvancePC)
			p.u16(8)
			p.u8(lnsAdvanceLine)
			p.sleb(-5)
			p.u8(lnsSetPrologueEnd, lnsSetEpilogueBegin)
			p.u8(lnsSetColumn)
			p.uleb(300)
			p.u8(lnsCopy) // 6 at 0x1030
			p.advance(8)
			p.end() // 0x1040
			p.setAddress(0)
			p.row(0, 100)
			p.row(0x1000, 1) // discarded, over the live code
			p.end()
			p.setAddress(maxAddr(uint8(p.addrSize)))
			p.row(0, 200)
			p.end()
			p.setAddress(0x900) // a sequence before the first
			p.row(0, 40)
			p.advance(8)
			p.end()
			for _, at := range []uint64{0x800, 0x880} { // line 10, again
				p.setAddress(at)
				p.row(0, 9)
				p.advance(8)
				p.end()
			}
			p.setAddress(0x8c0) // no line
			p.row(0, -1)
			p.advance(8)
			p.end()
		}}
		l.dirs, l.files = sampleNames(u.version)
		unit := oneLineUnit(t, f, u, l)
		checkLines(t, unit, []lineCase{
			{0x10, "", -1, 0}, {0x8ff, "", -1, 0}, {0x900, "main.c", 41, 0}, {0x90f, "main.c", 41, 0}, {0x910, "", -1, 0},
			{0xfff, "", -1, 0}, {0x1000, "main.c", 10, 7}, {0x1005, "main.c", 10, 7}, {0x1006, "main.c", 11, 7},
			{0x1027, "main.c", 11, 7}, {0x1028, "inc.h", 11, 7}, {0x1030, "inc.h", 6, 300}, {0x103f, "inc.h", 6, 300}, {0x1040, "", -1, 0},
		})
		for _, c := range []struct {
			line      int
			file      string
			low, high uint64
		}{{10, "main.c", 0x800, 0x810}, {11, "main.c", 0x1006, 0x1028}, {41, "main.c", 0x900, 0x910}, {11, "inc.h", 0, 0}, {6, "inc.h", 0, 0}, {101, "main.c", 0, 0}, {102, "main.c", 0, 0},
			{201, "main.c", 0, 0}, {0, "main.c", 0, 0}, {-1, "main.c", 0, 0}, {10, "other.c", 0, 0}} {
			low, high, ok := unit.Code(c.line, func(f FileName) bool { return f.Name == c.file })
			if low != c.low || high != c.high || ok != (c.low != 0) {
				t.Errorf("line %d of %s: %#x to %#x, %v", c.line, c.file, low, high, ok)
			}
		}
		row, _ := unit.Line(0x1028)
		if row.Discriminator != 3 || row.IsStmt {
			t.Errorf("%+v, want discriminator 3 and no statement", row)
		}
		if row, _ = unit.Line(0x1030); row.Discriminator != 0 || !row.PrologueEnd {
			t.Errorf("%+v, want prologue end", row)
		}
		if pc, ok := unit.PrologueEnd(0x1000, 0x1040); !ok || pc != 0x1030 {
			t.Errorf("prologue ends at %#x, %v", pc, ok)
		}
		if pc, ok := unit.PrologueEnd(0x1000, 0x1030); !ok || pc != 0x1006 {
			t.Errorf("prologue without a mark ends at %#x, %v", pc, ok)
		}
		if err := unit.LineErr(); err != nil {
			t.Error(err)
		}
	})
}

// Several operations in an instruction (VLIW).
func TestLineVLIW(t *testing.T) {
	f := newFile(binary.LittleEndian)
	u := oneLineUnit(t, f, &unitSpec{version: 4, addrSize: 8}, lineSpec{minInst: 16, maxOps: 3, files: []fileSpec{{"a.c", 0}}, program: func(p *program) {
		p.setAddress(0x1000)
		p.row(0, 9) // 10
		p.row(2, 1) // 11, operation 2 of 0x1000
		p.row(2, 1) // 12, operation 1 of 0x1010
		p.row(5, 1) // 13, operation 0 of 0x1030
		p.advance(3)
		p.end()
	}})
	checkLines(t, u, []lineCase{{0x1000, "a.c", 11, 0}, {0x1010, "a.c", 12, 0}, {0x102f, "a.c", 12, 0}, {0x1030, "a.c", 13, 0}, {0x1040, "", -1, 0}})
}

// A long sequence spans many blocks: each address must find its row.
func TestLineBlocks(t *testing.T) {
	const rows = 5*blockRows + 17
	f := newFile(binary.LittleEndian)
	u := oneLineUnit(t, f, &unitSpec{version: 4, addrSize: 8}, lineSpec{files: []fileSpec{{"a.c", 0}}, program: func(p *program) {
		p.setAddress(0x1000)
		for range rows {
			p.row(4, 1)
			p.row(0, 1) // a second row at the same address counts
		}
		p.advance(4)
		p.end()
	}})
	for i := range uint64(rows) {
		for _, pc := range []uint64{0x1004 + 4*i, 0x1007 + 4*i} {
			if row, ok := u.Line(pc); !ok || row.Line != int(3+2*i) || row.Low != 0x1004+4*i || row.High != 0x1008+4*i {
				t.Fatalf("%#x: %+v, %v, want line %d", pc, row, ok, 3+2*i)
			}
		}
	}
	if _, ok := u.Line(0x1004 + 4*rows); ok {
		t.Error("a row after the end")
	}
}

// Addresses that decrease within a sequence, and two sequences for one function
// (identical code folded).
func TestLineDisorder(t *testing.T) {
	f := newFile(binary.LittleEndian)
	u := oneLineUnit(t, f, &unitSpec{version: 4, addrSize: 8}, lineSpec{files: []fileSpec{{"a.c", 0}}, program: func(p *program) {
		p.setAddress(0x2000)
		p.row(0, 1)
		p.row(8, 1)
		p.setAddress(0x1000)
		p.row(0, 10)
		p.advance(8)
		p.end()
		for _, line := range []int64{50, 60} {
			p.setAddress(0x3000)
			p.row(0, line)
			p.advance(8)
			p.end()
		}
	}})
	checkLines(t, u, []lineCase{{0x2004, "a.c", 2, 0}, {0x1004, "a.c", 13, 0}, {0x3000, "a.c", 51, 0}})
}

func TestLineZero(t *testing.T) {
	f := newFile(binary.LittleEndian)
	u := oneLineUnit(t, f, &unitSpec{version: 4, addrSize: 8}, lineSpec{files: []fileSpec{{"a.c", 0}, {"b.c", 0}}, program: func(p *program) {
		p.setAddress(0x1000)
		p.row(0, -1) // 0 with nothing before it
		p.row(8, 20) // 20
		p.row(8, -20)
		p.u8(lnsSetFile, 2)
		p.row(8, 0) // 0 in another file
		p.advance(8)
		p.end()
		p.setAddress(0x1020)
		p.row(0, -1) // nothing before it in its sequence
		p.advance(8)
		p.end()
	}})
	checkLines(t, u, []lineCase{{0x1000, "a.c", 0, 0}, {0x1008, "a.c", 20, 0}, {0x1010, "a.c", 20, 0}, {0x1018, "b.c", 0, 0}, {0x1020, "a.c", 0, 0}})
	for pc, want := range map[uint64]bool{0x1000: false, 0x1008: false, 0x1010: true, 0x1018: false} {
		if row, _ := u.Line(pc); row.Approximate != want {
			t.Errorf("%#x: approximate=%v", pc, row.Approximate)
		}
	}
}

func TestLineDefineFile(t *testing.T) {
	f := newFile(binary.LittleEndian)
	u := oneLineUnit(t, f, &unitSpec{version: 3, addrSize: 8}, lineSpec{program: func(p *program) {
		p.u8(0, 8, lneDefineFile)
		p.str("d.c")
		p.u8(0, 0, 0)
		p.setAddress(0x1000)
		p.row(0, 4)
		p.advance(4)
		p.end()
	}})
	checkLines(t, u, []lineCase{{0x1000, "d.c", 5, 0}})
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ dir, name, want string }{
		{"/b", "a.c", "/b/a.c"}, {"/b/", "a.c", "/b/a.c"}, {"", "a.c", "a.c"},
		{`C:\b`, "a.c", `C:\b\a.c`}, {`C:/b`, "a.c", "C:/b/a.c"}, {"b", "../a.c", "b/../a.c"},
	} {
		if got := joinPath(c.dir, c.name); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.dir, c.name, got, c.want)
		}
	}
	for p, want := range map[string]bool{"/a": true, "a": false, "": false, `C:\a`: true, "c:/a": true, "c:a": false, `\\host\a`: true} {
		if isAbs(p) != want {
			t.Errorf("%q: absolute=%v", p, !want)
		}
	}
}

// A table whose length ends inside its own header.
func TestLineHeaderShort(t *testing.T) {
	for size := range 40 {
		f := newFile(binary.LittleEndian)
		off := f.lines(lineSpec{version: 5, dirs: []string{"d"}, files: []fileSpec{{"f", 0}}, program: func(p *program) { p.setAddress(0x1000); p.end() }})
		f.section(SecLine).patch(int(off), 4, uint64(size))
		f.unit(&unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit, at(AttrStmtList, FormSecOffset, off))})
		u, err := f.data().UnitAt(SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.File(0); got.Name != "" && u.LineErr() != nil {
			t.Errorf("length %d: file %v of a table with error %v", size, got, u.LineErr())
		}
		if size < 20 && u.LineErr() == nil {
			t.Errorf("length %d: no error", size)
		}
		u.Line(0x1000)
	}
}

// What a look-up finds does not depend on how far the program was executed before: a table that
// is asked for addresses in an order of chance answers like one whose program was executed to its
// end, and like one that is asked for this address only.
func TestLineOrder(t *testing.T) {
	checked := 0
	described(t, func(path string, s elfSource) bool {
		var all []*Unit
		s.data().Units(func(u *Unit) bool {
			all = append(all, u)
			return len(all) < 30
		})
		for _, u := range all {
			whole := u.lines()
			if whole == nil || whole.err != nil || u.Sec != SecInfo {
				continue
			}
			whole.index.advance(whole, ^uint64(0))
			for !whole.index.done {
				whole.index.advance(whole, ^uint64(0))
			}
			asked := u.Data.freshLines(whole)
			r := rand.New(rand.NewPCG(u.Off, 1))
			for n := 0; n < 200 && len(whole.index.blocks.spans) > 0; n++ {
				b := whole.index.blocks.spans[r.IntN(len(whole.index.blocks.spans))]
				pc := b.low + r.Uint64N(b.high-b.low+1)
				row, prev, end, ok := whole.find(pc)
				for _, other := range []*lineTable{asked, u.Data.freshLines(whole)} {
					if row2, prev2, end2, ok2 := other.find(pc); row2 != row || prev2 != prev || end2 != end || ok2 != ok {
						t.Fatalf("%s, %v, %#x: %+v %+v %#x %v, want %+v %+v %#x %v", path, u, pc, row2, prev2, end2, ok2, row, prev, end, ok)
					}
				}
				checked++
			}
		}
		return true
	})
	if checked < 1000 {
		t.Errorf("%d addresses checked", checked)
	}
}

// freshLines returns the table as it is before the first look-up.
func (d *Data) freshLines(t *lineTable) *lineTable {
	fresh := &lineTable{lineHeader: t.lineHeader, from: d, data: t.data, big: t.big, dead: t.dead}
	fresh.setOpcodes()
	return fresh
}

// A sequence that seems to begin at address 0 was discarded, and does not hide others, whatever
// was asked before.
func TestLeftoverLines(t *testing.T) {
	f := newFile(binary.LittleEndian)
	off := f.lines(lineSpec{version: 4, addrSize: 8, files: []fileSpec{{"a.c", 0}}, program: func(p *program) {
		p.setAddress(0)
		p.row(0, 1)
		for range 3 * blockRows {
			p.row(0x10, 1) // of a discarded function
		}
		p.end()
		p.setAddress(0x1004)
		p.row(0, 5)
		p.advance(0x10)
		p.end()
	}})
	f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, at(AttrStmtList, FormSecOffset, off))})
	u, err := f.data(WithText(0, 0x10000)).UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, u, []lineCase{{0x1008, "a.c", 6, 0}, {0x20, "a.c", 4, 0}, {0x1008, "a.c", 6, 0}, {0x1000, "a.c", 258, 0}})
}

// One byte operands, longer ones, and the headers of old versions, whose opcodes begin earlier.
func TestLineQuick(t *testing.T) {
	described(t, func(path string, s elfSource) bool {
		s.data().Units(func(u *Unit) bool {
			tab := u.lines()
			if tab == nil || tab.err != nil {
				return true
			}
			slow := u.Data.freshLines(tab)
			slow.plain = false
			a, b := tab.machine(), slow.machine()
			for n := 0; n < 3000; n++ {
				more := a.next()
				if b.next() != more || a.row != b.row {
					t.Fatalf("%s, %v, row %d: %+v, want %+v", path, u, n, a.row, b.row)
				}
				if !more {
					break
				}
			}
			return u.Off < 1<<20
		})
		return true
	})
}

func TestMadeUp(t *testing.T) {
	for name, want := range map[string]bool{"<autogenerated>": true, "<built-in>": true, "a.c": false, "<a>/b.c": false, "/src/<x>": false, "": false} {
		if madeUp(name) != want {
			t.Errorf("%q", name)
		}
	}
}
