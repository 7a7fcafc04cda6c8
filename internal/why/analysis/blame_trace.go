package analysis

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of one trace.
const (
	maxBlameFrames = 8
	maxBlameSteps  = 16
)

// blamed finds out which value was bad at the instruction of the youngest frame of a stack, and where it came from; nil if that is not known.
// early are the registers at the instruction, if they are not those of the frame. argument is the number of that frame's argument that was bad,
// from 1; 0 for none.
func (in *question) blamed(stack []*unwind.Frame, early *arch.RegSet, inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) (b *report.Blame, argument int, from origin) {
	if len(stack) == 0 || !why.HasAddr && why.Kind != report.CrashDivZero && why.Kind != report.CrashDivOverflow || why.Kind == report.CrashStackOverflow {
		return nil, 0, origin{}
	}
	t := &tracer{in: in, stack: stack, early: early, out: report.Blame{Confidence: report.Certain}}
	defer t.close()
	s, ok := t.suspect(inst, regs, why)
	b = t.given(s, why)
	switch {
	case b == nil && !ok:
		if b = t.smashed(inst, why); b != nil {
			return b, 0, origin{}
		}
		return t.folded(inst, why), 0, origin{}
	case b == nil:
		b = t.trace(s)
	}
	if b == nil {
		if s, ok = t.handedIn(s); ok {
			b = t.trace(s)
		}
	}
	if b == nil {
		return nil, 0, origin{}
	}
	return b, t.argument, t.origin
}

// A tracer follows one value.
type tracer struct {
	giver     suspect // the value where the youngest frame was given it; without a witness if it was not
	in        *question
	stack     []*unwind.Frame
	early     *arch.RegSet // at the instruction of a fault, if not those of the youngest frame
	witnesses []*witness
	out       report.Blame
	pointer   bool   // the value is what the instruction used as a pointer, not as an index
	divides   bool   // the value is a divisor
	loose     bool   // only a part of the value is followed: do not compare numbers
	part      int    // the size of that part
	past      uint64 // see provenance.Evaluator.Value
	value     uint64 // the value being followed
	indexes   []report.BlameStep
	used      []types.Arm        // the names of what the value led to
	mem       *disasm.MemOperand // through which the value was used; nil if that is not known
	argument  int                // the number of the argument of the youngest frame, from 1, that the value is; 0 for none
	origin
}

// An origin is where in memory a value was read from.
type origin struct {
	readAt []uint64  // places that still have it
	mayBe  []uint64  // others, of which one may be it
	gone   uint64    // where it was read from that has something else now, and is below the stack that is in use; 0 for nowhere
	led    bool      // only what variables lead to names it
	within []typedAt // the objects in which readAt are, as far as the code tells
	as     typedAt   // what the value was read as a member of where it is not known from where, so many bytes from its beginning as start has
}

// A typedAt is an object of a structure, class or union.
type typedAt struct {
	start uint64
	name  string      // of its type
	path  string      // of a pointer to it, in the source
	typ   *types.Type // it
}

func (t *tracer) close() {
	for _, w := range t.witnesses {
		w.close()
	}
}

func (t *tracer) witness(number int, early *arch.RegSet) *witness {
	w := t.in.witnessOf(t.stack, number, early)
	if w != nil {
		t.witnesses = append(t.witnesses, w)
	}
	return w
}

// trace builds the result for a suspect.
func (t *tracer) trace(s suspect) *report.Blame {
	b := &t.out
	b.Value, b.Expression = report.Addr(s.value), s.use.or()
	t.used = s.use.all()
	t.divides, t.pointer, t.mem = s.divides, s.pointer, s.mem
	if s.reg != arch.NoReg {
		b.Register = t.in.arch.RegName(s.reg)
	}
	t.uses(s.w, &s.use)
	return t.from(s)
}

