package op

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// register reads a register for o.
func (m *Machine) register(n uint64) (uint64, error) {
	if m.env.Regs == nil {
		return 0, ErrRegister{Reg: n}
	}
	v, err := m.env.Regs.DWARFReg(n)
	if err != nil {
		return 0, ErrRegister{Reg: n, Err: err}
	}
	return v, nil
}

func (m *Machine) breg(n uint64, off int64) error {
	v, err := m.register(n)
	if err != nil {
		return err
	}
	return m.pushGeneric(v + uint64(off))
}

// deref applies the operators that read memory.
func (m *Machine) deref(c *binbuf.Cursor, o Op) error {
	size, t := m.env.AddrSize, Type{}
	switch o {
	case DerefSize, XderefSize:
		size = int(c.U8())
	case DerefType, XderefType:
		size = int(c.U8())
		var err error
		if t, err = m.baseType(c.ULEB(), o); err != nil {
			return err
		}
	}
	if c.Error != nil {
		return nil // exec reports the error
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	if o == Xderef || o == XderefSize || o == XderefType {
		space, err := m.pop()
		if err != nil {
			return err
		}
		if space.Bits != 0 { // no supported architecture has a second address space
			return ErrUnsupportedOp{o}
		}
	}
	if v.Type.Enc == Float || v.Type.isWide() {
		return fmt.Errorf("%v as an address: %w", v.Type, ErrType)
	}
	if size != m.size(t) && t.Enc != Generic {
		return fmt.Errorf("cannot read %d bytes as %v: %w", size, t, ErrType)
	}
	bits, err := m.read(v.Bits&mask(m.env.AddrSize), size, o)
	if err != nil {
		return err
	}
	return m.push(m.integer(bits, t))
}

// read reads an integer of size bytes without sign extension. size is at most that of an
// address, or 8 for typed reads.
func (m *Machine) read(addr uint64, size int, o Op) (uint64, error) {
	if m.env.Mem == nil {
		return 0, ErrUnsupportedOp{o}
	}
	if size == m.env.AddrSize {
		return m.env.Mem.ReadWord(addr)
	}
	if size < 1 || size > len(m.buf) {
		return 0, fmt.Errorf("invalid size of %d bytes: %w", size, ErrMalformed)
	}
	b := m.buf[:size]
	if _, err := m.env.Mem.ReadMem(addr, b); err != nil {
		return 0, err
	}
	return assemble(b, m.env.Big), nil
}

// assemble decodes an integer of at most 8 bytes.
func assemble(b []byte, big bool) uint64 {
	switch {
	case len(b) == 8 && big:
		return binary.BigEndian.Uint64(b)
	case len(b) == 8:
		return binary.LittleEndian.Uint64(b)
	}
	var v uint64
	for i := range b {
		if big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * uint(i))
		}
	}
	return v
}

// describe applies the operators that end a location description.
func (m *Machine) describe(c *binbuf.Cursor, o Op) error {
	switch o {
	case OpStackValue:
		v, err := m.pop()
		m.loc = Location{Kind: StackValue, Value: v}
		return err
	case OpImplicitValue:
		m.loc = Location{Kind: ImplicitValue, Bytes: c.Bytes64(c.ULEB())}
		return nil
	case OpImplicitPointer:
		die := c.Uint(m.env.RefSize)
		m.loc = Location{Kind: ImplicitPointer, DIE: die, Offset: c.SLEB()}
		return nil
	}
	size, off := c.ULEB(), uint64(0)
	if o == BitPiece {
		off = c.ULEB()
	} else if size > math.MaxUint64/8 {
		return fmt.Errorf("piece of %#x bytes: %w", size, ErrMalformed)
	} else {
		size *= 8
	}
	return m.piece(size, off)
}

// piece adds a piece described by the operators since the last piece.
func (m *Machine) piece(bits, off uint64) error {
	if len(m.pieces) == maxPieces {
		return fmt.Errorf("more than %d pieces: %w", maxPieces, ErrLimit)
	}
	if m.loc.Kind == Empty && m.n > 0 {
		loc, err := m.memory()
		if err != nil {
			return err
		}
		m.loc = loc
	}
	m.pieces = append(m.pieces, Piece{Loc: m.loc, BitSize: bits, BitOffset: off})
	m.loc = Location{}
	return nil
}
