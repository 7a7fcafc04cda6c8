package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// members are the children of a type's entry, as far as values need them.
type members struct {
	fields    []field
	enums     []enumerator
	dims      []dim
	templates []template
	typedefs  []field
	params    []typeRef // of a function type
	variadic  bool
	variant   *variantPart
	virtual   bool // it has virtual functions
}

// A field is a data member, a base class or a static member.
type field struct {
	name       string
	typ        typeRef
	off        uint64      // bytes from the start
	expr       dwarf.Value // computes the address from that of the whole, when Present
	bits       uint64      // of a bit-field; 0 for others
	bitOff     uint64      // of a bit-field, from the start of the whole, in bits
	base       bool
	virtual    bool
	static     bool
	artificial bool
	constant   dwarf.Value
	die        dwarf.DIE
	table      *baseTable // of a virtual base that a PDB describes
}

type enumerator struct {
	name string
	val  uint64
}

// A dim is one dimension of an array.
type dim struct {
	count, upper, lower dwarf.Value
}

// A template is a template parameter: a type, or a value of a type.
type template struct {
	name string
	typ  typeRef
	val  dwarf.Value
	has  bool // val is one
}

// maxMembers bounds what is kept of one type.
const maxMembers = 1 << 14

// all returns the members of t, which must be stripped.
func (t *Type) all() *members {
	t.membersOnce.Do(func() {
		switch {
		case t.ref.db != nil:
			t.m.readRecords(t)
		case t.ref.Valid():
			t.m.read(t)
		}
	})
	return &t.m
}

func (t *Type) dims() []dim { return t.all().dims }

func (m *members) read(t *Type) {
	var e dwarf.Entry
	u := t.ref.Unit
	c := u.Cursor(t.ref.Off)
	if !c.Next(&e) || !e.HasChildren {
		return
	}
	for n := 0; n < maxMembers && c.Level() > 0 && c.Next(&e); n++ {
		switch e.Tag {
		case dwarf.TagMember, dwarf.TagInheritance, dwarf.TagVariable:
			m.fields = append(m.fields, readField(u, &c, &e, t))
		case dwarf.TagEnumerator:
			m.enums = append(m.enums, readEnumerator(u, &c))
		case dwarf.TagSubrangeType, dwarf.TagEnumerationType, dwarf.TagGenericSubrange:
			if t.tag == dwarf.TagArrayType {
				m.dims = append(m.dims, readDim(&c))
			}
		case dwarf.TagTemplateTypeParameter, dwarf.TagTemplateValueParameter:
			m.templates = append(m.templates, readTemplate(u, &c))
		case dwarf.TagGNUTemplateParameterPack:
			m.pack(u, &c, &e)
			continue
		case dwarf.TagTypedef:
			f := readField(u, &c, &e, t)
			f.typ = typeRef{DIE: dwarf.DIE{Unit: u, Off: e.Off}}
			m.typedefs = append(m.typedefs, f)
		case dwarf.TagFormalParameter:
			f := readField(u, &c, &e, t)
			m.params = append(m.params, f.typ)
		case dwarf.TagUnspecifiedParameters:
			m.variadic = true
		case dwarf.TagVariantPart:
			v := readVariantPart(u, e.Off, t)
			m.variant = &v
		case dwarf.TagSubprogram:
			var v dwarf.Value
			m.virtual = m.virtual || c.Find(dwarf.AttrVirtuality, &v) && v.U != 0
		}
		c.SkipChildren()
	}
}

func (m *members) pack(u *dwarf.Unit, c *dwarf.Cursor, e *dwarf.Entry) {
	if !e.HasChildren {
		return
	}
	depth, child := e.Depth, dwarf.Entry{}
	for c.Level() > depth && c.Next(&child) {
		if child.Tag == dwarf.TagTemplateTypeParameter || child.Tag == dwarf.TagTemplateValueParameter {
			m.templates = append(m.templates, readTemplate(u, c))
		}
		c.SkipChildren()
	}
}

func readField(u *dwarf.Unit, c *dwarf.Cursor, e *dwarf.Entry, t *Type) (f field) {
	var v dwarf.Value
	var bitOffset, bitSize, byteSize, dataBit uint64
	var hasDataBit, hasBitOffset, external, declared bool
	f.die = dwarf.DIE{Unit: u, Off: e.Off}
	f.base = e.Tag == dwarf.TagInheritance
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			f.name = u.Text(&v)
		case dwarf.AttrType:
			f.typ = refTo(u, &v)
		case dwarf.AttrDataMemberLoc:
			switch v.Form.Class() {
			case dwarf.ClassConstant, dwarf.ClassOffset:
				f.off = v.U
			default:
				if off, ok := plainOffset(v.B); ok {
					f.off = off
				} else {
					f.expr = v
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
			f.virtual = v.U != 0
		case dwarf.AttrArtificial:
			f.artificial = v.Flag()
		case dwarf.AttrExternal:
			external = v.Flag()
		case dwarf.AttrDeclaration:
			declared = v.Flag()
		case dwarf.AttrConstValue:
			f.constant = v
		}
	}
	f.static = e.Tag == dwarf.TagVariable || e.Tag == dwarf.TagMember && (external || declared)
	if bitSize == 0 || f.static {
		return f
	}
	f.bits = bitSize
	switch {
	case hasDataBit:
		f.bitOff = dataBit
	case hasBitOffset:
		// DWARF 2 and 3 count from the most significant bit of the storage unit.
		if byteSize == 0 {
			byteSize = max(t.set.typeOf(f.typ).Size(), 1)
		}
		f.bitOff = 8 * f.off
		if u.Data.Big() {
			f.bitOff += bitOffset
		} else {
			f.bitOff += 8*byteSize - bitOffset - bitSize
		}
	default:
		f.bitOff = 8 * f.off
	}
	f.off = f.bitOff / 8
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

func readEnumerator(u *dwarf.Unit, c *dwarf.Cursor) (e enumerator) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			e.name = u.Text(&v)
		case dwarf.AttrConstValue:
			e.val = v.U
		}
	}
	return e
}

func readDim(c *dwarf.Cursor) (d dim) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrCount:
			d.count = v
		case dwarf.AttrUpperBound:
			d.upper = v
		case dwarf.AttrLowerBound:
			d.lower = v
		}
	}
	return d
}

func readTemplate(u *dwarf.Unit, c *dwarf.Cursor) (t template) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			t.name = u.Text(&v)
		case dwarf.AttrType:
			t.typ = refTo(u, &v)
		case dwarf.AttrConstValue:
			t.val, t.has = v, true
		}
	}
	return t
}

// typeArg is the i-th template argument of t that is a type; nil when there is
// none.
func (t *Type) typeArg(i int) *Type {
	n := 0
	for _, a := range t.all().templates {
		if a.has {
			continue
		}
		if n == i {
			return t.set.typeOf(a.typ)
		}
		n++
	}
	return nil
}
