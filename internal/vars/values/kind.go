package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// A Kind is a dwarfvars.Kind.
type Kind string

// The kinds of values, as dwarfvars documents them, which has the same constants.
const (
	KindVoid          Kind = "void"
	KindBool          Kind = "bool"
	KindInt           Kind = "int"
	KindFloat         Kind = "float"
	KindChar          Kind = "char"
	KindEnum          Kind = "enum"
	KindString        Kind = "string"
	KindPointer       Kind = "pointer"
	KindReference     Kind = "reference"
	KindMemberPointer Kind = "member-pointer"
	KindFunction      Kind = "function"
	KindArray         Kind = "array"
	KindStruct        Kind = "struct"
	KindUnion         Kind = "union"
	KindSequence      Kind = "sequence"
	KindMap           Kind = "map"
	KindText          Kind = "text"
)

// Kind returns the value's kind. A value that could not be read has the kind of its type.
func (v *Value) Kind() Kind {
	if v.keyed() {
		return KindMap
	}
	if v.typ == nil {
		if v.Compound {
			return v.shape()
		}
		return KindText
	}
	t := v.typ.Strip()
	if v.printed { // a container stands for the reference to it
		for n := 0; t.Reference() && n < types.MaxChain; n++ {
			t = t.Target().Strip()
		}
	}
	k := kind(t)
	switch {
	case v.Err != nil:
		return k
	case k == KindArray && !v.Compound && quoted(v.Text):
		return KindString
	case k == KindPointer && strings.HasPrefix(v.typ.Name(), "map["): // a nil map of Go
		return KindMap
	case k == KindInt:
		if _, ok := v.typ.Char(); ok { // a typedef: wchar_t
			return KindChar
		}
	case v.printed && k == KindStruct:
		return v.shape()
	}
	return k
}

// kind returns the kind of values of type t, which must be stripped, if no printer handles them.
func kind(t *types.Type) Kind {
	switch t.Tag {
	case 0:
		return KindVoid
	case dwarf.TagBaseType:
		return scalarKind(t)
	case dwarf.TagSubrangeType:
		return scalarKind(t.Base())
	case dwarf.TagEnumerationType:
		return KindEnum
	case dwarf.TagPointerType, dwarf.TagUnspecifiedType: // decltype(nullptr)
		return KindPointer
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return KindReference
	case dwarf.TagPtrToMemberType:
		return KindMemberPointer
	case dwarf.TagSubroutineType:
		return KindFunction
	case dwarf.TagArrayType, dwarf.TagSetType:
		return KindArray
	case dwarf.TagStringType:
		return KindString
	case dwarf.TagUnionType:
		return KindUnion
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagInterfaceType:
		return KindStruct
	}
	return KindText
}

func scalarKind(t *types.Type) Kind {
	switch {
	case t.BareName == "()":
		return KindVoid
	case t.Encoding == types.EncBoolean:
		return KindBool
	case t.Encoding == types.EncSignedFixed || t.Encoding == types.EncUnsignFixed:
		return KindFloat
	case t.Encoding == types.EncFloat || t.Encoding == types.EncComplexFloat || t.Encoding == types.EncImaginary:
		return KindFloat
	case isComplex(t):
		return KindFloat
	case t.Encoding == types.EncAddress:
		return KindPointer
	case t.Encoding.Char():
		return KindChar
	}
	return KindInt
}

// keyed reports whether v is a map with elements.
func (v *Value) keyed() bool { return len(v.Parts) > 0 && v.Parts[0].Key != nil }

// shape returns the kind of a struct that a printer handled, by its looks.
func (v *Value) shape() Kind {
	switch {
	case !v.Compound && quoted(v.Text):
		return KindString
	case v.typ != nil && strings.HasPrefix(v.typ.Strip().BareName, "variant<"):
		return KindStruct // its element has no name
	case !v.Compound && v.typ != nil && strings.HasPrefix(v.typ.Name(), "[]"): // a nil slice of Go
		return KindSequence
	case !v.Compound || v.style == parens || v.style == record:
		return KindStruct
	case len(v.Parts) == 0 && v.typ != nil && mapType(v.typ.Strip().BareName):
		return KindMap
	}
	for i := range v.Parts {
		if v.Parts[i].Name != "" {
			return KindStruct
		}
	}
	return KindSequence
}

// mapType tells an empty map from an empty sequence by the name of its class.
func mapType(name string) bool {
	name, _, _ = strings.Cut(name, "<")
	return strings.HasPrefix(name, "map[") || strings.HasSuffix(strings.ToLower(name), "map")
}

// quoted reports whether s is the text of a string, maybe with a prefix: u8"x".
func quoted(s string) bool {
	i := strings.IndexByte(s, '"')
	return i == 0 || i > 0 && i <= 2 && strings.Trim(s[:i], "LUu8") == ""
}
