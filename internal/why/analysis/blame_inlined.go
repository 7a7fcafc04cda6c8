package analysis

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Inlined calls have no instruction that passes a value to them or returns one. Where the value was got, and what the calls there return, tells.

// cameIn reports whether a call was given the value of its parameter n, at an instruction: a reference and "this" are never changed, and a value that
// the code got outside of an inlined call came into it. impossible says which of several values it was not.
func (w *witness) cameIn(n named, v *provenance.Value, at uint64, impossible func(alternative *provenance.Value) bool) bool {
	h := n.held
	if h == nil || !h.Param || h.Path != "" {
		return false
	}
	if h.Artificial && h.Variable == "this" || h.Type != nil && h.Type.Strip().Reference() {
		return true
	}
	all := slices.DeleteFunc(v.Alternatives(), impossible)
	for _, a := range all {
		switch a.Kind {
		case provenance.Load, provenance.Const, provenance.Result, provenance.Sum, provenance.Arith, provenance.Entry, provenance.Slot:
		default:
			return false
		}
		if !w.vars.CameIn(h, at, a.At) && !w.readFor(h, at, a) && !w.cameBack(h, at, a.At) {
			return false
		}
	}
	return len(all) > 0
}

// cameBack reports whether an instruction of the inlined call that has the parameter h is of the call before, in the round of a loop before: between the two, code
// outside of the call decides whether there is a next round. A loop within the call has its own jumps.
func (w *witness) cameBack(h *where.Held, at, from uint64) bool {
	return !w.vars.CameIn(h, at, from) && !w.code.Reaches(from, at, func(addr uint64) bool {
		in, ok := w.code.Inst(addr)
		return !ok || in.Kind == disasm.CondJump && w.vars.CameIn(h, at, addr)
	})
}

// readFor reports whether a pointer was read for the call that has the parameter h, not by it: the instruction is among those of the call, where compilers put
// what computes an argument that is used once. It reads through a register that held the same when control came into the call, and that no variable of the call
// is in; nor has the call another that could have led there. Go's compiler puts it there for nothing but the call itself, of which the debugging information often has no variable.
func (w *witness) readFor(h *where.Held, at uint64, v *provenance.Value) bool {
	if w.vars.Convention() != where.ConventionC {
		return false
	}
	if v.Kind != provenance.Load || v.Base == arch.NoReg || v.Index != arch.NoReg || v.Size != w.in.arch.WordSize {
		return false
	}
	if !w.code.Brought(v.At, v.Base, func(addr uint64) bool { return !w.vars.CameIn(h, at, addr) }) {
		return false
	}
	for _, o := range w.vars.InRegister(v.At, v.Base) {
		if o.Function == h.Function {
			return false
		}
	}
	for _, o := range w.vars.Pointers(at) {
		if o.Function == h.Function && o.Variable != h.Variable && leadsTo(&o, v.K, uint64(v.Size), h.Type) {
			return false
		}
	}
	return true
}

// leadsTo reports whether a pointer has at an offset a pointer to what another one points to.
func leadsTo(o *where.Held, off int64, size uint64, pointer *types.Type) bool {
	if o.Type == nil {
		return true
	}
	_, part, ok := o.Type.Follow(o.Variable, off, size)
	return ok && (part == nil || (part.Strip().Pointer() || part.Strip().Reference()) && part.Strip().Target().Strip().Name() == pointer.Strip().Target().Strip().Name())
}

