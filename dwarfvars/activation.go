package dwarfvars

import (
	"fmt"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
)

// An Activation is one physical frame of a walked stack together with its function. Variables
// have values in it. Only one goroutine may use it at a time.
type Activation struct {
	*Function
	frameHandle
	r      *Reader
	frames []*unwind.Frame
	index  int
	e      evaluator
	last   lastRead
}

// A lastRead is the pointer or reference in a register that was read last.
type lastRead struct {
	of      *LocalVar // nil if the last variable was another one
	number  []byte
	options Options
	value   *values.Value
}

// At returns the activation of frame number frame of a stack, whose frames are those of one
// walk, youngest first. The error wraps ErrParam if there is no such frame, and ErrNoFunction if
// no debugging information describes its function. Call Close when done.
func (r *Reader) At(swalk []*unwind.Frame, frame int) (*Activation, error) {
	if frame < 0 || frame >= len(swalk) {
		return nil, fmt.Errorf("frame %d of %d: %w", frame, len(swalk), ErrParam)
	}
	fn, err := r.FunctionForFrame(swalk[frame])
	if err != nil {
		return nil, err
	}
	if fn.rec != nil {
		_ = swalk[frame].Spend(int(fn.unpaid.Swap(0)) + fn.rec.Parts) // reading the variables notices that nothing is left
	}
	return r.activation(fn, swalk, frame), nil
}

// recordWork is what the function's PDB has been read so far; 0 without one.
func (f *Function) recordWork() int64 {
	if f.rec == nil || f.db.File == nil {
		return 0
	}
	return f.db.File.Work()
}

var activations = sync.Pool{New: func() any {
	a := new(Activation)
	a.frameHandle = where.HandleFrame((*frameWhere)(a))
	return a
}}

func (r *Reader) activation(fn *Function, swalk []*unwind.Frame, frame int) *Activation {
	a := activations.Get().(*Activation)
	a.Function, a.r, a.frames, a.index = fn, r, swalk, frame
	a.e.start(r, fn, swalk, frame)
	return a
}

// Close releases the activation's working space. The activation cannot be used after it.
func (a *Activation) Close() {
	a.Function, a.r, a.frames = nil, nil, nil
	a.e.drop()
	activations.Put(a)
}

// Frame returns the physical frame; of a function that left by a tail call, the one that it returns
// to.
func (a *Activation) Frame() *unwind.Frame { return a.frames[a.index] }

// Live returns the variables that are in scope in the frame: those of the innermost inlined
// call first, those of the function itself last. A local variable of Go is in scope after its declaration.
func (a *Activation) Live() []*Scope {
	addr := a.Frame().LookupAddr()
	if a.e.virtual {
		addr = a.e.pc + a.bias
	}
	before := a.r.work.Load()
	s := a.LiveScopes(addr)
	s = a.declaredOf(s)
	_ = a.Frame().Spend(int(a.r.work.Load() - before)) // reading the variables notices that nothing is left
	return s
}

// declaredOf returns scopes without the variables whose declarations have not run.
func (a *Activation) declaredOf(scopes []*Scope) []*Scope {
	absent := func(v *LocalVar) bool { return !a.declared(v) }
	var out []*Scope
	for i, s := range scopes {
		if !slices.ContainsFunc(s.Locals, absent) {
			continue
		}
		if out == nil {
			out = slices.Clone(scopes)
		}
		some := *s
		some.Locals = slices.DeleteFunc(slices.Clone(s.Locals), absent)
		out[i] = &some
	}
	if out == nil {
		return scopes
	}
	return out
}

// locate returns the location of a variable. It is valid until the next evaluation.
func (a *Activation) locate(v *LocalVar) (op.Location, error) {
	if v.rec != nil {
		a.e.inputs.Other()
		return a.recordLocation(v)
	}
	at := &v.attrs
	switch {
	case at.locIn != nil:
		expr, _, err := at.locIn.Location(&at.loc, a.e.pc, a.e.frame())
		if err != nil {
			return op.Location{}, a.e.unlocated(err)
		}
		loc, err := a.e.location(at.locIn, expr) // if expr is empty, it is optimised out here
		if err == nil && a.lost(&loc) {
			spilled, ok := a.spilled(at)
			if ok {
				return a.goWords(at, spilled), nil
			}
			loc, err = a.e.location(at.locIn, expr)
		}
		if err != nil {
			return loc, err
		}
		return a.goWords(at, loc), nil
	case at.cstIn != nil:
		return constant(at.cstIn, &at.cst), nil
	}
	return op.Location{}, nil
}

