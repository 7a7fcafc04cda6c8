package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// frameBase returns what DW_OP_fbreg counts from: DW_AT_frame_base of the function that has the
// frame, also for variables of calls inlined into it.
func (e *evaluator) frameBase() (uint64, error) {
	switch {
	case e.inputs != nil && e.based && e.baseErr != nil:
		e.inputs.Other()
	case e.inputs != nil, !e.based:
		e.byGuess = e.doubting(func() { e.base, e.baseErr = e.computeBase() })
		e.based = true
		for o := e.outer; o != nil && o.fn == e.fn && o.index == e.index; o = o.outer {
			o.base, o.baseErr, o.based, o.byGuess = e.base, e.baseErr, true, e.byGuess
		}
	}
	e.uses(e.byGuess)
	return e.base, e.baseErr
}

func (e *evaluator) computeBase() (uint64, error) {
	d := e.fn.fn.DIE
	v := d.Unit.Value(d.Off, dwarf.AttrFrameBase)
	if !v.Present() {
		return 0, fmt.Errorf("function without a frame base: %w", dwarf.ErrFormat)
	}
	expr, _, err := d.Unit.Location(&v, e.pc, e.frame())
	if err != nil {
		return 0, err
	}
	if len(expr) == 0 {
		return 0, fmt.Errorf("no frame base at %#x: %w", e.pc, dwarf.ErrFormat)
	}
	// Nearly all frame bases are one of these three operators.
	switch o := op.Op(expr[0]); {
	case o == op.CallFrameCFA && len(expr) == 1:
		return e.cfa()
	case o >= op.Reg0 && o < op.Reg0+32 && len(expr) == 1:
		return e.DWARFReg(uint64(o - op.Reg0))
	case o >= op.Breg0 && o < op.Breg0+32:
		c := binbuf.New(expr, 1, e.r.arch.Big())
		off := c.SLEB()
		if c.Error == nil && !c.More() {
			base, err := e.DWARFReg(uint64(o - op.Breg0))
			return e.r.arch.Truncate(base + uint64(off)), err
		}
	}
	in, err := e.nest()
	if err != nil {
		return 0, err
	}
	// A frame base that refers to itself must not recurse.
	in.based, in.baseErr = true, fmt.Errorf("frame base refers to itself: %w", dwarf.ErrFormat)
	in.outer = nil
	loc, err := in.location(d.Unit, expr)
	if err != nil {
		return 0, err
	}
	switch loc.Kind {
	case op.Memory:
		return loc.Addr, nil
	case op.Register:
		return in.DWARFReg(loc.Reg)
	case op.StackValue:
		return loc.Value.Bits, nil
	}
	return 0, fmt.Errorf("frame base is %v: %w", loc.Kind, dwarf.ErrFormat)
}
