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
	use, n, sure, doubt := "", named{}, false, false
	for _, h := range w.vars.Pointers(w.state.PC) {
		one, ok := variable([]where.Held{h}, w.state.PC)
		if !ok {
			continue
		}
		value, known := w.vars.Number(one.held)
		text, _, ok := one.typ.Follow(one.text, int64(why.Addr), uint64(why.AccessSize))
		switch {
		case known && value != 0, !ok, !strings.HasPrefix(text, one.text+"->") && text != "*"+one.text, text == use:
			continue
		case text == "*"+one.text && !known: // it may be this one
			doubt = true
			continue
		case use != "":
			return nil
		}
		use, n, sure = text, one, known
	}
	if use == "" {
		return nil
	}
	t.out.Confidence = report.Possible
	if sure && !doubt {
		t.out.Confidence = report.Likely
	}
	t.out.Expression = use
	t.add(t.variable(w, n, w.state.PC))
	return &t.out
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
