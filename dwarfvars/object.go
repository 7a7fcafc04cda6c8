package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxObject bounds the bytes that are read of one object.
const maxObject = 1 << 20

// An object is a typed stretch of bytes: in the process's memory, read when they
// are wanted, or gathered from registers and constants.
type object struct {
	typ  *Type
	size uint64 // bytes

	mem  bool
	addr arch.Address // with mem

	data  []byte // without mem; size bytes
	holes []hole // parts of data that have no value

	// For a field of fewer bits than its bytes: bits of them from bit bitOff on,
	// counted from the first byte's least significant bit, on a big-endian machine
	// from its most significant one.
	bits, bitOff uint64
}

// A hole is a part of an object that has no value, in bits from its start.
type hole struct {
	from, to uint64
	err      error
	ptr      *implicit // the part is a pointer to an object that lies nowhere
}

// An implicit is what DW_OP_implicit_pointer tells.
type implicit struct {
	die    dwarf.DIE
	offset int64
}

// object finds the place of a variable.
func (a *Activation) object(v *LocalVar) (object, error) {
	t := a.r.typeOf(v.attrs.typ)
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
		if err := a.r.read(loc.Addr, src); err != nil {
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

// part is the object of type t at a byte offset of o.
func (o *object) part(t *Type, off, size uint64) object {
	p := object{typ: t, size: size, mem: o.mem, addr: o.addr + off}
	if o.mem {
		return p
	}
	if off > uint64(len(o.data)) || size > uint64(len(o.data))-off {
		p.data = make([]byte, min(size, maxObject))
		p.holes = []hole{{0, 8 * size, &CorruptExpression{fmt.Errorf("a part at %d outside of %d bytes", off, len(o.data))}, nil}}
		return p
	}
	p.data = o.data[off : off+size]
	for _, h := range o.holes {
		if h.from < 8*(off+size) && h.to > 8*off {
			q := h
			q.from = max(h.from, 8*off) - 8*off
			q.to = min(h.to, 8*(off+size)) - 8*off
			if h.ptr != nil && (h.from != 8*off || h.to > 8*(off+size)) {
				q.ptr = nil
			}
			p.holes = append(p.holes, q)
		}
	}
	return p
}

// bytes returns n bytes of o from off on.
func (a *Activation) bytes(o *object, off, n uint64) ([]byte, error) {
	if n > maxObject {
		return nil, fmt.Errorf("%d bytes: %w", n, ErrLimit)
	}
	if o.mem {
		b := make([]byte, n)
		return b, a.r.read(o.addr+off, b)
	}
	if off > uint64(len(o.data)) || n > uint64(len(o.data))-off {
		return nil, &CorruptExpression{fmt.Errorf("bytes %d to %d of %d", off, off+n, len(o.data))}
	}
	for i := range o.holes {
		if h := &o.holes[i]; h.from < 8*(off+n) && h.to > 8*off {
			return nil, h.err
		}
	}
	return o.data[off : off+n], nil
}

// bitfield returns the value of an object of fewer bits than bytes.
func (a *Activation) bitfield(o *object) (uint64, error) {
	first, last := o.bitOff/8, (o.bitOff+o.bits+7)/8
	var b []byte
	if o.mem {
		b = make([]byte, last-first)
		if err := a.r.read(o.addr+first, b); err != nil {
			return 0, err
		}
	} else {
		for i := range o.holes {
			if h := &o.holes[i]; h.from < o.bitOff+o.bits && h.to > o.bitOff {
				return 0, h.err
			}
		}
		if last > uint64(len(o.data)) {
			return 0, &CorruptExpression{fmt.Errorf("bits to %d of %d bytes", o.bitOff+o.bits, len(o.data))}
		}
		b = o.data[first:last]
	}
	// The value's bits are the last ones of a number that is big-endian.
	var v [8]byte
	n, to := min(o.bits, 64), uint64(0)
	if a.r.arch.Big() {
		to = 64 - n
	}
	copyBits(v[:], to, b, o.bitOff%8, n, a.r.arch.Big())
	return decodeUint(v[:], a.r.arch.Big()), nil
}
