package dwarfvars

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// CodeOf returns the code with the lowest address that begins a statement of a source line: in the compilation unit of frame number frame
// of a stack, or in one that was compiled from the file. file is a path or the end of one, as in the debugging information.
func (r *Reader) CodeOf(swalk []*unwind.Frame, frame int, file string, line int) (low, high arch.Address, ok bool) {
	if frame < 0 || frame >= len(swalk) {
		return 0, 0, false
	}
	s := &scene{r: r, fn: r.bareFunction(swalk[frame]), frames: swalk, index: frame}
	if s.fn.Library == nil || s.fn.im == nil {
		return 0, 0, false
	}
	fits := func(f dwarf.FileName) bool {
		path := f.Path
		return path == file || strings.HasSuffix(path, "/"+strings.TrimPrefix(file, "/"))
	}
	own := s.fn.fn.Unit
	if own != nil {
		low, high, ok = own.Code(line, fits)
	}
	if !ok {
		a := s.enter()
		defer a.Close()
		e := evaluation{a: a, x: a.explorer(), in: s, left: maxSearched}
		e.units(func(u *dwarf.Unit) bool {
			if u != own && compiledFrom(u, file) {
				low, high, ok = u.Code(line, fits)
			}
			return ok
		})
	}
	return low + s.fn.bias, high + s.fn.bias, ok
}

// units looks through the units of the frame's file, until visit returns true.
func (e *evaluation) units(visit func(*dwarf.Unit) bool) {
	if !e.a.im.HasDWARF() {
		return
	}
	if d := e.a.im.DWARF(); d != nil {
		d.Units(func(u *dwarf.Unit) bool { return !visit(u) })
	}
}
