package dwarfvars

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// object returns the object of a variable.
func (a *Activation) object(v *LocalVar) (values.Object, error) {
	t := a.r.types.Of(v.attrs.typ)
	if v.passed != nil && !a.declared(v) {
		v = v.passed // it is not copied yet
	}
	loc, err := a.locate(v)
	if err != nil {
		return values.Object{}, err
	}
	if loc.Kind == op.Memory && loc.Addr == 0 && v.Param && a.fn.Unit != nil && types.Fortran(a.fn.Unit.Language) {
		return values.Object{}, errAbsent // an optional argument: others have an address
	}
	o, err := a.at(loc, t)
	if err != nil || !v.onHeap {
		return o, err
	}
	return a.pointedTo(&o, t)
}

// errAbsent is an optional argument of Fortran that was not passed.
var errAbsent = errors.New("absent")

// pointedTo returns the object on the heap whose address o is, of a pointer type t.
func (a *Activation) pointedTo(o *values.Object, t *types.Type) (values.Object, error) {
	a.e.inputs.Other()
	b, err := a.r.mem.Bytes(o, 0, o.Size)
	if err != nil {
		return values.Object{}, err
	}
	addr := types.Uint(b, a.r.arch.Big())
	if addr == 0 {
		return values.Object{}, unknown.ErrOutOfScope
	}
	return a.at(op.Location{Kind: op.Memory, Addr: addr}, t.Strip().Target())
}

// typeOf returns the type of a variable.
func (a *Activation) typeOf(v *LocalVar) *types.Type { return a.r.typeOf(v) }

func (r *Reader) typeOf(v *LocalVar) *types.Type {
	t := r.types.Of(v.attrs.typ)
	if v.onHeap {
		return t.Strip().Target()
	}
	return t
}

// Type returns the name of the variable's type; "" if it is not known.
func (v *LocalVar) Type() string { return v.fn.r.typeOf(v).Name() }

// at returns the object of type t at a location.
func (a *Activation) at(loc op.Location, t *types.Type) (values.Object, error) {
	if loc.Kind == op.Empty {
		return values.Object{}, cmp.Or(loc.Why, unknown.ErrOptimisedOut)
	}
	o := values.Object{Type: t}
	a.e.object, a.e.inObject = loc.Addr, loc.Kind == op.Memory
	if a.e.inObject {
		o.Mem, o.Addr = true, loc.Addr
	}
	pieces := loc.Pieces
	if loc.Kind == op.Composite {
		pieces = append([]op.Piece(nil), pieces...) // finding the size may use the Machine, which owns them
	}
	size, err := uint64(0), error(nil)
	if loc.Kind == op.Composite && t.Strip().DataLocation.Present() { // a descriptor in pieces: the elements are elsewhere
		for i := range pieces {
			size += pieces[i].BitSize / 8
		}
	} else if size, err = a.sizeOf(t); err != nil {
		return o, err
	}
	o.Size = size
	switch {
	case o.Mem:
		return o, nil
	case size > values.MaxObject:
		return o, fmt.Errorf("%d bytes outside of memory: %w", size, unknown.ErrLimit)
	case loc.Kind == op.Composite:
		return o, a.assemble(&o, pieces)
	}
	o.Data = make([]byte, size)
	if h := a.fill(o.Data, 0, 8*size, &loc, 0, t.Floats()); h != nil {
		if h.Implicit == nil {
			return o, h.Err
		}
		o.Holes = append(o.Holes, *h)
	}
	return o, nil
}

// assemble puts the pieces of an object together.
func (a *Activation) assemble(o *values.Object, pieces []op.Piece) error {
	o.Data = make([]byte, o.Size)
	at, end := uint64(0), 8*o.Size
	for i := range pieces {
		p := &pieces[i]
		n := min(p.BitSize, end-at)
		if n == 0 {
			continue
		}
		if h := a.fill(o.Data, at, n, &p.Loc, p.BitOffset, o.Type.Floats()); h != nil {
			o.Holes = append(o.Holes, *h)
		}
		at += n
	}
	if at < end {
		o.Holes = append(o.Holes, values.Hole{From: at, To: end, Err: unknown.ErrOptimisedOut})
	}
	if len(o.Holes) > 0 && o.Holes[0].Implicit == nil {
		whole := uint64(0)
		for _, h := range o.Holes {
			whole += h.To - h.From
		}
		if whole == end {
			return o.Holes[0].Err
		}
	}
	return nil
}

// fill copies n bits of a simple location, beginning at its bit off, to bit at of dst. It returns
// a hole if there is no value. float says that the object is a floating-point number.
func (a *Activation) fill(dst []byte, at, n uint64, loc *op.Location, off uint64, float bool) *values.Hole {
	h := &values.Hole{From: at, To: at + n}
	var src []byte
	switch loc.Kind {
	case op.Empty:
		h.Err = cmp.Or(loc.Why, unknown.ErrOptimisedOut)
		return h
	case op.Memory:
		src = make([]byte, (off+n+7)/8)
		if err := a.r.mem.Read(loc.Addr, src); err != nil {
			h.Err = err
			return h
		}
	case op.Register:
		var err error
		if src, off, err = a.e.inRegister(loc.Reg, off, n, float); err != nil {
			h.Err = err
			return h
		}
	case op.StackValue:
		// Objects may be wider, such as an __int128 of a small number.
		bits, above := loc.Value.Bits, byte(0)
		t := loc.Value.Type
		if t.Enc == op.Signed {
			bits = types.Resize(bits, int(t.Size), true)
			above = byte(int64(bits) >> 63)
		}
		src = a.e.wordBytes(bits, 8)
		switch {
		case t.Size == 16 && a.r.arch.Big():
			src = append(a.e.wordBytes(loc.Value.High, 8), src...)
		case t.Size == 16:
			src = append(src, a.e.wordBytes(loc.Value.High, 8)...)
		case t.Enc == op.Signed || t.Enc == op.Generic:
			src = a.e.widen(src, (off+n+7)/8, above)
		}
		off = a.e.lowest(src, off, n)
	case op.ImplicitValue:
		src = loc.Bytes
		if len(src) == x87Size && float && off+n <= 128 {
			src = a.e.widen(src, (off+n+7)/8, 0) // clang leaves out the padding of a long double
		}
	case op.ImplicitPointer:
		d, err := a.e.info(loc.DIE)
		h.Err = &unknown.Implicit{}
		if err == nil {
			h.Implicit = &values.Implicit{DIE: d, Offset: loc.Offset}
		}
		return h
	default:
		h.Err = &unknown.Corrupt{Err: fmt.Errorf("a piece that is %v", loc.Kind)}
		return h
	}
	if uint64(len(src))*8 < off+n {
		h.Err = &unknown.Corrupt{Err: fmt.Errorf("%d bytes for %d bits", len(src), off+n)}
		return h
	}
	values.CopyBits(dst, at, src, off, n, a.r.arch.Big())
	return nil
}
