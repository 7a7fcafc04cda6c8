package values

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// floatText returns the text of a floating-point or complex number, with the fewest digits that
// identify it.
func floatText(t *types.Type, raw []byte, format FloatFormat, bigEndian bool) string {
	if t.Encoding == types.EncComplexFloat && len(raw)%2 == 0 {
		half := len(raw) / 2
		return realText(t, raw[:half], format, bigEndian) + " + " + realText(t, raw[half:], format, bigEndian) + "i"
	}
	return realText(t, raw, format, bigEndian)
}

// complexIntText returns the text of a complex number of integers.
func complexIntText(t *types.Type, raw []byte, bigEndian bool) string {
	half := len(raw) / 2
	_, signed := t.ComplexInteger()
	return wideText(raw[:half], signed, bigEndian) + " + " + wideText(raw[half:], signed, bigEndian) + "i"
}

// isComplex reports whether a stripped type is a complex number of integers.
func isComplex(t *types.Type) bool {
	is, _ := t.ComplexInteger()
	return is
}

// A FloatFormat is the format of a floating-point number of 16 bytes.
type FloatFormat uint8

const (
	X87Format  FloatFormat = iota // the 80 bits of Intel's, padded
	QuadFormat                    // IEEE 754 binary128
	PairFormat                    // two doubles, whose sum is the number
)

func realText(t *types.Type, raw []byte, longDouble FloatFormat, bigEndian bool) string {
	switch len(raw) {
	case 2:
		if strings.Contains(t.BareName, "bf") || strings.Contains(t.BareName, "bfloat") {
			return float(float64(math.Float32frombits(uint32(types.Uint(raw, bigEndian))<<16)), 32)
		}
		return float(half(uint16(types.Uint(raw, bigEndian))), 32)
	case 4:
		return float(float64(math.Float32frombits(uint32(types.Uint(raw, bigEndian)))), 32)
	case 8:
		return float(math.Float64frombits(types.Uint(raw, bigEndian)), 64)
	case 10, 12, 16:
		format := longDouble
		if strings.Contains(t.BareName, "128") || longDouble == X87Format && strings.HasSuffix(t.BareName, "(kind=16)") {
			format = QuadFormat // of Fortran, where the 80 bits are kind 10
		}
		switch {
		case len(raw) == 16 && format == QuadFormat:
			return quad(raw, bigEndian)
		case len(raw) == 16 && format == PairFormat:
			return pair(raw, bigEndian)
		case format == X87Format:
			return x87(raw)
		}
	}
	return "?"
}

// float returns f as %g of C prints it, with the fewest digits that identify it.
func float(f float64, size int) string {
	switch {
	case math.IsNaN(f):
		if math.Signbit(f) {
			return "-nan"
		}
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	digits := 17.0
	if size == 32 {
		digits = 9
	}
	if a := math.Abs(f); f != 0 && (a < 1e-4 || a >= math.Pow(10, digits)) {
		return strconv.FormatFloat(f, 'e', -1, size)
	}
	return strconv.FormatFloat(f, 'f', -1, size)
}

// half decodes an IEEE 754 binary16.
func half(h uint16) float64 {
	exp, man := int(h>>10&0x1f), float64(h&0x3ff)
	sign := 1.0
	if h>>15 == 1 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(man, -24)
	case 31:
		if man != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(man+1024, exp-25)
}

// x87 returns the text of a number in the 80-bit format of the x87: 64 bits of mantissa with an
// explicit leading one, 15 of exponent, one of sign.
func x87(raw []byte) string {
	man := types.Uint(raw[:8], false)
	se := types.Uint(raw[8:10], false)
	exp, neg := int(se&0x7fff), se>>15 == 1
	if exp != 0 && man>>63 == 0 {
		// Such bits are no number since the 80387: an operation with them is invalid.
		return fmt.Sprintf("invalid encoding 0x%04x%016x", se, man)
	}
	if exp == 0x7fff {
		if man<<1 != 0 {
			return "nan"
		}
		return signed("inf", neg)
	}
	if man == 0 {
		return signed("0", neg)
	}
	f := new(big.Float).SetPrec(64).SetUint64(man)
	f.SetMantExp(f, max(exp, 1)-16383-63)
	return signed(bigText(f), neg)
}

// quad returns the text of an IEEE 754 binary128.
func quad(raw []byte, bigEndian bool) string {
	hi, lo := types.Uint(raw[8:], false), types.Uint(raw[:8], false)
	if bigEndian {
		hi, lo = types.Uint(raw[:8], true), types.Uint(raw[8:], true)
	}
	exp, neg := int(hi>>48&0x7fff), hi>>63 == 1
	hi &= 1<<48 - 1
	if exp == 0x7fff {
		if hi|lo != 0 {
			return "nan"
		}
		return signed("inf", neg)
	}
	if exp != 0 {
		hi |= 1 << 48
	} else if hi|lo == 0 {
		return signed("0", neg)
	}
	m := new(big.Int).SetUint64(hi)
	m.Lsh(m, 64).Or(m, new(big.Int).SetUint64(lo))
	f := new(big.Float).SetPrec(113).SetInt(m)
	f.SetMantExp(f, max(exp, 1)-16383-112)
	return signed(bigText(f), neg)
}

// pair returns the text of the sum of two doubles.
func pair(raw []byte, bigEndian bool) string {
	high := math.Float64frombits(types.Uint(raw[:8], bigEndian))
	low := math.Float64frombits(types.Uint(raw[8:], bigEndian))
	if low == 0 || math.IsNaN(high) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsInf(low, 0) {
		return float(high, 64)
	}
	sum := new(big.Float).SetPrec(106)
	sum.Add(big.NewFloat(high), big.NewFloat(low))
	return signed(bigText(new(big.Float).Abs(sum)), sum.Signbit())
}

func bigText(f *big.Float) string {
	if e := f.MantExp(nil); e < -13 || e > 59 {
		return f.Text('e', -1)
	}
	return f.Text('f', -1)
}

func signed(s string, neg bool) string {
	if neg {
		return "-" + s
	}
	return s
}

// wideText returns the text of an integer of more than 8 bytes.
func wideText(raw []byte, isSigned, bigEndian bool) string {
	be := make([]byte, len(raw))
	for i := range raw {
		if bigEndian {
			be[i] = raw[i]
		} else {
			be[len(raw)-1-i] = raw[i]
		}
	}
	v := new(big.Int).SetBytes(be)
	if isSigned && be[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	return v.String()
}
