package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// divisor returns the operand by which an instruction divided: it was zero, or -1 if the quotient did not fit.
func (t *tracer) divisor(inst *disasm.Inst, regs *arch.RegSet, kind string) (suspect, bool) {
	const least = 4 // bytes: of smaller parts of registers the code does not tell enough
	if inst.Kind != disasm.Div || inst.Size < least {
		return suspect{}, false
	}
	bad := uint64(0)
	if kind == report.CrashDivOverflow {
		bad = ^uint64(0) >> (64 - 8*inst.Size)
	}
	low := ^uint64(0) >> (64 - 8*inst.Size)
	if v, ok := regs.Get(inst.Src); inst.Src != arch.NoReg && (!ok || v&low != bad || bad == 0 && v != 0) {
		return suspect{}, false
	}
	w := t.witness(0, nil)
	if w == nil {
		return suspect{}, false
	}
	s := suspect{w: w, reg: inst.Src, value: bad, v: w.code.Operand(w.state.PC), divides: true, size: int(inst.Size)}
	if bad == 0 {
		return s, true
	}
	v, _, ok := w.eval.Value(s.v, 0)
	if inst.Src != arch.NoReg {
		v, ok = regs.Get(inst.Src)
	}
	if s.value = v; !ok || v&low != bad {
		return suspect{}, false
	}
	return s, true
}

// divided adds the dividend, if the quotient did not fit: a step of its own, as the divisor is not the only cause.
func (t *tracer) divided(s suspect) {
	ax, ok := t.in.arch.RegByName("rax")
	if s.value == 0 || len(t.out.Steps) == 0 || !ok {
		return
	}
	n := s.w.name(s.w.code.Before(s.w.state.PC, provenance.Reg(ax)), s.w.state.PC, ax, 0)
	v, known := s.w.state.Reg(ax)
	if n.text == "" || !known {
		return
	}
	step, held := s.w.step(report.BlameOperand, s.w.state.PC), report.Addr(signExtended(v, s.size))
	step.Name, step.Value = n.text, &held
	t.out.Steps = append(t.out.Steps, step)
}

// signExtended extends a number of size bytes.
func signExtended(v uint64, size int) uint64 { return uint64(int64(v<<(64-8*size)) >> (64 - 8*size)) }

// calculated ends the trace of a divisor with the expression that it is the value of, and what that was made of. All must be known
// and give zero.
func (t *tracer) calculated(w *witness, divisor *provenance.Value) {
	v, ok := w.beforeScaling(divisor)
	if !ok || w.vars == nil || t.out.Value != 0 {
		return
	}
	text, parts, sure := w.product(v)
	if text == "" {
		text, parts, sure = w.difference(v)
	}
	if text == "" && v == divisor { // what was shifted, or cut, need not have been zero
		text, parts, sure = w.ofVariables(v)
	}
	if text == "" {
		return
	}
	t.unsure(sure)
	s := w.step(report.BlameComputed, v.At)
	s.Name = text
	t.add(s)
	t.out.Steps = append(t.out.Steps, parts...)
}

// beforeScaling follows a value that is zero back over extensions, shifts to the right and products with constants, as differences of
// pointers have them, while what they were made of is zero, too.
func (w *witness) beforeScaling(v *provenance.Value) (*provenance.Value, bool) {
	for range maxNameDepth {
		if val, _, ok := w.eval.Value(v, 0); ok && val != 0 {
			return nil, false
		}
		switch {
		case v.Kind == provenance.Cut:
		case v.Kind != provenance.Arith || v.Index != arch.NoReg || v.Mem:
			return v, true
		case v.Op == disasm.ShiftSigned, v.Op == disasm.ShiftRight, v.Op == disasm.Times:
		default:
			return v, true
		}
		from := w.code.Before(v.At, provenance.Reg(v.Base))
		if from.Kind != provenance.Arith && from.Kind != provenance.Sum {
			return v, v.Kind != provenance.Cut
		}
		v = from
	}
	return nil, false
}

