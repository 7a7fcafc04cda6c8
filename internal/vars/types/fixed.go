package types

import (
	"math/big"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A scale says what the integers of a fixed-point type count (DWARF 5, 5.1): a power of two, of ten, or a fraction.
type scale struct {
	binary, decimal int64
	num, den        uint64 // DW_AT_small; 0 when there is none
	has             bool
}

// maxScale bounds the powers.
const maxScale = 128

// Attributes of the constant that DW_AT_small refers to.
const (
	attrGNUNumerator   dwarf.Attr = 0x2303
	attrGNUDenominator dwarf.Attr = 0x2304
)

func (s *scale) read(u *dwarf.Unit, v *dwarf.Value) {
	s.has = true
	switch v.Attr {
	case dwarf.AttrBinaryScale:
		s.binary = int64(v.U)
	case dwarf.AttrDecimalScale:
		s.decimal = int64(v.U)
	case dwarf.AttrSmall:
		d, err := u.Ref(v)
		if err != nil {
			s.has = false
			return
		}
		num, den := d.Unit.Value(d.Off, attrGNUNumerator), d.Unit.Value(d.Off, attrGNUDenominator)
		s.num, s.den = 1, 1
		if num.Present() {
			s.num = num.U
		}
		if den.Present() {
			s.den = den.U
		}
		s.has = s.num != 0 && s.den != 0 && (num.Present() || den.Present())
	}
}

// currency makes Free Pascal's Currency, which its debugging information describes as an integer, what it is: ten thousandths.
func (t *Type) currency() {
	if strings.EqualFold(t.BareName, "currency") && t.ByteSize == 8 && t.Encoding == EncSigned {
		t.Encoding, t.scale = EncSignedFixed, scale{decimal: -4, has: true}
	}
}

// small reports whether the powers are within bounds.
func (s *scale) small() bool {
	return -maxScale <= s.binary && s.binary <= maxScale && -maxScale <= s.decimal && s.decimal <= maxScale
}

// Fixed returns the number that an integer of a fixed-point type stands for; false if t, which must be a base type, is none or
// does not tell.
func (t *Type) Fixed(v *big.Int) (*big.Rat, bool) {
	s := &t.scale
	if t.Encoding != EncSignedFixed && t.Encoding != EncUnsignFixed || !s.has || !s.small() {
		return nil, false
	}
	r := new(big.Rat).SetInt(v)
	power := func(base, n int64) {
		p := new(big.Int).Exp(big.NewInt(base), big.NewInt(max(n, -n)), nil)
		if n < 0 {
			r.Quo(r, new(big.Rat).SetInt(p))
		} else {
			r.Mul(r, new(big.Rat).SetInt(p))
		}
	}
	power(2, s.binary)
	power(10, s.decimal)
	if s.den != 0 {
		r.Mul(r, new(big.Rat).SetFrac(new(big.Int).SetUint64(s.num), new(big.Int).SetUint64(s.den)))
	}
	return r, true
}
