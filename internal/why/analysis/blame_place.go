package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A sum is an address that the code computed: of a pointer, or of the address of an object, and of multiples of other values.
type sum struct {
	base  named // the pointer; the zero named for an object
	from  *provenance.Value
	value uint64 // of the pointer
	known bool   // value is known
	off   int64  // constant bytes; all of them for an object
	by    []types.Multiple
	of    []*provenance.Value // what by are multiples of
	exact bool
}

// sumOf names the parts of an address that the code used. It returns false if more than one is a pointer or the address of an object.
func (w *witness) sumOf(form provenance.Form, depth int) (sum, bool) {
	if w.vars == nil {
		return sum{}, false
	}
	out, fixed := sum{off: form.K, exact: true}, false
	for i := range form.Terms {
		t := &form.Terms[i]
		n := named{}
		if !t.Steps {
			n = w.nameOf(t.Of, depth)
		}
		// The address of an object, from the global offset table too.
		object := t.Known && (t.Of.Kind == provenance.StackAddr ||
			t.Of.Kind == provenance.Load && t.Of.Base == arch.NoReg && t.Of.Index == arch.NoReg && n.text == "")
		switch {
		case !object && (n.typ == nil || !n.typ.IsPointer()):
			m := types.Multiple{Times: t.Times, Name: n.text, Value: int64(t.Value), Known: t.Known}
			out.by, out.of = append(out.by, m), append(out.of, t.Of)
			out.exact = out.exact && t.Known && t.Exact
		case t.Times != 1 || fixed || out.from != nil:
			return sum{}, false
		case object:
			fixed = true
			out.off += int64(t.Value)
		default:
			out.base, out.from, out.value, out.known = n, t.Of, t.Value, t.Known
			out.exact = out.exact && t.Exact
		}
	}
	out.known = out.known || out.from == nil
	return out, true
}

// object returns the variable that has an address: of the function's at an instruction, or of the process; and where it begins.
func (w *witness) object(at, addr uint64) (named, uint64, bool) {
	if h, low, _, ok := w.vars.Object(at, addr); ok && h.Type != nil && h.Variable != "" {
		return named{text: h.Variable, typ: h.Type}, low, true
	}
	name, t, off := w.vars.Global(addr)
	return named{text: name, typ: t}, addr - off, name != "" && t != nil
}

// nameOf names a part of a sum: by how the code got it, or by a variable that a register still holds.
func (w *witness) nameOf(v *provenance.Value, depth int) named {
	if n := w.name(v, v.At, arch.NoReg, depth+1); n.text != "" {
		return n
	}
	if v.Kind == provenance.Cut {
		v = w.code.Before(v.At, provenance.Reg(v.Base))
		if n := w.name(v, v.At, arch.NoReg, depth+1); n.text != "" {
			n.typ = nil
			return n
		}
	}
	if v.Kind == provenance.Unknown {
		return named{}
	}
	for r := range arch.Reg(w.in.arch.NumRegs()) {
		if r == w.in.arch.SP || r == w.in.arch.PC || w.code.Before(w.state.PC, provenance.Reg(r)) != v {
			continue
		}
		if n, ok := variable(w.vars.InRegister(w.state.PC, r), w.state.PC); ok {
			return n
		}
	}
	return named{}
}

// computed names the size bytes at an operand by the numbers that its address was computed from. The numbers that are known must add
// up to the address, if that is known.
func (w *witness) computed(addr uint64, base, index arch.Reg, scale uint8, disp int64, size, depth int) named {
	form, ok := w.eval.Form(addr, base, index, scale, disp)
	if !ok {
		return named{}
	}
	s, ok := w.sumOf(form, depth)
	if !ok || len(s.by) == 0 {
		return named{}
	}
	if s.from != nil {
		return s.named(s.base, s.off, size)
	}
	// Compilers fold the constant part of an index into the address of the object.
	places := []uint64{uint64(s.off)}
	if at, known := s.address(); known {
		places = append(places, at)
	}
	for _, at := range places {
		base, low, ok := w.object(addr, at)
		if !ok {
			continue
		}
		if n := s.named(base, s.off-int64(low), size); n.text != "" {
			return n
		}
	}
	return named{}
}

