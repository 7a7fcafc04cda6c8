package types

import (
	"math"
	"math/big"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		enc   Encoding
		scale scale
		v     int64
		want  string // "" if the number is not known
	}{
		{EncSignedFixed, scale{binary: -3, has: true}, -20, "-5/2"},
		{EncSignedFixed, scale{binary: 4, has: true}, 3, "48/1"},
		{EncUnsignFixed, scale{decimal: -2, has: true}, 1234, "617/50"},
		{EncSignedFixed, scale{num: 1, den: 3, has: true}, 6, "2/1"},
		{EncSignedFixed, scale{num: 7, den: 0, has: true}, 6, "6/1"}, // no fraction
		{EncSignedFixed, scale{}, 6, ""},
		{EncSigned, scale{binary: -3, has: true}, 6, ""},
		{EncSignedFixed, scale{binary: maxScale, has: true}, 0, "0/1"},
		{EncSignedFixed, scale{binary: -maxScale, has: true}, 0, "0/1"},
		{EncSignedFixed, scale{decimal: maxScale, has: true}, 0, "0/1"},
		{EncSignedFixed, scale{decimal: -maxScale, has: true}, 0, "0/1"},
		{EncSignedFixed, scale{binary: maxScale + 1, has: true}, 6, ""},
		{EncSignedFixed, scale{binary: -maxScale - 1, has: true}, 6, ""},
		{EncSignedFixed, scale{decimal: maxScale + 1, has: true}, 6, ""},
		{EncSignedFixed, scale{decimal: -maxScale - 1, has: true}, 6, ""},
		{EncSignedFixed, scale{decimal: math.MinInt64, has: true}, 6, ""},
		{EncSignedFixed, scale{binary: math.MinInt64, has: true}, 6, ""},
	} {
		got := ""
		if r, ok := (&Type{Encoding: c.enc, scale: c.scale}).Fixed(big.NewInt(c.v)); ok {
			got = r.String()
		}
		if got != c.want {
			t.Errorf("%+v of %d: got %q, want %q", c.scale, c.v, got, c.want)
		}
	}
}

// A fraction is one with a number that is there, and neither is 0.
func TestSmall(t *testing.T) {
	const num, den = attrGNUNumerator, attrGNUDenominator
	for _, c := range []struct {
		parts []any
		want  string // "" if the number is not known
	}{
		{[]any{attr(num, 1), attr(den, 3)}, "1/3"}, {[]any{attr(den, 4)}, "1/4"}, {[]any{attr(num, 5)}, "5/1"},
		{nil, ""}, {[]any{attr(num, 0), attr(den, 3)}, ""}, {[]any{attr(num, 1), attr(den, 0)}, ""},
	} {
		small := attr(dwarf.AttrSmall, die(dwarf.TagConstant, "", c.parts...))
		typ := typeOf(t, dwarf.LangAda95, die(dwarf.TagBaseType, "f", sized(4), attr(dwarf.AttrEncoding, int(EncSignedFixed)), small))
		got := ""
		if r, ok := typ.Fixed(big.NewInt(1)); ok {
			got = r.String()
		}
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.parts, got, c.want)
		}
	}
}

func TestScaleRead(t *testing.T) {
	var s scale
	s.read(nil, &dwarf.Value{Attr: dwarf.AttrBinaryScale, U: uint64(1<<64 - 3)})
	s.read(nil, &dwarf.Value{Attr: dwarf.AttrDecimalScale, U: 2})
	if want := (scale{binary: -3, decimal: 2, has: true}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

// A fraction that is nowhere is none.
func TestSmallNowhere(t *testing.T) {
	for _, v := range []any{3, []byte{0x30}} {
		typ := typeOf(t, dwarf.LangAda95, die(dwarf.TagBaseType, "f", sized(4), attr(dwarf.AttrEncoding, int(EncSignedFixed)), attr(dwarf.AttrSmall, v)))
		if r, ok := typ.Fixed(big.NewInt(1)); ok {
			t.Errorf("%v: %v", v, r)
		}
	}
}

// What attributes say of a scale is read; a fixed-point number with a sign is signed.
func TestScales(t *testing.T) {
	for _, c := range []struct {
		scale nodeAttr
		want  string
	}{{attr(dwarf.AttrBinaryScale, 3), "40/1"}, {attr(dwarf.AttrDecimalScale, 2), "500/1"}} {
		typ := typeOf(t, dwarf.LangAda95, die(dwarf.TagBaseType, "f", sized(4), attr(dwarf.AttrEncoding, int(EncSignedFixed)), c.scale))
		if r, ok := typ.Fixed(big.NewInt(5)); !ok || r.String() != c.want {
			t.Errorf("%v: %v, %t", c.scale, r, ok)
		}
	}
	if !EncSignedFixed.Signed() || EncUnsignFixed.Signed() {
		t.Error("the signs of fixed-point numbers")
	}
}

// Free Pascal's Currency counts ten thousandths; another type of that name, or another language's, does not.
func TestCurrency(t *testing.T) {
	number := func(name string, size, enc int) *node {
		return die(dwarf.TagBaseType, name, sized(size), attr(dwarf.AttrEncoding, enc))
	}
	for _, c := range []struct {
		lang dwarf.Language
		typ  *node
		want string
	}{
		{dwarf.LangPascal83, number("CURRENCY", 8, int(EncSigned)), "1/2"},
		{dwarf.LangPascal83, number("Currency", 8, int(EncSigned)), "1/2"},
		{dwarf.LangPascal83, number("INT64", 8, int(EncSigned)), ""},
		{dwarf.LangPascal83, number("CURRENCY", 4, int(EncSigned)), ""},
		{dwarf.LangPascal83, number("CURRENCY", 8, int(EncUnsigned)), ""},
		{dwarf.LangPascal83, structure("CURRENCY", sized(8), attr(dwarf.AttrEncoding, int(EncSigned))), ""},
		{dwarf.LangC99, number("CURRENCY", 8, int(EncSigned)), ""},
	} {
		typ := typeOf(t, c.lang, c.typ)
		got := ""
		if r, ok := typ.Fixed(big.NewInt(5000)); ok {
			got = r.String()
		}
		if got != c.want || (typ.Encoding == EncSignedFixed) != (c.want != "") {
			t.Errorf("%#x %s of %d bytes: got %q, want %q", uint16(c.lang), typ.BareName, typ.ByteSize, got, c.want)
		}
	}
}
