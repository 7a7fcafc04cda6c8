package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of one Form.
const (
	maxTerms = 6
	maxForm  = 16      // values that are made of one another
	maxTimes = 1 << 31 // no instruction multiplies by more: the product of two such numbers does not overflow
)

// A Form is an address as a sum: of its Terms and of K.
type Form struct {
	Terms []Term
	K     int64
}

// A Term is a value times a number. Value is what Of was, sign-extended from what the code extended by its sign.
type Term struct {
	Of    *Value
	Times int64
	Value uint64
	Known bool // Value is known
	Exact bool // and was not read from memory that may have changed since
	// Steps says that Value is how often a loop has added to Of, not what Of was.
	Steps bool
}

// Form takes apart the address of an operand of the instruction at an address: what was added, subtracted, and multiplied by
// constants, down to values that were read, passed or computed in another way. Arithmetic of fewer bytes than an address is
// taken apart only where the values prove that nothing overflowed. It returns false if there are too many terms.
func (e *Evaluator) Form(at uint64, base, index arch.Reg, scale uint8, disp int64) (Form, bool) {
	out, left, ok := Form{K: disp}, 4*maxForm, true
	if base != arch.NoReg {
		ok = e.addForm(&out, e.f.Before(at, Reg(base)), 1, &left, 0)
	}
	if index != arch.NoReg {
		ok = ok && e.addForm(&out, e.f.Before(at, Reg(index)), int64(max(scale, 1)), &left, 0)
	}
	return out, ok
}

// FormOf takes apart a value, like Form.
func (e *Evaluator) FormOf(v *Value) (Form, bool) {
	out, left := Form{}, 4*maxForm
	ok := e.addForm(&out, v, 1, &left, 0)
	return out, ok
}

// addForm adds times the value v. No more than maxTimes is allowed.
func (e *Evaluator) addForm(out *Form, v *Value, times int64, left *int, depth int) bool {
	if *left--; *left < 0 || depth > maxForm {
		return false
	}
	switch v.Kind {
	case Const:
		out.K += times * v.K
		return true
	case Sum:
		part := Form{K: v.K}
		return (v.Base == arch.NoReg || e.addForm(&part, e.f.Before(v.At, Reg(v.Base)), 1, left, depth+1)) &&
			(v.Index == arch.NoReg || e.addForm(&part, e.f.Before(v.At, Reg(v.Index)), int64(max(v.Scale, 1)), left, depth+1)) &&
			out.addAll(e, &part, v, times)
	case Join:
		if first, step, ok := e.f.stepped(v); ok {
			part := Form{}
			return e.addForm(&part, first, 1, left, depth+1) && out.addSteps(e, &part, v, step, times)
		}
	case Arith:
		if v.Size == e.f.arch.WordSize && linear(v) {
			part := Form{}
			if !e.addArith(&part, v, left, depth) {
				return false
			}
			if part.unknown() > 1 {
				if _, _, ok := e.Value(v, 0); ok {
					return e.addTerm(out, v, times)
				}
			}
			return out.addAll(e, &part, v, times)
		}
		if e.narrow(out, v, v, times, left, depth) {
			return true
		}
	case Cut:
		if from := e.f.Before(v.At, Reg(v.Base)); from.Size == v.Size && e.narrow(out, v, from, times, left, depth) {
			return true
		}
	}
	return e.addTerm(out, v, times)
}

// linear reports whether arithmetic is a sum of its operands times constants.
func linear(v *Value) bool {
	constant := v.Index == arch.NoReg && !v.Mem
	switch v.Op {
	case disasm.Plus, disasm.Minus, disasm.Negate:
		return true
	case disasm.Times:
		return constant
	case disasm.ShiftLeft:
		return v.K < 32 // no count in a register is taken for arithmetic
	}
	return false
}

// addArith adds linear arithmetic.
func (e *Evaluator) addArith(out *Form, v *Value, left *int, depth int) bool {
	a := e.f.Before(v.At, Reg(v.Base))
	switch v.Op {
	case disasm.Negate:
		return e.addForm(out, a, -1, left, depth+1)
	case disasm.Times:
		return e.addForm(out, a, v.K, left, depth+1)
	case disasm.ShiftLeft:
		return e.addForm(out, a, 1<<v.K, left, depth+1)
	}
	second := int64(1)
	if v.Op == disasm.Minus {
		second = -1
	}
	if !e.addForm(out, a, 1, left, depth+1) {
		return false
	}
	if v.Index == arch.NoReg && !v.Mem {
		out.K += second * v.K
		return true
	}
	return e.addForm(out, e.f.Second(v), second, left, depth+1)
}

