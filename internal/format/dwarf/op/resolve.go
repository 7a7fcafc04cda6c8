package op

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// resolve applies the operators that need the Resolver. It reads operands before it reports
// a missing Resolver, so that a malformed expression is reported as such.
func (m *Machine) resolve(c *binbuf.Cursor, o Op, depth int) error {
	var arg uint64
	var sum int64
	var block []byte
	switch o {
	case Fbreg:
		sum = c.SLEB()
	case CallFrameCFA, PushObjectAddress:
	case FormTLSAddress:
		v, err := m.pop()
		if err != nil {
			return err
		}
		arg = v.Bits
	case Addrx, Constx:
		arg = c.ULEB()
	case EntryValue:
		block = c.Bytes64(c.ULEB())
	case GNUVariableValue:
		arg = c.Uint(m.env.RefSize)
	case GNUParameterRef:
		arg = uint64(c.U32())
	case Call2:
		return m.call(c, o, uint64(c.U16()), depth)
	case Call4:
		return m.call(c, o, uint64(c.U32()), depth)
	case CallRef:
		return m.call(c, o, c.Uint(m.env.RefSize), depth)
	default:
		return ErrUnsupportedOp{o}
	}
	if c.Error != nil {
		return nil // exec reports the error
	}
	if m.env.Resolver == nil {
		return ErrUnsupportedOp{o}
	}
	v, err := m.env.Resolver.Value(o, arg, block)
	if err != nil {
		return err
	}
	if !v.Type.valid() {
		return fmt.Errorf("%v: %w", v.Type, ErrType)
	}
	switch o {
	case Fbreg:
		v.Bits += uint64(sum)
	case Addrx:
		v.Bits += m.env.Bias
	}
	v.Bits &= mask(m.size(v.Type))
	return m.push(v)
}

// callCost is what it costs to find the expression of another entry, in operations.
const callCost = 16

// call executes another DIE's expression on the same stack.
func (m *Machine) call(c *binbuf.Cursor, o Op, arg uint64, depth int) error {
	m.executed += callCost
	if c.Error != nil {
		return nil
	}
	if m.env.Resolver == nil {
		return ErrUnsupportedOp{o}
	}
	if depth >= maxNesting {
		return fmt.Errorf("more than %d nested calls: %w", maxNesting, ErrLimit)
	}
	expr, in, err := m.env.Resolver.Expr(o, arg)
	if err != nil {
		return err
	}
	if in == nil {
		return m.exec(expr, depth+1)
	}
	outer := m.env.Resolver
	m.env.Resolver = in
	err = m.exec(expr, depth+1)
	m.env.Resolver = outer
	return err
}
