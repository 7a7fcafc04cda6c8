package pdb

// A TypeID is the number of a type. Those below 0x1000 are simple types without a record
// (cvinfo.h, CV_typ_t): the low byte selects the type, the bits above it whether it is a
// pointer to it.
type TypeID uint32

const firstRecord = 0x1000

// A TypeKind is the kind of a type.
type TypeKind uint8

// The kinds of types.
const (
	TypeUnknown TypeKind = iota // a kind of record that is not supported
	TypeVoid
	TypeBase     // numbers and characters
	TypeModifier // const, volatile
	TypePointer
	TypeReference
	TypeRvalueReference
	TypeMemberPointer
	TypeFunction
	TypeArray
	TypeClass
	TypeStruct
	TypeUnion
	TypeEnum
	TypeBitField
	TypeAlias
	TypeNullptr
	TypeVector // a SIMD vector
)

// A Base says how to interpret the bytes of a TypeBase.
type Base uint8

// Base types.
const (
	BaseSigned Base = iota + 1
	BaseUnsigned
	BaseSignedChar
	BaseUnsignedChar
	BaseUTF // char16_t, wchar_t and similar types
	BaseBool
	BaseFloat
	BaseComplex
)

// Qualifiers are the cv-qualifiers of a type.
type Qualifiers uint8

// The qualifiers.
const (
	Const Qualifiers = 1 << iota
	Volatile
	Restrict
)

// A Type is a decoded type record. Fields that do not apply to its Kind are zero.
type Type struct {
	Kind TypeKind
	// Name of a class, struct, union, enumeration, alias or base type, with its scopes and
	// template arguments, as the compiler wrote it.
	Name   string
	Unique string // linkage name of a class, union or enumeration, or ""
	// Size in bytes, 0 if the record does not have it.
	Size uint64
	Base Base
	// Elem is the type that is pointed to, modified or aliased; the element type of an
	// array; the return type of a function; or the underlying type of an enumeration or bit
	// field.
	Elem  TypeID
	Quals Qualifiers // of a modifier, or of the pointer itself
	// Fields are the members, for File.Members; 0 if there are none. Forward says that the
	// definition is another record, found by File.Definition.
	Fields  TypeID
	Forward bool
	// Class of a pointer to member. MemberFunction says that it points to a function.
	Class          TypeID
	MemberFunction bool
	Args           TypeID // parameter types of a function, for File.Args
	Method         bool   // a member function with an object; This is its pointer's type
	This           TypeID
	Bits, Bit      uint8  // of a bit field: number of bits and first bit
	Count          uint64 // of a vector
}

// Kinds of type records besides those in types.go.
const (
	leafVTShape    = 0x000a
	leafModifier   = 0x1001
	leafPointer    = 0x1002
	leafProcedure  = 0x1008
	leafMethod     = 0x1009
	leafArgs       = 0x1201
	leafFieldList  = 0x1203
	leafBitField   = 0x1205
	leafArray      = 0x1503
	leafAlias      = 0x150a
	leafVector     = 0x151b
	leafClass19    = 0x1608
	leafStruct19   = 0x1609
	leafUnion19    = 0x160a
	leafInterface9 = 0x160b
)

// Properties of classes, unions and enumerations (CV_prop_t).
const (
	propForward = 0x80
	propScoped  = 0x100
	propUnique  = 0x200
)

// Type returns the type with a number, or false if there is no such record or it is
// malformed.
func (f *File) Type(id TypeID) (Type, bool) {
	if id < firstRecord {
		return simpleType(uint32(id), f.Machine)
	}
	t, err := f.types()
	if err != nil {
		return Type{}, false
	}
	kind, rec, ok := t.record(uint32(id))
	if !ok {
		return Type{}, false
	}
	return decodeType(kind, rec)
}

// wordSize returns the size of an address in bytes.
func wordSize(machine uint16) uint64 {
	switch machine {
	case 0x8664, 0xaa64, 0xa641, 0x200, 0x5064, 0x6264:
		return 8
	}
	return 4
}

