package values

import (
	"math"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
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
	switch len(raw) { // exactly, not by the fewest digits that identify it
	case 4:
		return float64(math.Float32frombits(uint32(types.Uint(raw, x.P.Arch.Big())))), true, nil
	case 8:
		return math.Float64frombits(types.Uint(raw, x.P.Arch.Big())), true, nil
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

// Complex returns an object as a complex number; false if it is none.
func (x Explorer) Complex(o *Object) (re, im float64, ok bool, err error) {
	at := *o
	for n := 0; at.Type.Strip().Reference() && n < maxSteps; n++ {
		if at, err = x.Pointee(&at); err != nil {
			return 0, 0, false, err
		}
	}
	t := at.Type.Strip()
	if t.Tag != dwarf.TagBaseType || t.Encoding != types.EncComplexFloat {
		return 0, 0, false, nil
	}
	raw, err := x.P.Bytes(&at, 0, at.Size)
	if err != nil {
		return 0, 0, true, err
	}
	half := len(raw) / 2
	part := func(b []byte) float64 {
		n := types.Uint(b, x.P.Arch.Big())
		if half == 4 {
			return float64(math.Float32frombits(uint32(n)))
		}
		return math.Float64frombits(n)
	}
	if half != 4 && half != 8 {
		return 0, 0, true, wrong("%s: complex numbers of 64 and of 128 bits are computed with", describe(o.Type))
	}
	return part(raw[:half]), part(raw[half:]), true, nil
}

// ComplexWord returns an object of a complex type with a number as its value.
func (x Explorer) ComplexWord(t *types.Type, re, im float64) (Object, error) {
	size, err := x.builder(Options{}).sizeOf(t)
	if err != nil {
		return Object{}, err
	}
	if size != 8 && size != 16 {
		return Object{}, wrong("numbers do not become %s", describe(t))
	}
	part := x.P.Types.Float(size / 2)
	a, err := x.RealWord(part, re)
	if err != nil {
		return Object{}, err
	}
	b, err := x.RealWord(part, im)
	return Object{Type: t, Size: size, Data: append(a.Data, b.Data...)}, err
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
