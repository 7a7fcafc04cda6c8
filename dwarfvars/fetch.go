package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// object finds the place of a variable.
func (a *Activation) object(v *LocalVar) (object, error) {
	t := a.r.types.typeOf(v.attrs.typ)
	loc, err := a.locate(v)
	if err != nil {
		return object{}, err
	}
	return a.at(loc, t)
}

// at makes the object of type t at an evaluated place.
func (a *Activation) at(loc op.Location, t *Type) (object, error) {
	if loc.Kind == op.Empty {
		return object{}, ErrOptimisedOut
	}
	o := object{typ: t}
	if loc.Kind == op.Memory {
		o.mem, o.addr = true, loc.Addr
		a.e.object = loc.Addr
	}
	pieces := loc.Pieces
	if loc.Kind == op.Composite {
		pieces = append([]op.Piece(nil), pieces...) // sizes may need the machine
	}
	size, err := a.sizeOf(t)
	if err != nil {
		return o, err
	}
	o.size = size
	switch {
	case o.mem:
		return o, nil
	case size > maxObject:
		return o, fmt.Errorf("%d bytes outside of memory: %w", size, ErrLimit)
	case loc.Kind == op.Composite:
		return o, a.assemble(&o, pieces)
	}
	o.data = make([]byte, size)
	if h := a.fill(o.data, 0, 8*size, &loc, 0, t.floats()); h != nil {
		if h.ptr == nil {
			return o, h.err
		}
		o.holes = append(o.holes, *h)
	}
	return o, nil
}

// assemble puts the pieces of an object together.
func (a *Activation) assemble(o *object, pieces []op.Piece) error {
	o.data = make([]byte, o.size)
	at, end := uint64(0), 8*o.size
	for i := range pieces {
		p := &pieces[i]
		n := min(p.BitSize, end-at)
		if n == 0 {
			continue
		}
		if h := a.fill(o.data, at, n, &p.Loc, p.BitOffset, o.typ.floats()); h != nil {
			o.holes = append(o.holes, *h)
		}
		at += n
	}
	if at < end {
		o.holes = append(o.holes, hole{from: at, to: end, err: ErrOptimisedOut})
	}
	if len(o.holes) > 0 && o.holes[0].ptr == nil {
		whole := uint64(0)
		for _, h := range o.holes {
			whole += h.to - h.from
		}
		if whole == end {
			return o.holes[0].err
		}
	}
	return nil
}

// fill copies n bits of a simple location, from its bit off on, to bit at of
// dst. It answers the hole that is left where there is no value. float says that
// the object is made of floating-point numbers.
func (a *Activation) fill(dst []byte, at, n uint64, loc *op.Location, off uint64, float bool) *hole {
	h := &hole{from: at, to: at + n}
	var src []byte
	switch loc.Kind {
	case op.Empty:
		h.err = ErrOptimisedOut
		return h
	case op.Memory:
		src = make([]byte, (off+n+7)/8)
		if err := a.r.mem.Read(loc.Addr, src); err != nil {
			h.err = err
			return h
		}
	case op.Register:
		var err error
		if src, off, err = a.e.inRegister(loc.Reg, off, n, float); err != nil {
			h.err = err
			return h
		}
	case op.StackValue:
		src = a.e.wordBytes(loc.Value.Bits, 8)
		if t := loc.Value.Type; t.Enc == op.Signed || t.Enc == op.Generic {
			// Wider objects, such as an __int128 of a small number.
			src = a.e.widen(src, (off+n+7)/8)
		}
		off = a.e.lowest(src, off, n)
	case op.ImplicitValue:
		src = loc.Bytes
	case op.ImplicitPointer:
		d, err := a.e.info(loc.DIE)
		h.err = &ImplicitPointer{}
		if err == nil {
			h.ptr = &implicit{d, loc.Offset}
		}
		return h
	default:
		h.err = &CorruptExpression{fmt.Errorf("a piece that is %v", loc.Kind)}
		return h
	}
	if uint64(len(src))*8 < off+n {
		h.err = &CorruptExpression{fmt.Errorf("%d bytes for %d bits", len(src), off+n)}
		return h
	}
	copyBits(dst, at, src, off, n, a.r.arch.Big())
	return nil
}
