package types

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Encoding is DW_AT_encoding of a base type (DWARF 5, 7.8).
type Encoding uint8

const (
	EncAddress      Encoding = 0x01
	EncBoolean      Encoding = 0x02
	EncComplexFloat Encoding = 0x03
	EncFloat        Encoding = 0x04
	EncSigned       Encoding = 0x05
	EncSignedChar   Encoding = 0x06
	EncUnsigned     Encoding = 0x07
	EncUnsignedChar Encoding = 0x08
	EncImaginary    Encoding = 0x09
	EncUTF          Encoding = 0x10
	EncUCS          Encoding = 0x11
	EncASCII        Encoding = 0x12
	EncSignedFixed  Encoding = 0x0d
	EncUnsignFixed  Encoding = 0x0e
	// EncComplexInteger is GNU's for complex numbers of integers: DW_ATE_lo_user, which others
	// use for other types. ComplexInteger tells them apart.
	EncComplexInteger Encoding = 0x80
)

// Signed reports whether e is of signed integers.
func (e Encoding) Signed() bool { return e == EncSigned || e == EncSignedChar || e == EncSignedFixed }

// Char reports whether e is of characters.
func (e Encoding) Char() bool {
	return e == EncSignedChar || e == EncUnsignedChar || e == EncUTF || e == EncUCS || e == EncASCII
}

// A Type is a type of the program. It reads its members when they are first needed. Several
// goroutines may use it.
type Type struct {
	set      *Set
	Ref      Ref       // not valid for void
	Tag      dwarf.Tag // 0 for void
	BareName string    // DW_AT_name, "" when it has none
	ByteSize uint64    // bytes, 0 when not known
	Encoding Encoding
	Elem     Ref // what a pointer points to, a typedef is for, an array has
	target   atomic.Pointer[Type]
	Declared bool   // the members are elsewhere
	sig      uint64 // of a declared type; 0 when it has none
	Language dwarf.Language

	Class     Ref // of a pointer to a member
	GoKind    uint8
	EnumClass bool
	Register  bool        // of an enumeration: it has the flags of a register
	named     bool        // of a function: BareName is the whole type
	Stride    dwarf.Value // of an array, when its elements are apart
	bitStride dwarf.Value // the same in bits
	columns   bool        // of an array: the last of its dimensions is the outermost
	Row       bool        // the type of a part of an array of several dimensions, which has the entry of the whole
	// allocated and associated say of an array of Fortran whether there is one.
	allocated, associated dwarf.Value
	// Length says where the length of a string of Fortran is, lengthSize in how many bytes.
	Length       dwarf.Value
	lengthSize   uint64
	Vector       bool
	DataLocation dwarf.Value // of an array whose elements are elsewhere
	sized        dwarf.Value // DW_AT_byte_size that must be evaluated
	scale        scale       // of a fixed-point type

	membersOnce sync.Once
	m           Members

	nameOnce sync.Once
	shown    string

	fullOnce sync.Once
	full     string
}

// A Ref says where a type is described: by an entry of DWARF or, if DB is not nil, by a
// record of a PDB. The zero Ref refers to void.
type Ref struct {
	dwarf.DIE // of a record: Unit nil, Off as recordRef makes it
	DB        *Database
}

// Valid reports whether t refers to a type other than void.
func (t Ref) Valid() bool { return t.DB != nil || t.DIE.Valid() }

// RefTo returns the type that an attribute of an entry refers to.
func RefTo(u *dwarf.Unit, v *dwarf.Value) Ref {
	d, _ := u.Ref(v)
	return Ref{DIE: d}
}

