package dwarfvars

import (
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// An encoding is DW_AT_encoding of a base type (DWARF 5, 7.8).
type encoding uint8

const (
	encAddress      encoding = 0x01
	encBoolean      encoding = 0x02
	encComplexFloat encoding = 0x03
	encFloat        encoding = 0x04
	encSigned       encoding = 0x05
	encSignedChar   encoding = 0x06
	encUnsigned     encoding = 0x07
	encUnsignedChar encoding = 0x08
	encImaginary    encoding = 0x09
	encUTF          encoding = 0x10
	encUCS          encoding = 0x11
	encASCII        encoding = 0x12
)

func (e encoding) signed() bool { return e == encSigned || e == encSignedChar }

func (e encoding) char() bool {
	return e == encSignedChar || e == encUnsignedChar || e == encUTF || e == encUCS || e == encASCII
}

// A Type is a type of the program. Its members are read when they are first
// asked for; it may be used by several goroutines.
type Type struct {
	r    *Reader
	ref  typeRef   // not valid for void
	tag  dwarf.Tag // 0 for void
	name string    // DW_AT_name, "" when it has none
	size uint64    // bytes, 0 when not known
	enc  encoding
	elem typeRef // what a pointer points to, a typedef is for, an array has
	decl bool    // the members are elsewhere
	sig  uint64  // of a declared type; 0 when it has none
	lang dwarf.Language

	class     typeRef // of a pointer to a member
	goKind    uint8
	enumClass bool
	stride    dwarf.Value // of an array, when its elements are apart
	vector    bool
	dataLoc   dwarf.Value // of an array whose elements are elsewhere
	sized     dwarf.Value // DW_AT_byte_size that must be evaluated

	membersOnce sync.Once
	m           members

	nameOnce sync.Once
	shown    string

	fullOnce sync.Once
	full     string
}

// A typeRef says where a type is described: by an entry of DWARF or, where db is
// not nil, by a record of a PDB.
type typeRef struct {
	dwarf.DIE // of a record: Unit nil, Off as recordRef makes it
	db        *database
}

func (t typeRef) Valid() bool { return t.db != nil || t.DIE.Valid() }

// refTo is the type that an attribute of an entry refers to.
func refTo(u *dwarf.Unit, v *dwarf.Value) typeRef {
	d, _ := u.Ref(v)
	return typeRef{DIE: d}
}

// typeOf returns the type that is described at ref; void when ref is not valid.
func (r *Reader) typeOf(ref typeRef) *Type {
	if v, ok := r.types.Load(ref); ok {
		return v.(*Type)
	}
	var t *Type
	if ref.db != nil {
		t = r.readRecord(ref)
	} else {
		t = r.readType(ref.DIE)
	}
	v, _ := r.types.LoadOrStore(ref, t)
	return v.(*Type)
}

// typeAt is the type whose entry is d.
func (r *Reader) typeAt(d dwarf.DIE) *Type { return r.typeOf(typeRef{DIE: d}) }

func (r *Reader) readType(d dwarf.DIE) *Type {
	t := &Type{r: r, ref: typeRef{DIE: d}}
	if !d.Valid() {
		return t
	}
	var e dwarf.Entry
	var v, signature, spec dwarf.Value
	t.lang = d.Unit.Language
	c := d.Unit.Cursor(d.Off)
	if !c.Next(&e) {
		return t
	}
	t.tag = e.Tag
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			t.name = d.Unit.Text(&v)
		case dwarf.AttrByteSize:
			if v.Form.Class() == dwarf.ClassConstant {
				t.size = v.U
			} else {
				t.sized = v
			}
		case dwarf.AttrBitSize:
			if t.size == 0 && e.Tag == dwarf.TagBaseType {
				t.size = (v.U + 7) / 8
			}
		case dwarf.AttrEncoding:
			t.enc = encoding(v.U)
		case dwarf.AttrType:
			t.elem = refTo(d.Unit, &v)
		case dwarf.AttrContainingType:
			t.class = refTo(d.Unit, &v)
		case dwarf.AttrDeclaration:
			t.decl = v.Flag()
		case dwarf.AttrSignature:
			signature = v
		case dwarf.AttrSpecification:
			spec = v
		case dwarf.AttrGoKind:
			t.goKind = uint8(v.U)
		case dwarf.AttrEnumClass:
			t.enumClass = v.Flag()
		case dwarf.AttrByteStride:
			t.stride = v
		case dwarf.AttrDataLocation:
			t.dataLoc = v
		case attrGNUVector:
			t.vector = v.Flag()
		}
	}
	if signature.Present() {
		if to, err := d.Unit.Ref(&signature); err == nil && to != d {
			return r.typeAt(to)
		}
		t.sig, t.decl = signature.U, true // in another file
	}
	if spec.Present() && t.name == "" {
		if to, err := d.Unit.Ref(&spec); err == nil && to != d {
			v := to.Unit.Value(to.Off, dwarf.AttrName)
			t.name = to.Unit.Text(&v)
		}
	}
	return t
}

