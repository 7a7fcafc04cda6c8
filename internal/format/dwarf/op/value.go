package op

import (
	"fmt"
	"math"
)

// An Encoding says how to interpret a stack entry's bits.
type Encoding uint8

// Generic is the type of untyped entries: an integer of address size whose signedness
// depends on the operator (DWARF 5, section 2.5.1.1).
const (
	Generic Encoding = iota
	Signed
	Unsigned
	Float
)

// A Type is a stack entry's type. The zero Type is the generic type.
type Type struct {
	Enc  Encoding
	Size uint8 // in bytes: 1, 2, 4, 8 or 16; 4 or 8 for Float; 0 for Generic
}

// BaseType converts a base type's DW_AT_encoding (DWARF 5, table 7.11) and size in bytes to
// a Type. It returns false if a stack entry cannot have that type.
func BaseType(ate uint8, size uint64) (Type, bool) {
	if size != 1 && size != 2 && size != 4 && size != 8 && size != 16 {
		return Type{}, false
	}
	switch ate {
	case 0x04: // float
		return Type{Float, uint8(size)}, size == 4 || size == 8
	case 0x05, 0x06: // signed, signed char
		return Type{Signed, uint8(size)}, true
	case 0x01, 0x02, 0x07, 0x08, 0x10, 0x11, 0x12: // address, boolean, unsigned, unsigned char, UTF, UCS, ASCII
		return Type{Unsigned, uint8(size)}, true
	}
	return Type{}, false
}

// String returns a name as in C: "int32", "uint8", "float64", "generic".
func (t Type) String() string {
	switch t.Enc {
	case Signed:
		return fmt.Sprintf("int%d", 8*int(t.Size))
	case Unsigned:
		return fmt.Sprintf("uint%d", 8*int(t.Size))
	case Float:
		return fmt.Sprintf("float%d", 8*int(t.Size))
	}
	return "generic"
}

func (t Type) valid() bool {
	switch t.Size {
	case 1, 2, 16:
		return t.Enc == Signed || t.Enc == Unsigned
	case 4, 8:
		return t.Enc >= Signed && t.Enc <= Float
	}
	return t == Type{}
}

// A Value is a stack entry: the low Type.Size bytes of Bits (for the generic type, the size
// of an address). The bits above are zero. High has the upper half of an integer of 16 bytes.
type Value struct {
	Bits uint64
	Type Type
	High uint64
}

// Float64 returns v as a floating-point number. v must have a Float type.
func (v Value) Float64() float64 {
	if v.Type.Size == 4 {
		return float64(math.Float32frombits(uint32(v.Bits)))
	}
	return math.Float64frombits(v.Bits)
}

func mask(size int) uint64 {
	if size >= 8 {
		return math.MaxUint64
	}
	return 1<<(8*uint(size)) - 1
}

func extend(bits uint64, size int) int64 {
	shift := 64 - 8*uint(size)
	return int64(bits<<shift) >> shift
}

// size returns the number of bytes in an entry of type t.
func (m *Machine) size(t Type) int {
	if t.Enc == Generic {
		return m.env.AddrSize
	}
	return int(t.Size)
}

// signed returns v as a signed integer, whatever its type.
func (m *Machine) signed(v Value) int64 { return extend(v.Bits, m.size(v.Type)) }

// integer makes an entry of type t, which is not Float, from v's low bits.
func (m *Machine) integer(v uint64, t Type) Value { return Value{Bits: v & mask(m.size(t)), Type: t} }

// float makes an entry of the Float type t.
func float(f float64, t Type) Value {
	if t.Size == 4 {
		return Value{Bits: uint64(math.Float32bits(float32(f))), Type: t}
	}
	return Value{Bits: math.Float64bits(f), Type: t}
}

// convert converts v to another type. An entry of generic type counts as signed. Floating-point numbers and integers
// of 16 bytes are not converted into each other.
func (m *Machine) convert(v Value, t Type) (Value, error) {
	from := v.Type
	switch {
	case t.isWide() && from.Enc != Float:
		return m.widened(v, t), nil
	case t.isWide(), from.isWide() && t.Enc == Float:
		return Value{}, ErrUnsupportedOp{Convert}
	case from.isWide():
		return m.integer(v.Bits, t), nil
	case from.Enc == Float && t.Enc == Float:
		return float(v.Float64(), t), nil
	case from.Enc == Float:
		f := v.Float64()
		if f >= 1<<63 {
			return m.integer(uint64(f), t), nil
		}
		return m.integer(uint64(int64(f)), t), nil
	case t.Enc == Float && from.Enc == Unsigned:
		return float(float64(v.Bits), t), nil
	case t.Enc == Float:
		return float(float64(m.signed(v)), t), nil
	case from.Enc == Unsigned:
		return m.integer(v.Bits, t), nil
	}
	return m.integer(uint64(m.signed(v)), t), nil
}