// from adds the steps that lead back from the value of a suspect; nil if there are none.
func (t *tracer) from(s suspect) *report.Blame {
	b := &t.out
	w, v, value := s.w, s.v, s.value
	t.value = value
	n := w.name(v, w.state.PC, s.reg, 0)
	given := n.text == "" && s.param.text != ""
	if given {
		n = s.param
		t.doubt(report.Likely)
	}
	t.uses(w, &n)
	// Only a variable makes a step here. Memory that the value was read from makes its step in read.
	if n.text != "" && n.held != nil {
		step := t.variable(w, n, w.state.PC)
		if v.Kind != provenance.Load {
			step.Memory = t.otherwise(w, v, value)
		}
		step.Entry = given || w.cameIn(n, v, w.state.PC, func(a *provenance.Value) bool { return t.impossible(w, v, a, value) })
		t.add(step)
	}
	t.follow(w, v, value)
	t.seek(&s)
	t.seekPassed(&s)
	if s.given && len(b.Steps) > 0 && b.Steps[0].Kind == report.BlameRead {
		b.Steps[0].Entry = true // it has a name of its own
	}
	if s.divides {
		t.divided(s)
	}
	if t.addIndexes(b); len(b.Steps) == 0 {
		return nil
	}
	for _, w := range t.witnesses {
		if w.doubt {
			t.doubt(report.Possible)
		}
	}
	return b
}

// seek says of the first step whether the null of a suspect is where a search came to, or its pointer where one of an array did.
func (t *tracer) seek(s *suspect) {
	steps := t.out.Steps
	own := len(steps) == 0 || (steps[0].Kind == report.BlameVariable || steps[0].Kind == report.BlameIndex) && steps[0].Physical == s.w.number
	if !t.loose && own && (s.w.ranPast(s.v) || len(steps) == 0 && s.pointer && s.value == 0 && s.w.sought(s.v, 0)) {
		if len(steps) == 0 && s.reg != arch.NoReg {
			step := s.w.step(report.BlameVariable, s.w.state.PC)
			step.Name = t.out.Register
			t.add(step)
			t.doubt(report.Likely)
		}
		if steps = t.out.Steps; len(steps) > 0 {
			steps[0].Sought = true
		}
		return
	}
	if i := slices.IndexFunc(steps, func(b report.BlameStep) bool { return b.Kind == report.BlameRead }); i >= 0 && i <= 1 && s.pointer && s.value == 0 && !t.loose {
		steps[0].Sought = s.w.sought(s.v, uint64(steps[i].Address))
	}
}

// seekPassed is seek for a null that was passed to a function of a library: of the step that passed it.
func (t *tracer) seekPassed(s *suspect) {
	steps := t.out.Steps
	i := slices.IndexFunc(steps, func(b report.BlameStep) bool { return b.Kind == report.BlamePassed })
	if by := t.giver; by.w != nil && i >= 0 && i+1 < len(steps) && steps[i+1].Kind == report.BlameRead && steps[i].Physical == by.w.number && s.value == 0 && !t.loose {
		steps[i].Sought = by.w.sought(by.v, uint64(steps[i+1].Address)) || by.w.soughtFirst(by.v)
	}
}

// follow adds the steps that lead back from a value.
func (t *tracer) follow(w *witness, v *provenance.Value, value uint64) {
	for len(t.out.Steps) < maxBlameSteps {
		t.value = value
		next, nw, nvalue, ok := t.back(w, v, value)
		if !ok {
			break
		}
		if nw != w && t.giver.w == nil {
			t.giver = suspect{w: nw, v: next}
		}
		w, v, value = nw, next, nvalue
	}
}

// add adds a step, with its value if that is not the bad one.
func (t *tracer) add(s report.BlameStep) {
	if v := report.Addr(t.value); s.Value == nil && v != t.out.Value && !t.loose {
		s.Value = &v
	}
	t.out.Steps = append(t.out.Steps, s)
}

// doubt lowers the confidence.
func (t *tracer) doubt(to string) {
	if t.out.Confidence == report.Certain || to == report.Possible {
		t.out.Confidence = to
	}
}

// variable returns the step for a name, at an instruction.
func (t *tracer) variable(w *witness, n named, at uint64) report.BlameStep {
	s := w.step(report.BlameVariable, at)
	s.Name = n.text
	switch {
	case n.held != nil:
		if s.Role = "local"; n.held.Param {
			s.Role = "argument"
		}
		if n.held.Function != "" {
			s.Function = n.held.Function
		}
	case n.global:
		s.Role = "global"
	}
	return s
}

