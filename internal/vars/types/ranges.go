package types

import (
	"math"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Range returns the least and the largest value of a type of integers, characters or enumerators, which must be stripped; false if they are not known, or
// are no constants.
func (t *Type) Range() (first, last int64, ok bool) {
	if t.Tag == dwarf.TagSubrangeType && t.Ref.Valid() && t.Ref.DB == nil {
		lower, upper := t.Ref.Unit.Value(t.Ref.Off, dwarf.AttrLowerBound), t.Ref.Unit.Value(t.Ref.Off, dwarf.AttrUpperBound)
		if first = 0; Ada(t.Language) {
			first = 1
		}
		if lower.Present() {
			first = int64(lower.U)
		}
		constant := func(v *dwarf.Value) bool { return !v.Present() || v.Form.Class() == dwarf.ClassConstant }
		if !constant(&lower) || !constant(&upper) {
			return 0, 0, false
		}
		if upper.Present() {
			return first, int64(upper.U), true
		}
	}
	base := t.Base()
	switch {
	case base.Tag == dwarf.TagEnumerationType:
		list := base.Members().Enums
		if len(list) == 0 {
			return 0, 0, false
		}
		return int64(list[0].Val), int64(list[len(list)-1].Val), true
	case base.Tag != dwarf.TagBaseType || base.ByteSize == 0 || base.ByteSize > 8 || base.Floats():
		return 0, 0, false
	case base.Encoding == EncBoolean:
		return 0, 1, true
	case base.Encoding.Signed():
		last = math.MaxInt64 >> (64 - 8*base.ByteSize)
		return -last - 1, last, true
	case base.ByteSize == 8:
		return 0, math.MaxInt64, true
	}
	return 0, 1<<(8*base.ByteSize) - 1, true
}

// Constant returns the number of the first element of a dimension and how many there are; false if they are no constants.
func (d *Dim) Constant() (lower int64, count uint64, ok bool) {
	lower = int64(d.first)
	if d.lower.Present() {
		if d.lower.Form.Class() != dwarf.ClassConstant {
			return 0, 0, false
		}
		lower = int64(d.lower.U)
	}
	count, ok = d.length()
	return lower, count, ok
}

// Index returns the type that the indexes of a dimension of an array type are of; nil if it does not say.
func (d *Dim) Index(array *Type) *Type {
	if !d.index.Valid() {
		return nil
	}
	return array.set.Of(d.index)
}
