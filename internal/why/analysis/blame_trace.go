package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/lazy"
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

// A suspect is the bad value at the place where it was used.
type suspect struct {
	w     *witness
	v     *provenance.Value
	reg   arch.Reg // the register that held it; NoReg for a word of memory
	value uint64
	use   named // what was accessed through it
}

// blamed finds out which value was bad and where it came from; nil if that is not known.
func (in *inspection) blamed(inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) *report.Blame {
	if len(in.diedStack) == 0 || !why.HasAddr && why.Kind != report.CrashDivZero || why.Kind == report.CrashStackOverflow {
		return nil
	}
	t := &tracer{in: in, out: report.Blame{Confidence: report.Certain}}
	defer t.close()
	s, ok := t.suspect(inst, regs, why)
	if !ok {
		return t.folded(inst, why)
	}
	b := t.trace(s)
	if b == nil {
		if s, ok = t.handedIn(s); ok {
			b = t.trace(s)
		}
	}
	if b != nil {
		in.badArgument = t.argument
	}
	return b
}

// A tracer follows one value.
type tracer struct {
	in        *inspection
	witnesses []*witness
	out       report.Blame
	loose     bool   // only a part of the value is followed: do not compare numbers
	past      uint64 // see provenance.Evaluator.Value
	value     uint64 // the value being followed
	argument  int    // the number of the argument of the youngest frame, from 1, that the value is; 0 for none
}

func (t *tracer) close() {
	for _, w := range t.witnesses {
		w.close()
	}
}

func (t *tracer) witness(number int, early *arch.RegSet) *witness {
	w := t.in.witness(number, early)
	if w != nil {
		t.witnesses = append(t.witnesses, w)
	}
	return w
}

// suspect finds the bad operand.
func (t *tracer) suspect(inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) (suspect, bool) {
	if !why.AtInst || inst.Len == 0 {
		if why.Access == report.AccessExecute {
			return t.calledThrough(regs, why.Addr)
		}
		return suspect{}, false
	}
	if why.Access == report.AccessExecute {
		return t.jumpedTo(inst, why.Addr)
	}
	if why.Kind == report.CrashDivZero {
		return t.divisor(inst, regs)
	}
	m, ok := operand(inst, regs, why.Addr, t.in.arch)
	if !ok {
		return suspect{}, false
	}
	reg := t.badRegister(&m, regs)
	if reg == arch.NoReg {
		return suspect{}, false
	}
	value, _ := regs.Get(reg)
	if inst.Rep && value != 0 {
		return suspect{}, false // it was advanced in each round: nobody passed it
	}
	w := t.witness(0, t.in.faultRegs)
	if w == nil {
		return suspect{}, false
	}
	s := suspect{w: w, reg: reg, value: value, v: w.code.Before(w.state.PC, provenance.Reg(reg))}
	if nilCheck(inst, t.in.arch) && !t.preserved(w) {
		if m, ok = w.checkedFor(inst); !ok {
			return s, true
		}
	}
	s.use = w.target(w.state.PC, m.Base, m.Index, m.Scale, m.Disp, int(m.Size), 0)
	if s.use.text == "" && m.Index == arch.NoReg && inst.Kind != disasm.Load && inst.Kind != disasm.Store {
		// One instruction may read several members of a structure at once.
		s.use = w.target(w.state.PC, m.Base, m.Index, m.Scale, m.Disp, 0, 0)
	}
	return s, true
}

// preserved reports whether functions of the witness's language preserve registers: those of Go do not.
func (t *tracer) preserved(w *witness) bool { return w.vars == nil || w.vars.CallsPreserve() }

// operand returns the memory operand of the access that failed.
func operand(inst *disasm.Inst, regs *arch.RegSet, addr uint64, a *arch.Arch) (disasm.MemOperand, bool) {
	all := disasm.FaultAccess(nil, inst, regs)
	if len(all) == 1 {
		return all[0].Operand, true
	}
	for _, acc := range all {
		if acc.Known && a.Truncate(addr-acc.Addr) < uint64(max(acc.Size, 1)) {
			return acc.Operand, true
		}
	}
	return disasm.MemOperand{}, false
}