// back goes from a value to what it was copied from. It returns false if the value originates here, or if its
// origin is not known.
func (t *tracer) back(w *witness, v *provenance.Value, value uint64) (*provenance.Value, *witness, uint64, bool) {
	none := func() (*provenance.Value, *witness, uint64, bool) { return nil, nil, 0, false }
	switch v.Kind {
	case provenance.Slot:
		if got, _, ok := w.eval.Value(v, t.past); ok && got != value && !t.loose {
			return none()
		}
		if s, ok := t.overwritten(w, v, value); ok {
			t.add(s)
			return none()
		}
		return w.code.Stored(v), w, value, true
	case provenance.Cut:
		if from := w.code.Before(v.At, provenance.Reg(v.Base)); len(t.out.Steps) == 0 && t.divides && from.Kind == provenance.Arith {
			t.calculated(w, v)
			return none()
		}
		if t.loose = true; t.part == 0 || v.Size < t.part {
			t.part = v.Size
		}
		return w.code.Before(v.At, provenance.Reg(v.Base)), w, value, true
	case provenance.Sum:
		if len(t.out.Steps) == 0 && t.divides {
			t.calculated(w, v)
			return none()
		}
		if next, nw, nvalue, ok := t.offset(w, v, value); ok {
			return next, nw, nvalue, true
		}
		return t.bySum(w, v, value)
	case provenance.Arith:
		if len(t.out.Steps) == 0 && t.divides {
			t.calculated(w, v)
			return none()
		}
		return t.bySum(w, v, value)
	case provenance.Load:
		t.read(w, v, value)
		t.left(w, v)
		if s, ok := t.overwritten(w, v, value); ok && len(t.out.Steps) > 0 {
			t.add(s)
		}
	case provenance.Const:
		if t.in.arch.Truncate(uint64(v.K)) == value {
			s := w.step(report.BlameSet, v.At)
			s.Value = t.another(value)
			t.add(s)
		}
	case provenance.Result:
		t.returned(w, v)
		t.left(w, v)
	case provenance.EntrySlot:
		if v.K < 0 {
			t.neverSet(w, v)
			return none()
		}
		if s, ok := t.overwritten(w, v, value); ok {
			t.add(s)
			return none()
		}
		return t.passed(w, v, value)
	case provenance.Entry:
		return t.passed(w, v, value)
	case provenance.Join:
		if next := t.choose(w, v, value); next != nil {
			return next, w, value, true
		}
	}
	return none()
}

// offset continues from the sum of a pointer and a number.
func (t *tracer) offset(w *witness, v *provenance.Value, value uint64) (*provenance.Value, *witness, uint64, bool) {
	if t.loose {
		return nil, nil, 0, false
	}
	if v.Index != arch.NoReg {
		return t.index(w, v, value)
	}
	from := w.code.Before(v.At, provenance.Reg(v.Base))
	value = t.in.arch.Truncate(value - uint64(v.K))
	n := w.name(from, v.At, v.Base, 0)
	if n.text == "" {
		return nil, nil, 0, false
	}
	s := t.variable(w, n, v.At)
	held := report.Addr(value)
	s.Kind, s.Offset, s.Value = report.BlameOffset, report.Addr(uint64(v.K)), &held
	if n.typ != nil {
		s.Expression, _, _ = n.typ.Follow(n.text, v.K, 0)
	}
	t.add(s)
	return from, w, value, true
}

// index continues from a sum of two registers to the one that is not an address, if the other is; and from a
// multiple to what was multiplied.
func (t *tracer) index(w *witness, v *provenance.Value, value uint64) (*provenance.Value, *witness, uint64, bool) {
	none := func() (*provenance.Value, *witness, uint64, bool) { return nil, nil, 0, false }
	index := w.code.Before(v.At, provenance.Reg(v.Index))
	scale := uint64(max(v.Scale, 1))
	if v.Base == arch.NoReg {
		rest := t.in.arch.Truncate(value - uint64(v.K))
		if rest%scale != 0 {
			return none()
		}
		t.indexOf(w, v, index, rest/scale)
		return index, w, rest / scale, true
	}
	base := w.code.Before(v.At, provenance.Reg(v.Base))
	b, bx, bok := w.eval.Value(base, t.past)
	i, ix, iok := w.eval.Value(index, t.past)
	switch {
	case !bok || !iok || t.in.arch.Truncate(b+i*scale+uint64(v.K)) != value:
		return none()
	case index.Kind == provenance.Const && b != 0, base.Kind == provenance.Const && i != 0:
		return none() // which alone is not the value
	case t.mapped(b) && !t.mapped(i):
		t.unsure(bx && ix)
		t.indexOf(w, v, index, i)
		return index, w, i, true
	case scale == 1 && b == 0 && i != 0 && !t.mapped(i) && points(w.name(index, v.At, v.Index, 0), w.name(base, v.At, v.Base, 0)):
		t.unsure(bx && ix)
		t.summand(w, v, index, v.Index, i)
		return index, w, i, true
	case scale == 1 && t.mapped(i) && !t.mapped(b), b == 0 && i != 0:
		t.unsure(bx && ix)
		t.summand(w, v, base, v.Base, b)
		return base, w, b, true
	}
	return none()
}

