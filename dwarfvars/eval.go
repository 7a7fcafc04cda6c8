package dwarfvars

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An evaluator evaluates the expressions of one function in one physical frame. It implements
// op.Registers and op.Resolver.
type evaluator struct {
	setting
	answers
	nested int // how many evaluators wait for this one
	outer  *evaluator
	m      op.Machine
	inner  *evaluator // spare working space
}

// A setting is the context that an evaluator evaluates expressions in.
type setting struct {
	r      *Reader
	fn     *Function
	frames []*unwind.Frame
	index  int
	pc     uint64      // the frame's lookup address in the file
	unit   *dwarf.Unit // of the expression that is being evaluated
	// object is the address of the object that an expression of its type is evaluated for, if inObject: the one of
	// DW_OP_push_object_address. Where a variable itself is, there is no object yet.
	object   uint64
	inObject bool
	// virtual says that the function was left by a tail call. Of its registers only those that
	// calls preserve are still known. left are the functions that were left before it in the same
	// way. See entry.go.
	virtual bool
	left    []dwarf.TailCall
	// inputs, if not nil, gets what values depend on; see inputs.go.
	inputs *where.Inputs
	// doubt, if not nil, is set when a register is used that is doubtful.
	doubt *bool
	// depth, if not nil, is how far back the evaluation of what a caller passed goes; see entryknown.go.
	depth *depth
}

// answers are what is already known about a setting.
type answers struct {
	by      *caller // what called the function
	byErr   error
	based   bool // base, baseErr and byGuess are known
	byGuess bool // base is doubtful
	base    uint64
	baseErr error
}

// maxNested is the largest number of expressions that wait for one another: for frame bases,
// values on entry to a function, or variables that are bounds of arrays.
const maxNested = 24

// begin prepares e for a setting, with the answers that are already known. Nothing else assigns
// these fields all together. outer is the evaluator that waits for e, and may share its frame
// base.
func (e *evaluator) begin(in setting, known answers, outer *evaluator, nested int) {
	e.setting, e.answers, e.outer, e.nested = in, known, outer, nested
}

// start prepares e for frame number index of a stack.
func (e *evaluator) start(r *Reader, fn *Function, frames []*unwind.Frame, index int) {
	pc := frames[index].LookupAddr() - fn.bias
	e.begin(setting{r: r, fn: fn, frames: frames, index: index, pc: pc, unit: fn.fn.Unit}, answers{}, nil, 0)
}

// drop releases everything but the working space.
func (e *evaluator) drop() {
	e.begin(setting{}, answers{}, nil, 0)
	if e.inner != nil {
		e.inner.drop()
	}
}

func (e *evaluator) frame() *unwind.Frame { return e.frames[e.index] }

// nest returns an evaluator for an expression that e's expression waits for. e itself cannot
// evaluate it, because its Machine is in use.
func (e *evaluator) nest() (*evaluator, error) {
	if e.nested >= maxNested {
		if e.depth != nil {
			e.depth.limited = true
		}
		e.inputs.Other()
		return nil, fmt.Errorf("%d nested expressions: %w", e.nested, unknown.ErrLimit)
	}
	if e.inner == nil {
		e.inner = new(evaluator)
	}
	e.inner.begin(e.setting, e.answers, e, e.nested+1)
	return e.inner, nil
}

func (e *evaluator) env() op.Env {
	env := op.Env{Big: e.r.arch.Big(), AddrSize: e.unit.AddrSize, RefSize: 4, Bias: e.fn.bias, Regs: e, Mem: e.r.proc, Resolver: e}
	switch {
	case e.unit.Version == 2:
		env.RefSize = e.unit.AddrSize
	case e.unit.Dwarf64():
		env.RefSize = 8
	}
	return env
}

// location evaluates a location description of unit u.
func (e *evaluator) location(u *dwarf.Unit, expr []byte) (op.Location, error) {
	e.unit = u
	if err := e.charge(); err != nil {
		return op.Location{}, err
	}
	inObject := e.inObject
	e.inObject = false
	loc, err := e.m.Eval(e.env(), expr)
	e.inObject = inObject
	if err != nil {
		return op.Location{}, unknown.Reason(err)
	}
	return loc, nil
}

// unlocated returns why a location list has no answer: it is damaged, or reading it exceeds the budget of the walk.
func (e *evaluator) unlocated(err error) error {
	if spent := e.frame().Spend(0); spent != nil {
		return fmt.Errorf("%w: %w", spent, unknown.ErrLimit)
	}
	return &unknown.Corrupt{Err: err}
}

// evalCost is what an evaluation costs of the walk's budget, besides its steps.
const evalCost = 16

// charge charges an evaluation to the budget of the walk. The steps of those before, which are known now, are
// charged with it.
func (e *evaluator) charge() error { return e.spend(evalCost + e.m.Executed()) }