// given returns the parameter of the innermost inlined call at the frame's instruction that a pointer is, although the parameter is nowhere: the pointer was
// read for the call, which has no other pointer to something that the instruction may access, or only parameters that would have been given it alike: n has no name
// then. Or the call began at the instruction, with the pointer for its parameter: it is in reg. disp and size are what was accessed through it.
func (w *witness) given(v *provenance.Value, reg arch.Reg, value uint64, disp int64, size int) (n named, use string, ok bool) {
	if w.vars == nil {
		return named{}, "", false
	}
	at, innermost := w.state.PC, w.innermost()
	for _, h := range w.vars.Momentary(at, reg) {
		one, named := variable([]where.Held{h}, at)
		if !named || !h.Param || h.Path != "" || !strings.HasSuffix(innermost, h.Function) {
			continue
		}
		if h.Variable == "this" && h.Artificial || h.Type.Strip().Reference() || v.Kind != provenance.Unknown && w.vars.CameIn(&h, at, v.At) {
			text, _, _ := h.Type.Follow(one.text, disp, uint64(size))
			return one, text, true
		}
	}
	var own []where.Held // what is in the call's scope
	for _, h := range w.vars.Pointers(at) {
		if h.Function != "" && strings.HasSuffix(innermost, h.Function) {
			own = append(own, h)
		}
	}
	several := false
	for i := range own {
		h := &own[i]
		one, named := variable([]where.Held{*h}, at)
		if !named {
			continue
		}
		text, _, may := h.Type.Follow(one.text, disp, uint64(size))
		if held, known := w.vars.Number(h); !may || known && held != value {
			continue
		}
		if !h.Param || !w.vars.CameIn(h, at, 0) || !w.vars.CameIn(h, at, v.At) && !w.readFor(h, at, v) {
			return n, "", false
		}
		// The call may have read it from what another of its pointers leads to: compilers move and join what reads.
		if slices.ContainsFunc(own, func(o where.Held) bool { return leadsTo(&o, v.K, uint64(v.Size), h.Type) }) {
			return n, "", false
		}
		if n, use = one, text; ok { // one of several
			several = true
		}
		ok = true
	}
	if several {
		use = ""
	}
	return n, use, ok
}

// inlinedParameter returns the parameter of an inlined call that has a value at the frame's instruction, in another register than the one that is asked about.
func (w *witness) inlinedParameter(v *provenance.Value) named {
	if w.vars == nil || v.Kind == provenance.Unknown || v.Kind == provenance.Const {
		return named{}
	}
	at := w.state.PC
	for reg := range arch.Reg(w.in.arch.NumRegs()) {
		if reg == w.in.arch.SP || reg == w.in.arch.PC || w.code.Before(at, provenance.Reg(reg)) != v {
			continue
		}
		if n, ok := variable(w.vars.InRegister(at, reg), at); ok && n.held.Param && n.held.Path == "" && w.vars.CameIn(n.held, at, 0) {
			return n
		}
	}
	return named{}
}

// stayed returns the function that a pointer did not leave, which the code got at an instruction of it: it was inlined, and what it returns cannot be
// that pointer. The compiler moved what used the pointer out of it. It is "" if there is none.
func (w *witness) stayed(v *provenance.Value) string {
	if w.vars == nil {
		return ""
	}
	calls := w.callsAt(v.At)
	if at, _ := w.source(v.At); at == w.innermost() {
		return "" // the compiler merged the same code of two calls of one function
	}
	for i, c := range w.vars.Ended(v.At, w.state.PC) {
		if i < len(calls) && strings.HasSuffix(calls[i].Name, "::"+c.Function) && library(calls[i].Name) {
			continue // its name there has no namespace
		}
		if c.Known && !library(c.Function) && !mayBe(c.Result, w.typeOf(v, c.Function)) {
			for _, call := range calls {
				if strings.HasSuffix(call.Name, "::"+c.Function) {
					return call.Name // with its scopes, as its frame would have it
				}
			}
			return c.Function
		}
	}
	return ""
}

// callsAt returns the function at an address and those that were inlined there, the innermost first.
func (w *witness) callsAt(addr uint64) []unwind.Call {
	lookup, ok := w.in.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok {
		return nil
	}
	calls, err := lookup.LookupCalls(addr, nil)
	w.in.chargeLookUps()
	if err != nil {
		return nil
	}
	return calls
}

// sought reports whether a null pointer is where a search came to in an inlined function that returns such a pointer: the code read it, at an instruction, 0 for any,
// from what the last such pointer leads to, and never compares it with null. LLVM leaves that out where a caller uses what the function returns without a check.
func (w *witness) sought(v *provenance.Value, readAt uint64) bool {
	r := w.finds()
	called := w.comparing()
	return r != nil && slices.ContainsFunc(v.Alternatives(), func(a *provenance.Value) bool {
		if a.Kind != provenance.Load || a.Base == arch.NoReg || readAt != 0 && a.At != readAt {
			return false
		}
		if (a.Index != arch.NoReg || w.strides(a)) && a.Size == w.in.arch.WordSize && w.code.OneWayOut(a.At, w.state.PC, called) {
			return true // of an array, of which the code does not look for the end
		}
		off, ok := w.onward(v, a)
		if !ok || uint64(off) >= r.Target().Whole() { // or before it
			return false
		}
		_, next, ok := r.Follow("", off, uint64(a.Size))
		return ok && next != nil && next.Strip().Pointer() && next.Strip().Target().Strip().Name() == r.Target().Strip().Name()
	})
}

