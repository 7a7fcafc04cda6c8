package op

import (
	"fmt"
	"math"
)

// common returns the type in which an operator with operands a and b works. The
// specification requires both to have the same type. Producers mix them with the generic
// type, which therefore counts as an integer of address size.
func (m *Machine) common(a, b Type) (Type, error) {
	switch {
	case a == b:
		return a, nil
	case a.Enc == Generic && b.Enc != Float && m.size(b) == m.env.AddrSize:
		return b, nil
	case b.Enc == Generic && a.Enc != Float && m.size(a) == m.env.AddrSize:
		return a, nil
	}
	return Type{}, fmt.Errorf("operands of types %v and %v: %w", a, b, ErrType)
}

// binary applies o to a, the second entry, and b, the top entry.
func (m *Machine) binary(o Op, a, b Value) (Value, error) {
	if o == Shl || o == Shr || o == Shra {
		return m.shift(o, a, b)
	}
	t, err := m.common(a.Type, b.Type)
	if err != nil {
		return Value{}, err
	}
	if t.Enc == Float {
		return floatBinary(o, a, b)
	}
	if t.isWide() {
		return wideBinary(o, a, b)
	}
	x, y := a.Bits, b.Bits
	switch o {
	case And:
		return Value{Bits: x & y, Type: t}, nil
	case Or:
		return Value{Bits: x | y, Type: t}, nil
	case Xor:
		return Value{Bits: x ^ y, Type: t}, nil
	case Plus:
		return m.integer(x+y, t), nil
	case Minus:
		return m.integer(x-y, t), nil
	case Mul:
		return m.integer(x*y, t), nil
	}
	if y == 0 {
		return Value{}, ErrDivideByZero
	}
	// The generic type divides signed, but takes the remainder unsigned (DWARF 5, section
	// 2.5.1.4); other types use their own sign.
	switch {
	case o == Div && t.Enc != Unsigned:
		sx, sy := extend(x, m.size(t)), extend(y, m.size(t))
		return m.integer(uint64(sx/sy), t), nil
	case o == Div:
		return Value{Bits: x / y, Type: t}, nil
	case t.Enc == Signed:
		sx, sy := extend(x, m.size(t)), extend(y, m.size(t))
		return m.integer(uint64(sx%sy), t), nil
	}
	return Value{Bits: x % y, Type: t}, nil
}

func floatBinary(o Op, a, b Value) (Value, error) {
	x, y := a.Float64(), b.Float64()
	switch o {
	case Plus:
		return float(x+y, a.Type), nil
	case Minus:
		return float(x-y, a.Type), nil
	case Mul:
		return float(x*y, a.Type), nil
	case Div:
		return float(x/y, a.Type), nil
	}
	return Value{}, fmt.Errorf("%v on %v: %w", o, a.Type, ErrType)
}

// shift shifts a's bits by b. Shr fills with zeros and Shra with the sign, whatever the
// type's own sign.
func (m *Machine) shift(o Op, a, b Value) (Value, error) {
	if a.Type.Enc == Float || b.Type.Enc == Float {
		return Value{}, fmt.Errorf("%v on %v by %v: %w", o, a.Type, b.Type, ErrType)
	}
	if a.Type.isWide() || b.Type.isWide() {
		return Value{}, ErrUnsupportedOp{o}
	}
	n := b.Bits
	switch o {
	case Shl:
		return m.integer(a.Bits<<n, a.Type), nil
	case Shr:
		return Value{Bits: a.Bits >> n, Type: a.Type}, nil
	}
	return m.integer(uint64(m.signed(a)>>n), a.Type), nil
}

// unary applies Abs, Neg or Not.
func (m *Machine) unary(o Op, v Value) (Value, error) {
	if v.Type.Enc == Float {
		switch o {
		case Abs:
			return float(math.Abs(v.Float64()), v.Type), nil
		case Neg:
			return float(-v.Float64(), v.Type), nil
		}
		return Value{}, fmt.Errorf("%v on %v: %w", o, v.Type, ErrType)
	}
	if v.Type.isWide() {
		return wideUnary(o, v)
	}
	switch o {
	case Abs:
		if v.Type.Enc != Unsigned && m.signed(v) < 0 {
			return m.integer(-v.Bits, v.Type), nil
		}
		return v, nil
	case Neg:
		return m.integer(-v.Bits, v.Type), nil
	}
	return m.integer(^v.Bits, v.Type), nil
}

// compare applies a relational operator; the result has the generic type. Entries of
// generic type compare signed.
func (m *Machine) compare(o Op, a, b Value) (Value, error) {
	t, err := m.common(a.Type, b.Type)
	if err != nil {
		return Value{}, err
	}
	if t.isWide() {
		return Value{}, ErrUnsupportedOp{o}
	}
	var less, equal bool
	switch t.Enc {
	case Float:
		x, y := a.Float64(), b.Float64()
		if x != x || y != y { // NaN is unequal to everything, itself included
			return truth(o == Ne), nil
		}
		less, equal = x < y, x == y
	case Unsigned:
		less, equal = a.Bits < b.Bits, a.Bits == b.Bits
	default:
		size := m.size(t)
		less, equal = extend(a.Bits, size) < extend(b.Bits, size), a.Bits == b.Bits
	}
	switch o {
	case Eq:
		return truth(equal), nil
	case Ne:
		return truth(!equal), nil
	case Lt:
		return truth(less), nil
	case Le:
		return truth(less || equal), nil
	case Gt:
		return truth(!less && !equal), nil
	}
	return truth(!less), nil
}

func truth(b bool) Value {
	if b {
		return Value{Bits: 1}
	}
	return Value{}
}