func (e *evaluator) spend(units int) error {
	if err := e.frame().Spend(units); err != nil {
		return fmt.Errorf("%w: %w", err, unknown.ErrLimit)
	}
	return nil
}

// DWARFReg implements op.Registers.
func (e *evaluator) DWARFReg(n uint64) (uint64, error) {
	if v, ok := e.register(n); ok {
		return v, nil
	}
	if raw, bank, ok := e.vector(n); ok {
		if k := len(raw); k > 8 && e.r.arch.Big() && !bank.left {
			raw = raw[k-8:]
		}
		return types.Uint(raw[:min(len(raw), 8)], e.r.arch.Big()), nil
	}
	return 0, &unknown.Register{DWARF: n, Name: e.r.regName(n)}
}

// register returns a general register of the frame.
func (e *evaluator) register(n uint64) (uint64, bool) {
	r, general := e.r.arch.FromDWARF(n)
	v, loc, ok := e.frame().Reg(r)
	e.inputs.Add(where.InputReg, e.index, r, v, ok)
	e.uses(ok && loc.Doubtful)
	if ok && (!e.virtual || e.r.arch.CalleeSaved.Has(r) && !e.popped()) && !e.scratch(n, r) {
		return v, true
	}
	if slices.Contains(e.r.machine.steady, n) {
		e.inputs.Other()
		regs, err := e.r.proc.Registers(e.frame().Thread())
		if err == nil {
			return regs.Get(r)
		}
	}
	if !general {
		return 0, false
	}
	return e.kept(r)
}

// uses says that something is used, which may be doubtful.
func (e *evaluator) uses(doubtful bool) {
	if doubtful && e.doubt != nil {
		*e.doubt = true
	}
}

// doubting returns whether what ask uses is doubtful, which then is true of what e evaluates.
func (e *evaluator) doubting(ask func()) bool {
	outer, doubtful := e.doubt, false
	e.doubt = &doubtful
	ask()
	e.doubt = outer
	e.uses(doubtful)
	return doubtful
}

// popped reports whether the debugging information of a function that left by a tail call takes no
// notice of its epilogue: LLVM describes values by registers that already have their caller's.
func (e *evaluator) popped() bool {
	if e.fn.rec != nil {
		return false
	}
	u := e.fn.fn.Unit
	v := u.Value(u.Root(), dwarf.AttrProducer)
	by, _ := u.Bytes(&v)
	return bytes.Contains(by, []byte("clang")) || bytes.Contains(by, []byte("LLVM"))
}

// scratch reports whether the function's callee may have changed a register that calls preserve
// by the platform's ABI. Functions of Go preserve only the stack pointer, the frame pointer and
// the goroutine (Go internal ABI), but their unwind tables do not say so. sigpanic is such a
// callee, although no call instruction leads to it.
func (e *evaluator) scratch(n uint64, r arch.Reg) bool {
	return e.fn.rec == nil && e.fn.fn.Unit.Language == dwarf.LangGo && e.index > 0 && !e.frames[e.index-1].IsTrampoline() &&
		r != e.r.arch.SP && r != e.r.arch.FP && n != e.r.machine.goroutine
}

// Value implements op.Resolver.
func (e *evaluator) Value(o op.Op, arg uint64, block []byte) (op.Value, error) {
	switch o {
	case op.Fbreg:
		v, err := e.frameBase()
		return op.Value{Bits: v}, err
	case op.CallFrameCFA:
		v, err := e.cfa()
		return op.Value{Bits: v}, err
	case op.PushObjectAddress:
		if !e.inObject {
			return op.Value{}, op.ErrUnsupportedOp{Op: o}
		}
		return op.Value{Bits: e.object}, nil
	case op.FormTLSAddress:
		e.inputs.Other()
		v, err := e.r.tlsAddress(e.frame().Thread(), e.fn.Library, e.fn.im, arg)
		return op.Value{Bits: v}, err
	case op.Addrx, op.Constx:
		v, ok := e.unit.AddressAt(arg)
		if !ok {
			return op.Value{}, fmt.Errorf("address number %d: %w", arg, dwarf.ErrFormat)
		}
		return op.Value{Bits: v}, nil
	case op.EntryValue:
		return e.entryValue(block)
	case op.GNUVariableValue:
		return e.variableValue(arg)
	case op.GNUParameterRef:
		return e.parameterRef(dwarf.DIE{Unit: e.unit, Off: e.unit.Off + arg})
	}
	return op.Value{}, op.ErrUnsupportedOp{Op: o}
}