// badRegister returns the register of an operand whose value is to blame; NoReg if that is in doubt.
func (t *tracer) badRegister(m *disasm.MemOperand, regs *arch.RegSet) arch.Reg {
	if m.Segment != arch.NoReg || m.BitIndex != arch.NoReg || m.Vector || m.Opaque {
		return arch.NoReg
	}
	general := func(r arch.Reg) bool { return r != arch.NoReg && r != t.in.arch.SP && r != t.in.arch.PC }
	if m.Index == arch.NoReg {
		if general(m.Base) {
			return m.Base
		}
		return arch.NoReg
	}
	index, ok := regs.Get(m.Index)
	if !ok {
		return arch.NoReg
	}
	if m.Base == arch.NoReg || m.Base == t.in.arch.SP || m.RIPRelative {
		return m.Index
	}
	base, ok := regs.Get(m.Base)
	switch {
	case !ok || !general(m.Base):
		return arch.NoReg
	case t.mapped(base) && !(m.Scale <= 1 && t.mapped(index)):
		return m.Index
	case m.Scale <= 1 && t.mapped(index):
		return m.Base
	case base == 0 && index != 0:
		return m.Base
	}
	return arch.NoReg
}

// mapped reports whether an address is in the process's memory.
func (t *tracer) mapped(addr uint64) bool {
	_, ok := t.in.Proc.MappingAt(addr)
	return ok
}

// jumpedTo returns the operand of a jump or call that failed before it was made.
func (t *tracer) jumpedTo(inst *disasm.Inst, addr uint64) (suspect, bool) {
	if inst.Kind != disasm.CallIndirect && inst.Kind != disasm.JumpIndirect {
		return suspect{}, false
	}
	w := t.witness(0, nil)
	if w == nil {
		return suspect{}, false
	}
	s := suspect{w: w, reg: inst.Src, value: addr, v: w.code.Operand(w.state.PC)}
	return s, true
}

// calledThrough returns the operand of the call that led to an address without code. The process has run
// nothing since, so the caller's registers still hold their values.
func (t *tracer) calledThrough(regs *arch.RegSet, addr uint64) (suspect, bool) {
	if len(t.in.diedStack) < 2 || t.in.diedStack[0].RA() != addr {
		return suspect{}, false
	}
	w := t.witness(1, regs)
	if w == nil || w.state.PC == w.frame.RA() {
		return suspect{}, false
	}
	call, ok := w.code.Inst(w.state.PC)
	if !ok || call.Kind != disasm.CallIndirect {
		return suspect{}, false
	}
	s := suspect{w: w, reg: call.Src, value: addr, v: w.code.Operand(w.state.PC)}
	// A function that was called and then jumped to the bad address would be to blame instead.
	if got, _, ok := w.eval.Value(s.v, 0); !ok || got != addr {
		return suspect{}, false
	}
	// The register may hold the address because the called function jumped through the same register.
	held, known := w.heldNow(w.name(s.v, w.state.PC, call.Src, 0))
	switch {
	case known && held != addr:
		return suspect{}, false
	case !known && s.v.Kind != provenance.Load && s.v.Kind != provenance.Slot:
		t.doubt(report.Likely)
	}
	return s, true
}