// named names size bytes of the object base, or behind that pointer.
func (s *sum) named(base named, off int64, size int) named {
	text, part, used, ok := base.typ.Indexed(base.text, off, uint64(size), s.by)
	if !ok || len(used) == 0 {
		return named{}
	}
	return named{text: text, typ: part, used: append(used, base.used...), doubt: base.doubt || !s.exact}
}

// address returns the address that a sum has; false if a part of it is not known.
func (s *sum) address() (uint64, bool) {
	at := s.value + uint64(s.off)
	for _, m := range s.by {
		if !m.Known {
			return 0, false
		}
		at += uint64(m.Times * m.Value)
	}
	return at, s.known
}

// addsUp reports whether what an operand of the instruction at addr was computed from adds up to an address, which a register or
// the fault tells: known is false where a part is not known.
func (w *witness) addsUp(addr uint64, m *disasm.MemOperand, to uint64) (same, known bool) {
	form, ok := w.eval.Form(addr, m.Base, m.Index, m.Scale, m.Disp)
	if !ok {
		return false, false
	}
	at := uint64(form.K)
	for _, t := range form.Terms {
		if !t.Known {
			return false, false
		}
		at += uint64(t.Times) * t.Value
	}
	return w.in.arch.Truncate(at) == to, true
}

// bySum continues from an address that was computed to its pointer, if nothing is mapped where that points to, and otherwise to
// its only index.
func (t *tracer) bySum(w *witness, v *provenance.Value, value uint64) (*provenance.Value, *witness, uint64, bool) {
	none := func() (*provenance.Value, *witness, uint64, bool) { return nil, nil, 0, false }
	form, ok := w.eval.FormOf(v)
	if !ok || t.loose {
		return none()
	}
	s, ok := w.sumOf(form, 0)
	if !ok || len(s.by) == 0 {
		return none()
	}
	if at, known := s.address(); !known || t.in.arch.Truncate(at) != value {
		return none()
	}
	switch {
	case s.from != nil && !t.mapped(s.value):
		return s.from, w, s.value, true
	case len(s.by) == 1 && s.by[0].Name != "" && s.of[0] != v && t.out.Expression != "":
		step, held := w.step(report.BlameIndex, v.At), report.Addr(uint64(s.by[0].Value))
		step.Name, step.Value = s.by[0].Name, &held
		t.add(step)
		return s.of[0], w, t.in.arch.Truncate(uint64(s.by[0].Value)), true
	}
	return none()
}

// uses notes the indexes of a name, and whether it is in doubt.
func (t *tracer) uses(w *witness, n *named) {
	if n.text == "" {
		return
	}
	t.unsure(!n.doubt)
	for _, i := range n.used {
		if !i.Known {
			continue
		}
		s := w.step(report.BlameIndex, w.state.PC)
		value := report.Addr(uint64(i.Value))
		if s.Name, s.Value = i.Text, &value; s.Name == strconv.FormatInt(i.Value, 10) {
			s.Name = ""
		}
		if !slices.ContainsFunc(t.indexes, func(o report.BlameStep) bool {
			return o.Name == s.Name && o.Physical == s.Physical && (o.Name != "" || *o.Value == value)
		}) {
			t.indexes = append(t.indexes, s)
		}
	}
}

// addIndexes adds the indexes that the names have and that are not told otherwise. The index that nobody named is told if nothing else is.
func (t *tracer) addIndexes(b *report.Blame) {
	if len(b.Steps) == 0 {
		for i, s := range t.indexes {
			if s.Name == "" && *s.Value == 0 {
				continue // what is at the pointer itself: the index is not to blame
			}
			if strings.Contains(b.Expression, "["+s.Name+"]") || s.Name == "" {
				b.Value = *s.Value
				b.Steps = append(b.Steps, s)
				t.indexes = slices.Delete(t.indexes, i, i+1)
				break
			}
		}
	}
	for _, s := range t.indexes {
		told := func(o report.BlameStep) bool { return o.Physical == s.Physical && o.Name == s.Name }
		if s.Name != "" && len(b.Steps) > 0 && len(b.Steps) < maxBlameSteps && !slices.ContainsFunc(b.Steps, told) {
			b.Steps = append(b.Steps, s)
		}
	}
}
