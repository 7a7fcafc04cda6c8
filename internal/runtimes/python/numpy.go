package python

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// A scalar says how an object of one of numpy's types of single values has its value: kind is of the value, size its bytes.
type scalar struct {
	kind string
	size uint64
}

// Kinds of scalars.
const (
	scalarBool    = "bool"
	scalarInt     = "int"
	scalarUint    = "uint"
	scalarFloat   = "float"
	scalarComplex = "complex"
)

// data is what sort of value it is in the words of reports.
func (s scalar) data() string {
	switch s.kind {
	case scalarUint:
		return scalarInt
	case scalarComplex:
		return scalarFloat
	}
	return s.kind
}

// flagHeap is of types that a program made while it ran. A class may call itself numpy.int8; numpy's own are static.
const flagHeap = 1 << 9

// scalarOf returns how the objects of a type have their value, if the type is numpy's: by its name, that it is static, and
// that an object has room for the value and nothing else. The formats are those of x86-64 and arm64: little-endian.
func (r *runtime) scalarOf(t *typ) (scalar, bool) {
	name, ours := strings.CutPrefix(t.name, "numpy.")
	if !ours {
		return scalar{}, false
	}
	var s scalar
	switch name {
	case "bool_", "bool": // 1.x, 2.x
		s = scalar{scalarBool, 1}
	case "int8":
		s = scalar{scalarInt, 1}
	case "int16":
		s = scalar{scalarInt, 2}
	case "int32":
		s = scalar{scalarInt, 4}
	case "int64", "longlong":
		s = scalar{scalarInt, 8}
	case "uint8":
		s = scalar{scalarUint, 1}
	case "uint16":
		s = scalar{scalarUint, 2}
	case "uint32":
		s = scalar{scalarUint, 4}
	case "uint64", "ulonglong":
		s = scalar{scalarUint, 8}
	case "float16":
		s = scalar{scalarFloat, 2}
	case "float32":
		s = scalar{scalarFloat, 4}
	case "float64":
		s = scalar{scalarFloat, 8}
	case "complex64":
		s = scalar{scalarComplex, 8}
	case "complex128":
		s = scalar{scalarComplex, 16}
	default:
		return scalar{}, false
	}
	room := int64(r.header() + max(8, s.size))
	return s, t.flags&flagHeap == 0 && t.basic == room && t.item == 0
}

// header is the size of what each object begins with.
func (r *runtime) header() uint64 { return r.at("object.size") }

// scalar writes a value of numpy as its repr does, without the name of the type that 2.x adds.
func (w *printer) scalar(at uint64, s scalar) {
	b := w.r.bytes(at+w.r.header(), s.size)
	if b == nil {
		w.WriteByte('?')
		return
	}
	w.WriteString(s.text(b))
}

// text writes a value.
func (s scalar) text(b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	word := binary.LittleEndian.Uint64(wide[:])
	switch s.kind {
	case scalarBool:
		switch word {
		case 0:
			return "False"
		case 1:
			return "True"
		}
		return "?"
	case scalarInt:
		unused := 64 - 8*s.size
		return strconv.FormatInt(int64(word<<unused)>>unused, 10)
	case scalarUint:
		return strconv.FormatUint(word, 10)
	case scalarComplex:
		half := s.size / 2
		return complexOf(numberOf(b[:half]), numberOf(b[half:]))
	}
	return numberOf(b).text()
}

// A binaryFloat is a number with what its format has of it: bits of 16, 32 or 64.
type binaryFloat struct {
	v    float64
	bits int
}

func numberOf(b []byte) binaryFloat {
	switch len(b) {
	case 2:
		return binaryFloat{half(binary.LittleEndian.Uint16(b)), 16}
	case 4:
		return binaryFloat{float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32}
	}
	return binaryFloat{math.Float64frombits(binary.LittleEndian.Uint64(b)), 64}
}

// text is the shortest decimal that no other number of the format is nearer to. As Python's, but the limits between the two
// notations are compared with the number itself: float32's 0.0001 is below. (From 2.3 on numpy writes float16 from 1e3 on and
// float32 from 1e6 on with an exponent; a type does not tell numpy's version.)
func (f binaryFloat) text() string {
	if math.IsNaN(f.v) || math.IsInf(f.v, 0) || f.v == 0 {
		return floatText(f.v)
	}
	digits := f.digits()
	if a := math.Abs(f.v); a < 1e-4 || a >= 1e16 {
		return digits
	}
	v, _ := strconv.ParseFloat(digits, 64)
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// digits is the shortest decimal in the form of %e. What lies between two decimals goes to the even one if that is still
// the number, which strconv does otherwise.
func (f binaryFloat) digits() string {
	short := strconv.FormatFloat(f.v, 'e', -1, 64)
	switch f.bits {
	case 32:
		short = strconv.FormatFloat(f.v, 'e', -1, 32)
		mantissa, _, _ := strings.Cut(strings.TrimLeft(short, "-"), "e")
		if s, ok := f.rounded(f.v, max(len(mantissa)-2, 0)); ok {
			return s
		}
	case 16:
		away := math.Nextafter(f.v, math.Copysign(math.Inf(1), f.v))
		for n := range 5 { // five digits tell all float16 apart
			for _, v := range [...]float64{f.v, away} {
				if s, ok := f.rounded(v, n); ok {
					return s
				}
			}
		}
	}
	return short
}

// rounded is a number with n digits after the first, and whether that is still f.
func (f binaryFloat) rounded(v float64, n int) (string, bool) {
	s := strconv.FormatFloat(v, 'e', n, 64)
	back, err := strconv.ParseFloat(s, 64)
	return s, err == nil && f.round(back) == f.v
}

// round rounds to the nearest number of the format, halfway to the even one.
func (f binaryFloat) round(v float64) float64 {
	if f.bits == 32 {
		return float64(float32(v))
	}
	_, exp := math.Frexp(v)
	unit := math.Ldexp(1, max(exp-11, -24))
	return math.RoundToEven(v/unit) * unit
}

// half is the number that a float16 is.
func half(b uint16) float64 {
	sign, exp, frac := 1.0, int(b>>10&31), float64(b&0x3ff)
	if b>>15 != 0 {
		sign = -1
	}
	switch {
	case exp == 31 && frac == 0:
		return math.Inf(int(sign))
	case exp == 31:
		return math.NaN()
	case exp == 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// complexOf writes a complex number: without its real part if that is 0, and without fractions that are 0.
func complexOf(re, im binaryFloat) string {
	part := func(f binaryFloat) string { return strings.TrimSuffix(f.text(), ".0") }
	i := part(im) + "j"
	if re.v == 0 && !math.Signbit(re.v) {
		return i
	}
	if !strings.HasPrefix(i, "-") {
		i = "+" + i
	}
	return "(" + part(re) + i + ")"
}
