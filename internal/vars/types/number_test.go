package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

func TestResize(t *testing.T) {
	const v = 0x8182838485868788
	for _, c := range []struct {
		size   int
		signed bool
		want   uint64
	}{
		{-1, false, v}, {0, false, v}, {0, true, v}, {8, true, v}, {9, true, v}, {1, false, 0x88}, {1, true, 0xffffffffffffff88},
		{2, false, 0x8788}, {7, false, 0x82838485868788}, {7, true, 0xff82838485868788}, {4, true, 0xffffffff85868788},
	} {
		if got := Resize(v, c.size, c.signed); got != c.want {
			t.Errorf("%d bytes, signed %v: %#x, want %#x", c.size, c.signed, got, c.want)
		}
	}
	if got := Resize(0x7f, 1, true); got != 0x7f {
		t.Errorf("a positive byte: %#x", got)
	}
}

func TestUint(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range []struct {
		n           int
		little, big uint64
	}{{0, 0, 0}, {1, 1, 1}, {3, 0x030201, 0x010203}, {8, 0x0807060504030201, 0x0102030405060708}, {9, 0x0807060504030201, 0x0203040506070809}} {
		if little, big := Uint(b[:c.n], false), Uint(b[:c.n], true); little != c.little || big != c.big {
			t.Errorf("%d bytes: %#x and %#x, want %#x and %#x", c.n, little, big, c.little, c.big)
		}
	}
}

func TestComplexInteger(t *testing.T) {
	for _, c := range []struct {
		name       string
		enc        Encoding
		size       uint64
		is, signed bool
	}{
		{"complex int", EncComplexInteger, 8, true, true}, {"complex unsigned char", EncComplexInteger, 2, true, false},
		{"complex", EncComplexInteger, 2, true, true}, {"complex int", EncComplexInteger, 7, false, true},
		{"complex float", EncComplexFloat, 8, false, true}, {"pair of ints", EncComplexInteger, 8, false, true},
	} {
		if is, signed := (&Type{BareName: c.name, Encoding: c.enc, ByteSize: c.size}).ComplexInteger(); is != c.is || signed != c.signed {
			t.Errorf("%s of %d bytes: %v, signed %v", c.name, c.size, is, signed)
		}
	}
}

func TestPlainOffset(t *testing.T) {
	for _, c := range []struct {
		expr string
		want uint64
		ok   bool
	}{
		{"", 0, false}, {"\x23", 0, false}, {"\x23\x05", 5, true}, {"\x22\x05", 0, false}, {"\x23\x7f", 127, true}, {"\x23\x80", 0, false},
		{"\x23\x80\x01", 128, true}, {"\x23\x81\x82\x03", 1 + 2<<7 + 3<<14, true}, {"\x23\x05\x06", 5, false}, {"\x23\x80\x01\x06", 128, false},
	} {
		if got, ok := plainOffset([]byte(c.expr)); got != c.want || ok != c.ok {
			t.Errorf("%q: %d %v, want %d %v", c.expr, got, ok, c.want, c.ok)
		}
	}
}

// TestLanguages tells which languages are C or C++, which count from 1, and which types may be the same.
func TestLanguages(t *testing.T) {
	classes := map[dwarf.Language]string{}
	for class, list := range map[string][]dwarf.Language{
		"c":     {dwarf.LangC, dwarf.LangC89, dwarf.LangC99, dwarf.LangC11, dwarf.LangC17, dwarf.LangC23, dwarf.LangAssembly, dwarf.LangMipsAsm},
		"c++":   {dwarf.LangCPlusPlus, dwarf.LangCPlus03, dwarf.LangCPlus11, dwarf.LangCPlus14, dwarf.LangCPlus17, dwarf.LangCPlus20},
		"one":   {dwarf.LangFortran77, dwarf.LangFortran90, dwarf.LangFortran95, dwarf.LangFortran03, dwarf.LangFortran08, dwarf.LangFortran18, dwarf.LangAda83, dwarf.LangAda95, dwarf.LangPascal83, dwarf.LangModula2, dwarf.LangCobol74},
		"other": {dwarf.LangRust, dwarf.LangGo, dwarf.LangD, 0},
	} {
		for _, l := range list {
			classes[l] = class
		}
	}
	for l, class := range classes {
		if IsC(l) != (class == "c") || IsCXX(l) != (class == "c++") || oneBased(l) != (class == "one") {
			t.Errorf("language %#x: C %v, C++ %v, from one %v; want %s", uint16(l), IsC(l), IsCXX(l), oneBased(l), class)
		}
		for m, other := range classes {
			want := l == m || (class == "c" || class == "c++") && (other == "c" || other == "c++")
			if got := sameTypeNames(l, m); got != want {
				t.Errorf("types of %#x in %#x: %v", uint16(l), uint16(m), got)
			}
		}
	}
	for e, want := range map[Encoding]string{EncSigned: "signed", EncSignedChar: "signed char", EncUnsignedChar: "char", EncUTF: "char", EncUCS: "char", EncASCII: "char",
		EncUnsigned: "", EncBoolean: "", EncFloat: "", EncAddress: ""} {
		got := ""
		if e.Signed() {
			got = "signed"
		}
		if e.Char() {
			if got += " char"; got == " char" {
				got = "char"
			}
		}
		if got != want {
			t.Errorf("encoding %d is %q, want %q", e, got, want)
		}
	}
}
