package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Values on entry to a function (DW_OP_entry_value). The function itself has overwritten them,
// but the call site in the caller may say how to compute what it passed, from registers that
// calls preserve.

// entryValue returns the value that the expression block had when the function was entered: the
// contents of a register, maybe with a base type, or what the register pointed to.
func (e *evaluator) entryValue(block []byte) (op.Value, error) {
	place, ok := readPlace(block, e.r.arch.Big())
	if !ok {
		return op.Value{}, &unknown.Entry{Why: "it was not in a register"}
	}
	v, err := e.passedKnown(entryKey{place.reg, place.pointed}, func() (op.Value, error) { return e.passedAt(place) })
	if err == nil && place.typ != 0 && v.Type == (op.Type{}) {
		v.Type, err = e.BaseType(place.typ)
	}
	return v, err
}

// passedAt returns what the caller passed in a place.
func (e *evaluator) passedAt(place entryPlace) (op.Value, error) {
	v, err := e.describedAt(place)
	if err != nil && !place.pointed {
		if held, ok := e.atEntry(place.reg); ok {
			return op.Value{Bits: held}, nil
		}
	}
	return v, err
}

// describedAt is passedAt as the call site describes it.
func (e *evaluator) describedAt(place entryPlace) (op.Value, error) {
	value := callValue
	if place.pointed {
		value = [2]dwarf.Attr{dwarf.AttrCallDataValue, dwarf.AttrGNUCallSiteDataVal}
	}
	return e.passed(value, func(u *dwarf.Unit, c *dwarf.Cursor) bool {
		var v dwarf.Value
		c.Find(dwarf.AttrLocation, &v)
		at, ok := readPlace(v.B, e.r.arch.Big())
		return ok && at.reg == place.reg && !at.pointed
	})
}

// An entryPlace is a register at the entry of a function.
type entryPlace struct {
	reg     uint64
	typ     uint64 // offset of its base type's entry; 0 for none
	pointed bool   // what the register pointed to is meant
}

// readPlace decodes DW_OP_regN, DW_OP_regx, DW_OP_regval_type, and DW_OP_bregN 0 followed by an
// operator that reads memory.
func readPlace(block []byte, big bool) (p entryPlace, ok bool) {
	if len(block) == 0 {
		return p, false
	}
	c := binbuf.New(block, 1, big)
	switch o := op.Op(block[0]); {
	case o >= op.Reg0 && o < op.Reg0+32:
		p.reg = uint64(o - op.Reg0)
	case o == op.Regx:
		p.reg = c.ULEB()
	case o == op.RegvalType, o == op.GNURegvalType:
		p.reg, p.typ = c.ULEB(), c.ULEB()
	case o >= op.Breg0 && o < op.Breg0+32:
		p.reg, p.pointed = uint64(o-op.Breg0), true
		if c.SLEB() != 0 {
			return p, false
		}
		switch op.Op(c.U8()) {
		case op.Deref:
		case op.DerefSize:
			c.U8()
		default:
			return p, false
		}
	default:
		return p, false
	}
	return p, c.Error == nil && !c.More()
}

// longSite is how many parameters of a call are looked through before the search is charged.
const longSite = 64

// tooFar is the reason when maxNested is reached.
const tooFar = "too many callers passed it on"

// callValue are the attributes with the value of a call-site parameter.
var callValue = [2]dwarf.Attr{dwarf.AttrCallValue, dwarf.AttrGNUCallSiteValue}

// parameterRef returns what was passed for a parameter of an inlined function.
func (e *evaluator) parameterRef(param dwarf.DIE) (op.Value, error) {
	return e.passed(callValue, func(u *dwarf.Unit, c *dwarf.Cursor) bool {
		var v dwarf.Value
		for c.Attr(&v) {
			if v.Attr == dwarf.AttrCallParameter || v.Attr == dwarf.AttrAbstractOrigin {
				d, _ := u.Ref(&v)
				return d == param
			}
		}
		return false
	})
}

// passed evaluates, in the caller's frame, the value of the first call-site parameter for which
// wanted returns true. value are the attributes that may have the value.
func (e *evaluator) passed(value [2]dwarf.Attr, wanted func(*dwarf.Unit, *dwarf.Cursor) bool) (op.Value, error) {
	by, err := e.calledFrom()
	if err != nil {
		return op.Value{}, err
	}
	e.uses(e.frames[by.index].RALocation().Doubtful)
	var entry dwarf.Entry
	site := by.site
	c := site.Unit.Cursor(site.Off)
	c.Next(&entry)
	if !entry.HasChildren {
		return op.Value{}, &unknown.Entry{Why: "the call site describes no parameters"}
	}
	var look dwarf.Cursor // one for all parameters: it escapes
	for n := 1; c.Level() > 0 && c.Next(&entry); n++ {
		if n%longSite == 0 {
			if err := e.spend(4 * longSite); err != nil {
				return op.Value{}, err
			}
		}
		if entry.Tag == dwarf.TagCallSiteParameter || entry.Tag == dwarf.TagGNUCallSiteParameter {
			look = c
			if wanted(site.Unit, &look) {
				in, err := e.nest()
				if err != nil {
					return op.Value{}, &unknown.Entry{Why: tooFar}
				}
				in.enter(by)
				return in.callValue(site.Unit, entry.Off, value)
			}
		}
		c.SkipChildren()
	}
	return op.Value{}, &unknown.Entry{Why: "the call site does not describe this parameter"}
}