// lost reports whether all of a variable of Go is in registers, which calls do not preserve, and the frame made a call.
func (a *Activation) lost(loc *op.Location) bool {
	if a.fn.Unit == nil || a.fn.Unit.Language != dwarf.LangGo || a.e.virtual || a.e.frame().LookupAddr() == a.e.frame().RA() {
		return false
	}
	switch loc.Kind {
	case op.Register:
		return true
	case op.Composite:
		return !slices.ContainsFunc(loc.Pieces, func(p op.Piece) bool { return p.Loc.Kind != op.Register })
	}
	return false
}

// spilled returns where a variable of Go lies after the call that the frame made, if that is in memory: it was stored there before the
// call, of which the location list takes notice only from the return address on.
func (a *Activation) spilled(at *varAttrs) (op.Location, bool) {
	expr, found, err := at.locIn.Location(&at.loc, a.e.frame().RA()-a.bias, a.e.frame())
	if err != nil || !found || len(expr) == 0 {
		return op.Location{}, false
	}
	loc, err := a.e.location(at.locIn, expr)
	switch {
	case err != nil:
		return loc, false
	case loc.Kind == op.Composite:
		return loc, len(loc.Pieces) > 0 && !slices.ContainsFunc(loc.Pieces, func(p op.Piece) bool { return p.Loc.Kind != op.Memory })
	}
	return loc, loc.Kind == op.Memory
}

// constant returns the location of a DW_AT_const_value.
func constant(u *dwarf.Unit, v *dwarf.Value) op.Location {
	switch v.Form.Class() {
	case dwarf.ClassBlock, dwarf.ClassExprloc:
		return op.Location{Kind: op.ImplicitValue, Bytes: v.B}
	case dwarf.ClassString:
		b, _ := u.Bytes(v)
		return op.Location{Kind: op.ImplicitValue, Bytes: b}
	case dwarf.ClassAddress:
		addr, _ := u.Address(v)
		return op.Location{Kind: op.StackValue, Value: op.Value{Bits: addr}}
	case dwarf.ClassConstant:
		switch v.Form {
		case dwarf.FormData16:
			return op.Location{Kind: op.ImplicitValue, Bytes: v.B}
		case dwarf.FormSdata, dwarf.FormImplicitConst: // the variable may have more than 8 bytes
			return op.Location{Kind: op.StackValue, Value: op.Value{Bits: v.U, Type: op.Type{Enc: op.Signed, Size: 8}}}
		}
	}
	return op.Location{Kind: op.StackValue, Value: op.Value{Bits: v.U}}
}

// owns reports whether v is a variable of the activation's function.
func (a *Activation) owns(v *LocalVar) bool {
	return v != nil && v.fn != nil &&
		(v.fn == a.Function || a.fn.Valid() && v.fn.fn.DIE == a.fn.DIE && v.fn.Library == a.Library)
}

// inScope reports whether the frame's address is in the block of v and, in Go, after its declaration.
func (a *Activation) inScope(v *LocalVar) bool {
	return v.block.at(a.e.pc) && (v.passed != nil || a.declared(v))
}

// GetLocalVariableValue reads the value of v in frame number frame of a stack into buf, as the
// bytes that the variable has in memory. n is the number of bytes. With GlvvEBufferSize it is the
// number that buf would need, and nothing is written.
//
// reason is nil on success. Otherwise it is or wraps one of this package's errors, which say
// more than the code.
func (r *Reader) GetLocalVariableValue(v *LocalVar, swalk []*unwind.Frame, frame int, buf []byte) (n int, code Code, reason error) {
	if v == nil || v.fn == nil {
		return 0, GlvvEParam, fmt.Errorf("no variable: %w", ErrParam)
	}
	a, err := r.At(swalk, frame)
	if err != nil {
		return 0, GlvvEParam, err
	}
	defer a.Close()
	if !a.owns(v) {
		return 0, GlvvEParam, fmt.Errorf("%s is of %s: %w", v.Name, v.fn.Name, ErrParam)
	}
	if !a.inScope(v) {
		return 0, GlvvEOutOfScope, ErrOutOfScope
	}
	return a.copy(v, buf)
}

func (a *Activation) copy(v *LocalVar, buf []byte) (int, Code, error) {
	o, err := a.object(v)
	if err != nil {
		return 0, GlvvEUnknown, err
	}
	if o.Size > values.MaxObject {
		return 0, GlvvEUnknown, fmt.Errorf("%d bytes: %w", o.Size, unknown.ErrLimit)
	}
	if int(o.Size) > len(buf) {
		return int(o.Size), GlvvEBufferSize, fmt.Errorf("%w: %d bytes, the buffer has %d", ErrBufferSize, o.Size, len(buf))
	}
	b, err := a.r.mem.Bytes(&o, 0, o.Size)
	if err != nil {
		return 0, GlvvEUnknown, err
	}
	return copy(buf, b), GlvvSuccess, nil
}
