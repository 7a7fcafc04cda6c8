package dwarfvars

import (
	"fmt"
	"strconv"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// value reads an object.
func (b *builder) value(o *object, depth int) *Value {
	t := o.typ.strip()
	if depth > b.opts.MaxDepth {
		v := b.text(o, "{...}")
		v.More = true
		return v
	}
	switch t.tag {
	case 0:
		return b.text(o, "void")
	case dwarf.TagBaseType, dwarf.TagSubrangeType:
		if t.tag == dwarf.TagSubrangeType && t.elem.Valid() {
			t = t.target().strip()
		}
		return b.scalar(o, t)
	case dwarf.TagEnumerationType:
		return b.enum(o, t)
	case dwarf.TagPointerType:
		return b.pointer(o, t, depth)
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return b.reference(o, t, depth)
	case dwarf.TagPtrToMemberType:
		return b.memberPointer(o, t)
	case dwarf.TagArrayType:
		return b.array(o, t, 0, depth)
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return b.aggregate(o, t, depth)
	case dwarf.TagUnspecifiedType:
		return b.text(o, "0x0") // decltype(nullptr)
	case dwarf.TagSubroutineType:
		if t.lang == dwarf.LangGo {
			return b.goFuncValue(o)
		}
		if !o.mem {
			return fail(o.typ, ErrOptimisedOut)
		}
		return b.text(o, "{"+t.Name()+"} "+b.p.addressText(o.addr))
	}
	return fail(o.typ, &CorruptExpression{fmt.Errorf("type with tag %#x", uint16(t.tag))})
}

// uint reads an object of at most 8 bytes as a number, extended by its sign.
func (b *builder) uint(o *object, signed bool) (uint64, error) {
	if o.bits > 0 {
		v, err := b.bitfield(o)
		if err == nil && signed && o.bits < 64 {
			shift := 64 - o.bits
			v = uint64(int64(v<<shift) >> shift)
		}
		return v, err
	}
	raw, err := b.p.Bytes(o, 0, o.size)
	if err != nil {
		return 0, err
	}
	return resize(decodeUint(raw, b.p.Arch.Big()), int(o.size), signed), nil
}

// scalar reads a base type; t is o's, stripped.
func (b *builder) scalar(o *object, t *Type) *Value {
	if o.size == 0 && o.bits == 0 {
		return b.text(o, "()")
	}
	switch t.enc {
	case encFloat, encComplexFloat, encImaginary:
		raw, err := b.p.Bytes(o, 0, o.size)
		if err != nil {
			return fail(o.typ, err)
		}
		return b.text(o, floatText(t, raw, b.p.LongDouble, b.p.Arch.Big()))
	}
	if o.size > 8 && o.bits == 0 {
		raw, err := b.p.Bytes(o, 0, o.size)
		if err != nil {
			return fail(o.typ, err)
		}
		return b.text(o, wideText(raw, t.enc.signed(), b.p.Arch.Big()))
	}
	v, err := b.uint(o, t.enc.signed())
	if err != nil {
		return fail(o.typ, err)
	}
	return b.text(o, scalarText(o.typ, v))
}

// scalarText writes a number; named is its type with the names that it goes by.
func scalarText(named *Type, v uint64) string {
	t := named.strip()
	var num string
	switch {
	case t.enc == encBoolean && v <= 1:
		return strconv.FormatBool(v == 1)
	case t.enc == encAddress:
		return fmt.Sprintf("%#x", v)
	case t.enc.signed():
		num = strconv.FormatInt(int64(v), 10)
	default:
		num = strconv.FormatUint(v, 10)
	}
	if _, ok := named.isChar(); ok {
		return num + " " + charText(named, v)
	}
	return num
}
