package types

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Size returns the type's size in bytes; 0 if only a frame tells it.
func (t *Type) Size() uint64 {
	s := t.Strip()
	if s.ByteSize == 0 && (s.Pointer() || s.Reference()) {
		return uint64(s.set.arch.WordSize)
	}
	return s.ByteSize
}

// A Frame evaluates sizes and bounds that differ from frame to frame, because other variables
// hold them or expressions compute them.
type Frame interface {
	// Number evaluates an attribute of an entry of unit u: a constant, a reference to
	// the variable that holds the number, or an expression for it.
	Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error)
	// Stored returns the integer of size bytes that lies where an attribute of an entry of unit u says: a variable,
	// or a location.
	Stored(u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error)
}

// SizeIn returns the type's size in bytes in a frame.
func (t *Type) SizeIn(f Frame) (uint64, error) { return t.sizeAt(f, 0) }

func (t *Type) sizeAt(f Frame, depth int) (uint64, error) {
	s := t.Strip()
	switch {
	case depth > MaxChain:
		return 0, &unknown.Corrupt{Err: unknown.ErrLimit}
	case s.sized.Present():
		return f.Number(s.Ref.Unit, &s.sized)
	case s.ByteSize > 0 && !s.Length.Present():
		return s.ByteSize, nil
	case s.Pointer(), s.Reference():
		return s.Size(), nil
	case s.Tag == dwarf.TagPtrToMemberType:
		return s.memberPointer(), nil
	case s.Tag == dwarf.TagArrayType:
		if absent, err := s.Absent(f); err != nil || absent != "" {
			return 0, err
		}
		shape, err := s.shapeAt(f, depth+1, nil)
		if len(shape) == 0 { // also if there is an error
			return 0, err
		}
		return shape[0].bits() / 8, nil
	case s.Tag == dwarf.TagStringType:
		return s.CharsIn(f)
	case s.Tag == dwarf.TagSubroutineType:
		if s.FunctionValue() {
			return uint64(s.set.arch.WordSize), nil
		}
		return 0, nil
	case s.Declared:
		full, ok := s.set.Complete(s)
		if !ok {
			return 0, &unknown.Incomplete{Name: s.Name()}
		}
		return full.sizeAt(f, depth+1)
	case s.Elem.Valid(): // an enumeration or a range
		return s.Target().sizeAt(f, depth+1)
	}
	return 0, nil // an empty struct
}

// ownSize is the size of a class as a base class of another: without its virtual base classes, which that one has once.
func (t *Type) ownSize(depth int, left *int) uint64 {
	s := t.Defined()
	if *left--; *left < 0 {
		return s.Whole()
	}
	end, virtual := uint64(0), false
	for i := range s.Members().Fields {
		f := &s.Members().Fields[i]
		switch {
		case f.Static:
		case f.Virtual:
			virtual = true
		case f.Bits > 0:
			end = max(end, (f.BitOff+f.Bits+7)/8)
		case f.Base && depth < maxInner:
			base := s.set.OfField(f)
			n := base.ownSize(depth+1, left)
			virtual = virtual || n < base.Whole()
			end = max(end, f.Off+n)
		default:
			end = max(end, f.Off+s.set.OfField(f).Whole())
		}
	}
	if !virtual {
		return s.Whole()
	}
	return end
}

// memberPointer is the size of a pointer to a member.
func (t *Type) memberPointer() uint64 {
	if t.Target().Strip().Tag == dwarf.TagSubroutineType {
		return 2 * uint64(t.set.arch.WordSize)
	}
	return uint64(t.set.arch.WordSize)
}

// Whole returns the type's size in bytes, also of arrays of constant length and of types that
// are defined elsewhere; 0 if it is not known.
func (t *Type) Whole() uint64 { return t.wholeAt(0) }

func (t *Type) wholeAt(depth int) uint64 {
	if depth > MaxChain {
		return 0
	}
	s := t.Defined()
	if s.Tag == dwarf.TagPtrToMemberType && s.ByteSize == 0 {
		return s.memberPointer()
	}
	if s.Tag != dwarf.TagArrayType || s.ByteSize > 0 {
		return s.Size()
	}
	n := s.Target().wholeAt(depth + 1)
	if s.apart() {
		return 0
	}
	for _, d := range s.Dims() {
		count, ok := d.length()
		if !ok {
			return 0
		}
		n *= count
	}
	return n
}

