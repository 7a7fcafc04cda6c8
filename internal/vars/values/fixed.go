package values

import (
	"math/big"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Fixed-point numbers, as Ada has them.

// maxFixedDigits is how many digits after the point are written of a number that no finite number of them is.
const maxFixedDigits = 20

// fixed reads a fixed-point number. t is the base type of o.
func (b *builder) fixed(o *Object, t *types.Type) *Value {
	n, err := b.whole(o, t)
	if err != nil {
		return Failed(o.Type, err)
	}
	r, ok := t.Fixed(n)
	if !ok {
		return b.text(o, n.String()+" (of a unit that is not known)")
	}
	return b.text(o, fixedText(r))
}

// whole reads the integer of a fixed-point number.
func (b *builder) whole(o *Object, t *types.Type) (*big.Int, error) {
	if o.Size > 8 && o.bits == 0 {
		raw, err := b.p.Bytes(o, 0, o.Size)
		if err != nil {
			return nil, err
		}
		n, _ := new(big.Int).SetString(wideText(raw, t.Encoding.Signed(), b.p.Arch.Big()), 10)
		return n, nil
	}
	v, err := b.uint(o, t.Encoding.Signed())
	if err != nil {
		return nil, err
	}
	if t.Encoding.Signed() {
		return big.NewInt(int64(v)), nil
	}
	return new(big.Int).SetUint64(v), nil
}

// fixedText returns a number with as many digits as it has, one after the point at least, as Ada has it.
func fixedText(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact || digits > 4*maxFixedDigits {
		digits = maxFixedDigits
	}
	return r.FloatString(max(digits, 1))
}
