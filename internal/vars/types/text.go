package types

import (
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

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

// A TextArgument is what a register in which a function gets an argument may have to do with a text.
type TextArgument int

const (
	NoText       TextArgument = iota
	TextToZero                // the address of one that ends with a zero, or of what the type does not tell
	TextOfNext                // the address of one whose length is in the next register
	TextOfBefore              // whose length is in the register before
)

// TextArguments returns what the registers of arguments of a function have of texts, by its parameters. Of one of which it is not known how many registers it
// takes, and of those behind it, nothing is known: they are not listed.
func TextArguments(params []*Type, word uint64) (out []TextArgument) {
	for _, t := range params {
		t = t.Strip()
		switch a, b, ok := t.halves(word); {
		case ok && a.leadsToText() && b.Tag == dwarf.TagBaseType:
			out = append(out, TextOfNext, NoText)
		case ok && a.Tag == dwarf.TagBaseType && b.leadsToText():
			out = append(out, NoText, TextOfBefore)
		case ok:
			out = append(out, NoText, NoText)
		case t.Aggregate(), t.Tag == dwarf.TagBaseType && t.Encoding == EncFloat, t.Tag != dwarf.TagArrayType && t.Whole() > word:
			return out
		case t.leadsToText():
			out = append(out, TextToZero)
		default:
			out = append(out, NoText)
		}
	}
	return out
}

// halves returns the types of the members of a structure that is passed in two registers: two words, neither of which is a floating-point number.
func (t *Type) halves(word uint64) (a, b *Type, ok bool) {
	if !t.Aggregate() || t.Whole() != 2*word {
		return nil, nil, false
	}
	fields := slices.DeleteFunc(slices.Clone(t.Members().Fields), func(f Field) bool { return f.Static })
	if len(fields) != 2 {
		return nil, nil, false
	}
	a, b = t.MemberType(&fields[0]).Strip(), t.MemberType(&fields[1]).Strip()
	for _, m := range [...]*Type{a, b} {
		if m.Whole() != word || m.Aggregate() || m.Encoding == EncFloat {
			return nil, nil, false
		}
	}
	return a, b, fields[0].Off < fields[1].Off
}

// leadsToText reports whether t, which must be stripped, is a pointer that may be the address of a text.
func (t *Type) leadsToText() bool {
	if !t.IsPointer() {
		return false
	}
	to := t.Target().Strip()
	size, char := to.Char()
	return to.void() || char && size == 1
}
