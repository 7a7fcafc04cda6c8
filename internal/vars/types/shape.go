package types

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// An Extent is how far an array reaches in one dimension.
type Extent struct {
	Count  uint64 // elements; 0 if Known is false
	Known  bool
	Stride int64  // bits from one element to the next; negative in a section of Fortran that runs backwards
	Size   uint64 // bits of an element: of a row of the next dimension, or of what the array has
	// Row says that an element of this dimension is a row whose elements follow one another without gaps.
	Row bool
}

// bits returns how many bits the whole dimension takes, rounded up to bytes. A stride that is larger than the elements
// counts for the last of them, too, as in sizeof.
func (e *Extent) bits() uint64 {
	stride := uint64(max(e.Stride, -e.Stride))
	return (e.Count*stride + 7) / 8 * 8
}

// maxExtent is the largest number of bits that an array may span, maxElements the largest number of its elements.
const (
	maxExtent   = 1 << 51
	maxElements = 1 << 40
)

// Absent says of an array or a string of Fortran, whose type t is stripped, that there is none: a pointer that points to
// nothing, or what was not allocated yet. It returns "" for others.
func (t *Type) Absent(f Frame) (string, error) {
	for _, is := range [...]struct {
		v    *dwarf.Value
		text string
	}{{&t.associated, "not associated"}, {&t.allocated, "not allocated"}} {
		if !is.v.Present() {
			continue
		}
		n, err := f.Number(t.Ref.Unit, is.v)
		if err != nil {
			return "", err
		}
		if n == 0 {
			return is.text, nil
		}
	}
	return "", nil
}

// MayBeAbsent reports whether Absent may say something of an array of type t.
func (t *Type) MayBeAbsent() bool { return t.associated.Present() || t.allocated.Present() }

// Shape returns the dimensions of an array t, which must be stripped, in a frame, in the order of Dims. The error says why
// a bound or a stride is not known.
func (t *Type) Shape(f Frame) ([]Extent, error) { return t.shapeAt(f, 0, nil) }

// ShapeOf is Shape for an array whose numbers of elements are known otherwise, one for each of Dims.
func (t *Type) ShapeOf(f Frame, counts []uint64) ([]Extent, error) { return t.shapeAt(f, 0, counts) }

func (t *Type) shapeAt(f Frame, depth int, counts []uint64) ([]Extent, error) {
	size, err := t.Target().sizeAt(f, depth)
	if err != nil {
		return nil, err
	}
	if size > maxExtent/8 {
		return nil, &unknown.Corrupt{Err: unknown.ErrLimit}
	}
	u, dims := t.Ref.Unit, t.Dims()
	shape := make([]Extent, len(dims))
	next := Extent{Count: 1, Stride: int64(8 * size)}
	if err := stride(f, u, &next, &t.Stride, &t.bitStride); err != nil {
		return nil, err
	}
	all := uint64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		e, d := &shape[i], &dims[i]
		if counts != nil {
			e.Count, e.Known = counts[i], true
		} else if e.Count, e.Known, err = t.countIn(f, d); err != nil {
			return nil, &unknown.Bound{Err: err}
		}
		e.Stride, e.Size, e.Row = int64(next.Count)*next.Stride, 8*size, false
		if i < len(dims)-1 {
			e.Size = next.Count * uint64(max(next.Stride, -next.Stride))
			e.Row = shape[i+1].Row || i == len(dims)-2
			e.Row = e.Row && next.Stride == int64(shape[i+1].Size)
		}
		if err := stride(f, u, e, &d.stride, &d.bitStride); err != nil {
			return nil, err
		}
		most := uint64(max(e.Stride, -e.Stride))
		if most != 0 && e.Count > maxExtent/most || e.Count != 0 && all > maxElements/e.Count {
			return nil, &unknown.Corrupt{Err: unknown.ErrLimit}
		}
		all *= e.Count
		next = *e
	}
	return shape, nil
}

