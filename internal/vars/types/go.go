package types

import "github.com/corewalk/corewalk/internal/format/dwarf"

// GoType returns the type that an attribute of a type of Go refers to, as its maps and channels have for their elements; nil if
// there is none.
func (t *Type) GoType(attr dwarf.Attr) *Type {
	if t.Ref.Unit == nil {
		return nil
	}
	v := t.Ref.Unit.Value(t.Ref.Off, attr)
	d, err := t.Ref.Unit.Ref(&v)
	if err != nil {
		return nil
	}
	return t.set.At(d)
}
