package dwarf

import (
	"errors"
	"fmt"
)

// A Call is one function in the chain of calls at an address: either a call that the
// compiler inlined or the function that contains the code.
type Call struct {
	// Func is the entry of the call: a DW_TAG_subprogram or, if Inlined, a
	// DW_TAG_inlined_subroutine. It is not Valid if only the line is known (assembly code).
	Func DIE
	// FuncInfo has the names and the place of the declaration.
	FuncInfo
	Inlined bool

	// File, Line and Column are the position in this function: from the line table for the
	// innermost call, otherwise the place of the inlined call. Line is 0 if unknown.
	File   FileName
	Line   int
	Column int
	// ApproxLine says that the code has no line, and that Line is that of preceding code.
	ApproxLine bool

	// Range is the part of the function's code that contains the address. Entry is the
	// function's first instruction, which may be in another part.
	Range Range
	Entry uint64
}

// Frames appends to buf the calls at pc, a link-time address: the calls inlined there,
// innermost first, then the function that contains the code. The error wraps ErrNotFound if
// nothing describes the address. For a function in a missing .dwo file, and for code that
// belongs to no function, it appends a single Call with the line and without a name.
func (d *Data) Frames(pc uint64, buf []Call) ([]Call, error) {
	var lined *Unit
	var first error
	for skip := 0; skip < maxCandidates; skip++ {
		u, err := d.unitForPC(pc, skip)
		if err != nil {
			if first == nil {
				first = err
			}
			if errors.Is(err, ErrNotFound) {
				break
			}
			continue
		}
		if f, ok := u.FuncAt(pc); ok {
			return u.frames(pc, &f, buf), nil
		}
		if lined == nil {
			lined = u
		}
	}
	if lined == nil {
		return buf, first
	}
	row, ok := lined.Line(pc)
	if !ok {
		return buf, fmt.Errorf("%v: function at %#x: %w", lined, pc, ErrNotFound)
	}
	c := Call{Range: Range{row.Low, row.High}, File: row.File, Line: row.Line, Column: row.Column, ApproxLine: row.Approximate}
	c.Language = lined.Language
	return append(buf, c), nil
}

// maxCandidates limits the units that are tried for one address.
const maxCandidates = 8

// frames builds the chain of calls at pc in f. u is the unit with the lines.
func (u *Unit) frames(pc uint64, f *Func, buf []Call) []Call {
	var space [16]inlineCall
	path := f.Unit.inlines(f.Off, pc, space[:0])

	row, ok := u.Line(pc)
	innermost := f.Range
	if len(path) > 0 {
		innermost = path[len(path)-1].rng
	}
	if row.Approximate && !innermost.Contains(row.Low) {
		row.Line, row.Column, row.Approximate = 0, 0, false
	}
	at := Call{ApproxLine: row.Approximate}
	if ok {
		at.File, at.Line, at.Column = row.File, row.Line, row.Column
	}
	for i := len(path) - 1; i >= 0; i-- {
		in := &path[i]
		at.Func, at.Inlined, at.Range, at.Entry = in.die, true, in.rng, in.entry
		at.FuncInfo = FuncInfo{}
		if origin, err := in.die.Unit.Ref(&in.origin); err == nil {
			at.FuncInfo = origin.FuncInfo()
		}
		buf = append(buf, at)
		at = Call{File: in.die.Unit.File(in.callFile), Line: int(in.callLine), Column: int(in.callCol)}
	}
	at.Func, at.Range, at.Entry = f.DIE, f.Range, f.Entry
	at.FuncInfo = f.DIE.funcInfo(f.top)
	return append(buf, at)
}
