package dwarfvars

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/dwarf"
	"github.com/corewalk/corewalk/internal/dwarf/op"
)

// Values on entry to a function (DW_OP_entry_value): the function itself has
// forgotten them, but its caller may still know what it passed. The caller's
// call site tells how to compute it from registers that calls preserve.

// entryValue is what the expression block gave when the function was entered.
func (e *evaluator) entryValue(block []byte) (op.Value, error) {
	return e.passed(func(u *dwarf.Unit, c *dwarf.Cursor) bool {
		var v dwarf.Value
		for c.Attr(&v) {
			if v.Attr == dwarf.AttrLocation {
				return bytes.Equal(v.B, block)
			}
		}
		return false
	})
}

// parameterRef is what was passed for a parameter of an inlined function.
func (e *evaluator) parameterRef(param dwarf.DIE) (op.Value, error) {
	return e.passed(func(u *dwarf.Unit, c *dwarf.Cursor) bool {
		var v dwarf.Value
		for c.Attr(&v) {
			if v.Attr == dwarf.AttrCallParameter || v.Attr == dwarf.AttrAbstractOrigin {
				d, err := u.Ref(&v)
				return err == nil && d == param
			}
		}
		return false
	})
}

// passed evaluates the value of the call-site parameter that is wanted, in the
// frame of the caller. wanted reads the attributes of a parameter.
func (e *evaluator) passed(wanted func(*dwarf.Unit, *dwarf.Cursor) bool) (op.Value, error) {
	in, site, err := e.callSite()
	if err != nil {
		return op.Value{}, err
	}
	var entry dwarf.Entry
	c := site.Unit.Cursor(site.Off)
	if !c.Next(&entry) || !entry.HasChildren {
		return op.Value{}, &NoEntryValue{"the call site tells of no parameters"}
	}
	for c.Level() > 0 && c.Next(&entry) {
		if entry.Tag == dwarf.TagCallSiteParameter || entry.Tag == dwarf.TagGNUCallSiteParameter {
			look := c
			if wanted(site.Unit, &look) {
				return in.callValue(site.Unit, entry.Off)
			}
		}
		c.SkipChildren()
	}
	return op.Value{}, &NoEntryValue{"the call site does not tell of this parameter"}
}

// callValue evaluates the value of a call-site parameter.
func (e *evaluator) callValue(u *dwarf.Unit, off uint64) (op.Value, error) {
	v := u.Value(off, dwarf.AttrCallValue)
	if !v.Present() {
		v = u.Value(off, dwarf.AttrGNUCallSiteValue)
	}
	if len(v.B) == 0 {
		return op.Value{}, &NoEntryValue{"the caller does not know it any more"}
	}
	e.unit = u
	val, err := e.m.EvalValue(e.env(), v.B, false, 0)
	if err != nil {
		return op.Value{}, reason(err)
	}
	return val, nil
}

// callSite returns the call that the frame's function was called by, and an
// evaluator for the calling frame. It must be certain that this call led
// straight to the function: functions that left by a tail call in between had
// other parameters.
func (e *evaluator) callSite() (*evaluator, dwarf.CallSite, error) {
	none := dwarf.CallSite{}
	caller := e.index + 1
	if caller >= len(e.frames) {
		return nil, none, &NoEntryValue{"no caller in the stack"}
	}
	f := e.frames[caller]
	if f.NonCall() || e.frame().IsTrampoline() {
		return nil, none, &NoEntryValue{"a signal handler has no caller"}
	}
	fn, err := e.r.functionAt(f.LookupAddr())
	if err != nil {
		return nil, none, &NoEntryValue{"no debugging information for the caller"}
	}
	site, ok := fn.fn.Unit.CallSiteAt(fn.fn.Off, f.RA()-fn.bias)
	if !ok {
		return nil, none, &NoEntryValue{"the caller does not describe the call"}
	}
	in, err := e.nest()
	if err != nil {
		return nil, none, err
	}
	in.fn, in.index, in.pc, in.based, in.outer, in.virtual = fn, caller, f.LookupAddr()-fn.bias, false, nil, false
	if !e.calledBy(in, &site) {
		return nil, none, &NoEntryValue{"another function was called, which left by a tail call"}
	}
	return in, site, nil
}

// calledBy reports whether the call site calls e's function.
func (e *evaluator) calledBy(in *evaluator, site *dwarf.CallSite) bool {
	if site.Origin.Valid() {
		return sameFunction(e.fn, site.Origin)
	}
	if len(site.Target) == 0 {
		return false
	}
	in.unit = site.Unit
	to, err := in.m.EvalValue(in.env(), site.Target, false, 0)
	return err == nil && to.Bits == e.fn.fn.Entry+e.fn.bias
}

// sameFunction reports whether the entry that a call site names is fn: the same
// entry, one that fn's is an instance of, or another declaration of the same
// external name.
func sameFunction(fn *Function, origin dwarf.DIE) bool {
	d := fn.fn.DIE
	for range maxOrigins {
		if d == origin {
			return true
		}
		next := originOf(d)
		if !next.Valid() {
			next = specificationOf(d)
		}
		if !next.Valid() {
			break
		}
		d = next
	}
	to := origin.FuncInfo()
	if to.Origin == d {
		return true
	}
	if fn.LinkageName != "" || to.LinkageName != "" {
		return fn.LinkageName == to.LinkageName
	}
	return to.External && to.Name == fn.Name && fn.fn.DIE.FuncInfo().External
}

func specificationOf(d dwarf.DIE) dwarf.DIE {
	v := d.Unit.Value(d.Off, dwarf.AttrSpecification)
	if !v.Present() {
		return dwarf.DIE{}
	}
	to, _ := d.Unit.Ref(&v)
	return to
}
