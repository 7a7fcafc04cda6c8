package op

import "math/bits"

// Integers of 16 bytes. Compilers write a conversion to one, and then perhaps a sum or a product; what else could
// be done with them is not supported.

// isWide reports whether entries of type t have a High.
func (t Type) isWide() bool { return t.Size == 16 }

// widened converts an integer of at most 8 bytes, or of 16, to the type t, which is wide.
func (m *Machine) widened(v Value, t Type) Value {
	switch from := v.Type; {
	case from.isWide():
		return Value{Bits: v.Bits, High: v.High, Type: t}
	case from.Enc == Unsigned:
		return Value{Bits: v.Bits, Type: t}
	}
	s := m.signed(v)
	return Value{Bits: uint64(s), High: uint64(s >> 63), Type: t}
}

// wideBinary applies o to two entries of one wide type.
func wideBinary(o Op, a, b Value) (Value, error) {
	v := Value{Type: a.Type}
	var carry uint64
	switch o {
	case And:
		v.Bits, v.High = a.Bits&b.Bits, a.High&b.High
	case Or:
		v.Bits, v.High = a.Bits|b.Bits, a.High|b.High
	case Xor:
		v.Bits, v.High = a.Bits^b.Bits, a.High^b.High
	case Plus:
		v.Bits, carry = bits.Add64(a.Bits, b.Bits, 0)
		v.High, _ = bits.Add64(a.High, b.High, carry)
	case Minus:
		v.Bits, carry = bits.Sub64(a.Bits, b.Bits, 0)
		v.High, _ = bits.Sub64(a.High, b.High, carry)
	case Mul:
		v.High, v.Bits = bits.Mul64(a.Bits, b.Bits)
		v.High += a.High*b.Bits + a.Bits*b.High
	default:
		return Value{}, ErrUnsupportedOp{o}
	}
	return v, nil
}

// wideUnary applies o to a wide entry.
func wideUnary(o Op, v Value) (Value, error) {
	switch o {
	case Not:
		return Value{Bits: ^v.Bits, High: ^v.High, Type: v.Type}, nil
	case Neg:
		return wideBinary(Minus, Value{Type: v.Type}, v)
	}
	return Value{}, ErrUnsupportedOp{o}
}