// points reports whether the first of two that were added is the pointer by their types, whatever values they have.
func points(one, other named) bool {
	return one.typ != nil && one.typ.IsPointer() || other.typ != nil && !other.typ.IsPointer()
}

// indexOf adds the step for the index that a sum was made of, if the expression has it.
func (t *tracer) indexOf(w *witness, v, index *provenance.Value, value uint64) {
	n := w.name(index, v.At, v.Index, 0)
	if len(t.out.Steps) > 0 || n.held == nil || n.held.Path != "" || !strings.Contains(t.out.Expression, "["+n.text+"]") {
		return
	}
	s, held := w.step(report.BlameIndex, v.At), report.Addr(value)
	s.Name, s.Value = n.text, &held
	t.add(s)
}

// summand adds the step for the pointer that a sum was made of, if it is a variable: code that is not optimised reads it only to add to it.
func (t *tracer) summand(w *witness, v, of *provenance.Value, reg arch.Reg, value uint64) {
	n := w.name(of, v.At, reg, 0)
	if len(t.out.Steps) > 0 || n.held == nil || n.held.Path != "" || n.typ == nil || !n.typ.IsPointer() {
		return
	}
	t.uses(w, &n)
	s := t.variable(w, n, v.At)
	held := report.Addr(value)
	s.Value = &held
	t.add(s)
}

func (t *tracer) unsure(exact bool) {
	if !exact {
		t.doubt(report.Likely)
	}
}

// otherwise returns what the memory holds that the value in a register was read from, if that is another value; the trace is
// not certain then, nor if that memory is not known.
func (t *tracer) otherwise(w *witness, v *provenance.Value, value uint64) *report.Addr {
	if t.loose {
		return nil
	}
	switch v.Kind {
	case provenance.Load, provenance.Slot, provenance.EntrySlot:
	default:
		return nil
	}
	now, ok := w.eval.Memory(v, t.past)
	if ok && now == value {
		return nil
	}
	if !ok && v.Kind != provenance.Load {
		return nil // the code has used the place for something else since
	}
	t.doubt(report.Likely)
	if !ok {
		return nil
	}
	held := report.Addr(now)
	return &held
}

// readWithin keeps in which object a value was read, if the code reads it through a pointer whose type is known.
func (t *tracer) readWithin(w *witness, v *provenance.Value, at uint64) {
	if o, ok := w.pointsAt(v); ok {
		o.start = at - uint64(v.K)
		t.within = append(t.within, o)
	}
}

// pointsAt is the object through a pointer to which the code reads, without its address.
func (w *witness) pointsAt(v *provenance.Value) (typedAt, bool) {
	if w.vars == nil || v.Base == arch.NoReg || v.Index != arch.NoReg {
		return typedAt{}, false
	}
	n := w.name(w.code.Before(v.At, provenance.Reg(v.Base)), v.At, v.Base, 0)
	if n.typ == nil || len(n.arms) != 0 {
		return typedAt{}, false
	}
	name := pointsToA(n.typ)
	if name == "" || library(n.typ.Strip().Target().Strip().Name()) {
		return typedAt{}, false
	}
	return typedAt{name: name, path: n.text, typ: n.typ.Strip().Target()}, true
}

