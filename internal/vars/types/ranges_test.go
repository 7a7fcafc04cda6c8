package types

import (
	"math"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestRange: numbers without a range of their own have that of their bytes.
func TestRange(t *testing.T) {
	base := func(size uint64, e Encoding) *Type { return &Type{Tag: dwarf.TagBaseType, ByteSize: size, Encoding: e} }
	for _, c := range []struct {
		t           *Type
		first, last int64
		ok          bool
	}{
		{base(1, EncBoolean), 0, 1, true},
		{base(4, EncBoolean), 0, 1, true},
		{base(1, EncSigned), -128, 127, true},
		{base(2, EncSignedChar), -32768, 32767, true},
		{base(8, EncSigned), math.MinInt64, math.MaxInt64, true},
		{base(1, EncUnsigned), 0, 255, true},
		{base(1, EncUTF), 0, 255, true},
		{base(4, EncUnsigned), 0, math.MaxUint32, true},
		{base(8, EncUnsigned), 0, math.MaxInt64, true},
		{base(8, EncFloat), 0, 0, false},
		{base(0, EncUnsigned), 0, 0, false},
		{base(16, EncUnsigned), 0, 0, false},
		{&Type{Tag: dwarf.TagPointerType, ByteSize: 8}, 0, 0, false},
		{&Type{Tag: dwarf.TagEnumerationType, ByteSize: 4}, 0, 0, false},
	} {
		if first, last, ok := c.t.Range(); first != c.first || last != c.last || ok != c.ok {
			t.Errorf("%d bytes of encoding %d: %d to %d, %t", c.t.ByteSize, c.t.Encoding, first, last, ok)
		}
	}
}

// TestRangeOfSubranges: a type with bounds of its own has those; one of another type without an upper bound has that type's.
func TestRangeOfSubranges(t *testing.T) {
	integer := die(dwarf.TagBaseType, "int", sized(4), nodeAttr{dwarf.AttrEncoding, int(EncSigned)})
	enum := die(dwarf.TagEnumerationType, "e", sized(1), die(dwarf.TagEnumerator, "a", nodeAttr{dwarf.AttrConstValue, 3}), die(dwarf.TagEnumerator, "b", nodeAttr{dwarf.AttrConstValue, 7}))
	sub := func(of *node, bounds ...any) *node { return typed(dwarf.TagSubrangeType, "s", of, bounds...) }
	lower := func(v any) nodeAttr { return nodeAttr{dwarf.AttrLowerBound, v} }
	upper := func(v any) nodeAttr { return nodeAttr{dwarf.AttrUpperBound, v} }
	for _, c := range []struct {
		what        string
		lang        dwarf.Language
		typ         *node
		first, last int64
		ok          bool
	}{
		{"both", dwarf.LangAda95, sub(integer, lower(5), upper(9)), 5, 9, true},
		{"the upper of Ada", dwarf.LangAda95, sub(integer, upper(9)), 1, 9, true},
		{"the upper of another", dwarf.LangC99, sub(integer, upper(9)), 0, 9, true},
		{"computed upper", dwarf.LangAda95, sub(integer, lower(5), upper([]byte{0x30})), 0, 0, false},
		{"computed lower", dwarf.LangAda95, sub(integer, lower([]byte{0x30}), upper(9)), 0, 0, false},
		{"no upper", dwarf.LangAda95, sub(integer), -1 << 31, 1<<31 - 1, true},
		{"of enumerators", dwarf.LangAda95, sub(enum), 3, 7, true},
		{"enumerators", dwarf.LangAda95, enum, 3, 7, true},
		{"a number with bounds", dwarf.LangAda95, die(dwarf.TagBaseType, "b", sized(1), nodeAttr{dwarf.AttrEncoding, int(EncSigned)}, lower(2), upper(9)), -128, 127, true},
		{"nine bytes", dwarf.LangC99, die(dwarf.TagBaseType, "b", sized(9), nodeAttr{dwarf.AttrEncoding, int(EncUnsigned)}), 0, 0, false},
	} {
		if first, last, ok := typeOf(t, c.lang, c.typ).Range(); first != c.first || last != c.last || ok != c.ok {
			t.Errorf("%s: %d to %d, %t", c.what, first, last, ok)
		}
	}
}

// TestDimensions: a dimension has constants, or none.
func TestDimensions(t *testing.T) {
	index := die(dwarf.TagBaseType, "index", sized(4), nodeAttr{dwarf.AttrEncoding, int(EncSigned)})
	dimension := func(attrs ...any) (*Type, *Dim) {
		typ := typeOf(t, dwarf.LangC99, typed(dwarf.TagArrayType, "", base("int", 4), die(dwarf.TagSubrangeType, "", attrs...)))
		return typ, &typ.Members().dims[0]
	}
	for _, c := range []struct {
		what  string
		attrs []any
		lower int64
		count uint64
		ok    bool
	}{
		{"a count", []any{nodeAttr{dwarf.AttrCount, 4}}, 0, 4, true},
		{"both bounds", []any{nodeAttr{dwarf.AttrLowerBound, 3}, nodeAttr{dwarf.AttrUpperBound, 5}}, 3, 3, true},
		{"computed lower", []any{nodeAttr{dwarf.AttrLowerBound, []byte{0x30}}, nodeAttr{dwarf.AttrUpperBound, 5}}, 0, 0, false},
	} {
		typ, d := dimension(c.attrs...)
		if lower, count, ok := d.Constant(); lower != c.lower || count != c.count || ok != c.ok {
			t.Errorf("%s: from %d, %d, %t", c.what, lower, count, ok)
		}
		if of := d.Index(typ); of != nil {
			t.Errorf("%s: indexes of type %s", c.what, of.Name())
		}
	}
	ada := typeOf(t, dwarf.LangAda95, typed(dwarf.TagArrayType, "", base("int", 4), die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrUpperBound, 5})))
	if lower, count, ok := ada.Dims()[0].Constant(); lower != 1 || count != 5 || !ok {
		t.Errorf("of Ada: from %d, %d, %t", lower, count, ok)
	}
	if _, _, ok := func() (int64, uint64, bool) { _, d := dimension(); return d.Constant() }(); ok {
		t.Error("a dimension without bounds has constants")
	}
	if typ, d := dimension(nodeAttr{dwarf.AttrType, index}, nodeAttr{dwarf.AttrCount, 4}); d.Index(typ) == nil || d.Index(typ).Name() != "index" {
		t.Error("the type of indexes is not there")
	}
}

// A range that no debugging information has is that of its bytes; so is one of a PDB.
func TestRangeOfNothing(t *testing.T) {
	set := NewSet(arch.AMD64, noLibraries{})
	for _, typ := range []*Type{{set: set, Tag: dwarf.TagSubrangeType, ByteSize: 1}, {set: set, Tag: dwarf.TagSubrangeType, ByteSize: 1, Ref: Ref{DB: &Database{}}}} {
		if first, last, ok := typ.Range(); ok {
			t.Errorf("%d to %d", first, last)
		}
	}
}
