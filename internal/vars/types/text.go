package types

import "github.com/corewalk/corewalk/internal/format/dwarf"

// maxTextParts is how many parts of a type are looked at to find characters.
const maxTextParts = 1 << 10

// MayHoldText reports whether some bytes, from offset from to end, of a type, or of those that follow it in an array, are characters or bytes, or what is
// not known. All members of a union count.
func (t *Type) MayHoldText(from, end uint64) bool {
	left := maxTextParts
	return t.mayHoldText(from, end, &left)
}

func (t *Type) mayHoldText(from, end uint64, left *int) bool {
	if *left--; *left < 0 {
		return true
	}
	s := t.Defined()
	size := s.Whole()
	if size == 0 {
		return true
	}
	if end > size {
		from, end = 0, size
	}
	switch {
	case s.Aggregate():
		m := s.Members()
		if m.Variant != nil || len(m.Fields) == 0 {
			return true
		}
		for i := range m.Fields {
			f := &m.Fields[i]
			switch of := s.MemberType(f); {
			case f.Static || f.Bits != 0:
			case f.Virtual || f.Expr.Present():
				return true
			case f.Off < end && f.Off+of.Whole() > from && of.mayHoldText(max(from, f.Off)-f.Off, end-f.Off, left):
				return true
			}
		}
		return false
	case s.Tag == dwarf.TagArrayType:
		return s.Target().mayHoldText(0, size, left)
	}
	_, char := s.Char()
	return char || size == 1
}
