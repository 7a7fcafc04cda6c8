package types

import (
	"slices"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Members are the children of a type's entry, as far as values need them.
type Members struct {
	Fields    []Field
	Enums     []Enumerator
	dims      []Dim
	Templates []Template
	params    []Ref   // of a function type
	made      []*Type // the same, of one that was made
	variadic  bool
	Variant   *VariantPart
}

// A Field is a data member, a base class or a static member.
type Field struct {
	Name     string
	Type     Ref
	typ      *atomic.Pointer[Type] // the type itself, when it has been asked for
	Off      uint64                // bytes from the start
	Expr     dwarf.Value           // computes the address from that of the whole, when Present
	Bits     uint64                // of a bit-field; 0 for others
	BitOff   uint64                // of a bit-field, from the start of the whole, in bits
	Base     bool
	Virtual  bool
	Static   bool
	Constant dwarf.Value
	DIE      dwarf.DIE
	Table    *BaseTable // of a virtual base that a PDB describes
}

// An Enumerator is a named value of an enumeration.
type Enumerator struct {
	Name string
	Val  uint64
}

// A Dim is one dimension of an array.
type Dim struct {
	index               Ref // the type of its indexes
	count, upper, lower dwarf.Value
	stride, bitStride   dwarf.Value // from one element to the next, in bytes or in bits, when they are apart
	first               uint64      // the lower bound without lower
}

// A Template is a template argument: a type, or a value of a type.
type Template struct {
	typ Ref
	Val dwarf.Value
	Has bool // Val is one
}

// MaxMembers is the largest number of members kept of one type.
const MaxMembers = 1 << 14

// Members returns the members of t, which must be stripped.
func (t *Type) Members() *Members {
	t.membersOnce.Do(func() {
		switch {
		case t.Ref.DB != nil:
			t.m.readRecords(t)
		case t.Ref.Valid():
			t.m.read(t)
		}
		known := make([]atomic.Pointer[Type], len(t.m.Fields))
		for i := range known {
			t.m.Fields[i].typ = &known[i]
		}
	})
	return &t.m
}

// Dims returns the dimensions of an array type t, which must be stripped, the outermost in memory first: in Fortran
// the last.
func (t *Type) Dims() []Dim { return t.Members().dims }

func (m *Members) read(t *Type) {
	var e dwarf.Entry
	u := t.Ref.Unit
	c := u.Cursor(t.Ref.Off)
	c.Next(&e)
	for n := 0; n < MaxMembers && c.Level() > 0 && c.Next(&e); n++ {
		switch e.Tag {
		case dwarf.TagMember, dwarf.TagInheritance, dwarf.TagVariable:
			m.Fields = append(m.Fields, readField(u, &c, &e, t))
		case dwarf.TagEnumerator:
			m.Enums = append(m.Enums, readEnumerator(u, &c))
		case dwarf.TagSubrangeType, dwarf.TagEnumerationType, dwarf.TagGenericSubrange:
			m.dims = append(m.dims, readDim(u, &c)) // of an array
		case dwarf.TagTemplateTypeParameter, dwarf.TagTemplateValueParameter:
			m.Templates = append(m.Templates, readTemplate(u, &c))
		case dwarf.TagGNUTemplateParameterPack:
			m.pack(u, &c, e.Depth)
		case dwarf.TagFormalParameter:
			f := readField(u, &c, &e, t)
			m.params = append(m.params, f.Type)
		case dwarf.TagUnspecifiedParameters:
			m.variadic = true
		case dwarf.TagVariantPart:
			v := readVariantPart(u, e.Off, t, 0)
			m.Variant = &v
		}
		c.SkipChildren()
	}
	if t.columns {
		slices.Reverse(m.dims)
	}
}

func (m *Members) pack(u *dwarf.Unit, c *dwarf.Cursor, depth int) {
	var child dwarf.Entry
	for c.Level() > depth && c.Next(&child) {
		if child.Tag == dwarf.TagTemplateTypeParameter || child.Tag == dwarf.TagTemplateValueParameter {
			m.Templates = append(m.Templates, readTemplate(u, c))
		}
	}
}

func readField(u *dwarf.Unit, c *dwarf.Cursor, e *dwarf.Entry, t *Type) (f Field) {
	var v dwarf.Value
	var bitOffset, bitSize, byteSize, dataBit uint64
	var hasDataBit, hasBitOffset, external, declared bool
	f.DIE = dwarf.DIE{Unit: u, Off: e.Off}
	f.Base = e.Tag == dwarf.TagInheritance
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			f.Name = u.Text(&v)
		case dwarf.AttrType:
			f.Type = RefTo(u, &v)
		case dwarf.AttrDataMemberLoc:
			switch v.Form.Class() {
			case dwarf.ClassConstant, dwarf.ClassOffset:
				f.Off = v.U
			default:
				if off, ok := plainOffset(v.B); ok {
					f.Off = off
				} else {
					f.Expr = v
				}
			}
		case dwarf.AttrBitSize:
			bitSize = v.U
		case dwarf.AttrBitOffset:
			bitOffset, hasBitOffset = v.U, true
		case dwarf.AttrDataBitOffset:
			dataBit, hasDataBit = v.U, true
		case dwarf.AttrByteSize:
			byteSize = v.U
		case dwarf.AttrVirtuality:
			f.Virtual = v.U != 0
		case dwarf.AttrExternal:
			external = v.Flag()
		case dwarf.AttrDeclaration:
			declared = v.Flag()
		case dwarf.AttrConstValue:
			f.Constant = v
		}
	}
	f.Static = e.Tag == dwarf.TagVariable || e.Tag == dwarf.TagMember && (external || declared)
	if bitSize == 0 || f.Static {
		return f
	}
	f.Bits = bitSize
	switch {
	case hasDataBit:
		f.BitOff = dataBit
	case hasBitOffset:
		// DWARF 2 and 3 count from the most significant bit of the storage unit.
		if byteSize == 0 {
			byteSize = max(t.set.Of(f.Type).Size(), 1)
		}
		f.BitOff = 8 * f.Off
		if u.Data.Big() {
			f.BitOff += bitOffset
		} else {
			f.BitOff += 8*byteSize - bitOffset - bitSize
		}
	default:
		f.BitOff = 8 * f.Off
	}
	f.Off = f.BitOff / 8
	return f
}

