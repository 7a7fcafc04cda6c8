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