// decodeType decodes a record; its first four bytes are its length and kind.
func decodeType(kind uint16, rec []byte) (t Type, ok bool) {
	need := func(n int) bool { return len(rec) >= n }
	at := func(off int) TypeID { return TypeID(le.Uint32(rec[off:])) }
	switch kind {
	case leafModifier:
		if !need(10) {
			return t, false
		}
		m := le.Uint16(rec[8:])
		t.Kind, t.Elem, t.Quals = TypeModifier, at(4), Qualifiers(m&1*uint16(Const)|m>>1&1*uint16(Volatile))
	case leafPointer:
		return decodePointer(rec)
	case leafProcedure:
		if !need(16) {
			return t, false
		}
		t.Kind, t.Elem, t.Args = TypeFunction, at(4), at(12)
	case leafMethod:
		if !need(24) {
			return t, false
		}
		t.Kind, t.Elem, t.Class, t.This, t.Args = TypeFunction, at(4), at(8), at(12), at(20)
		t.Method = t.This != 0 && t.This != 3 // T_VOID: a static member function
	case leafBitField:
		if !need(10) || rec[8] == 0 || rec[8] > 64 || rec[9] > 63 {
			return t, false
		}
		t.Kind, t.Elem, t.Bits, t.Bit = TypeBitField, at(4), rec[8], rec[9]
	case leafArray:
		if !need(14) {
			return t, false
		}
		n, next := numeric(rec, 12)
		t.Kind, t.Elem, t.Size = TypeArray, at(4), n
		return t, next != 0
	case leafVector:
		if !need(14) {
			return t, false
		}
		n, next := numeric(rec, 12)
		t.Kind, t.Elem, t.Size, t.Count = TypeVector, at(4), n, uint64(le.Uint32(rec[8:]))
		return t, next != 0
	case leafVTShape:
		t.Kind = TypeVoid
	case leafAlias:
		if !need(9) {
			return t, false
		}
		t.Kind, t.Elem, t.Name = TypeAlias, at(4), cstring(rec[8:])
	default:
		return decodeTag(kind, rec)
	}
	return t, true
}

// decodePointer decodes LF_POINTER, whose attributes contain the kind of pointer.
func decodePointer(rec []byte) (t Type, ok bool) {
	if len(rec) < 12 {
		return t, false
	}
	a := le.Uint32(rec[8:])
	t.Elem, t.Size = TypeID(le.Uint32(rec[4:])), uint64(a>>13&0x3f)
	if t.Size == 0 {
		switch a & 0x1f { // the kind of pointer
		case 0x0a:
			t.Size = 4
		case 0x0c:
			t.Size = 8
		}
	}
	t.Quals = Qualifiers(a>>9&1)*Volatile | Qualifiers(a>>10&1)*Const | Qualifiers(a>>12&1)*Restrict
	switch a >> 5 & 7 {
	case 0:
		t.Kind = TypePointer
	case 1:
		t.Kind = TypeReference
	case 4:
		t.Kind = TypeRvalueReference
	case 2, 3:
		if len(rec) < 18 {
			return t, false
		}
		t.Kind, t.Class, t.MemberFunction = TypeMemberPointer, TypeID(le.Uint32(rec[12:])), a>>5&7 == 3
	default:
		return t, false
	}
	return t, true
}

// decodeTag decodes the records of classes, unions and enumerations.
func decodeTag(kind uint16, rec []byte) (t Type, ok bool) {
	var props uint32
	at := 0
	switch kind {
	case leafClass, leafStruct, leafInterface:
		t.Kind, at = TypeStruct, 20
	case leafUnion:
		t.Kind, at = TypeUnion, 12
	case leafEnum:
		t.Kind, at = TypeEnum, 16
	case leafClass19, leafStruct19, leafInterface9:
		t.Kind, at = TypeStruct, 20
	case leafUnion19:
		t.Kind, at = TypeUnion, 12
	default:
		return Type{}, true
	}
	if len(rec) < at {
		return Type{}, false
	}
	switch kind {
	case leafClass, leafInterface, leafClass19, leafInterface9:
		t.Kind = TypeClass
	}
	switch kind {
	case leafEnum:
		props, t.Elem, t.Fields = uint32(le.Uint16(rec[6:])), TypeID(le.Uint32(rec[8:])), TypeID(le.Uint32(rec[12:]))
	case leafClass19, leafStruct19, leafInterface9, leafUnion19:
		// Properties of four bytes; the meaning of the number before the size is not
		// documented.
		props, t.Fields = le.Uint32(rec[4:]), TypeID(le.Uint32(rec[8:]))
		if _, at = numeric(rec, at); at == 0 {
			return Type{}, false
		}
	default:
		props, t.Fields = uint32(le.Uint16(rec[6:])), TypeID(le.Uint32(rec[8:]))
	}
	if kind != leafEnum {
		if t.Size, at = numeric(rec, at); at == 0 {
			return Type{}, false
		}
	}
	t.Name = cstring(rec[at:])
	if end := at + len(t.Name) + 1; props&propUnique != 0 && end <= len(rec) {
		t.Unique = cstring(rec[end:])
	}
	if t.Forward = props&propForward != 0; t.Forward {
		t.Fields, t.Size = 0, 0
	}
	return t, true
}

// Args lists the types of a function's parameters. For variadic functions, the last is 0.
func (f *File) Args(id TypeID) []TypeID {
	t, err := f.types()
	if err != nil || id < firstRecord {
		return nil
	}
	kind, rec, ok := t.record(uint32(id))
	if !ok || kind != leafArgs || len(rec) < 8 {
		return nil
	}
	n := min(int(le.Uint32(rec[4:])), (len(rec)-8)/4)
	list := make([]TypeID, max(n, 0))
	for i := range list {
		list[i] = TypeID(le.Uint32(rec[8+4*i:]))
	}
	return list
}
