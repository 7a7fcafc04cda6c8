package modules

import (
	"errors"
	"math"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A Line is a place in the source.
type Line struct {
	Function     string // as the compiler wrote it; "" when not known
	LinkageName  string // "" when not known
	File         string // "" when not known
	Line, Column int    // from 1; 0 when not known
	Inlined      bool   // a call inlined into the function of the next Line
}

// ErrNoLine means that the source line of an address is not known.
var ErrNoLine = errors.New("no source line is known")

// Lines returns the source lines of an address in the file, from DWARF, a PDB or a
// Breakpad symbol file: the innermost inlined call first, the function that contains
// the code last. The error wraps ErrNoLine if nothing is known. It may fetch.
func (im *Image) Lines(addr uint64) ([]Line, error) {
	if d := im.file().DWARF(); d != nil {
		calls, err := d.Frames(addr, nil)
		if err != nil && !errors.Is(err, dwarf.ErrNotFound) {
			return nil, err
		}
		if len(calls) > 0 {
			lines := make([]Line, len(calls))
			for i := range calls {
				c := &calls[i]
				lines[i] = Line{Function: c.Name, LinkageName: c.LinkageName, File: c.File.Path, Line: c.Line, Column: c.Column, Inlined: c.Inlined}
			}
			return lines, nil
		}
	}
	if im == nil {
		return nil, ErrNoLine
	}
	return im.symbolFileLines(addr - im.file().ELF().LinkBase)
}

// symbolFileLines is Lines for symbol files, whose addresses are relative to the
// module's base.
func (im *Image) symbolFileLines(rva uint64) ([]Line, error) {
	var lines []Line
	if p := im.file().PDB(); p != nil && rva <= math.MaxUint32 {
		s, ok, err := p.Lookup(uint32(rva))
		if err != nil {
			return nil, err
		}
		if ok {
			for i, f := range s.Frames {
				lines = append(lines, Line{Function: f.Name, File: f.File, Line: f.Line, Inlined: i < len(s.Frames)-1})
			}
			lines[len(lines)-1].LinkageName = s.Linkage
			return lines, nil
		}
	}
	if b := im.file().Breakpad(); b != nil {
		if s, ok := b.Lookup(rva); ok {
			for i, f := range s.Frames {
				lines = append(lines, Line{Function: f.Name, File: f.File, Line: f.Line, Inlined: i < len(s.Frames)-1})
			}
			return lines, nil
		}
	}
	return nil, ErrNoLine
}