// plainOffset reads the offset of a member that DWARF 2 gives as an expression:
// DW_OP_plus_uconst.
func plainOffset(expr []byte) (uint64, bool) {
	if len(expr) < 2 || expr[0] != 0x23 {
		return 0, false
	}
	var v uint64
	for i, b := range expr[1:] {
		v |= uint64(b&0x7f) << (7 * uint(i))
		if b < 0x80 {
			return v, i == len(expr)-2
		}
	}
	return 0, false
}

func readEnumerator(u *dwarf.Unit, c *dwarf.Cursor) (e Enumerator) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			e.Name = u.Text(&v)
		case dwarf.AttrConstValue:
			e.Val = v.U
		}
	}
	return e
}

func readDim(u *dwarf.Unit, c *dwarf.Cursor) (d Dim) {
	var v dwarf.Value
	if oneBased(u.Language) {
		d.first = 1
	}
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrType:
			d.index = RefTo(u, &v)
		case dwarf.AttrCount:
			d.count = v
		case dwarf.AttrUpperBound:
			d.upper = v
		case dwarf.AttrLowerBound:
			d.lower = v
		case dwarf.AttrByteStride:
			d.stride = v
		case dwarf.AttrBitStride:
			d.bitStride = v
		}
	}
	return d
}

func readTemplate(u *dwarf.Unit, c *dwarf.Cursor) (t Template) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrType:
			t.typ = RefTo(u, &v)
		case dwarf.AttrConstValue:
			t.Val, t.Has = v, true
		}
	}
	return t
}

// TypeArg returns the i-th template argument of t that is a type; nil if there is none.
func (t *Type) TypeArg(i int) *Type {
	n := 0
	for _, a := range t.Members().Templates {
		if a.Has {
			continue
		}
		if n == i {
			return t.set.Of(a.typ)
		}
		n++
	}
	return nil
}
