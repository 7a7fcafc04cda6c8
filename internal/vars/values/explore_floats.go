package values

import (
	"math"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Real returns an object as a floating-point number; false if it has none. That of a long double is rounded.
func (x Explorer) Real(o *Object) (f float64, ok bool, err error) {
	at := *o
	for n := 0; at.Type.Strip().Reference() && n < maxSteps; n++ {
		if at, err = x.Pointee(&at); err != nil {
			return 0, false, err
		}
	}
	t := at.Type.Strip()
	if base := t.Base(); base.Encoding == types.EncSignedFixed || base.Encoding == types.EncUnsignFixed {
		n, err := x.builder(Options{}).whole(&at, base)
		if err != nil {
			return 0, true, err
		}
		r, ok := base.Fixed(n)
		if !ok {
			return 0, true, wrong("the unit of %s is not known", describe(o.Type))
		}
		f, _ := r.Float64()
		return f, true, nil
	}
	if !t.Floats() {
		return 0, false, nil
	}
	if t.Encoding != types.EncFloat {
		return 0, true, wrong("%s is complex: it is not computed with", describe(o.Type))
	}
	raw, err := x.P.Bytes(&at, 0, at.Size)
	if err != nil {
		return 0, true, err
	}
	text := realText(t, raw, x.P.LongDouble, x.P.Arch.Big())
	if f, err = strconv.ParseFloat(strings.TrimPrefix(text, "-nan"), 64); err == nil || math.IsInf(f, 0) {
		return f, true, nil
	}
	if text == "-nan" {
		return math.NaN(), true, nil
	}
	return 0, true, wrong("%s is no number: %s", describe(o.Type), text)
}

// RealWord returns an object of a floating-point type with a number as its value.
func (x Explorer) RealWord(t *types.Type, f float64) (Object, error) {
	size, err := x.builder(Options{}).sizeOf(t)
	if err != nil {
		return Object{}, err
	}
	v := math.Float64bits(f)
	switch {
	case t.Strip().Encoding != types.EncFloat || size != 4 && size != 8:
		return Object{}, wrong("numbers do not become %s: of floating-point types those of 32 and of 64 bits are computed with", describe(t))
	case size == 4:
		v = uint64(math.Float32bits(float32(f)))
	}
	return x.Word(t, v)
}