// A Set has the types of one process. It keeps those that were asked for. Several goroutines
// may use it.
type Set struct {
	arch *arch.Arch
	libs Libraries

	types    sync.Map // typeRef -> *Type
	dbs      sync.Map // database -> *database
	names    sync.Map // *dwarf.Unit -> *unitTypes
	packages sync.Map // *dwarf.Data -> *goPackages
	// completed are declared types with their definitions, Ref -> Ref, and elsewhere is where the
	// definition for units without their own is, typeKey -> dwarf.DIE; not valid for those without one.
	// foreign counts the bytes that were searched for them in other files than their own, of which others has the units that
	// may define them, unitsOf -> []*dwarf.Unit.
	completed, elsewhere, others sync.Map
	foreign                      atomic.Int64

	shortLookup uint64 // in tests: less than maxLookup; else 0
}

// Libraries are those of a process, with their files.
type Libraries interface {
	// All lists the libraries of the process; nil where they are not known.
	All() []*libstate.Library
	// File is the file of a library, nil where there is none. It fetches nothing: all
	// libraries are asked for when a type is only declared in that of a variable.
	File(*libstate.Library) *image.Image
}

// NewSet returns the types of a process.
func NewSet(a *arch.Arch, libs Libraries) *Set { return &Set{arch: a, libs: libs} }

// Of returns the type that ref refers to.
func (set *Set) Of(ref Ref) *Type {
	if v, ok := set.types.Load(ref); ok {
		return v.(*Type)
	}
	var t *Type
	if ref.DB != nil {
		t = set.readRecord(ref)
	} else {
		t = set.readType(ref.DIE)
	}
	v, _ := set.types.LoadOrStore(ref, t)
	return v.(*Type)
}

// OfField returns the type of a member that Members returned.
func (set *Set) OfField(f *Field) *Type {
	if f.typ == nil {
		return set.Of(f.Type)
	}
	t := f.typ.Load()
	if t == nil {
		t = set.Of(f.Type)
		f.typ.Store(t)
	}
	return t
}

// At returns the type whose entry is d.
func (set *Set) At(d dwarf.DIE) *Type { return set.Of(Ref{DIE: d}) }

func (set *Set) readType(d dwarf.DIE) *Type {
	t := &Type{set: set, Ref: Ref{DIE: d}}
	if !d.Valid() {
		return t
	}
	var e dwarf.Entry
	var v, signature, spec dwarf.Value
	t.Language = d.Unit.Language
	t.columns = Fortran(t.Language)
	c := d.Unit.Cursor(d.Off)
	c.Next(&e)
	t.Tag = e.Tag
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			t.BareName = d.Unit.Text(&v)
		case dwarf.AttrByteSize:
			if v.Form.Class() == dwarf.ClassConstant {
				t.ByteSize = v.U
			} else {
				t.sized = v
			}
		case dwarf.AttrBitSize:
			if t.ByteSize == 0 && e.Tag == dwarf.TagBaseType {
				t.ByteSize = (v.U + 7) / 8
			}
		case dwarf.AttrEncoding:
			t.Encoding = Encoding(v.U)
		case dwarf.AttrType:
			t.Elem = RefTo(d.Unit, &v)
		case dwarf.AttrContainingType:
			t.Class = RefTo(d.Unit, &v)
		case dwarf.AttrDeclaration:
			t.Declared = v.Flag()
		case dwarf.AttrSignature:
			signature = v
		case dwarf.AttrSpecification:
			spec = v
		case dwarf.AttrGoKind:
			t.GoKind = uint8(v.U)
		case dwarf.AttrEnumClass:
			t.EnumClass = v.Flag()
		case dwarf.AttrByteStride:
			t.Stride = v
		case dwarf.AttrBitStride:
			t.bitStride = v
		case dwarf.AttrOrdering:
			t.columns = v.U == columnMajor
		case dwarf.AttrAllocated:
			t.allocated = v
		case dwarf.AttrAssociated:
			t.associated = v
		case dwarf.AttrStringLength:
			t.Length = v
		case dwarf.AttrStringLengthBytes:
			t.lengthSize = v.U
		case dwarf.AttrDataLocation:
			t.DataLocation = v
		case dwarf.AttrBinaryScale, dwarf.AttrDecimalScale, dwarf.AttrSmall:
			t.scale.read(d.Unit, &v)
		case attrGNUVector:
			t.Vector = v.Flag()
		}
	}
	if signature.Present() {
		if to, err := d.Unit.Ref(&signature); err == nil && to != d {
			return set.At(to)
		}
		t.sig, t.Declared = signature.U, true // in another file
	}
	if t.BareName == "" {
		if to, err := d.Unit.Ref(&spec); err == nil {
			v := to.Unit.Value(to.Off, dwarf.AttrName)
			t.BareName = to.Unit.Text(&v)
		}
	}
	if t.Tag == dwarf.TagBaseType && t.Language == dwarf.LangPascal83 {
		t.currency()
	}
	return t
}

