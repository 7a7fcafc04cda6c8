package op

import (
	"errors"
	"math"
	"testing"
)

// TestWide: integers of 16 bytes, DIE 0x10 signed and 0x1f unsigned.
func TestWide(t *testing.T) {
	const ones = math.MaxUint64
	signed, unsigned := Type{Signed, 16}, Type{Unsigned, 16}
	s128 := func(v int8) []byte { return e(Const1s, int(uint8(v)), Convert, 8, Convert, 0x10) }
	u128 := func(v int8) []byte { return e(Const1s, int(uint8(v)), Convert, 0x18, Convert, 0x1f) }
	for _, c := range []struct {
		name string
		expr []byte
		want Value
	}{
		{"of a signed number", s128(-3), Value{Bits: ones - 2, High: ones, Type: signed}},
		{"of a signed number, positive", s128(3), Value{Bits: 3, Type: signed}},
		{"of an unsigned number", u128(-3), Value{Bits: ones - 2, Type: unsigned}},
		{"of an untyped number", e(lit(0), lit(1), Minus, Convert, 0x10), Value{Bits: ones, High: ones, Type: signed}},
		{"of a wide number", e(s128(-3), Convert, 0x1f), Value{Bits: ones - 2, High: ones, Type: unsigned}},
		{"the other way", e(s128(-3), Convert, 4), Value{Bits: 0xfffffffd, Type: Type{Signed, 4}}},
		{"reinterpreted", e(s128(-3), Reinterpret, 0x1f), Value{Bits: ones - 2, High: ones, Type: unsigned}},
		{"and", e(s128(-3), s128(5), And), Value{Bits: 5, Type: signed}},
		{"or", e(s128(-8), s128(5), Or), Value{Bits: ones - 2, High: ones, Type: signed}},
		{"xor", e(s128(-1), s128(5), Xor), Value{Bits: ones - 5, High: ones, Type: signed}},
		{"sum", e(u128(-1), u128(2), Plus), Value{Bits: 1, High: 1, Type: unsigned}},
		{"difference", e(s128(2), s128(3), Minus), Value{Bits: ones, High: ones, Type: signed}},
		{"product", e(u128(-1), u128(-1), Mul), Value{Bits: 1, High: ones - 1, Type: unsigned}},
		{"product of signed numbers", e(s128(-3), s128(3), Mul), Value{Bits: ones - 8, High: ones, Type: signed}},
		{"product of upper halves", e(u128(-1), u128(2), Mul, u128(3), Mul), Value{Bits: ones - 5, High: 5, Type: unsigned}},
		{"product with an upper half on the right", e(u128(3), u128(-1), u128(2), Mul, Mul), Value{Bits: ones - 5, High: 5, Type: unsigned}},
		{"negated", e(s128(1), Neg), Value{Bits: ones, High: ones, Type: signed}},
		{"complement", e(s128(1), Not), Value{Bits: ones - 1, High: ones, Type: signed}},
		{"plus_uconst", e(u128(-1), PlusUconst, 3), Value{Bits: 2, High: 1, Type: unsigned}},
		{"a branch", e(u128(-1), u128(1), Plus, Bra, 1, 0, lit(5), lit(6)), Value{Bits: 6}},
	} {
		var m Machine
		if v, err := m.EvalValue(env(8), c.expr, false, 0); err != nil || v != c.want {
			t.Errorf("%s: %#x %#x %v, %v; want %#x %#x %v", c.name, v.High, v.Bits, v.Type, err, c.want.High, c.want.Bits, c.want.Type)
		}
	}
	for name, c := range map[string]struct {
		expr []byte
		op   Op
	}{
		"quotient":           {e(s128(6), s128(2), Div), Div},
		"absolute value":     {e(s128(6), Abs), Abs},
		"shift":              {e(s128(6), lit(1), Shl), Shl},
		"shift by":           {e(lit(1), s128(6), Shr), Shr},
		"comparison":         {e(s128(6), s128(2), Lt), Lt},
		"of a float":         {e(ConstType, 0x28, 8, le(0, 8), Convert, 0x10), Convert},
		"to a float":         {e(s128(6), Convert, 0x28), Convert},
		"of a register":      {e(RegvalType, 17, 0x10), RegvalType},
		"a constant":         {e(ConstType, 0x10, 16, le(0, 8), le(0, 8)), ConstType},
		"to a long double":   {e(lit(1), Convert, 0x2f), Convert},
		"a long double":      {e(ConstType, 0x2f, 16, le(0, 8), le(0, 8)), ConstType},
		"a long double read": {e(breg(7), 8, DerefType, 16, 0x2f), DerefType},
	} {
		var m Machine
		_, err := m.EvalValue(env(8), c.expr, false, 0)
		var unsupported ErrUnsupportedOp
		if !errors.As(err, &unsupported) || unsupported.Op != c.op {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, expr := range map[string][]byte{"address": e(s128(6), Deref), "of two types": e(s128(6), u128(2), Plus), "with a narrow one": e(s128(6), lit(1), Plus), "read": e(breg(7), 8, DerefType, 8, 0x10)} {
		var m Machine
		if v, err := m.EvalValue(env(8), expr, false, 0); !errors.Is(err, ErrType) {
			t.Errorf("%s: %#x, %v", name, v.Bits, err)
		}
	}
}