// stride sets the stride of a dimension if the debugging information has one.
func stride(f Frame, u *dwarf.Unit, e *Extent, bytes, bits *dwarf.Value) error {
	v, unit := bits, int64(1)
	if bytes.Present() {
		v, unit = bytes, 8
	}
	if !v.Present() {
		return nil
	}
	n, err := f.Number(u, v)
	if err != nil {
		return &unknown.Bound{Err: err}
	}
	if e.Stride = int64(n) * unit; int64(n) > maxExtent/8 || int64(n) < -maxExtent/8 {
		return &unknown.Corrupt{Err: unknown.ErrLimit}
	}
	return nil
}

// apart reports whether the elements of an array t need not follow one another.
func (t *Type) apart() bool {
	if t.Stride.Present() || t.bitStride.Present() || t.DataLocation.Present() {
		return true
	}
	dims := t.Dims()
	for i := range dims {
		if dims[i].stride.Present() || dims[i].bitStride.Present() {
			return true
		}
	}
	return false
}

// described reports whether what is in the place of an array t is a description, whose first word points to the elements if there are any.
func (t *Type) described() bool {
	return t.Tag == dwarf.TagArrayType && (t.allocated.Present() || t.associated.Present()) && bytes.Equal(t.DataLocation.B, []byte{byte(op.PushObjectAddress), byte(op.Deref)})
}

// Dynamic reports whether the size of t differs from object to object, as an expression, a variable or a member of the
// enclosing record has it.
func (t *Type) Dynamic() bool {
	for range MaxChain {
		t = t.Strip()
		switch {
		case t.sized.Present() || t.Length.Present() || t.associated.Present() || t.allocated.Present():
			return true
		case t.Tag != dwarf.TagArrayType:
			return false
		}
		dims := t.Dims()
		for i := range dims {
			d := &dims[i]
			for _, v := range [...]*dwarf.Value{&d.count, &d.upper, &d.lower, &d.stride, &d.bitStride} {
				if v.Present() && v.Form.Class() != dwarf.ClassConstant {
					return true
				}
			}
		}
		t = t.Target()
	}
	return false
}

// Base returns the type of the numbers of t: without names and qualifiers, and without the ranges of Ada and Pascal,
// which may be ranges of ranges.
func (t *Type) Base() *Type {
	t = t.Strip()
	size := uint64(0) // of a range that is smaller than what it is one of
	for n := 0; t.Tag == dwarf.TagSubrangeType && t.Elem.Valid() && n < MaxChain; n++ {
		if size == 0 {
			size = t.ByteSize
		}
		t = t.Target().Strip()
	}
	if size != 0 && size != t.ByteSize && t.Tag == dwarf.TagBaseType {
		own := t.set.number(t.BareName, size, t.Encoding)
		own.Language, own.scale = t.Language, t.scale
		return own
	}
	return t
}

// CharsIn returns how many bytes a string of Fortran has in a frame. t must be stripped.
func (t *Type) CharsIn(f Frame) (uint64, error) {
	if !t.Length.Present() {
		if t.ByteSize == 0 {
			return 0, unknown.ErrLength
		}
		return t.ByteSize, nil
	}
	size := t.lengthSize
	if size == 0 {
		size = t.ByteSize // in DWARF 2 to 4 that of the length
	}
	if size == 0 || size > 8 {
		size = uint64(t.set.arch.WordSize)
	}
	n, err := f.Stored(t.Ref.Unit, &t.Length, size)
	if err != nil {
		return 0, &unknown.Bound{Err: err}
	}
	n = uint64(max(int64(n), 0))
	char, _ := t.CharOf().Char()
	if char = max(char, 1); n > maxExtent/8/char {
		return 0, &unknown.Corrupt{Err: unknown.ErrLimit}
	}
	return n * char, nil
}

// CharOf returns the type of the characters of a string of Fortran; void if it does not say.
func (t *Type) CharOf() *Type { return t.Target() }