func (e *evaluator) cfa() (uint64, error) {
	cfa, ok := e.frame().CFA()
	e.inputs.Add(where.InputCFA, e.index, 0, cfa, ok)
	e.uses(ok && e.frame().CFADoubtful())
	if ok && !e.virtual {
		return cfa, nil
	}
	return 0, unknown.ErrNoCFA
}

// Expr implements op.Resolver.
func (e *evaluator) Expr(o op.Op, arg uint64) ([]byte, op.Resolver, error) {
	d := dwarf.DIE{Unit: e.unit, Off: e.unit.Off + arg}
	if o == op.CallRef {
		var err error
		if d, err = e.info(arg); err != nil {
			return nil, nil, err
		}
	}
	v := d.Unit.Value(d.Off, dwarf.AttrLocation)
	if !v.Present() {
		return nil, nil, nil
	}
	expr, _, err := d.Unit.Location(&v, e.pc, e.frame())
	if err != nil || d.Unit == e.unit {
		return expr, nil, err
	}
	in, err := e.nest()
	if err != nil {
		return nil, nil, err
	}
	in.unit = d.Unit
	return expr, in, nil
}

// info returns the entry at an offset of .debug_info, in the file of the expression's unit.
func (e *evaluator) info(off uint64) (dwarf.DIE, error) {
	if u := e.unit; u.Sec == dwarf.SecInfo && off >= u.Off && off < u.End {
		return dwarf.DIE{Unit: u, Off: off}, nil
	}
	u, err := e.unit.Data.UnitContaining(dwarf.SecInfo, off)
	return dwarf.DIE{Unit: u, Off: off}, err
}

// BaseType implements op.Resolver.
func (e *evaluator) BaseType(die uint64) (op.Type, error) {
	u := e.unit
	enc := u.Value(u.Off+die, dwarf.AttrEncoding)
	size := u.Value(u.Off+die, dwarf.AttrByteSize)
	t, ok := op.BaseType(uint8(enc.U), size.U)
	if types.Encoding(enc.U) == types.EncFloat && size.U > 8 {
		return t, op.ErrLongFloat
	}
	if !ok {
		return t, fmt.Errorf("base type at %#x: encoding %d of %d bytes: %w", u.Off+die, enc.U, size.U, op.ErrType)
	}
	return t, nil
}

// variableValue returns the value of the variable with the entry at offset off of .debug_info.
func (e *evaluator) variableValue(off uint64) (op.Value, error) {
	d, err := e.info(off)
	if err != nil {
		return op.Value{}, err
	}
	v, err := e.integer(d)
	return op.Value{Bits: v}, err
}

// integer evaluates a variable or a DWARF procedure and returns its value, which
// must be an integer.
func (e *evaluator) integer(d dwarf.DIE) (uint64, error) {
	a := gather(d)
	if a.locIn == nil && a.cstIn != nil {
		return a.cst.U, nil
	}
	if a.locIn == nil {
		return 0, unknown.ErrOptimisedOut
	}
	in, err := e.nest()
	if err != nil {
		return 0, err
	}
	expr, _, err := a.locIn.Location(&a.loc, e.pc, e.frame())
	if err != nil {
		return 0, err
	}
	loc, err := in.location(a.locIn, expr)
	if err != nil {
		return 0, err
	}
	size, signed := uint64(e.r.arch.WordSize), false
	if t := e.r.types.Of(a.typ).Base(); t.ByteSize > 0 && t.ByteSize <= 8 {
		size, signed = t.ByteSize, t.Encoding.Signed()
	}
	return in.numberAt(&loc, size, signed)
}

// stored returns the integer of size bytes, with a sign, that lies where an expression of unit u says. The expression may
// be one of the type of an object.
func (e *evaluator) stored(u *dwarf.Unit, expr []byte, size uint64) (uint64, error) {
	in, err := e.nest()
	if err != nil {
		return 0, err
	}
	in.unit = u
	if err := in.charge(); err != nil {
		return 0, err
	}
	loc, err := in.m.Eval(in.env(), expr)
	if err != nil {
		return 0, err
	}
	return in.numberAt(&loc, size, true)
}

// numberAt returns the integer of size bytes at a location.
func (e *evaluator) numberAt(loc *op.Location, size uint64, signed bool) (uint64, error) {
	switch loc.Kind {
	case op.Memory:
		return e.r.mem.Int(loc.Addr, int(size), signed)
	case op.Register:
		v, err := e.DWARFReg(loc.Reg)
		return types.Resize(v, int(size), signed), err
	case op.StackValue:
		return types.Resize(loc.Value.Bits, int(size), signed), nil
	case op.ImplicitValue:
		return types.Resize(types.Uint(loc.Bytes, e.r.arch.Big()), int(size), signed), nil
	case op.Empty:
		return 0, unknown.ErrOptimisedOut
	}
	return 0, errors.New("a variable in pieces as an operand")
}