// length returns the number of elements in one dimension of an array, if it is constant.
func (d *Dim) length() (n uint64, ok bool) {
	if d.count.Form.Class() == dwarf.ClassConstant {
		return between(1, d.count.U), true
	}
	lower := d.first
	if d.lower.Form.Class() == dwarf.ClassConstant {
		lower = d.lower.U
	}
	return between(lower, resizeBound(&d.upper, d.upper.U)), d.upper.Form.Class() == dwarf.ClassConstant
}

// between is the number of elements from the lower to the upper bound, which are signed.
func between(lower, upper uint64) uint64 { return uint64(max(int64(upper-lower)+1, 0)) }

// countIn returns the number of elements in one dimension of an array in a frame; false if the debugging information
// does not have it.
func (t *Type) countIn(f Frame, d *Dim) (uint64, bool, error) {
	u := t.Ref.Unit
	if d.count.Present() {
		n, err := f.Number(u, &d.count)
		return between(1, n), true, err
	}
	if !d.upper.Present() {
		return 0, false, nil // [] at the end of a struct
	}
	upper, err := f.Number(u, &d.upper)
	if err != nil {
		return 0, false, err
	}
	upper = resizeBound(&d.upper, upper)
	lower, err := t.lowerIn(f, d)
	if err != nil {
		return 0, false, err
	}
	return between(lower, upper), true, nil
}

// lowerIn returns the lower bound of one dimension of an array in a frame.
func (t *Type) lowerIn(f Frame, d *Dim) (uint64, error) {
	if d.lower.Present() {
		return f.Number(t.Ref.Unit, &d.lower)
	}
	return d.first, nil
}

// Lower returns the lower bound of a dimension of an array t, which must be stripped, in a frame.
func (t *Type) Lower(f Frame, dim int) (int64, error) {
	dims := t.Dims()
	if dim >= len(dims) {
		return 0, &unknown.Corrupt{Err: unknown.ErrLimit}
	}
	n, err := t.lowerIn(f, &dims[dim])
	if dims[dim].lower.Form == dwarf.FormData4 { // no sign is written
		return int64(int32(n)), err
	}
	return int64(n), err
}

// resizeBound reads the bound -1 of an empty array, which some compilers write unsigned.
func resizeBound(v *dwarf.Value, n uint64) uint64 {
	switch {
	case v.Form == dwarf.FormData4 && n == 0xffffffff, v.Form == dwarf.FormData2 && n == 0xffff:
		return ^uint64(0)
	}
	return n
}

// Fortran reports whether a language is Fortran, whose arrays have the first dimension innermost.
func Fortran(l dwarf.Language) bool {
	switch l {
	case dwarf.LangFortran77, dwarf.LangFortran90, dwarf.LangFortran95, dwarf.LangFortran03, dwarf.LangFortran08, dwarf.LangFortran18:
		return true
	}
	return false
}

// Ada reports whether a language is Ada.
func Ada(l dwarf.Language) bool {
	switch l {
	case dwarf.LangAda83, dwarf.LangAda95, dwarf.LangAda2005, dwarf.LangAda2012:
		return true
	}
	return false
}

// FunctionValue reports whether a type of functions is that of variables, which hold a pointer: in Go to a closure, in Pascal to
// code. In other languages objects of such a type are functions.
func (t *Type) FunctionValue() bool {
	s := t.Strip()
	return s.Tag == dwarf.TagSubroutineType && (s.Language == dwarf.LangGo || s.Language == dwarf.LangPascal83)
}

// oneBased reports whether arrays of a language begin at 1 (DWARF 5, 7.12).
func oneBased(l dwarf.Language) bool {
	switch l {
	case dwarf.LangAda83, dwarf.LangAda95, dwarf.LangPascal83, dwarf.LangModula2, dwarf.LangCobol74:
		return true
	}
	return Fortran(l)
}