const attrGNUVector dwarf.Attr = 0x2107

const columnMajor = 1 // DW_ORD_col_major

// Transparent reports whether a type only adds a name or a qualifier to another.
func (t *Type) Transparent() bool {
	switch t.Tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType,
		dwarf.TagImmutableType, dwarf.TagTemplateAlias, dwarf.TagPackedType, dwarf.TagSharedType:
		return true
	}
	return false
}

// MaxChain is the longest chain of typedefs and qualifiers that is followed.
const MaxChain = 64

// Strip returns the type behind typedefs and qualifiers.
func (t *Type) Strip() *Type {
	for range MaxChain {
		if t == nil || !t.Transparent() {
			return t
		}
		t = t.Target()
	}
	return t.set.Of(Ref{})
}

// Target returns the type that t refers to: what a pointer points to, the elements of an
// array, the result of a function, what a typedef names.
func (t *Type) Target() *Type {
	to := t.target.Load()
	if to == nil {
		to = t.set.Of(t.Elem)
		t.target.Store(to)
	}
	return to
}

func (t *Type) void() bool { return t.Tag == 0 }

// Aggregate reports whether t, which must be stripped, is a struct, a class or a union.
func (t *Type) Aggregate() bool {
	switch t.Tag {
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return true
	}
	return false
}

// Pointer reports whether t, which must be stripped, is a pointer.
func (t *Type) Pointer() bool { return t.Tag == dwarf.TagPointerType }

// Reference reports whether t, which must be stripped, is a reference.
func (t *Type) Reference() bool {
	return t.Tag == dwarf.TagReferenceType || t.Tag == dwarf.TagRvalueReferenceType
}

// Char reports whether t is a character type, and how many bytes it has. Wide characters of C
// are integers; they are known by the names of their types.
func (t *Type) Char() (size uint64, ok bool) {
	s := t.Strip()
	if s.Tag != dwarf.TagBaseType || s.ByteSize != 1 && s.ByteSize != 2 && s.ByteSize != 4 {
		return 0, false
	}
	return s.ByteSize, s.Encoding.Char() || t.CharName() != ""
}

// CharName returns which of C's wide character types t is, "wchar_t", "char16_t" ...; "" for
// none.
func (t *Type) CharName() string {
	for range MaxChain {
		switch t.BareName {
		case "wchar_t", "char16_t", "char32_t", "char8_t":
			if !t.Aggregate() {
				return t.BareName
			}
		}
		if !t.Transparent() {
			break
		}
		t = t.Target()
	}
	return ""
}

// Floats reports whether t is a floating-point or complex number.
func (t *Type) Floats() bool {
	s := t.Strip()
	return s.Encoding == EncFloat || s.Encoding == EncComplexFloat || s.Encoding == EncImaginary
}

// ComplexInteger reports whether t, which is stripped, is a complex number of integers, and
// whether they are signed.
func (t *Type) ComplexInteger() (is, signed bool) {
	part, ok := strings.CutPrefix(t.BareName, "complex")
	return ok && t.Encoding == EncComplexInteger && t.ByteSize%2 == 0, !strings.HasPrefix(part, " unsigned")
}

// Constant reports whether t is const-qualified.
func (t *Type) Constant() bool {
	for range MaxChain {
		if t.Tag == dwarf.TagConstType {
			return true
		}
		if !t.Transparent() {
			break
		}
		t = t.Target()
	}
	return false
}