// read ends the trace with the memory that the value was read from. That memory must still hold the value.
func (t *tracer) read(w *witness, v *provenance.Value, value uint64) {
	got, _, ok := w.eval.Value(v, t.past)
	switch {
	case ok && got != value && !t.loose:
		if at, known := w.eval.Address(v, t.past); known && v.Size == t.in.arch.WordSize && t.in.belowStack(t.stack, at) {
			t.gone = at
		}
		return
	case !ok:
		t.doubt(report.Likely)
	}
	at, ok := w.eval.Address(v, t.past)
	if !ok {
		at, ok = t.stillAt(v, value)
	}
	if now, known := t.asNow(w, v, 0); !ok && known && v.Size == t.in.arch.WordSize && t.in.belowStack(t.stack, now) {
		if still, is := t.in.mem.LookupWord(now); !is || still != value {
			t.gone = now
		}
	}
	s := w.step(report.BlameRead, v.At)
	s.Memory = t.otherwise(w, v, value)
	if ok && s.Memory == nil { // else the address may be another by now
		t.readAt = append(t.readAt, at)
		t.readWithin(w, v, at)
	} else if o, is := w.pointsAt(v); !ok && is && v.K >= 0 && len(t.out.Steps) == 0 && !t.loose {
		o.start = uint64(v.K)
		t.as = o
	}
	n := w.target(v.At, v.Base, v.Index, v.Scale, v.K, v.Size, 0)
	if s.Memory != nil { // what the indexes are now leads elsewhere
		n.used = nil
	}
	t.uses(w, &n)
	if n.text == "" && t.in.literal(v) {
		s.Kind, s.Value = report.BlameSet, t.another(value)
		t.add(s)
		return
	}
	t.reads(&n)
	size := v.Size
	if t.loose && t.part < size {
		size = t.part
	}
	n = n.ofBytes(size)
	if s.Name = n.or(); n.global {
		s.Role = "global"
	}
	if end, ok := atEnd(n.text); ok && t.pointer && len(t.out.Steps) == 0 {
		s.Name = end
		t.doubt(report.Likely)
	}
	if k := len(t.out.Steps); k > 0 && n.held != nil && t.out.Steps[k-1].Name == n.text && t.out.Steps[k-1].Physical == w.number {
		t.out.Steps[k-1].Memory = s.Memory
		return // the variable is told, and lies in memory
	}
	if n.text == "" {
		s.Name = t.asPassed(w, v)
	}
	led := (s.Name == "" && n.text == "" || ok && internalName(sourceWords(s.Name))) && t.byLead(w, v, &s, value, at, ok && s.Memory == nil)
	if s.Name == "" && !led {
		if w.vars != nil && v.Base == arch.NoReg {
			return
		}
		s.Name = w.operandText(v.Base, v.Index, v.Scale, v.K)
	}
	if t.loose && size > 0 { // what was read is that number, in as many bytes: a product may have lost the others
		s.Value = t.another(value & (^uint64(0) >> (64 - 8*min(size, 8))))
	}
	t.add(s)
}

// stillAt is where a value was read from by a register that calls may have changed since, if that still leads to the value when the thread stops.
func (t *tracer) stillAt(v *provenance.Value, value uint64) (at uint64, ok bool) {
	const special = 1 << 16 // smaller values are anywhere
	if v.Kind != provenance.Load || v.Base == arch.NoReg || v.Index != arch.NoReg || v.Size != t.in.arch.WordSize || t.loose || value < special {
		return 0, false
	}
	regs := t.stack[0].Registers()
	if t.early != nil {
		regs = *t.early
	}
	base, ok := regs.Get(v.Base)
	at = t.in.arch.Truncate(base + uint64(v.K))
	now, is := t.in.mem.LookupWord(at)
	return at, ok && is && now == value
}

// reads leaves those of several names of what was read that the use of it, the value's first step, goes through.
func (t *tracer) reads(n *named) {
	if len(t.out.Steps) > 0 {
		return
	}
	if t.pointer {
		n.pick(func(a types.Arm) bool { return a.Type != nil && a.Type.IsPointer() })
	}
	n.pick(func(a types.Arm) bool {
		return slices.ContainsFunc(t.used, func(u types.Arm) bool {
			return u.Text == "*"+a.Text || strings.HasPrefix(u.Text, a.Text+"->") || strings.HasPrefix(u.Text, a.Text+"%") || strings.HasPrefix(u.Text, a.Text+"[") || strings.HasPrefix(u.Text, "(*"+a.Text+")")
		})
	})
	if len(n.arms) > 0 {
		t.doubt(report.Likely)
	}
}

