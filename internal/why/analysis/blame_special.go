package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// handedIn finds the argument with which one of the C library's string functions was called, if its own code, with
// many paths, does not tell: the bad value is what the caller passed for that argument and for no other. That is
// likely, as such functions change little but the addresses in their arguments.
func (t *tracer) handedIn(s suspect) (suspect, bool) {
	if s.w.number != 0 || s.reg == arch.NoReg {
		return s, false
	}
	if called, _ := stringName(s.w.call.Name); called == "" && s.w.call.Name != "" {
		return s, false
	}
	caller := t.witness(1, nil)
	if caller == nil || caller.state.PC == caller.frame.RA() {
		return s, false
	}
	call, ok := caller.code.Inst(caller.state.PC)
	if !ok || !t.calls(&call, s.w) {
		return s, false
	}
	const most = 2 // arguments that are pointers
	passed := arch.NoReg
	for _, r := range s.w.abi.Args[:min(most, len(s.w.abi.Args))] {
		v, _, ok := caller.eval.Value(caller.code.Before(caller.state.PC, provenance.Reg(r)), 0)
		switch {
		case !ok || v != s.value:
			continue
		case passed != arch.NoReg:
			return s, false
		}
		passed = r
	}
	if passed == arch.NoReg {
		return s, false
	}
	s.v = s.w.code.Before(s.w.call.Entry, provenance.Reg(passed))
	t.doubt(report.Likely)
	return s, s.v.Kind == provenance.Entry
}

// folded names the null pointer of an access to a constant address near null: the compiler knew the pointer and
// computed the address. The pointer is the only one in scope that points to a structure with such a member, or to a number of that
// size, and that holds nothing else; nil if there are several. That is a conclusion, not a trace, so it is never certain.
func (t *tracer) folded(inst *disasm.Inst, why *reason.Reason) *report.Blame {
	switch why.Kind {
	case report.CrashNullRead, report.CrashNullWrite, report.CrashNullAccess:
	default:
		return nil
	}
	m := inst.Mem()
	if m == nil || !constant(m) || why.AccessSize <= 0 || !why.AtInst {
		return nil
	}
	w := t.witness(0, nil)
	if w == nil || w.vars == nil {
		return nil
	}
	use, n, sure := w.foldedPointer(why, true)
	if use == "" {
		use, n, sure = w.foldedPointer(why, false)
	}
	if use == "" {
		return nil
	}
	t.out.Confidence = report.Possible
	if sure {
		t.out.Confidence = report.Likely
	}
	t.out.Expression = use
	s := t.variable(w, n, w.state.PC)
	s.Entry = sure && w.unchanged(n)
	v, _, size := w.code.Zero(w.state.PC)
	if !sure && s.Role == "argument" && !w.leadsOn(n, why) {
		s.Entry = true // compilers knew that it was null
	}
	if !sure || v == nil || size != t.in.arch.WordSize {
		t.add(s)
		return &t.out
	}
	// The compiler knew the pointer since it was compared with null on the only way to here.
	t.pointer = true
	s.Entry = s.Entry || w.cameIn(n, v, w.state.PC, func(a *provenance.Value) bool { return t.impossible(w, v, a, 0) })
	t.add(s)
	if s.Entry || w.alone(n) {
		t.follow(w, v, 0)
	}
	return &t.out
}

