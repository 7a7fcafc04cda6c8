package op

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// baseType resolves the base type at a DIE, for the operator o.
func (m *Machine) baseType(die uint64, o Op) (Type, error) {
	if m.env.Resolver == nil {
		return Type{}, fmt.Errorf("base type %#x: no debug information to look it up in: %w", die, ErrType)
	}
	t, err := m.env.Resolver.BaseType(die)
	if errors.Is(err, ErrLongFloat) {
		return Type{}, ErrUnsupportedOp{o}
	}
	if err != nil {
		return Type{}, fmt.Errorf("base type %#x: %w", die, err)
	}
	if !t.valid() {
		return Type{}, fmt.Errorf("base type %#x: %v: %w", die, t, ErrType)
	}
	return t, nil
}

// typed applies the operators that push entries of a base type.
func (m *Machine) typed(c *binbuf.Cursor, o Op) error {
	if o == Convert || o == Reinterpret {
		return m.retype(o, c.ULEB(), c)
	}
	var regNum uint64
	if o == RegvalType {
		regNum = c.ULEB()
	}
	die := c.ULEB()
	if c.Error != nil {
		return nil // exec reports the error
	}
	if m.env.Resolver == nil {
		return ErrUnsupportedOp{o}
	}
	t, err := m.baseType(die, o)
	if err != nil {
		return err
	}
	if t.isWide() {
		return ErrUnsupportedOp{o}
	}
	if o == RegvalType {
		v, err := m.register(regNum)
		if err != nil {
			return err
		}
		return m.push(m.integer(v, t))
	}
	b := c.Bytes(int(c.U8()))
	if c.Error != nil {
		return nil
	}
	if len(b) != m.size(t) {
		return fmt.Errorf("cannot use %d bytes as %v: %w", len(b), t, ErrType)
	}
	return m.push(Value{Bits: assemble(b, m.env.Big), Type: t})
}

// retype applies Convert and Reinterpret; DIE 0 is the generic type.
func (m *Machine) retype(o Op, die uint64, c *binbuf.Cursor) error {
	if c.Error != nil {
		return nil
	}
	var t Type
	if die != 0 {
		if m.env.Resolver == nil {
			return ErrUnsupportedOp{o}
		}
		var err error
		if t, err = m.baseType(die, o); err != nil {
			return err
		}
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	if o == Convert {
		v, err = m.convert(v, t)
		return m.pushOr(v, err)
	}
	if m.size(v.Type) != m.size(t) {
		return fmt.Errorf("cannot reinterpret %v as %v: %w", v.Type, t, ErrType)
	}
	return m.push(Value{Bits: v.Bits, High: v.High, Type: t})
}