// callValue evaluates the value of a call-site parameter.
func (e *evaluator) callValue(u *dwarf.Unit, off uint64, value [2]dwarf.Attr) (op.Value, error) {
	v := u.Value(off, value[0])
	if !v.Present() {
		v = u.Value(off, value[1])
	}
	if len(v.B) == 0 {
		return op.Value{}, &unknown.Entry{Why: "the caller no longer has it"}
	}
	e.unit = u
	if err := e.charge(); err != nil {
		return op.Value{}, err
	}
	val, err := e.m.EvalValue(e.env(), v.B, false, 0)
	if err != nil {
		return op.Value{}, unknown.Reason(err)
	}
	return val, nil
}

// A caller is where a function was called from: a frame of the stack, or a function without a
// frame, because it left by a tail call.
type caller struct {
	fn    *Function
	index int       // of the frame; if virtual, of the frame that it returns to
	pc    uint64    // of the call, in the file
	site  dwarf.DIE // of the call
	// left are the functions that were left by tail calls between the frame and this caller,
	// outermost first.
	left    []dwarf.TailCall
	virtual bool // the caller was itself left by a tail call
}

// enter makes e evaluate in the caller.
func (e *evaluator) enter(by *caller) {
	in, known := e.setting, answers{}
	in.fn, in.index, in.pc, in.left, in.virtual = by.fn, by.index, by.pc, by.left, by.virtual
	if in.virtual {
		// The frame was popped before the jump.
		known.based, known.baseErr = true, unknown.ErrNoCFA
	}
	e.begin(in, known, nil, e.nested)
}

// calledFrom returns the caller of the function in this frame.
func (e *evaluator) calledFrom() (*caller, error) {
	if e.by == nil && e.byErr == nil || e.inputs != nil {
		if e.virtual {
			e.by, e.byErr = e.leaver(e.index)
		} else {
			e.by, e.byErr = e.callSiteKnown()
		}
	}
	return e.by, e.byErr
}

// leaver returns the caller of a function that was left or called by a tail call: the last of
// e.left, or if there is none, frame number index.
func (e *evaluator) leaver(index int) (*caller, error) {
	if len(e.left) > 0 {
		return e.r.lastLeft(e.fn, e.left, index)
	}
	fn, site, err := e.callOf(e.frames[index])
	if err != nil {
		return nil, err
	}
	return &caller{fn: fn, index: index, pc: e.frames[index].LookupAddr() - fn.bias, site: site.DIE}, nil
}

// lastLeft returns the last of the functions that were left by tail calls and return to frame
// number index. They are in the file of fn.
func (r *Reader) lastLeft(fn *Function, left []dwarf.TailCall, index int) (*caller, error) {
	n := len(left) - 1
	last := &left[n]
	if last.PC == 0 {
		return nil, &unknown.Entry{Why: "the function that left by a tail call has several tail calls"}
	}
	if !last.Site.Valid() {
		return nil, &unknown.Entry{Why: "the caller does not describe the call"}
	}
	in := r.function(fn.Library, fn.im, last.Func)
	return &caller{fn: in, index: index, pc: last.PC, site: last.Site, left: left[:n], virtual: true}, nil
}

// callOf returns the function of a frame, and the call that it is in.
func (e *evaluator) callOf(f *unwind.Frame) (*Function, dwarf.CallSite, error) {
	none := dwarf.CallSite{}
	fn, err := e.r.functionAt(f.LookupAddr())
	if err != nil {
		return nil, none, &unknown.Entry{Why: "no debugging information for the caller"}
	}
	if fn.rec != nil {
		return nil, none, &unknown.Entry{Why: "the caller does not describe the call"}
	}
	site, ok := fn.siteAt(f.RA())
	if !ok {
		return nil, none, &unknown.Entry{Why: "the caller does not describe the call"}
	}
	return fn, site, nil
}

// A knownSite is what the function says about the call that returns to an address.
type knownSite struct {
	site dwarf.CallSite
	ok   bool
}

// siteAt returns the call of the function that returns to an address. The threads of a process are in the same few calls.
func (f *Function) siteAt(ra arch.Address) (dwarf.CallSite, bool) {
	pc := ra - f.bias
	if v, ok := f.sites.Load(pc); ok {
		k := v.(*knownSite)
		return k.site, k.ok
	}
	site, ok := f.fn.Unit.CallSiteAt(f.fn.Off, pc)
	f.sites.Store(pc, &knownSite{site, ok})
	return site, ok
}

