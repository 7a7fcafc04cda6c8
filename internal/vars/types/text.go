package types

import "github.com/corewalk/corewalk/internal/format/dwarf"

// maxTextParts is how many parts of a type are looked at to find characters, or pointers.
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

// HasPointer reports whether a pointer of a structure is surely between some offsets, of which end is the first behind: what else a type may have there does
// not count, as members of a union.
func (t *Type) HasPointer(from, end uint64) bool {
	left := maxTextParts
	return t.hasPointer(from, end, &left)
}

func (t *Type) hasPointer(from, end uint64, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	s := t.Defined()
	size := s.Whole()
	switch {
	case s.Pointer():
		return from == 0 && size <= end
	case s.Tag == dwarf.TagUnionType || size == 0:
		return false
	case s.Tag == dwarf.TagArrayType:
		to := s.Target()
		step := to.Whole()
		if step == 0 {
			return false
		}
		for off := from / step * step; off < min(end, size) && *left > 0; off += step {
			if to.hasPointer(max(from, off)-off, end-off, left) {
				return true
			}
		}
		return false
	}
	m := s.Members()
	if m.Variant != nil {
		return false
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Static || f.Virtual || f.Expr.Present() || f.Bits != 0 || f.Off >= end {
			continue
		}
		if s.MemberType(f).hasPointer(max(from, f.Off)-f.Off, end-f.Off, left) {
			return true
		}
	}
	return false
}

// BeginsWith reports whether an object of a type may have one of another at its beginning: the same type, that of a first member or a base class, of an
// element, or one that is not known. Integers of one size are the same.
func (t *Type) BeginsWith(other *Type) bool {
	left := maxTextParts
	return t.beginsWith(other.Defined(), &left)
}

func (t *Type) beginsWith(other *Type, left *int) bool {
	if *left--; *left < 0 {
		return true
	}
	s := t.Defined()
	switch {
	case s.Whole() == 0 || other.Whole() == 0:
		return true
	case s.Name() == other.Name():
		return true
	case s.Aggregate():
		m := s.Members()
		if m.Variant != nil || len(m.Fields) == 0 {
			return true
		}
		for i := range m.Fields {
			f := &m.Fields[i]
			switch {
			case f.Static || f.Bits != 0:
			case f.Virtual || f.Expr.Present():
				return true
			case f.Off == 0 && s.MemberType(f).beginsWith(other, left):
				return true
			}
		}
		return false
	case s.Tag == dwarf.TagArrayType:
		return s.Target().beginsWith(other, left)
	}
	return !other.Aggregate() && other.Tag != dwarf.TagArrayType && s.Pointer() == other.Pointer() && s.Whole() == other.Whole()
}

// TextArguments returns for each parameter of a function, or half of one that takes two registers as slices do, whether it may be passed as the address of a
// text. Of those behind one of which it is not known how many registers it takes nothing is known either: each may be.
func TextArguments(params []*Type, word uint64) []bool {
	out := make([]bool, 0, len(params))
	for i, t := range params {
		t = t.Strip()
		switch fields := t.halves(word); {
		case len(fields) != 0:
			for k := range fields {
				out = append(out, t.MemberType(&fields[k]).Strip().leadsToText())
			}
		case t.Aggregate(), t.Tag == dwarf.TagBaseType && t.Encoding == EncFloat, t.Tag != dwarf.TagArrayType && t.Whole() > word:
			for range params[i:] {
				out = append(out, true)
			}
			return out
		default:
			out = append(out, t.leadsToText())
		}
	}
	return out
}

// halves returns the members of a structure that is passed in two registers: two words, neither of which is a floating-point number.
func (t *Type) halves(word uint64) []Field {
	if !t.Aggregate() || t.Whole() != 2*word {
		return nil
	}
	fields := t.Members().Fields
	for i := range fields {
		f := &fields[i]
		if m := t.MemberType(f).Strip(); len(fields) != 2 || f.Off != uint64(i)*word || m.Whole() != word || m.Aggregate() || m.Encoding == EncFloat {
			return nil
		}
	}
	return fields
}

// leadsToText reports whether t, which must be stripped, may be passed as the address of a text: Fortran passes an array, or a text, as where it is.
func (t *Type) leadsToText() bool {
	switch {
	case t.IsPointer(), t.Tag == dwarf.TagArrayType:
		to := t.Target().Strip()
		for n := 0; to.Tag == dwarf.TagArrayType && n < MaxChain; n++ {
			to = to.Target().Strip()
		}
		size, char := to.Char()
		return to.void() || char && size == 1
	}
	return t.Tag == dwarf.TagStringType || t.void()
}
