package ruby

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// smallFloatOf is the number that is its own value.
func smallFloatOf(v uint64) float64 {
	if v == smallZero {
		return 0
	}
	return math.Float64frombits(bits.RotateLeft64(2-v>>63|v&^3, -3))
}

// floatText writes a number as Float#to_s does.
func floatText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	s := strconv.FormatFloat(v, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if v == 0 || e >= -4 && e < 16 {
		s = strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	return mantissa + "e" + exponent
}

// bignum writes an Integer that is larger than a word.
func (r *runtime) bignum(v, f uint64) string {
	from, n := v+r.at("bignum.embedded"), f>>(flagUser+3)&7
	if f&bignumHere == 0 {
		from, n = r.field(v, "bignum.heap"), r.field(v, "bignum.length")
	}
	if n > maxDigits {
		return "?"
	}
	b := r.Bytes(from, int(n*r.at("bignum.digit")))
	if b == nil {
		return "?"
	}
	slices.Reverse(b) // a word has its least byte first, as the number has its least word
	number := new(big.Int).SetBytes(b)
	if f&flagHere == 0 { // the sign
		number.Neg(number)
	}
	return number.String()
}