// asPassed names memory that an argument without a name points to, as the caller would: compilers split the closure
// of a lambda into arguments of their own, and only the caller still has the closure. It returns "" if the caller has
// no name for it either.
func (t *tracer) asPassed(w *witness, v *provenance.Value) string {
	if v.Base == arch.NoReg || v.Index != arch.NoReg {
		return ""
	}
	from := w.code.Before(v.At, provenance.Reg(v.Base))
	if from.Kind != provenance.Entry || !slices.Contains(w.abi.Args, from.Reg) || w.number >= maxBlameFrames {
		return ""
	}
	caller := t.witness(w.number+1, nil)
	if caller == nil || caller.state.PC == caller.frame.RA() {
		return ""
	}
	if call, ok := caller.code.Inst(caller.state.PC); !ok || !t.calls(&call, w) {
		return ""
	}
	n := caller.name(caller.code.Before(caller.state.PC, provenance.Reg(from.Reg)), caller.state.PC, from.Reg, 0)
	if n.typ == nil {
		return ""
	}
	text, _, _ := n.typ.Follow(n.text, v.K, uint64(v.Size))
	return text
}

// literal reports whether a value is a constant that is stored next to the code that loads it. Compilers do so
// on all architectures except x86.
func (in *Engine) literal(v *provenance.Value) bool {
	const near = 4096 // bytes, the range of an ARM load
	at := uint64(v.K)
	if in.arch.Family == arch.FamilyX86 || v.Base != arch.NoReg || v.Index != arch.NoReg || at-v.At+near > 2*near {
		return false
	}
	m, ok := in.Proc.MappingAt(at)
	return ok && m.Perm&libstate.Exec != 0 && m.Perm&libstate.Write == 0
}

// returned ends the trace with the call that returned the value.
func (t *tracer) returned(w *witness, v *provenance.Value) {
	s := w.step(report.BlameReturned, v.At)
	if v.Target != 0 {
		if t.in.Variables != nil && where.ProcessOf(t.in.Variables).ReturnsNothing(v.Target) {
			return
		}
		s.Name = t.in.returnedBy(v)
	}
	t.doubt(report.Likely)
	if n := w.pointerIn(s.Name, v); n.text != "" {
		s.Kind, s.Name = report.BlameRead, n.text
	} else if text := w.countedBy(v); t.divides && text != "" {
		s.Kind, s.Name = report.BlameRead, text
	} else if text := w.foundBy(v); t.pointer && text != "" {
		s.Kind, s.Name = report.BlameRead, text
	}
	t.add(s)
}

// returnedBy is the name of the function whose result a value is; "" if it is not known.
func (in *question) returnedBy(v *provenance.Value) string {
	code := codeReader{in: in}
	f, ok := code.function(v.Target)
	if !ok || f.Entry != v.Target {
		return ""
	}
	name, _, _ := strings.Cut(f.Name, "@")
	return name
}

// neverSet ends the trace with a variable in which nothing was stored.
func (t *tracer) neverSet(w *witness, v *provenance.Value) {
	n, ok := named{}, false
	if w.vars != nil {
		n, ok = w.inFrame(w.state.PC, v.K, v.Size)
	}
	if !ok || w.code.Opaque() {
		return
	}
	s := t.variable(w, n, w.state.PC)
	s.Kind = report.BlameNeverSet
	t.doubt(report.Likely)
	t.add(s)
}

// member picks the one value of a join that is the address of a member of a null: what is no other value would be by chance.
func (t *tracer) member(w *witness, v *provenance.Value, value uint64) *provenance.Value {
	var found *provenance.Value
	for _, a := range v.Alternatives() {
		if a.Kind != provenance.Sum || a.Index != arch.NoReg || a.K <= 0 || uint64(a.K) != value {
			continue
		}
		base := w.code.Before(a.At, provenance.Reg(a.Base))
		got, _, ok := w.eval.Value(base, v.At)
		if !ok {
			got, _, ok = t.handed(w, base)
		}
		if ok && got != 0 {
			continue
		}
		if found != nil {
			return nil
		}
		found = a
	}
	if found != nil {
		t.doubt(report.Likely)
		if t.past == 0 {
			t.past = v.At
		}
	}
	return found
}

// handed computes a value from what the caller passed in registers, as far as the caller's own registers and memory still tell.
func (t *tracer) handed(w *witness, v *provenance.Value) (value uint64, exact, ok bool) {
	state, sure := w.state, true
	state.Passed = func(r arch.Reg) (uint64, bool) {
		value, exact, ok := t.passedIn(w, r)
		sure = sure && exact
		return value, ok
	}
	value, exact, ok = w.code.Evaluator(&state).Value(v, v.At)
	return value, exact && sure, ok
}

// another returns a value that is traced, if it is another than the bad one: an index that it was computed from.
func (t *tracer) another(value uint64) *report.Addr {
	if v := report.Addr(value); v != t.out.Value {
		return &v
	}
	return nil
}
