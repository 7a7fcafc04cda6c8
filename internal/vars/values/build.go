package values

import (
	"fmt"
	"math"
	"strconv"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// value reads an object of any type.
func (b *builder) value(o *Object, depth int) *Value {
	if b.objects == nil {
		return b.anyValue(o, depth)
	}
	from := *o // reading may move it
	v := b.anyValue(o, depth)
	b.objects[v] = append(b.objects[v], from)
	return v
}

func (b *builder) anyValue(o *Object, depth int) *Value {
	t := o.Type.Strip()
	if depth > b.opts.MaxDepth {
		v := b.text(o, "{...}")
		v.More = true
		return v
	}
	switch t.Tag {
	case 0:
		return b.text(o, "void")
	case dwarf.TagBaseType, dwarf.TagSubrangeType:
		if base := t.Base(); base.Tag == dwarf.TagEnumerationType {
			return b.enum(o, base)
		}
		return b.scalar(o, t.Base())
	case dwarf.TagEnumerationType:
		return b.enum(o, t)
	case dwarf.TagPointerType:
		return b.pointer(o, t, depth)
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return b.reference(o, t, depth)
	case dwarf.TagPtrToMemberType:
		return b.memberPointer(o, t)
	case dwarf.TagArrayType:
		return b.array(o, t, depth)
	case dwarf.TagStringType:
		return b.fixedString(o, t)
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return b.aggregate(o, t, depth)
	case dwarf.TagSetType:
		return b.set(o, t)
	case dwarf.TagUnspecifiedType:
		return b.text(o, "0x0") // decltype(nullptr)
	case dwarf.TagSubroutineType:
		if t.Language == dwarf.LangGo {
			return b.goFuncValue(o)
		}
		if t.FunctionValue() {
			addr, err := b.uint(o, false)
			if err != nil {
				return Failed(o.Type, err)
			}
			return b.text(o, b.p.addressText(addr))
		}
		if !o.Mem {
			return Failed(o.Type, unknown.ErrOptimisedOut)
		}
		return b.text(o, "{"+t.Name()+"} "+b.p.addressText(o.Addr))
	}
	return Failed(o.Type, &unknown.Corrupt{Err: fmt.Errorf("type with tag %#x", uint16(t.Tag))})
}

// uint reads an object of at most 8 bytes as an integer, and extends its sign if it is signed.
func (b *builder) uint(o *Object, signed bool) (uint64, error) {
	if o.bits > 0 {
		v, err := b.bitfield(o)
		if err == nil && signed && o.bits < 64 {
			shift := 64 - o.bits
			v = uint64(int64(v<<shift) >> shift)
		}
		return v, err
	}
	raw, err := b.p.Bytes(o, 0, o.Size)
	if err != nil {
		return 0, err
	}
	return types.Resize(types.Uint(raw, b.p.Arch.Big()), int(o.Size), signed), nil
}

// scalar reads an object of a base type. t is the stripped type of o.
func (b *builder) scalar(o *Object, t *types.Type) *Value {
	if o.Size == 0 && o.bits == 0 {
		return b.text(o, "()")
	}
	switch t.Encoding {
	case types.EncFloat, types.EncComplexFloat, types.EncImaginary:
		raw, err := b.p.Bytes(o, 0, o.Size)
		if err != nil {
			return Failed(o.Type, err)
		}
		return b.text(o, floatText(t, raw, b.p.LongDouble, b.p.Arch.Big()))
	}
	if isComplex(t) && o.bits == 0 {
		raw, err := b.p.Bytes(o, 0, o.Size)
		if err != nil {
			return Failed(o.Type, err)
		}
		return b.text(o, complexIntText(t, raw, b.p.Arch.Big()))
	}
	if t.Encoding == types.EncSignedFixed || t.Encoding == types.EncUnsignFixed {
		return b.fixed(o, t)
	}
	if o.Size > 8 && o.bits == 0 {
		raw, err := b.p.Bytes(o, 0, o.Size)
		if err != nil {
			return Failed(o.Type, err)
		}
		return b.text(o, wideText(raw, t.Encoding.Signed(), b.p.Arch.Big()))
	}
	v, err := b.uint(o, t.Encoding.Signed() && !narrow(o))
	if err != nil {
		return Failed(o.Type, err)
	}
	if text := b.goNumber(t, v); text != "" {
		return b.text(o, text)
	}
	return b.text(o, scalarText(o.Type, v))
}

// narrow reports whether an object has some bits of a number that is never negative: 15 of 4 bits in a packed array of Ada.
func narrow(o *Object) bool {
	if o.bits == 0 {
		return false
	}
	first, _, ok := o.Type.Strip().Range()
	return ok && first >= 0
}

// scalarText returns the text of a number. named is its type, not stripped.
func scalarText(named *types.Type, v uint64) string {
	t := named.Base()
	var num string
	switch {
	case t.Encoding == types.EncBoolean && v <= 1:
		return strconv.FormatBool(v == 1)
	case t.Encoding == types.EncBoolean && t.Language == dwarf.LangPascal83 && v == types.Resize(math.MaxUint64, int(t.ByteSize), false):
		return "true" // of LongBool and its like
	case t.Encoding == types.EncAddress, isAda(t.Language) && named.Name() == adaAddress:
		return fmt.Sprintf("%#x", v)
	case t.Encoding.Signed():
		num = strconv.FormatInt(int64(v), 10)
	default:
		num = strconv.FormatUint(v, 10)
	}
	if _, ok := named.Char(); ok && !nimNumber(named) {
		return num + " " + charText(named, v)
	}
	return num
}
