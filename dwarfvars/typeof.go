package dwarfvars

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Type is the type of something in a frame. It is immutable; several goroutines may use it.
type Type struct {
	in   *scene
	t    *types.Type // nil of what is no object: name is what is known
	name string      // else "", or what says more than the type: with the bounds of this array
}

// A Layout says what a definition of a type shows besides its members.
type Layout struct {
	Offsets bool // offsets and sizes of members in bytes, and the holes between them
	Methods bool // of classes of C++
}

// Name returns the type as the source names it.
func (t Type) Name() string {
	if t.t == nil || t.name != "" {
		return t.name
	}
	return t.t.Name()
}

// Size returns the size of an object of the type in bytes; 0 if it is not known.
func (t Type) Size() uint64 {
	if t.t == nil {
		return 0
	}
	return t.t.Whole()
}

// Definition returns the lines of the type's definition: its members, or what a typedef stands for. There are at most 4096.
func (t Type) Definition(l Layout) []string {
	if t.t == nil {
		return []string{t.name}
	}
	a := t.in.enter()
	defer a.Close()
	lines := t.t.Definition(types.Layout(l))
	if t.name != "" && len(lines) == 1 {
		return []string{t.name}
	}
	return lines
}

// TypeOf returns the type that a text names, "struct tile", or the type of an expression as of Evaluate, "q->head". A name that is both is the
// variable's. What convenience variables are is asked of vars. The error is an *ExpressionError.
func (r *Reader) TypeOf(swalk []*unwind.Frame, frame, call int, text string, vars ...Convenience) (Type, error) {
	if frame < 0 || frame >= len(swalk) {
		return Type{}, &ExpressionError{0, fmt.Errorf("frame %d of %d: %w", frame, len(swalk), ErrParam)}
	}
	s := &scene{r: r, fn: r.bareFunction(swalk[frame]), frames: swalk, index: frame}
	n, err := paths.ParseTyped(text, dialectOf(s.fn))
	if err != nil {
		var bad *paths.Error
		errors.As(err, &bad)
		return Type{}, &ExpressionError{bad.Where, err}
	}
	var missing error
	if n.X != nil {
		o, err := s.evaluateAnywhere(call, text, vars, true)
		switch foreign := err == nil && o.at && o.ob.Type.Strip().Tag == dwarf.TagSubroutineType && !dialectOf(s.fn).Calls(); {
		case foreign && n.Type.Name != "": // a function of C, perhaps, whose name a type has, too
			if t, err := s.typeOf(n); err == nil {
				return t, nil
			}
			return Type{in: o.in, t: o.ob.Type}, nil
		case err == nil && o.at:
			return Type{in: o.in, t: o.ob.Type, name: s.shaped(&o)}, nil
		case err == nil:
			return Type{name: cmp.Or(o.listed, o.Type())}, nil
		case n.Type.Name == "":
			return Type{}, err
		}
		missing = err
	}
	t, err := s.typeOf(n)
	if err != nil && missing != nil {
		err = fmt.Errorf("no type is called %s, and %w", n.Type.Name, errors.Unwrap(missing))
	}
	if err != nil {
		return Type{}, &ExpressionError{0, err}
	}
	return t, nil
}

// shaped is the name of the type of an array with the bounds that this one has: int [4] of int [n], in Fortran real(kind=4) (0:3); "" if the type's
// own name says all.
func (s *scene) shaped(o *Object) string {
	t := o.ob.Type.Strip()
	if t.Tag != arrayTag || !t.Dynamic() && !types.Fortran(t.Language) || t.Vector {
		return ""
	}
	a := s.enter()
	defer a.Close()
	bounds, err := a.explorer().Bounds(&o.ob)
	if err != nil || len(bounds) != len(t.Dims()) {
		return ""
	}
	if !types.Fortran(t.Language) {
		if !types.IsC(t.Language) && !types.IsCXX(t.Language) {
			return ""
		}
		dims, at := "", o.ob
		for n := 0; len(bounds) > 0 && n < maxReferences; n++ { // int [n][m] may be an array of arrays
			for _, b := range bounds {
				dims += fmt.Sprintf("[%d]", b.Count)
			}
			if t = t.Target().Strip(); t.Tag != arrayTag {
				return t.Name() + " " + dims
			}
			if at, err = a.explorer().Element(&at, 0); err == nil {
				bounds, err = a.explorer().Bounds(&at)
			}
			if err != nil {
				break
			}
		}
		return ""
	}
	var dims []string
	for _, b := range slices.Backward(bounds) {
		text := strconv.FormatInt(b.Lower+int64(b.Count)-1, 10)
		if b.Lower != 1 {
			text = fmt.Sprintf("%d:%s", b.Lower, text)
		}
		dims = append(dims, text)
	}
	return t.Target().Name() + " (" + strings.Join(dims, ",") + ")"
}

// typeOf returns the type that a name means in the frame.
func (s *scene) typeOf(n *paths.Sizeof) (Type, error) {
	a := s.enter()
	defer a.Close()
	e := evaluation{a: a, x: a.explorer(), in: s, dialect: dialectOf(s.fn), left: maxSearched}
	t, err := e.typeNamed(n.Type)
	return Type{in: s, t: t}, err
}

// Bounds returns the range of code around an address that one entry of the call frame information describes, from low up
// to but not including high: a function, or a part of one that was split; false if nothing describes it.
func (r *Reader) Bounds(addr arch.Address) (low, high arch.Address, ok bool) {
	return (*readerWhere)(r).Bounds(addr)
}

// Aliased returns the type that a typedef names, one level of them; t itself if it is none.
func (t Type) Aliased() Type {
	if t.t != nil && t.t.Tag == typedefTag {
		t.t = t.t.Target()
	}
	return t
}