// narrow adds times whole, which is the arithmetic v of fewer bytes, extended: if its parts, extended alike, are known and add
// up to it. Nothing overflowed then.
func (e *Evaluator) narrow(out *Form, whole, v *Value, times int64, left *int, depth int) bool {
	if !linear(v) {
		return false
	}
	val, _, ok := e.Value(whole, 0)
	if !ok {
		return false
	}
	part := Form{}
	if !e.addArith(&part, v, left, depth) {
		return false
	}
	sum := part.K
	for i := range part.Terms {
		t := &part.Terms[i]
		if !t.Known {
			return false
		}
		if t.Value &= 1<<(8*v.Size) - 1; whole.Signed {
			t.Value = uint64(int64(t.Value<<(64-8*v.Size)) >> (64 - 8*v.Size))
		}
		sum += t.Times * int64(t.Value)
	}
	if uint64(sum) != val {
		return false
	}
	for _, t := range part.Terms {
		t.Times *= times
		if !out.add(e, t) {
			return false
		}
	}
	out.K += times * part.K
	return true
}

// unknown counts the terms that are not known.
func (out *Form) unknown() (n int) {
	for i := range out.Terms {
		if !out.Terms[i].Known {
			n++
		}
	}
	return n
}

// solve computes the only term of a form that is not known, from its sum.
func (out *Form) solve(sum uint64, exact bool) {
	const most = 1 << 46 // of indexes, not of addresses that the sum wrapped around
	if out.unknown() != 1 {
		return
	}
	var left *Term
	rest := int64(sum) - out.K
	for i := range out.Terms {
		if t := &out.Terms[i]; t.Known {
			rest -= t.Times * int64(t.Value)
			exact = exact && t.Exact
		} else {
			left = t
		}
	}
	if n := rest / left.Times; rest%left.Times == 0 && (left.Times == 1 || n > -most && n < most) {
		left.Value, left.Known, left.Exact = uint64(n), true, exact
	}
}

// addAll adds times the parts of v. One that is not known is computed, if v is.
func (out *Form) addAll(e *Evaluator, part *Form, v *Value, times int64) bool {
	if val, exact, ok := e.Value(v, 0); ok {
		part.solve(val, exact)
	}
	out.K += times * part.K
	for _, t := range part.Terms {
		if t.Times *= times; !out.add(e, t) {
			return false
		}
	}
	return true
}

// stepped reports whether a join is a value to which each round of a loop adds a constant: the first value, and the constant.
func (f *Func) stepped(v *Value) (first *Value, step int64, ok bool) {
	all := v.alternatives(maxMeet)
	if len(all) != 2 {
		return nil, 0, false
	}
	for i, a := range all {
		if a.Kind == Sum && a.Index == arch.NoReg && f.Before(a.At, Reg(a.Base)) == v && all[1-i].Kind != Unknown && a.K != 0 {
			return all[1-i], a.K, true
		}
	}
	return nil, 0, false
}

// addSteps adds times a value that began as part, and how often a loop has added step to it.
func (out *Form) addSteps(e *Evaluator, part *Form, v *Value, step, times int64) bool {
	part.Terms = append(part.Terms, Term{Of: v, Times: step, Steps: true})
	return out.addAll(e, part, v, times)
}

// addTerm adds times a value that is not taken apart.
func (e *Evaluator) addTerm(out *Form, v *Value, times int64) bool {
	t := Term{Of: v, Times: times}
	t.Value, t.Exact, t.Known = e.Value(v, 0)
	return out.add(e, t)
}

// add adds a term, unless it is a value times 0. One that was read from the same bytes of the frame, and nothing was stored
// there between, is the same.
func (out *Form) add(e *Evaluator, t Term) bool {
	if t.Times == 0 {
		return true
	}
	for i := range out.Terms {
		o := &out.Terms[i]
		if o.Steps == t.Steps && (o.Of == t.Of || e.f.alike(o.Of, t.Of)) {
			if o.Times += t.Times; o.Times == 0 {
				out.Terms = append(out.Terms[:i], out.Terms[i+1:]...)
				return true
			}
			return o.small()
		}
	}
	out.Terms = append(out.Terms, t)
	return len(out.Terms) <= maxTerms && t.small()
}

func (t *Term) small() bool { return t.Times >= -maxTimes && t.Times <= maxTimes }

// alike reports whether two values were read from the same bytes of the frame, or are the same parts of one value or of such values.
func (f *Func) alike(a, b *Value) bool {
	if a.Kind != b.Kind || a.Size != b.Size || a.Signed != b.Signed || a.Into != b.Into {
		return false
	}
	switch a.Kind {
	case Slot:
		from := f.Stored(a)
		return a.K == b.K && from.Kind != Unknown && from == f.Stored(b)
	case Cut:
		x, y := f.Before(a.At, Reg(a.Base)), f.Before(b.At, Reg(b.Base))
		return x.Kind != Unknown && (x == y || f.alike(x, y))
	}
	return false
}
