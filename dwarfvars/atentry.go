package dwarfvars

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// ReadEntry reads the value that a parameter of the frame's function had when the function was
// called (gdb's x@entry). It returns false if that is not known: the caller must describe the
// call, and must have passed the parameter in one register or in one place on the stack.
func (a *Activation) ReadEntry(v *LocalVar, o Options) (Value, bool) {
	if v.passed != nil {
		v = v.passed
	}
	if !v.Param || v.onHeap || !a.owns(v) || v.block.parent != nil || v.block.ranges != nil || v.attrs.locIn == nil {
		return Value{}, false // also parameters of inlined calls, which no call passed
	}
	t := a.r.types.Of(v.attrs.typ)
	size, _ := a.sizeOf(t)
	if size == 0 || size > 8 {
		return Value{}, false
	}
	expr, _, _ := v.attrs.locIn.Location(&v.attrs.loc, a.fn.Entry, a.e.frame())
	var val op.Value
	var err error
	doubtful := a.doubtful(func() { val, err = a.e.passedIn(expr) })
	if err != nil {
		return Value{}, false
	}
	ob, err := a.at(op.Location{Kind: op.StackValue, Value: val}, t)
	if err != nil {
		return Value{}, false
	}
	if l := &a.last; l.of == v && l.options == o && bytes.Equal(l.number, numberIn(&ob)) {
		return Value{l.value, doubtful}, true // what it refers to was read a moment ago
	}
	got := values.Read(a.r.mem, (*frame)(a), &ob, t, values.Options(o))
	return Value{got, doubtful}, got.Err == nil
}

// passedIn returns what the caller passed in the place that expr describes at the function's
// entry: a register, or an offset from the frame base, which must be the canonical frame address.
func (e *evaluator) passedIn(expr []byte) (op.Value, error) {
	unknown := &unknown.Entry{Why: "the parameter has no single location"}
	if len(expr) == 0 {
		return op.Value{}, unknown
	}
	if p, ok := readPlace(expr, e.r.arch.Big()); ok && !p.pointed {
		return e.entryValue(expr)
	}
	if c := binbuf.New(expr, 1, e.r.arch.Big()); op.Op(expr[0]) == op.Fbreg {
		off := c.SLEB()
		if c.Error == nil && !c.More() && e.countsFromCFA() {
			return e.passedOnStack(off)
		}
	}
	return op.Value{}, unknown
}

// countsFromCFA reports whether the function's frame base is the canonical frame
// address.
func (e *evaluator) countsFromCFA() bool {
	d := e.fn.fn.DIE
	v := d.Unit.Value(d.Off, dwarf.AttrFrameBase)
	return bytes.Equal(v.B, []byte{byte(op.CallFrameCFA)})
}

// passedOnStack returns what the caller passed at an offset from the canonical frame address. The
// call site counts from the stack pointer before the call, which is the same address.
func (e *evaluator) passedOnStack(off int64) (op.Value, error) {
	sp := e.r.arch.DWARF(e.r.arch.SP)
	return e.passed(callValue, func(_ *dwarf.Unit, c *dwarf.Cursor) bool {
		var v dwarf.Value
		c.Find(dwarf.AttrLocation, &v)
		if len(v.B) == 0 || v.B[0] != byte(op.Breg0)+byte(sp) {
			return false
		}
		at := binbuf.New(v.B, 1, e.r.arch.Big())
		got := at.SLEB()
		return at.Error == nil && !at.More() && got == off
	})
}