// trace builds the result for a suspect.
func (t *tracer) trace(s suspect) *report.Blame {
	b := &t.out
	b.Value, b.Expression = report.Addr(s.value), s.use.text
	if s.reg != arch.NoReg {
		b.Register = t.in.arch.RegName(s.reg)
	}
	w, v, value := s.w, s.v, s.value
	t.value = value
	n := w.name(v, w.state.PC, s.reg, 0)
	// Only a variable makes a step here. Memory that the value was read from makes its step in read.
	if n.text != "" && n.held != nil {
		step := t.variable(w, n, w.state.PC)
		if v.Kind != provenance.Load {
			step.Memory = t.otherwise(w, v, value)
		}
		t.add(step)
	}
	for len(b.Steps) < maxBlameSteps {
		t.value = value
		next, nw, nvalue, ok := t.back(w, v, value)
		if !ok {
			break
		}
		w, v, value = nw, next, nvalue
	}
	if len(b.Steps) == 0 {
		return nil
	}
	return b
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
		return w.code.Stored(v), w, value, true
	case provenance.Cut:
		t.loose = true
		return w.code.Before(v.At, provenance.Reg(v.Base)), w, value, true
	case provenance.Sum:
		return t.offset(w, v, value)
	case provenance.Load:
		t.read(w, v, value)
	case provenance.Const:
		if t.in.arch.Truncate(uint64(v.K)) == value {
			s := w.step(report.BlameSet, v.At)
			t.add(s)
		}
	case provenance.Result:
		t.returned(w, v)
	case provenance.EntrySlot:
		if v.K < 0 {
			t.neverSet(w, v)
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
		return index, w, rest / scale, true
	}
	base := w.code.Before(v.At, provenance.Reg(v.Base))
	b, bx, bok := w.eval.Value(base, t.past)
	i, ix, iok := w.eval.Value(index, t.past)
	switch {
	case !bok || !iok || t.in.arch.Truncate(b+i*scale+uint64(v.K)) != value:
		return none()
	case t.mapped(b) && !t.mapped(i):
		t.unsure(bx && ix)
		return index, w, i, true
	case scale == 1 && t.mapped(i) && !t.mapped(b), b == 0 && i != 0:
		t.unsure(bx && ix)
		return base, w, b, true
	}
	return none()
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

// read ends the trace with the memory that the value was read from. That memory must still hold the value.
func (t *tracer) read(w *witness, v *provenance.Value, value uint64) {
	got, _, ok := w.eval.Value(v, t.past)
	switch {
	case ok && got != value && !t.loose:
		return
	case !ok:
		t.doubt(report.Likely)
	}
	s := w.step(report.BlameRead, v.At)
	s.Memory = t.otherwise(w, v, value)
	n := w.target(v.At, v.Base, v.Index, v.Scale, v.K, v.Size, 0)
	if n.text == "" && t.in.literal(v) {
		s.Kind = report.BlameSet
		t.add(s)
		return
	}
	if s.Name = n.text; n.global {
		s.Role = "global"
	}
	if k := len(t.out.Steps); k > 0 && n.held != nil && t.out.Steps[k-1].Name == n.text && t.out.Steps[k-1].Physical == w.number {
		t.out.Steps[k-1].Memory = s.Memory
		return // the variable is told, and lies in memory
	}
	if n.text == "" {
		s.Name = t.asPassed(w, v)
	}
	if s.Name == "" {
		if w.vars != nil && v.Base == arch.NoReg {
			return
		}
		s.Name = w.operandText(v.Base, v.Index, v.Scale, v.K)
	}
	t.add(s)
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
func (in *inspection) literal(v *provenance.Value) bool {
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
		code := codeReader{in: t.in}
		if f, ok := code.function(v.Target); ok && f.Entry == v.Target {
			s.Name, _, _ = strings.Cut(f.Name, "@")
		}
	}
	t.doubt(report.Likely)
	if n := w.pointerIn(s.Name, v); n.text != "" {
		s.Kind, s.Name = report.BlameRead, n.text
	}
	t.add(s)
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

// choose picks the one value that a join can have had; nil if that is in doubt.
func (t *tracer) choose(w *witness, v *provenance.Value, value uint64) *provenance.Value {
	var left *provenance.Value
	sure := true
	for _, a := range v.Alternatives() {
		got, exact, ok := w.eval.Value(a, v.At)
		if ok && got != value && !t.loose {
			sure = sure && exact
			continue
		}
		if left != nil {
			return nil
		}
		left = a
	}
	if left == nil || left.Kind == provenance.Unknown {
		return nil
	}
	if !sure {
		t.doubt(report.Likely)
	}
	if t.past == 0 {
		t.past = v.At
	}
	return left
}

// passed continues from a parameter to what the caller passed for it.
func (t *tracer) passed(w *witness, v *provenance.Value, value uint64) (*provenance.Value, *witness, uint64, bool) {
	number := w.number + 1
	argument := false
	for i, r := range w.abi.Args {
		if v.Kind == provenance.Entry && v.Reg == r {
			argument = true
			if w.number == 0 && t.out.Value == report.Addr(value) {
				t.argument = i + 1
			}
		}
	}
	if v.Kind == provenance.EntrySlot {
		argument = v.K >= 0
	}
	if !argument || w.number >= maxBlameFrames {
		return nil, nil, 0, false
	}
	if n := w.nameByEntry(v); !t.told(n, w) {
		s := t.variable(w, n, w.state.PC)
		s.Kind, s.Role = report.BlameArgument, "argument"
		t.add(s)
	}
	caller := t.witness(number, nil)
	if caller == nil || caller.state.PC == caller.frame.RA() {
		return nil, nil, 0, false
	}
	call, ok := caller.code.Inst(caller.state.PC)
	if !ok || !t.calls(&call, w) {
		return nil, nil, 0, false
	}
	place, reg := provenance.Reg(v.Reg), v.Reg
	if v.Kind == provenance.EntrySlot {
		if !w.state.HasCFA || !caller.state.HasCFA {
			return nil, nil, 0, false
		}
		place, reg = provenance.Frame(int64(w.state.CFA+uint64(v.K)-caller.state.CFA), v.Size), arch.NoReg
	}
	t.past = 0
	next := caller.code.Before(caller.state.PC, place)
	s := caller.step(report.BlamePassed, caller.state.PC)
	if n := caller.name(next, caller.state.PC, reg, 0); n.text != "" && n.held != nil {
		named := t.variable(caller, n, caller.state.PC)
		s.Name, s.Role, s.Function = named.Name, named.Role, named.Function
	}
	t.add(s)
	return next, caller, value, true
}

// nameByEntry names a parameter.
func (w *witness) nameByEntry(v *provenance.Value) named {
	if w.vars != nil {
		if n := w.nameByOrigin(v, 0); n.held != nil && n.held.Param {
			return n
		}
	}
	for i, r := range w.abi.Args {
		if v.Kind == provenance.Entry && v.Reg == r {
			return named{text: fmt.Sprintf("argument %d", i+1)}
		}
	}
	return named{text: "argument on the stack"}
}

// told reports whether the last step is already about this variable.
func (t *tracer) told(n named, w *witness) bool {
	if len(t.out.Steps) == 0 {
		return false
	}
	last := &t.out.Steps[len(t.out.Steps)-1]
	switch {
	case last.Physical != w.number:
		return false
	case n.held == nil: // any name is enough
		return last.Role == "argument" || last.Kind == report.BlamePassed && last.Name != ""
	case last.Kind == report.BlameVariable, last.Kind == report.BlamePassed:
		return last.Name == n.text && last.Role == "argument"
	}
	return false
}

// calls reports whether a call led to the function of w itself, not to another function that jumped to it. It
// accepts direct calls only: to the function, or to an import stub with the function's name. A call through a
// register or memory may have led anywhere.
func (t *tracer) calls(call *disasm.Inst, w *witness) bool {
	entry := w.call.Entry
	if call.Kind == disasm.Call && call.Target == entry {
		return true
	}
	if t.in.tailBetween(w.number) {
		return false
	}
	if call.Kind != disasm.Call {
		return false
	}
	code := codeReader{in: t.in}
	f, ok := code.function(call.Target)
	if !ok || f.Entry != call.Target {
		return false
	}
	stub, _, _ := strings.Cut(f.Name, "@")
	if w.call.Name == "" && chosen.Get()[stub] {
		// One of the C library's functions for different processors, without a name of its own.
		t.doubt(report.Likely)
		if n := len(t.out.Steps); n > 0 && t.out.Steps[n-1].Kind == report.BlameArgument {
			t.out.Steps[n-1].Function = stub
		}
		return systemModule(t.in.libraryPath(w.frame.LookupAddr()))
	}
	if !sameFunction(stub, w.call) {
		return false
	}
	if n := len(t.out.Steps); n > 0 && t.out.Steps[n-1].Kind == report.BlameArgument {
		t.out.Steps[n-1].Function = stub // as the caller calls it
	}
	return true
}

// chosen are functions that glibc has once for each kind of processor, and that jump to no other function
// before they use their arguments.
var chosen = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		"memcpy": true, "memmove": true, "mempcpy": true, "memset": true, "memcmp": true, "memchr": true, "memrchr": true,
		"strlen": true, "strnlen": true, "strcpy": true, "strncpy": true, "stpcpy": true, "strcat": true, "strcmp": true, "strncmp": true,
		"strchr": true, "strrchr": true, "strchrnul": true, "wcslen": true, "wmemset": true,
	}
}}

// libraryPath returns the path of the library at an address.
func (in *inspection) libraryPath(addr uint64) string {
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(addr); ok {
			return lib.Path
		}
	}
	return ""
}

// sameFunction reports whether a function is the one that an import names, or one of the C library's versions
// of it for different processors.
func sameFunction(name string, f unwind.Call) bool {
	if name == "" {
		return false
	}
	return sameName(name, f.Name, f.LinkageName)
}

// sameName is sameFunction for the names of the function.
func sameName(name string, names ...string) bool {
	for _, have := range names {
		if have == name || libcName(have) == name {
			return true
		}
		for _, prefix := range [...]string{"mem", "str", "wmem", "wcs", "stp"} {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if strings.HasPrefix(have, "__"+name+"_") {
				return true
			}
		}
		if (name == "memcpy" || name == "memmove") && strings.HasPrefix(have, "__memmove_") && !strings.Contains(have, "_chk") {
			return true
		}
	}
	return false
}

// tailBetween reports whether functions are known to have left by tail calls between a frame and the call in
// its caller.
func (in *inspection) tailBetween(number int) bool {
	return number+1 < len(in.diedStack) && len(in.tailCalls(in.diedStack, number+1, in.calledAs(in.diedStack, number+1))) > 0
}
