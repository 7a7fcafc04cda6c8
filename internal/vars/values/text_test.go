package values

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// baseType is a base type without an entry.
func baseType(name string, enc types.Encoding, size uint64) *types.Type {
	return &types.Type{Tag: dwarf.TagBaseType, BareName: name, Encoding: enc, ByteSize: size}
}

// TestRendering: values in one line.
func TestRendering(t *testing.T) {
	text := func(s string) *Value { return &Value{Text: s} }
	of := func(v Value, parts ...Part) *Value { v.Compound, v.Parts = true, parts; return &v }
	a, two := Part{Name: "a", Value: text("1")}, Part{Value: text("2")}
	gone := errors.New("gone")
	for _, c := range []struct {
		v    *Value
		want string
	}{
		{&Value{}, ""},
		{text("7"), "7"},
		{&Value{Err: gone}, "<gone>"},
		{&Value{Text: "0x10", Err: gone}, "0x10 <gone>"},
		{&Value{Parts: []Part{a}}, ""},
		{of(Value{}), "{}"},
		{of(Value{}, a, two), "{a = 1, 2}"},
		{of(Value{style: record}, a), "{a: 1}"},
		{of(Value{style: parens}, two, two), "(2, 2)"},
		{of(Value{style: brackets}, two, two), "[2, 2]"},
		{of(Value{Text: "std::set with 2 elements"}, two), "std::set with 2 elements = {2}"},
		{of(Value{Text: "std::set with 0 elements"}), "std::set with 0 elements"},
		{of(Value{Text: "std::set with 9 elements", More: true}), "std::set with 9 elements = {...}"},
		{of(Value{Text: "Some", style: parens}, two), "Some(2)"},
		{of(Value{Text: "Point", style: record}, a), "Point {a: 1}"},
		{of(Value{Text: "@0x10:"}, a), "@0x10: {a = 1}"},
		{of(Value{Text: "(s *)"}, a), "(s *) {a = 1}"},
		{of(Value{Text: "f(s)"}, a), "f(s) = {a = 1}"},
		{of(Value{Text: "(s) x"}, a), "(s) x = {a = 1}"},
		{of(Value{More: true}, a), "{a = 1...}"},
		{of(Value{More: true}, Part{Value: of(Value{})}), "{{} ...}"},
		{of(Value{More: true}, Part{Value: of(Value{})}, a), "{{}, a = 1...}"},
		{of(Value{}, Part{Key: text("k"), Name: "n", Value: text("1")}), "{[k] = 1}"},
		{of(Value{}, Part{Value: text("0"), Repeat: 1}, Part{Value: text("0"), Repeat: 2}), "{0, 0 <repeats 2 times>}"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestStrings: strings as literals.
func TestStrings(t *testing.T) {
	char, c16, c32, wchar := baseType("char", types.EncSignedChar, 1), baseType("char16_t", types.EncUTF, 2), baseType("char32_t", types.EncUTF, 4), baseType("wchar_t", types.EncSigned, 4)
	units := func(size int, list ...uint64) (b []byte) {
		for _, v := range list {
			b = append(b, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
		}
		return b
	}
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	for _, c := range []struct {
		t    *types.Type
		raw  []byte
		cut  bool
		want string
	}{
		{nil, nil, false, `""`},
		{char, nil, true, `""...`},
		{char, []byte("ab"), false, `"ab"`},
		{char, []byte("ab"), true, `"ab"...`},
		{char, []byte("\n\t\r\a\b\f\v\x1b\\\"'"), false, `"\n\t\r\a\b\f\v\033\\\"'"`},
		{char, []byte(" ~\x1f\x7f"), false, `" ~\037\177"`},
		{char, []byte("é€"), false, `"é€"`},
		{char, []byte("\xc3"), false, `"\303"`},
		{char, []byte("\x80\xffx"), false, `"\200\377x"`},
		{char, []byte("\u200b"), false, `"\342\200\213"`},
		{char, []byte("a" + zeros(10) + "b"), false, `"a` + strings.Repeat(`\000`, 10) + `b"`},
		{char, []byte("a" + zeros(11) + "b"), false, `"a", '\000' <repeats 11 times>, "b"`},
		{char, []byte(zeros(12)), false, `'\000' <repeats 12 times>`},
		{char, []byte(zeros(11) + strings.Repeat("'", 11)), false, `'\000' <repeats 11 times>, '\'' <repeats 11 times>`},
		{char, []byte(zeros(11)), true, `'\000' <repeats 11 times>...`},
		{c16, units(2, 'a', 0x20ac, 0x1f), false, `u"a€\037"`},
		{c16, units(2, 0xd83d, 0xde00), false, `u"😀"`},
		{c16, units(2, 0xd800, 0xdc00, 'x'), false, `u"𐀀x"`},
		{c16, units(2, 0xdbff, 0xdfff), false, `u"\x10ffff"`},
		{c16, units(2, 0xd83d, 0xe000), false, `u"\xd83d\xe000"`},
		{c16, units(2, 0xd83d, 0xdbff), false, `u"\xd83d\xdbff"`},
		{c16, units(2, 0xdc00, 0xdc00), false, `u"\xdc00\xdc00"`},
		{c16, units(2, 'a', 0xd83d), false, `u"a\xd83d"`},
		{c16, append(units(2, 'a'), 'b'), false, `u"a"`},
		{c32, units(4, 0x1f600, 0x110000, 0xff, 0x80, 0x100), false, `U"😀\x110000ÿ\200Ā"`},
		{wchar, units(4, 'w'), false, `L"w"`},
		{&types.Type{Tag: dwarf.TagBaseType, BareName: "char"}, []byte("ab"), false, `"ab"`},
	} {
		if got := stringText(c.t, c.raw, false, c.cut); got != c.want {
			t.Errorf("%q: %s, want %s", c.raw, got, c.want)
		}
	}
	if got := stringText(c16, []byte{0xd8, 0x3d, 0xde, 0}, true, false); got != `u"😀"` {
		t.Errorf("big-endian: %s", got)
	}
	for v, want := range map[uint64]string{'a': "'a'", '\'': `'\''`, '"': `'"'`, 0: `'\000'`, 0xffffff41: "'A'", 0x1e9: `'\351'`} {
		if got := charText(char, v); got != want {
			t.Errorf("%#x: %s, want %s", v, got, want)
		}
	}
	if got := charText(c32, 0x20ac); got != "U'€'" {
		t.Error(got)
	}
}

// TestCStrings reads strings that end with a zero, and strings that end with the memory.
func TestCStrings(t *testing.T) {
	for _, c := range []struct {
		mem   string
		at    uint64
		size  uint64
		limit int
		want  string // and whether the string goes on
	}{
		{"abc\x00d", 0, 1, 5, `"abc" false`},
		{"abc\x00d", 0, 1, 3, `"abc" false`},
		{"abc\x00d", 0, 1, 2, `"ab" true`},
		{"abc", 0, 1, 5, `"abc" true`},
		{"abc", 0, 1, 2, `"ab" true`},
		{"", 0, 1, 5, "no memory at 0x1000"},
		{"\x00", 0, 1, 5, `"" false`},
		{"a\x00\x00\x00b\x00", 0, 2, 5, `"a\x00" false`},
		{"a\x00b\x00\x00\x01c", 0, 2, 5, `"a\x00b\x00\x00\x01" true`},
		{strings.Repeat("x", 64) + "\x00", 0, 1, 200, `"` + strings.Repeat("x", 64) + `" false`},
		{strings.Repeat("x", 64) + "\x00", 0, 1, 64, `"` + strings.Repeat("x", 64) + `" false`},
		{strings.Repeat("x", 64) + "\x00", 0, 1, 63, `"` + strings.Repeat("x", 63) + `" true`},
		{strings.Repeat("x", 300), 0, 1, 200, `"` + strings.Repeat("x", 200) + `" true`},
	} {
		b := builder{p: &Process{Arch: arch.AMD64, Memory: memory(c.mem)}, opts: Options{MaxString: c.limit}}
		raw, cut, err := b.cString(0x1000+c.at, c.size)
		got := fmt.Sprintf("%q %v", raw, cut)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.20q, %d bytes each, at most %d: %s, want %s", c.mem, c.size, c.limit, got, c.want)
		}
	}
}

// memory is the memory from 0x1000 on.
type memory string

func (m memory) ReadMem(addr arch.Address, b []byte) (int, error) {
	off := addr - 0x1000
	if off >= uint64(len(m)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	n := copy(b, m[off:])
	if n < len(b) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n, nil
}
func (m memory) ReadWord(addr arch.Address) (uint64, error) {
	b := make([]byte, 8)
	_, err := m.ReadMem(addr, b)
	return binary.LittleEndian.Uint64(b), err
}

// TestFloats: floating-point numbers of all formats.
func TestFloats(t *testing.T) {
	words := func(size int, list ...uint64) (b []byte) {
		for _, v := range list {
			b = append(b, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
		}
		return b
	}
	x87 := func(man, se uint64) []byte { return words(8, man, se) }
	const one = 1 << 63
	quad := func(hi, lo uint64) []byte { return words(8, lo, hi) }
	const f, d, l, q = "float", "double", "long double", "quad"
	for _, c := range []struct {
		name   string
		raw    []byte
		format FloatFormat
		want   string
	}{
		{"_Float16", words(2, 0x3c00), 0, "1"}, {"_Float16", words(2, 0xbe00), 0, "-1.5"}, {"_Float16", words(2, 0x7bff), 0, "65504"}, {"_Float16", words(2, 1), 0, "5.9604645e-08"},
		{"_Float16", words(2, 0x3ff), 0, "6.097555e-05"}, {"_Float16", words(2, 0x400), 0, "6.1035156e-05"}, {"_Float16", words(2, 0x8000), 0, "-0"},
		{"_Float16", words(2, 0x7c00), 0, "inf"}, {"_Float16", words(2, 0xfc00), 0, "-inf"}, {"_Float16", words(2, 0x7c01), 0, "nan"},
		{"__bf16", words(2, 0x3fc0), 0, "1.5"}, {"bfloat16", words(2, 0xc000), 0, "-2"},
		{f, words(4, 0x3fc00000), 0, "1.5"}, {f, words(4, 0x7f800000), 0, "inf"}, {f, words(4, 0xff800000), 0, "-inf"}, {f, words(4, 0x7fc00000), 0, "nan"}, {f, words(4, 0xffc00000), 0, "-nan"},
		{f, words(4, 0x38d1b717), 0, "1e-04"}, {f, words(4, 0x38d1b718), 0, "0.000100000005"}, {f, words(4, 0x4e6e6b28), 0, "1e+09"}, {f, words(4, 0x4e6e6b27), 0, "999999940"}, {f, words(4, 0), 0, "0"},
		{d, words(8, 0x3ff8000000000000), 0, "1.5"}, {d, words(8, 0xbff8000000000000), 0, "-1.5"}, {d, words(8, 0x4376345785d8a000), 0, "1e+17"}, {d, words(8, 0x4376345785d89fff), 0, "99999999999999980"},
		{d, words(8, 0x3f1a36e2eb1c432d), 0, "0.0001"}, {d, words(8, 0x3f1a36e2eb1c432c), 0, "9.999999999999999e-05"}, {d, words(8, 0x8000000000000000), 0, "-0"},
		{l, x87(one, 0x3fff), X87Format, "1"}, {l, x87(one, 0xbfff), X87Format, "-1"}, {l, x87(one|one>>1, 0x3fff), X87Format, "1.5"}, {l, x87(one, 0x7fff), X87Format, "inf"}, {l, x87(one, 0xffff), X87Format, "-inf"},
		{l, x87(one|1, 0x7fff), X87Format, "nan"}, {l, x87(0, 0), X87Format, "0"}, {l, x87(0, 0x8000), X87Format, "-0"}, {l, x87(1, 0), X87Format, "3.6451995318824746025e-4951"}, {l, x87(1, 1), X87Format, "invalid encoding 0x00010000000000000001"}, {l, x87(one, 1), X87Format, "3.3621031431120935063e-4932"},
		{l, x87(one, 0x3fff)[:10], X87Format, "1"}, {l, x87(one, 0x3fff)[:12], X87Format, "1"}, {l, x87(one, 0x3fff)[:12], QuadFormat, "?"}, {l, words(4, 0, 0, 0), PairFormat, "?"},
		{l, x87(one, 0x3fff-15), X87Format, "3.0517578125e-05"}, {l, x87(one, 0x3fff-14), X87Format, "0.00006103515625"}, {l, x87(one, 0x3fff+58), X87Format, "288230376151711744"}, {l, x87(one, 0x3fff+59), X87Format, "5.76460752303423488e+17"},
		{q, quad(0x3fff000000000000, 0), QuadFormat, "1"}, {q, quad(0xbfff800000000000, 0), QuadFormat, "-1.5"}, {q, quad(0x7fff000000000000, 0), QuadFormat, "inf"}, {q, quad(0xffff000000000000, 0), QuadFormat, "-inf"},
		{q, quad(0x7fff000000000000, 1), QuadFormat, "nan"}, {q, quad(0x7fff800000000000, 0), QuadFormat, "nan"}, {q, quad(0, 0), QuadFormat, "0"}, {q, quad(1<<63, 0), QuadFormat, "-0"}, {q, quad(0, 1), QuadFormat, "6.475175119438025110924438958227647e-4966"},
		{q, quad(0x0001000000000000, 0), QuadFormat, "3.3621031431120935062626778173217526e-4932"}, {q, quad(0x3fff000000000000, 1), QuadFormat, "1.0000000000000000000000000000000002"},
		{"_Float128", quad(0x4000000000000000, 0), X87Format, "2"},
		{l, words(8, 0x3ff8000000000000, 0), PairFormat, "1.5"}, {l, words(8, 0x3ff0000000000000, 0x3c90000000000000), PairFormat, "1.00000000000000005551115123125783"}, {l, words(8, 0xbff0000000000000, 0xbc90000000000000), PairFormat, "-1.00000000000000005551115123125783"},
		{l, words(8, 0x7ff0000000000000, 0x3c90000000000000), PairFormat, "inf"}, {l, words(8, 0x7ff8000000000000, 0x3c90000000000000), PairFormat, "nan"}, {l, words(8, 0x3ff0000000000000, 0x7ff0000000000000), PairFormat, "1"}, {l, words(8, 0x3ff0000000000000, 0x7ff8000000000000), PairFormat, "1"},
		{f, words(3, 0), 0, "?"},
	} {
		typ := baseType(c.name, types.EncFloat, uint64(len(c.raw)))
		if got := floatText(typ, c.raw, c.format, false); got != c.want {
			t.Errorf("%s %x: %s, want %s", c.name, c.raw, got, c.want)
		}
	}
	sum := baseType("complex", types.EncComplexFloat, 8)
	if got := floatText(sum, words(4, 0x3f800000, 0x40000000), 0, false); got != "1 + 2i" {
		t.Error(got)
	}
	for _, c := range []struct {
		name string
		enc  types.Encoding
		raw  string
		want string
	}{
		{"complex int", types.EncComplexInteger, "\x01\x00\x00\x00\xfe\xff\xff\xff", "1 + -2i"},
		{"complex", types.EncComplexInteger, "\xff\x02", "-1 + 2i"},
		{"complex unsigned char", types.EncComplexInteger, "\xff\x02", "255 + 2i"},
		{"complex int", types.EncComplexInteger, "\x01\x00\x00", ""},
		{"complex int", types.EncSigned, "\x01\x00", ""},
		{"another", types.EncComplexInteger, "\x01\x00", ""},
	} {
		typ := baseType(c.name, c.enc, uint64(len(c.raw)))
		if is := isComplex(typ); is != (c.want != "") || is && complexIntText(typ, []byte(c.raw), false) != c.want {
			t.Errorf("%s %x: %v, %s; want %s", c.name, c.raw, is, complexIntText(typ, []byte(c.raw), false), c.want)
		}
		if is := scalarKind(typ) == KindFloat; is != (c.want != "") {
			t.Errorf("%s %x: %s", c.name, c.raw, scalarKind(typ))
		}
	}
	if got := floatText(sum, words(3, 0), 0, false); got != "?" {
		t.Errorf("an odd number of bytes: %s", got)
	}
	for raw, want := range map[string]string{"\x3f\xff\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01": "1.5000000000000000000000000000000002"} {
		if got := floatText(baseType(q, types.EncFloat, 16), []byte(raw), QuadFormat, true); got != want {
			t.Errorf("big-endian: %s, want %s", got, want)
		}
	}
	for _, c := range []struct {
		raw         string
		signed, big bool
		want        string
	}{
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x01", false, false, "18446744073709551617"}, {"\x01\x00\x00\x00\x00\x00\x00\x00\x02", false, true, "18446744073709551618"},
		{"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", true, false, "-2"}, {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", false, false, "4722366482869645213694"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", true, false, "2361183241434822606847"}, {"\x80\x00\x00\x00\x00\x00\x00\x00\x00", true, true, "-2361183241434822606848"},
	} {
		if got := wideText([]byte(c.raw), c.signed, c.big); got != c.want {
			t.Errorf("%x: %s, want %s", c.raw, got, c.want)
		}
	}
}

// TestCopyBits copies bits of both byte orders.
func TestCopyBits(t *testing.T) {
	for _, c := range []struct {
		to, from, n uint64
		big         bool
		want        string
	}{
		{0, 0, 16, false, "a55aff"}, {8, 8, 8, false, "ff5aff"}, {4, 0, 8, false, "5ffaff"}, {0, 0, 9, false, "a5feff"}, {8, 0, 8, true, "ffa5ff"}, {4, 0, 4, false, "5fffff"}, {0, 4, 4, false, "faffff"}, {0, 4, 4, true, "5fffff"},
		{4, 0, 4, true, "faffff"}, {1, 0, 3, false, "fbffff"}, {6, 4, 8, false, "bfeaff"}, {6, 4, 8, true, "fd57ff"}, {0, 0, 0, false, "ffffff"},
	} {
		dst := []byte{0xff, 0xff, 0xff}
		CopyBits(dst, c.to, []byte{0xa5, 0x5a}, c.from, c.n, c.big)
		if got := fmt.Sprintf("%x", dst); got != c.want {
			t.Errorf("%d bits from %d to %d, big-endian: %v: %s, want %s", c.n, c.from, c.to, c.big, got, c.want)
		}
	}
}

// TestKinds: the kinds of types and of what printers made of them.
func TestKinds(t *testing.T) {
	tag := func(tag dwarf.Tag, name string) *types.Type { return &types.Type{Tag: tag, BareName: name} }
	class := func(name string) *types.Type { return tag(dwarf.TagClassType, name) }
	list := func(parts ...Part) *Value { return &Value{Compound: true, printed: true, Parts: parts} }
	typed := func(v *Value, t *types.Type) *Value { v.typ = t; return v }
	one := &Value{Text: "1"}
	for _, c := range []struct {
		v    *Value
		want Kind
	}{
		{&Value{}, KindText}, {list(), KindSequence}, {list(Part{Name: "a", Value: one}), KindStruct}, {list(Part{Key: one, Value: one}), KindMap}, {list(Part{Value: one}), KindSequence},
		{list(Part{Value: one}, Part{Name: "b", Value: one}), KindStruct},
		{&Value{typ: &types.Type{}}, KindVoid}, {&Value{typ: tag(dwarf.TagSubrangeType, "x")}, KindInt}, {&Value{typ: tag(dwarf.TagEnumerationType, "x")}, KindEnum},
		{&Value{typ: tag(dwarf.TagUnspecifiedType, "x")}, KindPointer}, {&Value{typ: tag(dwarf.TagPtrToMemberType, "x")}, KindMemberPointer}, {&Value{typ: tag(dwarf.TagSubroutineType, "x")}, KindFunction},
		{&Value{typ: tag(dwarf.TagArrayType, "")}, KindArray}, {&Value{typ: tag(dwarf.TagArrayType, ""), Text: `"x"`}, KindString}, {&Value{typ: tag(dwarf.TagArrayType, ""), Text: `"x"`, Compound: true}, KindArray},
		{&Value{typ: tag(dwarf.TagArrayType, ""), Text: `"x"`, Err: errors.New("gone")}, KindArray}, {&Value{typ: tag(dwarf.TagArrayType, ""), Text: `x`}, KindArray},
		{&Value{typ: tag(dwarf.TagUnionType, "u")}, KindUnion}, {&Value{typ: tag(dwarf.TagInterfaceType, "i")}, KindStruct}, {&Value{typ: tag(dwarf.TagNamespace, "n")}, KindText},
		{&Value{typ: baseType("()", types.EncUnsigned, 0)}, KindVoid}, {&Value{typ: baseType("bool", types.EncBoolean, 1)}, KindBool}, {&Value{typ: baseType("f", types.EncFloat, 4)}, KindFloat},
		{&Value{typ: baseType("f", types.EncComplexFloat, 8)}, KindFloat}, {&Value{typ: baseType("f", types.EncImaginary, 8)}, KindFloat}, {&Value{typ: baseType("p", types.EncAddress, 8)}, KindPointer},
		{&Value{typ: baseType("c", types.EncUTF, 4)}, KindChar}, {&Value{typ: baseType("i", types.EncSigned, 4)}, KindInt},
		{typed(list(), class("vector<int>")), KindSequence}, {typed(list(), class("map<int, int>")), KindMap}, {typed(list(), class("HashMap<int, int>")), KindMap}, {typed(list(), class("map[int]int")), KindMap},
		{typed(list(), class("mapped<int>")), KindSequence}, {typed(list(Part{Value: one}), class("variant<int>")), KindStruct}, {typed(&Value{printed: true, Text: `u8"x"`}, class("string")), KindString},
		{typed(&Value{printed: true, Text: `U"x"`}, class("string")), KindString}, {typed(&Value{printed: true, Text: `R"x"`}, class("string")), KindStruct}, {typed(&Value{printed: true, Text: `LLL"x"`}, class("string")), KindStruct},
		{typed(&Value{printed: true, Text: "nullptr"}, class("unique_ptr<int>")), KindStruct},
		{typed(&Value{printed: true, Compound: true, style: parens, Parts: []Part{{Value: one}}}, class("tuple")), KindStruct}, {typed(&Value{printed: true, Compound: true, style: record}, class("s")), KindStruct},
		{typed(&Value{Compound: true}, class("vector<int>")), KindStruct},
	} {
		if got := c.v.Kind(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.v, got, c.want)
		}
	}
}

// TestRustName: what is left of the name of a type of Rust.
func TestRustName(t *testing.T) {
	for name, want := range map[string]string{
		"alloc::vec::Vec<core::any::Any>": "Vec",
		"Job":                             "Job",
		"dyn core::any::Any":              "dyn Any",
		"&(dyn core::any::Any + core::marker::Send)":           "&dyn Any",
		"&mut dyn core::ops::function::FnMut<(), Output=a::B>": "&mut dyn FnMut",
		"dyn_part::Table":                  "Table",
		"app::dynamic<dyn core::any::Any>": "dynamic",
	} {
		if got := rustName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