// finds returns the pointer that the innermost inlined call returns which is not of a library, by LLVM; nil for none.
func (w *witness) finds() *types.Type {
	if w.vars == nil {
		return nil
	}
	calls := w.vars.Ended(w.state.PC, 0) // all that there are
	names := w.callsAt(w.state.PC)
	n := 0
	for n < min(len(calls), len(names)) && (library(names[n].Name) || libraryOfRust(names[n].File)) {
		n++
	}
	if n >= len(calls) || !calls[n].LLVM || !calls[n].Known || calls[n].Result == nil {
		return nil
	}
	if r := calls[n].Result.Strip(); r.Pointer() {
		return r
	}
	return nil
}

// libraryOfRust reports whether a file is one of Rust's library.
func libraryOfRust(file string) bool {
	_, rest, ok := strings.Cut(file, "/rustc/")
	if !ok {
		_, rest, ok = strings.Cut(file, "/rustlib/src/rust")
	}
	return ok && strings.Contains(rest, "/library/")
}

// ranPast reports whether a pointer is where a search came to that goes from one element of an array to the next one, in an inlined function that returns a
// pointer, and does not look for the array's end.
func (w *witness) ranPast(v *provenance.Value) bool {
	return w.finds() != nil && w.movesOn(v) && w.code.OneWayOut(w.state.PC, w.state.PC, w.comparing())
}

// soughtFirst is sought for the first element of an array, of which LLVM makes the comparison apart: the loop for the others makes it, too, and does not
// look for the end.
func (w *witness) soughtFirst(v *provenance.Value) bool {
	call, ok := w.code.Inst(w.state.PC)
	if !ok || !call.Kind.IsCall() || v.Kind != provenance.Load || w.finds() == nil {
		return false
	}
	name, here := w.source(w.state.PC)
	for other := range w.code.Calls {
		if other.PC == call.PC || other.Target != call.Target {
			continue
		}
		if n, there := w.source(other.PC); n == name && there == here && w.code.OneWayOut(other.PC, other.PC, w.comparing()) {
			return true
		}
	}
	return false
}

// strides reports whether a loop reads through a pointer that it moves on by as much each time.
func (w *witness) strides(load *provenance.Value) bool {
	return w.movesOn(w.code.Before(load.At, provenance.Reg(load.Base)))
}

// comparing returns what tells the functions that a search may call: that which the frame's instruction calls, and those that compare.
func (w *witness) comparing() func(call *disasm.Inst) bool {
	own := uint64(0)
	if call, ok := w.code.Inst(w.state.PC); ok && call.Kind.IsCall() {
		own, _ = w.calleeNow(&call)
	}
	return func(call *disasm.Inst) bool {
		called, ok := w.calleeNow(call)
		if !ok || called == 0 || called == own {
			return ok && called != 0
		}
		code := codeReader{in: w.in}
		f, ok := code.function(called)
		name, _, _ := strings.Cut(f.Name, "@")
		switch libcName(name) {
		case "bcmp", "memcmp", "strcmp", "strncmp", "strcasecmp":
			return ok && f.Entry == called
		}
		for _, compares := range [...]string{"__memcmp_", "__bcmp_", "__strcmp_", "__strncmp_", "__strcasecmp_"} { // for a kind of processor
			if strings.HasPrefix(name, compares) {
				return ok && f.Entry == called
			}
		}
		return false
	}
}

// calleeNow is callee, also of a call through a register, which has what it held in the loop all the time.
func (w *witness) calleeNow(call *disasm.Inst) (uint64, bool) {
	if call.Kind != disasm.CallIndirect || call.Mem() != nil {
		return w.callee(call)
	}
	to, _, ok := w.eval.Value(w.code.Before(call.PC, provenance.Reg(call.Src)), 0)
	return to, ok
}

// movesOn reports whether a loop moves a pointer on by as much each time.
func (w *witness) movesOn(at *provenance.Value) bool {
	return at.Kind == provenance.Join && slices.ContainsFunc(at.Alternatives(), func(next *provenance.Value) bool {
		return next.Kind == provenance.Sum && next.Index == arch.NoReg && next.Base != arch.NoReg && next.K != 0 && w.code.Before(next.At, provenance.Reg(next.Base)) == at
	})
}