const attrGNUVector dwarf.Attr = 0x2107

// transparent reports whether a type only adds a name or a qualifier to another.
func (t *Type) transparent() bool {
	switch t.tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType,
		dwarf.TagImmutableType, dwarf.TagTemplateAlias, dwarf.TagPackedType, dwarf.TagSharedType:
		return true
	}
	return false
}

// maxTypeChain bounds chains of typedefs and qualifiers.
const maxTypeChain = 64

// strip returns the type behind typedefs and qualifiers.
func (t *Type) strip() *Type {
	for range maxTypeChain {
		if t == nil || !t.transparent() {
			return t
		}
		t = t.target()
	}
	return t.r.typeOf(typeRef{})
}

// target is the type that t refers to: of a pointer, typedef, array, function.
func (t *Type) target() *Type { return t.r.typeOf(t.elem) }

func (t *Type) void() bool { return t.tag == 0 }

// aggregate reports whether t (stripped) has members.
func (t *Type) aggregate() bool {
	switch t.tag {
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return true
	}
	return false
}

func (t *Type) pointer() bool { return t.tag == dwarf.TagPointerType }

func (t *Type) reference() bool {
	return t.tag == dwarf.TagReferenceType || t.tag == dwarf.TagRvalueReferenceType
}

// isChar reports whether t is a type of characters, and of how many bytes. Its
// name decides for the types of wide characters, which C makes of integers.
func (t *Type) isChar() (size uint64, ok bool) {
	s := t.strip()
	if s.tag != dwarf.TagBaseType || s.size != 1 && s.size != 2 && s.size != 4 {
		return 0, false
	}
	return s.size, s.enc.char() || t.charName() != ""
}

// charName is which of C's wide characters t is: "wchar_t", "char16_t" ...; ""
// for none.
func (t *Type) charName() string {
	for range maxTypeChain {
		switch t.name {
		case "wchar_t", "char16_t", "char32_t", "char8_t":
			if !t.aggregate() {
				return t.name
			}
		}
		if !t.transparent() {
			break
		}
		t = t.target()
	}
	return ""
}

// Size is the type's size in bytes; 0 when it is not known without a frame.
func (t *Type) Size() uint64 {
	s := t.strip()
	if s.size == 0 && (s.pointer() || s.reference()) {
		return uint64(s.r.arch.WordSize)
	}
	return s.size
}

// sizeOf is the type's size in bytes in this frame.
func (a *Activation) sizeOf(t *Type) (uint64, error) { return a.sizeAt(t, 0) }

func (a *Activation) sizeAt(t *Type, depth int) (uint64, error) {
	s := t.strip()
	switch {
	case depth > maxTypeChain:
		return 0, &CorruptExpression{ErrLimit}
	case s.sized.Present():
		return a.number(s.ref.Unit, &s.sized)
	case s.size > 0:
		return s.size, nil
	case s.pointer(), s.reference():
		if s.ref.Unit != nil {
			return uint64(s.ref.Unit.AddrSize), nil
		}
	case s.tag == dwarf.TagPtrToMemberType:
		if s.target().strip().tag == dwarf.TagSubroutineType {
			return 2 * uint64(a.r.arch.WordSize), nil
		}
		return uint64(a.r.arch.WordSize), nil
	case s.tag == dwarf.TagArrayType:
		elem, err := a.sizeAt(s.target(), depth+1)
		if err != nil {
			return 0, err
		}
		n := uint64(1)
		for _, d := range s.dims() {
			c, err := a.count(s, &d)
			if err != nil {
				return 0, err
			}
			if c != 0 && n > 1<<40/c {
				return 0, &CorruptExpression{ErrLimit}
			}
			n *= c
		}
		if elem != 0 && n > 1<<48/elem {
			return 0, &CorruptExpression{ErrLimit}
		}
		return n * elem, nil
	case s.tag == dwarf.TagSubroutineType && s.lang == dwarf.LangGo:
		return uint64(a.r.arch.WordSize), nil // a pointer to a closure
	case s.void(), s.tag == dwarf.TagUnspecifiedType, s.tag == dwarf.TagSubroutineType:
		return 0, nil
	case s.decl:
		full, ok := a.r.complete(s)
		if !ok {
			return 0, &IncompleteType{s.Name()}
		}
		return a.sizeAt(full, depth+1)
	case s.tag == dwarf.TagEnumerationType, s.tag == dwarf.TagSubrangeType:
		if s.elem.Valid() {
			return a.sizeAt(s.target(), depth+1)
		}
	}
	return 0, nil // an empty struct
}

// floats reports whether t is made of floating-point numbers only.
func (t *Type) floats() bool {
	s := t.strip()
	return s.tag == dwarf.TagBaseType && (s.enc == encFloat || s.enc == encComplexFloat || s.enc == encImaginary)
}
