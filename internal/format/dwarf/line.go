package dwarf

// A LineRow gives the source line of an address.
type LineRow struct {
	File   FileName
	Line   int // 0 if the code belongs to no line
	Column int // 0 if not recorded
	// Approximate says that the compiler gave the address line 0. Line and Column are then
	// those of the nearest preceding code of the same file in the sequence, which may
	// belong to another function (see Low).
	Approximate   bool
	Discriminator uint32
	IsStmt        bool
	PrologueEnd   bool
	// Low and High are the bounds of the row's code. Low of an approximate row is that of
	// the row that supplied Line.
	Low, High uint64

	// FileIndex is the index of File in the unit's table.
	FileIndex uint64
}

// Line returns the last row of the unit's line table at or below pc in the sequence that
// contains pc, or false if no sequence does.
//
// Of several rows at one address the last one counts, because the others cover no code.
// (gdb prefers a row that begins a statement, but in optimised code that is often a line of
// another function than the innermost one.) For code with line 0, the preceding line is
// returned and marked as approximate if it is in the same file; gdb returns it whatever the
// file.
func (u *Unit) Line(pc uint64) (LineRow, bool) {
	t := u.lines()
	if t == nil {
		return LineRow{}, false
	}
	row, prev, end, ok := t.find(pc)
	if !ok {
		return LineRow{}, false
	}
	r := LineRow{
		File: u.File(uint64(row.file)), FileIndex: uint64(row.file),
		Line: int(row.line), Column: int(row.col), Discriminator: row.discr,
		IsStmt: row.flags&flagStmt != 0, PrologueEnd: row.flags&flagPrologueEnd != 0,
		Low: row.addr, High: end,
	}
	if row.line == 0 && prev.line != 0 && prev.file == row.file {
		r.Line, r.Column, r.Low, r.Approximate = int(prev.line), int(prev.col), prev.addr, true
	}
	return r, true
}

// Code returns the code with the lowest address that begins a statement of a line, in a file whose path fits, from low up to but not
// including high; false if the unit has none.
func (u *Unit) Code(line int, fits func(FileName) bool) (low, high uint64, ok bool) {
	t := u.lines()
	if t == nil || line <= 0 {
		return 0, 0, false
	}
	files := map[uint32]bool{}
	m := t.machine()
	var at lineRow // the row before, if it is one of the line's
	open, first, dead := false, true, false
	for m.next() {
		row := m.row
		if first { // of a sequence, which the linker may have left out
			dead = t.dead(row.addr, t.enc.addrSize)
		}
		first = m.done
		if open && row.addr > at.addr && (!ok || at.addr <= low) {
			low, high, ok = at.addr, row.addr, true
		}
		known, seen := files[row.file]
		if !seen && row.line == uint32(line) {
			known = fits(u.File(uint64(row.file)))
			files[row.file] = known
		}
		mine := known && row.line == uint32(line) && !m.done && !dead
		switch {
		case !mine:
			open = false
		case !open && row.flags&flagStmt != 0:
			at, open = row, true
		}
	}
	return low, high, ok
}

// LineErr returns why the unit's line table cannot be read, or nil if it can or if there is
// none.
func (u *Unit) LineErr() error {
	if t := u.lines(); t != nil {
		return t.err
	}
	return nil
}

// PrologueEnd returns the address after the prologue of the function with the code [low,
// high): the first row marked so by the compiler, otherwise the second row with a line,
// where gdb sets breakpoints, too. It returns false if there is neither.
func (u *Unit) PrologueEnd(low, high uint64) (uint64, bool) {
	t := u.lines()
	if t == nil {
		return 0, false
	}
	pc, second, found := low, uint64(0), false
	for n := 0; pc < high && n < maxPrologueRows; n++ {
		row, _, end, ok := t.find(pc)
		if !ok || end <= pc {
			break
		}
		if row.flags&flagPrologueEnd != 0 && row.addr >= low {
			return row.addr, true
		}
		if pc > low && row.line != 0 && !found {
			second, found = row.addr, true
		}
		pc = end
	}
	return second, found
}

// maxPrologueRows limits how many rows of a function may precede the end of its prologue.
const maxPrologueRows = 64
