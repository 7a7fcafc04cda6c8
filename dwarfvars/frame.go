package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A frame is an Activation as a values.Frame.
type frame Activation

func (a *Activation) sizeOf(t *types.Type) (uint64, error) { return t.SizeIn((*frame)(a)) }

// Number implements Frame.
func (f *frame) Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	switch v.Form.Class() {
	case dwarf.ClassReference:
		d, err := u.Ref(v)
		if err != nil {
			return 0, &unknown.Corrupt{Err: err}
		}
		n, err := f.e.integer(d)
		return n, unknown.Reason(err)
	case dwarf.ClassExprloc, dwarf.ClassBlock:
		f.e.unit = u
		val, err := f.e.m.EvalValue(f.e.env(), v.B, false, 0)
		return val.Bits, unknown.Reason(err)
	case dwarf.ClassOffset:
		return 0, unknown.ErrLength // of a location list: where, not what
	}
	return v.U, nil
}

// NumberOf implements Frame.
func (f *frame) NumberOf(object arch.Address, u *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	if (v.Form.Class() == dwarf.ClassExprloc || v.Form.Class() == dwarf.ClassBlock) && types.Fortran(u.Language) {
		if err := f.e.leftOut(object, v.B); err != nil {
			return 0, err
		}
	}
	outer, in := f.e.object, f.e.inObject
	f.e.object, f.e.inObject = object, true
	n, err := f.Number(u, v)
	f.e.object, f.e.inObject = outer, in
	return n, err
}

// Stored implements Frame.
func (f *frame) Stored(u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error) {
	switch v.Form.Class() {
	case dwarf.ClassReference:
		return f.Number(u, v)
	case dwarf.ClassExprloc, dwarf.ClassBlock:
		n, err := f.e.stored(u, v.B, size)
		return n, unknown.Reason(err)
	case dwarf.ClassOffset: // GCC has location lists for the lengths of strings
		expr, _, err := u.Location(v, f.e.pc, f.e.frame())
		if err != nil {
			return 0, unknown.Reason(err)
		}
		if len(expr) == 0 {
			return 0, unknown.ErrOptimisedOut
		}
		n, err := f.e.stored(u, expr, size)
		return n, unknown.Reason(err)
	}
	return v.U, nil
}

// StoredOf implements Frame.
func (f *frame) StoredOf(object arch.Address, u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error) {
	outer, in := f.e.object, f.e.inObject
	f.e.object, f.e.inObject = object, true
	n, err := f.Stored(u, v, size)
	f.e.object, f.e.inObject = outer, in
	return n, err
}

// Address implements Frame.
func (f *frame) Address(u *dwarf.Unit, expr []byte, base arch.Address) (arch.Address, error) {
	f.e.unit = u
	outer, in := f.e.object, f.e.inObject
	f.e.object, f.e.inObject = base, true // of a member whose place depends on the record
	addr, err := f.e.m.EvalValue(f.e.env(), expr, true, base)
	f.e.object, f.e.inObject = outer, in
	return addr.Bits, unknown.Reason(err)
}

// Constant implements Frame.
func (f *frame) Constant(u *dwarf.Unit, v *dwarf.Value, t *types.Type) (values.Object, error) {
	return (*Activation)(f).at(constant(u, v), t)
}

// Variable implements Frame.
func (f *frame) Variable(d dwarf.DIE, t types.Ref) (values.Object, error) {
	a := (*Activation)(f)
	v := &LocalVar{fn: a.Function, die: d, attrs: gather(d)}
	if v.attrs.typ.Valid() {
		t = v.attrs.typ
	}
	loc, err := a.locate(v)
	if err != nil {
		return values.Object{}, err
	}
	return a.at(loc, a.r.types.Of(t))
}

// ConstantBytes implements Frame.
func (f *frame) ConstantBytes(d dwarf.DIE) ([]byte, bool) {
	a := (*Activation)(f)
	loc, _ := a.locate(&LocalVar{fn: a.Function, die: d, attrs: gather(d)})
	return loc.Bytes, loc.Kind == op.ImplicitValue
}

// Symbol implements Frame.
func (f *frame) Symbol(name string) (arch.Address, bool) {
	s, _ := f.im.SymbolByName(name)
	return s.Value + f.bias, s.Value != 0
}

// Global implements Frame.
func (f *frame) Global(rva uint32) (arch.Address, bool) {
	return f.bias + uint64(rva), f.rec != nil
}

// Unit implements Frame.
func (f *frame) Unit() *dwarf.Unit { return f.fn.Unit }

// Spend implements Frame.
func (f *frame) Spend(units int) error { return f.e.spend(units) }