// product names a product of two values, of which one may be unknown where the other is zero.
func (w *witness) product(v *provenance.Value) (text string, parts []report.BlameStep, sure bool) {
	if v.Kind != provenance.Arith || v.Op != disasm.Times || v.Index == arch.NoReg && !v.Mem {
		return "", nil, false
	}
	sure = true
	var names []string
	zero := false
	for _, of := range []*provenance.Value{w.code.Before(v.At, provenance.Reg(v.Base)), w.code.Second(v)} {
		n := w.nameOf(of, 0)
		n = n.ofBytes(v.Size)
		if n.text == "" {
			return "", nil, false
		}
		names = append(names, n.text)
		val, exact, ok := w.eval.Value(of, 0)
		if !ok {
			continue
		}
		val = signExtended(val, v.Size)
		zero = zero || val == 0
		parts = append(parts, w.operandStep(n.text, val, v.At))
		sure = sure && exact
	}
	if !zero { // a product of others overflowed, or they were not the factors
		return "", nil, false
	}
	return strings.Join(names, " * "), parts, sure
}

// ofVariables names a sum or difference of two variables, in the place of one of which it was made. They need not be known, as the result is.
func (w *witness) ofVariables(v *provenance.Value) (text string, parts []report.BlameStep, sure bool) {
	sign := " - "
	if v.Op == disasm.Plus {
		sign = " + "
	}
	if v.Kind != provenance.Arith || v.Index == arch.NoReg && !v.Mem || v.Op != disasm.Minus && v.Op != disasm.Plus {
		return "", nil, false
	}
	var names [2]string
	for i, of := range []*provenance.Value{w.code.Before(v.At, provenance.Reg(v.Base)), w.code.Second(v)} {
		n := w.nameOf(of, 0)
		if n.held == nil || n.typ == nil || n.typ.Size() != uint64(v.Size) {
			return "", nil, false
		}
		names[i] = n.text
		if val, _, ok := w.eval.Value(of, 0); ok {
			parts = append(parts, w.operandStep(n.text, signExtended(val, v.Size), v.At))
		}
	}
	return names[0] + sign + names[1], parts, true
}

// extended is a value as a variable of a signed type of fewer bytes has it, also where the code took it for an unsigned number.
func (n *named) extended(v uint64) uint64 {
	if n.typ == nil {
		return v
	}
	s := n.typ.Strip()
	if size := s.Size(); size > 0 && size < 8 && (s.Encoding == types.EncSigned || s.Encoding == types.EncSignedChar) {
		return signExtended(v, int(size))
	}
	return v
}

func (w *witness) operandStep(name string, val, at uint64) report.BlameStep {
	s, held := w.step(report.BlameOperand, at), report.Addr(val)
	s.Name, s.Value = name, &held
	return s
}

// difference names a sum or difference of values times constants.
func (w *witness) difference(v *provenance.Value) (text string, parts []report.BlameStep, sure bool) {
	form, ok := w.eval.FormOf(v)
	if !ok || len(form.Terms) == 0 || form.K < -maxConstant || form.K > maxConstant || len(form.Terms) == 1 && form.Terms[0].Of == v {
		return "", nil, false
	}
	var b strings.Builder
	sum, sure := form.K, true
	for pass := range 2 { // what is subtracted comes last
		for _, term := range form.Terms {
			if (term.Times < 0) != (pass == 1) {
				continue
			}
			n := w.nameOf(term.Of, 0)
			if v.Kind == provenance.Arith || v.Kind == provenance.Cut { // of as many bytes as the operation
				n = n.ofBytes(v.Size)
			}
			if n.text == "" || !term.Known || term.Steps {
				return "", nil, false
			}
			times := term.Times
			switch {
			case times < 0 && b.Len() == 0:
				return "", nil, false
			case times < 0:
				times = -times
				b.WriteString(" - ")
			case b.Len() > 0:
				b.WriteString(" + ")
			}
			if b.WriteString(n.text); times > 1 {
				fmt.Fprintf(&b, " * %d", times)
			}
			parts = append(parts, w.operandStep(n.text, n.extended(term.Value), v.At))
			sum += term.Times * int64(term.Value)
			sure = sure && term.Exact
		}
	}
	switch {
	case form.K > 0:
		fmt.Fprintf(&b, " + %d", form.K)
	case form.K < 0:
		fmt.Fprintf(&b, " - %d", -form.K)
	}
	if w.in.arch.Truncate(uint64(sum)) != 0 {
		return "", nil, false
	}
	return b.String(), parts, sure
}

// maxConstant is the largest constant in an expression that is not an address.
const maxConstant = 1 << 32