// callSite finds the call that led to the frame's function. It must be certain: either the call
// was of the function itself, or only one chain of tail calls leads from it to the function. And
// no tail call may lead from the function back to it.
func (e *evaluator) callSite() (*caller, error) {
	index := e.index + 1
	if index >= len(e.frames) {
		e.depth.endsAt(len(e.frames))
		return nil, &unknown.Entry{Why: "the stack has no caller"}
	}
	f := e.frames[index]
	if f.NonCall() || e.frame().IsTrampoline() {
		return nil, &unknown.Entry{Why: "a signal handler has no caller"}
	}
	if e.r.tailsBack(e.fn) {
		return nil, &unknown.Entry{Why: "a tail call may have entered the function again"}
	}
	fn, site, err := e.callOf(f)
	target := e.r.calledAt(e.frames, e.index)
	e.inputs.Add(where.InputTarget, e.index, 0, target, true)
	if err != nil && target == 0 {
		return nil, err
	}
	if err == nil {
		in, err := e.nest()
		if err != nil {
			return nil, &unknown.Entry{Why: tooFar}
		}
		by := &caller{fn: fn, index: index, pc: f.LookupAddr() - fn.bias, site: site.DIE}
		in.enter(by)
		if to := in.target(&site); to != 0 || site.Origin.Valid() {
			target = to
		}
		if e.calledBy(&site, target) {
			return by, nil
		}
	}
	if err != nil && target == e.fn.fn.Entry+e.fn.bias {
		return nil, err // it was called directly, but the caller does not describe that
	}
	chain, via, err := e.tailCalls(fn, f.RA(), target)
	if err != nil || !chain.Complete || len(chain.Calls) == 0 {
		return nil, &unknown.Entry{Why: "the caller called another function, which left by a tail call"}
	}
	return e.r.lastLeft(via, chain.Calls, index)
}

// tailCalls finds the functions that were left by tail calls between a call and e's function.
// The call is in fn and returns to ret, or is of target if that is not 0. via is a function in the
// library of the chain.
func (e *evaluator) tailCalls(fn *Function, ret, target arch.Address) (chain image.TailChain, via *Function, err error) {
	pc := e.fn.fn.Entry
	if target != 0 {
		if fn, err = e.r.functionAt(target); err == nil {
			chain, err = image.TailCallsAt(fn.im, target-fn.bias, e.fn.im, pc)
		}
	} else {
		key := tailKey{ret, e.fn}
		v, ok := e.r.tails.Load(key)
		if !ok {
			var a tailAnswer
			a.TailChain, a.err = image.TailCalls(fn.im, ret-fn.bias, e.fn.im, pc)
			v = a
			e.r.tails.Store(key, v)
		}
		a := v.(tailAnswer)
		chain, err = a.TailChain, a.err
	}
	if chain.Image == e.fn.im {
		return chain, e.fn, err
	}
	return chain, fn, err
}

// tailsBack reports whether tail calls of fn may lead back to it.
func (r *Reader) tailsBack(fn *Function) bool {
	if v, ok := r.again.Load(fn); ok {
		return v.(bool)
	}
	back := fn.rec == nil && fn.im.TailsBack(fn.fn)
	r.again.Store(fn, back)
	return back
}

// A tailKey is the return address of a call and the function that it led to.
type tailKey struct {
	ret arch.Address
	to  *Function
}

type tailAnswer struct {
	image.TailChain
	err error
}

// target returns the address that a call computes, evaluated in the caller; 0 if the call does
// not compute it, or it is not known.
func (e *evaluator) target(site *dwarf.CallSite) arch.Address {
	if site.Origin.Valid() {
		return 0
	}
	e.unit = site.Unit
	to, _ := e.m.EvalValue(e.env(), site.Target, false, 0)
	return to.Bits
}

// calledBy reports whether the call is of e's function itself.
func (e *evaluator) calledBy(site *dwarf.CallSite, target arch.Address) bool {
	if site.Origin.Valid() {
		key := originKey{e.fn, site.Origin}
		if v, ok := e.r.same.Load(key); ok {
			return v.(bool)
		}
		same := sameFunction(e.fn, site.Origin)
		e.r.same.Store(key, same)
		return same
	}
	return target == e.fn.fn.Entry+e.fn.bias
}

// An originKey is a function, and the entry that a call site refers to.
type originKey struct {
	fn     *Function
	origin dwarf.DIE
}

// sameFunction reports whether the entry that a call site refers to is fn: its own entry, the
// abstract instance of it, or a declaration of the same external name. A function may have
// several names: __libc_free is also free.
func sameFunction(fn *Function, origin dwarf.DIE) bool {
	d := fn.fn.DIE
	for range maxOrigins {
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
	name := to.LinkageName
	switch {
	case fn.LinkageName != "" && fn.LinkageName == name:
		return true
	case name != "":
	case !to.External:
		return false
	case to.Name == fn.Name && fn.LinkageName == "" && fn.fn.DIE.FuncInfo().External:
		return true
	default:
		name = to.Name
	}
	return fn.im.NamedAt(name, fn.fn.Entry)
}

func specificationOf(d dwarf.DIE) dwarf.DIE {
	v := d.Unit.Value(d.Off, dwarf.AttrSpecification)
	to, _ := d.Unit.Ref(&v)
	return to
}