// foldedPointer returns the only pointer in scope that may have been what was accessed through, and whether it is known to be it, as it is null and no other
// may be. Of the innermost inlined
// call, which the instruction is of, it takes only one that is, whatever there is around the call: that passed it, or has another.
func (w *witness) foldedPointer(why *reason.Reason, innermost bool) (use string, n named, sure bool) {
	within, doubt := "", false
	for i, h := range w.vars.Pointers(w.state.PC) {
		if i == 0 {
			within = h.Function
		}
		one, ok := variable([]where.Held{h}, w.state.PC)
		if !ok || innermost && (h.Function != within || !w.vars.CameIn(&h, w.state.PC, 0)) {
			continue
		}
		value, known := w.vars.Number(one.held)
		text, _, ok := one.typ.Follow(one.text, int64(why.Addr), uint64(why.AccessSize))
		switch {
		case known && value != 0, innermost && !known, !ok, !strings.HasPrefix(text, one.text+"->") && !strings.HasPrefix(text, one.text+".") && !strings.HasPrefix(text, one.text+"%") && text != "*"+one.text, text == use:
			continue
		case text == "*"+one.text && !known: // it may be this one
			doubt = true
			continue
		case use != "":
			return "", named{}, false
		}
		use, n, sure = text, one, known
	}
	return use, n, sure && !doubt
}

// unchanged reports whether a variable is a parameter of an inlined call of which nothing was computed before the frame's instruction.
func (w *witness) unchanged(n named) bool {
	at := w.state.PC
	return n.held != nil && n.held.Param && n.held.Path == "" && w.vars.CameIn(n.held, at, 0) &&
		w.code.Brought(at, arch.NoReg, func(addr uint64) bool { return !w.vars.CameIn(n.held, at, addr) })
}

// leadsOn reports whether what a pointer points to has another pointer that may be null at the access instead: debugging information has no name for what was read from it.
func (w *witness) leadsOn(n named, why *reason.Reason) bool {
	const most = 128 // words
	word, to := uint64(w.in.arch.WordSize), n.typ.Strip().Target()
	if to == nil {
		return true
	}
	for off := uint64(0); off < min(to.Size(), most*word); off += word {
		_, part, ok := n.typ.Follow(n.text, int64(off), word)
		if !ok || part == nil || !part.Strip().Pointer() || !part.Strip().Target().Strip().Aggregate() {
			continue
		}
		if _, _, ok = part.Follow("p", int64(why.Addr), uint64(why.AccessSize)); ok {
			return true
		}
	}
	return false
}

// alone reports whether a variable that is null is the only pointer in scope at the frame's instruction that may be.
func (w *witness) alone(n named) bool {
	for _, h := range w.vars.Pointers(w.state.PC) {
		if value, known := w.vars.Number(&h); (!known || value == 0) && (h.Variable != n.held.Variable || h.Function != n.held.Function) {
			return false
		}
	}
	return true
}

// constant reports whether an operand is a constant address.
func constant(m *disasm.MemOperand) bool {
	return m.Base == arch.NoReg && m.Index == arch.NoReg && m.Segment == arch.NoReg && m.BitIndex == arch.NoReg && !m.RIPRelative && !m.Opaque && !m.Vector
}

// pointerIn names the smart pointer whose operator a call, which returned v, called; nothing for another function.
// The pointer must still hold nothing, as the value returned, if it is known where it is.
func (w *witness) pointerIn(function string, v *provenance.Value) named {
	class, method, _ := cutLast(function, "::")
	if !strings.HasPrefix(class, "std::") || method != "operator->" && method != "operator*" && method != "get" ||
		!strings.Contains(class, "unique_ptr<") && !strings.Contains(class, "shared_ptr") || w.vars == nil || len(w.abi.Args) == 0 {
		return named{}
	}
	reg := w.abi.Args[0]
	object := w.code.Before(v.At, provenance.Reg(reg))
	at, _, ok := w.eval.Value(object, 0)
	if held, read := w.in.mem.Uint(at, w.in.arch.WordSize); ok && (!read || held != 0) || !ok && object.Kind != provenance.Result { // what an operator returned is gone
		return named{}
	}
	n := w.follow(object, v.At, reg, 0, w.in.arch.WordSize, 0)
	if n.text == "" && ok {
		n, _ = variable(w.vars.InMemory(v.At, at, w.in.arch.WordSize), v.At)
	}
	for _, inner := range smartPointers {
		if strings.HasSuffix(n.text, inner) {
			return n
		}
	}
	return named{}
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
