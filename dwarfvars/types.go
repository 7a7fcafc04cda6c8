package dwarfvars

import (
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
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
	set  *Set
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

// A Set has the types of one process. It keeps those that it has met, and may be used by
// several goroutines.
type Set struct {
	arch *arch.Arch
	libs Libraries
	// files finds the file of a library, nil where there is none. It fetches nothing: all
	// libraries are asked for when a type is only declared in that of a variable.
	files func(*libstate.Library) *image.Image

	types sync.Map // typeRef -> *Type
	dbs   sync.Map // database -> *database
	names sync.Map // *dwarf.Unit -> map[string]dwarf.DIE: its complete types
	// completed are declared types with their definitions: typeKey -> dwarf.DIE, of
	// PDBs typeRef -> typeRef; not valid for those without one. foreign counts the
	// bytes that were searched for them in other files than their own.
	completed sync.Map
	foreign   atomic.Int64
}

// Libraries tells the libraries of a process, nil where they are not known.
type Libraries interface {
	LibraryTracker() libstate.LibraryState
}

// newSet returns the types of a process.
func newSet(a *arch.Arch, libs Libraries, files func(*libstate.Library) *image.Image) *Set {
	return &Set{arch: a, libs: libs, files: files}
}

// typeOf returns the type that is described at ref; void when ref is not valid.
func (set *Set) typeOf(ref typeRef) *Type {
	if v, ok := set.types.Load(ref); ok {
		return v.(*Type)
	}
	var t *Type
	if ref.db != nil {
		t = set.readRecord(ref)
	} else {
		t = set.readType(ref.DIE)
	}
	v, _ := set.types.LoadOrStore(ref, t)
	return v.(*Type)
}

// typeAt is the type whose entry is d.
func (set *Set) typeAt(d dwarf.DIE) *Type { return set.typeOf(typeRef{DIE: d}) }

func (set *Set) readType(d dwarf.DIE) *Type {
	t := &Type{set: set, ref: typeRef{DIE: d}}
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
			return set.typeAt(to)
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
	return t.set.typeOf(typeRef{})
}

// target is the type that t refers to: of a pointer, typedef, array, function.
func (t *Type) target() *Type { return t.set.typeOf(t.elem) }

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

// floats reports whether t is made of floating-point numbers only.
func (t *Type) floats() bool {
	s := t.strip()
	return s.tag == dwarf.TagBaseType && (s.enc == encFloat || s.enc == encComplexFloat || s.enc == encImaginary)
}

// constant reports whether objects of type t do not change.
func (t *Type) constant() bool {
	for range maxTypeChain {
		if t.tag == dwarf.TagConstType {
			return true
		}
		if !t.transparent() {
			break
		}
		t = t.target()
	}
	return false
}
