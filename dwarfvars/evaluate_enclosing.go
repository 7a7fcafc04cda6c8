package dwarfvars

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// Functions in functions, of Fortran, Ada, Pascal, D and GNU C: their names are also those of the calls that they are in.

// maxEnclosed is how many functions, one in the other, are gone out of, and maxOuterFrames how many frames are looked at for each.
const (
	maxEnclosed    = 8
	maxOuterFrames = 1 << 10
)

// errElsewhere says that a name is that of a variable in the frame of an enclosing call.
type errElsewhere struct{ in *scene }

func (*errElsewhere) Error() string { return "a variable of the call around this one" }

// enclosing finds a variable of the calls that the function is declared in. One whose size or place depends on other variables of
// its frame is an errElsewhere: it is evaluated there. The error is errNoVariable if there is none.
func (e *evaluation) enclosing(name string) (Object, error) {
	s := e.in
	for range maxEnclosed {
		outer, err := s.outer()
		if err != nil {
			return Object{}, err
		}
		if outer == nil {
			break
		}
		if t, err := e.variableOf(outer, name); !errors.Is(err, errNoVariable) {
			return t, err
		}
		s = outer
	}
	return Object{}, errNoVariable
}

// variableOf returns the variable of a frame that has a name.
func (e *evaluation) variableOf(s *scene, name string) (Object, error) {
	a := s.enter()
	defer a.Close()
	for _, scope := range a.liveOrNone() {
		for _, list := range [...][]*LocalVar{scope.Locals, scope.Params} {
			for _, v := range list {
				if v.Name != name || !a.inScope(v) {
					continue
				}
				if t := a.r.types.Of(v.attrs.typ).Strip(); t.Dynamic() || t.Pointer() || t.Reference() || t.Aggregate() {
					return Object{}, &errElsewhere{s}
				}
				ob, err := a.object(v)
				if err != nil {
					return Object{}, err
				}
				return e.object(ob, nil)
			}
		}
	}
	return Object{}, errNoVariable
}

// outer returns the frame of the call that the function's code was called in, nil if it is in no function. Of several calls of
// that it is the one that the static link says (DW_AT_static_link); the error says that none does.
func (s *scene) outer() (*scene, error) {
	if s.fn.rec != nil || s.fn.fn.Unit == nil || !s.fn.fn.DIE.Valid() {
		return nil, nil
	}
	own := s.fn.fn.DIE
	around, ok := own.Enclosing()
	if origin := originOf(own); !ok && origin.Valid() {
		around, ok = origin.Enclosing()
	}
	if !ok {
		return nil, nil
	}
	link, linked := s.staticLink()
	var found *scene
	several := false
	for i := s.index + 1; i < len(s.frames) && i-s.index < maxOuterFrames; i++ {
		fn := s.r.bareFunction(s.frames[i])
		if fn.fn.Unit == nil || fn.rec != nil || !sameCode(fn.fn.DIE, around) {
			continue
		}
		at := &scene{r: s.r, fn: fn, frames: s.frames, index: i}
		if base, ok := at.base(); linked && ok && base == link {
			return at, nil
		}
		if found == nil {
			found = at
		} else {
			several = true
		}
	}
	if several { // GCC describes links that are not there
		return nil, fmt.Errorf("several calls of %s may be the one around this: which is not known", found.fn.Name)
	}
	return found, nil
}

// sameCode reports whether two entries are of one function: of its code, or of its abstract instance.
func sameCode(a, b dwarf.DIE) bool {
	x, y := originOf(a), originOf(b)
	return a == b || x.Valid() && (x == b || x == y) || y.Valid() && y == a
}

// staticLink returns the frame base of the call around a frame's; false if nothing tells it.
func (s *scene) staticLink() (uint64, bool) {
	d := s.fn.fn.DIE
	v := d.Unit.Value(d.Off, dwarf.AttrStaticLink)
	if !v.Present() {
		return 0, false
	}
	a := s.enter()
	defer a.Close()
	a.e.unit = d.Unit
	expr, _, err := d.Unit.Location(&v, a.e.pc, a.e.frame())
	if err != nil || len(expr) == 0 {
		return 0, false
	}
	loc, err := a.e.location(d.Unit, expr)
	if err != nil {
		return 0, false
	}
	switch loc.Kind {
	case op.Memory:
		return loc.Addr, true
	case op.StackValue:
		return loc.Value.Bits, true
	case op.Register:
		v, err := a.e.DWARFReg(loc.Reg)
		return v, err == nil
	}
	return 0, false
}

// base is the frame base of a frame.
func (s *scene) base() (uint64, bool) {
	a := s.enter()
	defer a.Close()
	v, err := a.e.frameBase()
	return v, err == nil
}