// onward returns at which offset of what load a read before, or v is, it reads on in a loop. LLVM's loops may go from the address of a pointer to that of the next one.
func (w *witness) onward(v, a *provenance.Value) (int64, bool) {
	last := w.code.Before(a.At, provenance.Reg(a.Base))
	if last.Kind != provenance.Join {
		return 0, false
	}
	if last == v || slices.Contains(last.Alternatives(), a) {
		return a.K, true
	}
	for _, alt := range last.Alternatives() {
		if alt.Kind != provenance.Sum || alt.Index != arch.NoReg || alt.Base == arch.NoReg {
			continue
		}
		if from := w.code.Before(alt.At, provenance.Reg(alt.Base)); from == a || from == v {
			return a.K + alt.K, true
		}
	}
	return 0, false
}

// outside returns of how many inlined calls at the frame's instruction another instruction of the frame's function is no part. Two calls of one function on one
// line are taken for one.
func (w *witness) outside(addr uint64) int {
	if addr == w.state.PC {
		return 0
	}
	at, there := w.callsAt(w.state.PC), w.callsAt(addr)
	if len(at) < 2 || len(there) == 0 {
		return 0
	}
	same := 1 // the function itself
	for ; same < min(len(at), len(there)); same++ {
		a, b := at[len(at)-same:], there[len(there)-same:]
		if source(a[0]).Line != source(b[0]).Line || at[len(at)-same-1].Name != there[len(there)-same-1].Name {
			break
		}
	}
	return len(at) - same
}

// innermost returns the innermost function at the frame's instruction, inlined ones included.
func (w *witness) innermost() string {
	name, _ := w.source(w.state.PC)
	return name
}

// typeOf returns the type of a pointer that the code got in an inlined function: what the function that returned it returns, what it was read from, or the
// only variable there that can hold it. It is nil if that is not known.
func (w *witness) typeOf(v *provenance.Value, function string) *types.Type {
	switch v.Kind {
	case provenance.Result:
		if v.Target != 0 {
			if result, _ := where.ProcessOf(w.in.Variables).Signature(v.Target); result != nil {
				return result
			}
		}
	case provenance.Load:
		if n := w.target(v.At, v.Base, v.Index, v.Scale, v.K, v.Size, 0); n.typ != nil && len(n.arms) == 0 {
			return n.typ
		}
	}
	if typ := w.typeAfter(v); typ != nil {
		return typ
	}
	var only *types.Type
	for _, h := range w.vars.Pointers(v.At) {
		switch {
		case h.Function != function || h.Param:
		case only != nil:
			return nil
		default:
			only = h.Type
		}
	}
	return only
}

// typeAfter returns the type of the variable that has a value after the instruction that got it; nil if none has it in a register.
func (w *witness) typeAfter(v *provenance.Value) *types.Type {
	inst, ok := w.code.Inst(v.At)
	if !ok {
		return nil
	}
	next := v.At + uint64(inst.Len)
	for reg := range arch.Reg(w.in.arch.NumRegs()) {
		if reg == w.in.arch.SP || reg == w.in.arch.PC || w.code.Before(next, provenance.Reg(reg)) != v {
			continue
		}
		if n, ok := variable(w.vars.InRegister(next, reg), next); ok {
			return n.typ
		}
	}
	return nil
}

// mayBe reports whether what a function returns may be a pointer of a type, nil for any.
func mayBe(result, pointer *types.Type) bool {
	if result == nil {
		return false
	}
	r := result.Strip()
	switch {
	case r.Aggregate():
		return true
	case !r.Pointer() && !r.Reference():
		return false
	case pointer == nil:
		return true
	}
	p := pointer.Strip()
	if !p.Pointer() && !p.Reference() {
		return true
	}
	to, of := r.Target().Strip(), p.Target().Strip()
	return to.Name() == of.Name() || to.Name() == "void" || of.Name() == "void" || to.Aggregate() && of.Aggregate()
}

// left says of the last step, which is where the code got the value, which inlined function the value did not leave.
func (t *tracer) left(w *witness, v *provenance.Value) {
	if n := len(t.out.Steps); n > 0 && t.out.Steps[n-1].Address == report.Addr(v.At) {
		t.out.Steps[n-1].Within = w.stayed(v)
	}
}
