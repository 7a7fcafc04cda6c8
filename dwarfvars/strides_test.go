package dwarfvars

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestStrides reads arrays whose elements do not follow one another, or of which the debugging information does not have
// the bounds. The memory has the bytes 0, 1, 2 ...
func TestStrides(t *testing.T) {
	byteType := base("byte", types.EncUnsigned, 1)
	signed := base("signed", types.EncSigned, 1)
	boolean := base("boolean", types.EncBoolean, 1)
	pair := structure("pair", 1,
		named(dwarf.TagMember, "low", handAttr{dwarf.AttrType, byteType}, handAttr{dwarf.AttrDataBitOffset, 0}, handAttr{dwarf.AttrBitSize, 3}),
		named(dwarf.TagMember, "high", handAttr{dwarf.AttrType, byteType}, handAttr{dwarf.AttrDataBitOffset, 3}, handAttr{dwarf.AttrBitSize, 3}))
	minus3 := handRaw{dwarf.FormSdata, []byte{0x7d}}
	dim := func(count int, attrs ...handAttr) *handDIE {
		return die(dwarf.TagSubrangeType, append(attrs, handAttr{dwarf.AttrCount, count})...)
	}
	array := func(elem *handDIE, attr []handAttr, dims ...*handDIE) *handDIE {
		return die(dwarf.TagArrayType, append(attr, handAttr{dwarf.AttrType, elem})...).with(dims...)
	}
	with := func(a dwarf.Attr, v any) []handAttr { return []handAttr{{a, v}} }
	yes, no := ops(op.Lit0+1), ops(op.Lit0)
	for _, c := range []struct {
		name  string
		typ   *handDIE
		place int64
		lang  dwarf.Language
		want  string
	}{
		{"elements in a row", array(byteType, nil, dim(4)), 0, dwarf.LangC99, "{0, 1, 2, 3}"},
		{"a byte stride of the array", array(byteType, with(dwarf.AttrByteStride, 3), dim(4)), 0, dwarf.LangC99, "{0, 3, 6, 9}"},
		{"a byte stride of the dimension", array(byteType, nil, dim(3, handAttr{dwarf.AttrByteStride, 2})), 0, dwarf.LangC99, "{0, 2, 4}"},
		{"a computed stride", array(byteType, nil, dim(3, handAttr{dwarf.AttrByteStride, ops(op.Lit0 + 4)})), 0, dwarf.LangC99, "{0, 4, 8}"},
		{"backwards", array(byteType, nil, dim(3, handAttr{dwarf.AttrByteStride, minus3})), 9, dwarf.LangC99, "{9, 6, 3}"},
		{"equal elements are not those between them", array(byteType, with(dwarf.AttrByteStride, 0), dim(3)), 1, dwarf.LangC99, "{1, 1, 1}"},
		{"rows apart", array(byteType, nil, dim(2, handAttr{dwarf.AttrByteStride, 8}), dim(2, handAttr{dwarf.AttrByteStride, 2})), 0, dwarf.LangC99, "{{0, 2}, {8, 10}}"},
		{"rows of elements that are apart", array(byteType, with(dwarf.AttrByteStride, 2), dim(2), dim(3)), 0, dwarf.LangC99, "{{0, 2, 4}, {6, 8, 10}}"},
		{"columns", array(byteType, with(dwarf.AttrOrdering, 1), dim(2), dim(3)), 0, dwarf.LangC99, "{{0, 1}, {2, 3}, {4, 5}}"},
		{"columns in Fortran", array(byteType, nil, dim(2), dim(3)), 0, dwarf.LangFortran90, "{{0, 1}, {2, 3}, {4, 5}}"},
		{"rows in Fortran", array(byteType, with(dwarf.AttrOrdering, 0), dim(2), dim(3)), 0, dwarf.LangFortran90, "{{0, 1, 2}, {3, 4, 5}}"},
		{"bits", array(boolean, with(dwarf.AttrBitStride, 1), dim(9)), 5, dwarf.LangAda95, "{true, false, true, false, false, false, false, false, false}"},
		{"half bytes", array(byteType, with(dwarf.AttrBitStride, 4), dim(3)), 0x21, dwarf.LangAda95, "{1, 2, 2}"},
		{"half bytes with a sign", array(signed, with(dwarf.AttrBitStride, 4), dim(3)), 0x2f, dwarf.LangAda95, "{-1, 2, 0}"},
		{"rows within a byte", array(byteType, with(dwarf.AttrBitStride, 4), dim(2), dim(3)), 0x21, dwarf.LangAda95, "{{1, 2, 2}, {2, 3, 2}}"},
		{"a bit stride of bytes", array(byteType, with(dwarf.AttrBitStride, 16), dim(3)), 0, dwarf.LangAda95, "{0, 2, 4}"},
		{"a bit stride of the dimension", array(byteType, nil, dim(2, handAttr{dwarf.AttrBitStride, 4})), 0x21, dwarf.LangAda95, "{1, 2}"},
		{"structures of six bits", array(pair, with(dwarf.AttrBitStride, 6), dim(3)), 0x21, dwarf.LangAda95, "{{low = 1, high = 4}, {low = 0, high = 1}, {low = 2, high = 6}}"},
		{"no bounds", array(byteType, nil, die(dwarf.TagSubrangeType)), 0, dwarf.LangC99, "<length not known>"},
		{"nothing in it", array(byteType, nil, dim(0)), 0, dwarf.LangC99, "{}"},
		{"a bound that is not known", array(byteType, nil, die(dwarf.TagSubrangeType, handAttr{dwarf.AttrUpperBound, ops(op.PushObjectAddress, op.Lit0, op.Mul, op.Deref)})), 0,
			dwarf.LangC99, "<length not known: no memory at 0x0>"},
		{"a stride that is not known", array(byteType, nil, dim(2, handAttr{dwarf.AttrByteStride, ops(op.Lit0, op.Deref)})), 0, dwarf.LangC99, "<length not known: no memory at 0x0>"},
		{"not associated", array(byteType, with(dwarf.AttrAssociated, no), dim(2)), 0, dwarf.LangFortran90, "not associated"},
		{"not allocated", array(byteType, with(dwarf.AttrAllocated, no), dim(2)), 0, dwarf.LangFortran90, "not allocated"},
		{"allocated", array(byteType, with(dwarf.AttrAllocated, yes), dim(2)), 0, dwarf.LangFortran90, "{0, 1}"},
		{"allocated or not", array(byteType, with(dwarf.AttrAllocated, ops(op.Lit0, op.Deref)), dim(2)), 0, dwarf.LangFortran90, "<no memory at 0x0>"},
		{"a text", die(dwarf.TagStringType, handAttr{dwarf.AttrByteSize, 3}), 0x41, dwarf.LangFortran90, `"ABC"`},
		{"a text with its length", die(dwarf.TagStringType, handAttr{dwarf.AttrStringLength, ops(op.PushObjectAddress)}, handAttr{dwarf.AttrStringLengthBytes, 1}), 4,
			dwarf.LangFortran90, `"\004\005\006\a"`},
		{"its length in two bytes", die(dwarf.TagStringType, handAttr{dwarf.AttrStringLength, ops(op.PushObjectAddress)}, handAttr{dwarf.AttrByteSize, 2}), 0x41,
			dwarf.LangFortran90, `<no memory at 0x10100>`},
		{"less than nothing", die(dwarf.TagStringType, handAttr{dwarf.AttrStringLength, ops(op.PushObjectAddress)}, handAttr{dwarf.AttrByteSize, 1}), 0x90, dwarf.LangFortran90, `""`},
		{"no length", die(dwarf.TagStringType), 0, dwarf.LangFortran90, "<length not known>"},
		{"a length that is not known", die(dwarf.TagStringType, handAttr{dwarf.AttrStringLength, ops(op.Lit0)}), 0, dwarf.LangFortran90, "<length not known: no memory at 0x0>"},
		{"a text elsewhere", die(dwarf.TagStringType, handAttr{dwarf.AttrByteSize, 2}, handAttr{dwarf.AttrDataLocation, ops(op.PushObjectAddress, op.PlusUconst, 2)}), 0x41,
			dwarf.LangFortran90, `"CD"`},
		{"a text that is not there", die(dwarf.TagStringType, handAttr{dwarf.AttrByteSize, 2}, handAttr{dwarf.AttrAllocated, no}), 0x41, dwarf.LangFortran90, "not allocated"},
	} {
		p := newHand(arch.AMD64, 256)
		for i := range uint64(256) {
			p.put(handBase+i, 1, i)
		}
		place := append([]byte{byte(op.Addr)}, bytesOf(binary.LittleEndian, handBase+uint64(c.place), 8)...)
		if got := handValue(t, p, p.walk(t), 0, c.lang, place, c.typ, byteType, signed, boolean, pair); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDiscriminants reads arrays whose bounds are members of the record that they are in.
func TestDiscriminants(t *testing.T) {
	byteType := base("byte", types.EncUnsigned, 1)
	few := die(dwarf.TagSubrangeType, handAttr{dwarf.AttrType, byteType})
	few = die(dwarf.TagSubrangeType, handAttr{dwarf.AttrType, few}) // a range of a range
	length := named(dwarf.TagMember, "n", handAttr{dwarf.AttrType, few}, handAttr{dwarf.AttrDataMemberLoc, 1})
	array := die(dwarf.TagArrayType, handAttr{dwarf.AttrType, byteType}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrUpperBound, length}))
	list := named(dwarf.TagMember, "list", handAttr{dwarf.AttrType, array}, handAttr{dwarf.AttrDataMemberLoc, 2})
	record := structure("record", 8, length, list)
	outer := structure("outer", 9, named(dwarf.TagMember, "in", handAttr{dwarf.AttrType, record}, handAttr{dwarf.AttrDataMemberLoc, 1}))
	p := newHand(arch.AMD64, 16)
	for i := range uint64(16) {
		p.put(handBase+i, 1, i+1)
	}
	place := append([]byte{byte(op.Addr)}, bytesOf(binary.LittleEndian, handBase, 8)...)
	more := []*handDIE{byteType, few.attrs[0].val.(*handDIE), few, array}
	for _, c := range []struct {
		typ  *handDIE
		want string
	}{
		{record, "{n = 2, list = {3, 4}}"},
		{outer, "{in = {n = 3, list = {4, 5, 6}}}"},
		{array, "<length not known: optimised out>"}, // in no record
	} {
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangAda95, place, c.typ, append(more, record)...); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestSpanWithoutExtent reads a std::span of which only the pointer is left, as compilers leave it of one that is passed on.
func TestSpanWithoutExtent(t *testing.T) {
	number := base("unsigned long", types.EncUnsigned, 8)
	byteType := base("char8", types.EncUnsigned, 1)
	pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrType, byteType}, handAttr{dwarf.AttrByteSize, 8})
	span := func(extent int64, members ...*handDIE) *handDIE {
		return structure("span<char8>", 16, members...).with(named(dwarf.TagTemplateValueParameter, "extent", handAttr{dwarf.AttrType, number},
			handAttr{dwarf.AttrConstValue, handRaw{dwarf.FormData8, bytesOf(binary.LittleEndian, uint64(extent), 8)}}))
	}
	ptr := func() *handDIE {
		return named(dwarf.TagMember, "_M_ptr", handAttr{dwarf.AttrType, pointer}, handAttr{dwarf.AttrDataMemberLoc, 0})
	}
	value := structure("extent", 8, named(dwarf.TagMember, "_M_extent_value", handAttr{dwarf.AttrType, number}, handAttr{dwarf.AttrDataMemberLoc, 0}))
	extent := func() *handDIE {
		return named(dwarf.TagMember, "_M_extent", handAttr{dwarf.AttrType, value}, handAttr{dwarf.AttrDataMemberLoc, 8})
	}
	at := append([]byte{byte(op.Const8u)}, bytesOf(binary.LittleEndian, handBase, 8)...)
	known := append(at[:9:9], 0x9f, opPiece, 8)
	two := []byte{byte(op.Lit0 + 2), 0x9f, opPiece, 8}
	gone := []byte{opPiece, 8}
	join := func(a, b []byte) []byte { return append(a[:len(a):len(a)], b...) }
	for _, c := range []struct {
		name  string
		typ   *handDIE
		place []byte
		want  string
	}{
		{"both", span(-1, ptr(), extent()), join(known, two), "std::span of length 2 = {0, 1}"},
		{"no extent", span(-1, ptr(), extent()), join(known, gone), "std::span <length not known: optimised out>"},
		{"an extent that is a constant", span(3, ptr()), join(known, gone), "std::span of length 3 = {0, 1, 2}"},
		{"no pointer", span(3, ptr()), join(gone, two), "{_M_ptr = <optimised out>}"},
	} {
		p := newHand(arch.AMD64, 16)
		for i := range uint64(16) {
			p.put(handBase+i, 1, i)
		}
		v := die(dwarf.TagVariable, handAttr{dwarf.AttrName, "v"}, handAttr{dwarf.AttrType, c.typ}, handAttr{dwarf.AttrLocation, c.place})
		u := unit(t, binary.LittleEndian, 8, dwarf.LangCPlus20, number, byteType, pointer, value, named(dwarf.TagNamespace, "std").with(c.typ), v)
		a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
		if got := a.Read(a.variable(v.in(u)), Options{}).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		a.Close()
	}
}

const opPiece = 0x93 // DW_OP_piece
