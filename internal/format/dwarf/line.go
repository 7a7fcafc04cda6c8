package dwarf

// A LineRow says which source line an address comes from.
type LineRow struct {
	File   FileName
	Line   int // 0 when the compiler made the code for no line
	Column int // 0 when not recorded
	// Approximate says that the compiler gave the address line 0, and that
	// Line and Column are those of the nearest earlier code of the same file
	// in the sequence (which may be of another function: see Low).
	Approximate   bool
	Discriminator uint32
	IsStmt        bool
	PrologueEnd   bool
	// Low and High bound the code of this row. Low of an approximate row is
	// that of the row which Line was taken from.
	Low, High uint64

	// FileIndex is the number of File in the unit's table.
	FileIndex uint64
}

// Line returns the last row of the unit's line table at or below pc in the
// sequence that holds pc; false when no sequence does.
//
// Of several rows at one address the last counts, as the others cover no code.
// (gdb prefers one that begins a statement, which in optimised code is often a
// line of another function than the innermost one at the address.) For code of
// line 0 the line before it is given, marked as approximate, when it is of the
// same file; gdb gives it too, of whatever file.
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

// LineErr returns why the unit's line table cannot be read, nil when it can or
// when there is none.
func (u *Unit) LineErr() error {
	if t := u.lines(); t != nil {
		return t.err
	}
	return nil
}

// PrologueEnd returns the address after the prologue of the function whose code
// is [low, high): the first row that the compiler marked so, else the second
// row that has a line, which is where gdb breaks too. It returns false when the
// table has neither.
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

// maxPrologueRows is how many rows of a function may be before the end of its
// prologue.
const maxPrologueRows = 64
