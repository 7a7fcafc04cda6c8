package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Whether a variable has a value, for those who count variables that they do not show.

// Known returns the Err of the value that Read would return, without making the value: nil if it is known.
func (a *Activation) Known(v *LocalVar, o Options) error {
	if p := a.placed(v); p != nil {
		if err, ok := a.atPlace(p); ok {
			return err
		}
	}
	t := a.r.types.Of(v.attrs.typ)
	switch {
	case !a.owns(v):
		return ErrParam
	case !a.inScope(v):
		return ErrOutOfScope
	}
	ob, err := a.object(v)
	if err != nil {
		return err
	}
	ob.Type = t
	return values.Why(a.r.mem, (*frame)(a), &ob, values.Options(o))
}

// A placement is what decides whether a variable has a value at one instruction: the same in all frames there.
type placement struct {
	pc   uint64
	kind placementKind
	reg  uint64 // DWARF number
	off  int64
	size uint64
}

type placementKind uint8

const (
	unplaced  placementKind = iota // it takes an evaluation
	optimised                      // the compiler removed it
	fromCFA                        // size bytes at an offset from the canonical frame address
	fromFrame                      // size bytes at an offset from a register
)

// placed returns the placement of a variable at the activation's instruction; nil if the variable is not the
// activation's, or not in scope.
func (a *Activation) placed(v *LocalVar) *placement {
	if a.e.virtual || v.rec != nil {
		return nil
	}
	if p := v.placement.Load(); p != nil && p.pc == a.e.pc && v.fn == a.Function {
		return p
	}
	if !a.owns(v) || !a.inScope(v) {
		return nil
	}
	p := a.placementOf(v)
	p.pc = a.e.pc
	v.placement.Store(&p)
	return &p
}

func (a *Activation) placementOf(v *LocalVar) (p placement) {
	at := &v.attrs
	if at.locIn == nil {
		if at.cstIn == nil {
			p.kind = optimised
		}
		return p
	}
	expr, _, err := at.locIn.Location(&at.loc, a.e.pc, a.e.frame())
	if err != nil {
		return p
	}
	if len(expr) == 0 {
		p.kind = optimised
		return p
	}
	var certain bool
	if p.size, certain = values.Certain(a.r.types.Of(at.typ)); !certain {
		return p
	}
	reg, off, ok := based(expr, a.r.arch)
	if op.Op(expr[0]) == op.Fbreg {
		if reg, off, ok = a.frameBased(expr); ok && reg == cfaBase {
			p.kind, p.off = fromCFA, off
			return p
		}
	}
	if _, general := a.r.arch.FromDWARF(reg); ok && general {
		p.kind, p.reg, p.off = fromFrame, reg, off
	}
	return p
}

// cfaBase stands for the canonical frame address among registers.
const cfaBase = ^uint64(0)

// based decodes DW_OP_bregN off.
func based(expr []byte, a *arch.Arch) (reg uint64, off int64, ok bool) {
	if o := op.Op(expr[0]); o < op.Breg0 || o >= op.Breg0+32 {
		return 0, 0, false
	}
	c := binbuf.New(expr, 1, a.Big())
	off = c.SLEB()
	return uint64(op.Op(expr[0]) - op.Breg0), off, c.Error == nil && !c.More()
}

// frameBased decodes DW_OP_fbreg off, if the frame base is the canonical frame address or a register.
func (a *Activation) frameBased(expr []byte) (reg uint64, off int64, ok bool) {
	c := binbuf.New(expr, 1, a.r.arch.Big())
	off = c.SLEB()
	if c.Error != nil || c.More() {
		return 0, 0, false
	}
	d := a.fn.DIE
	v := d.Unit.Value(d.Off, dwarf.AttrFrameBase)
	base, _, err := d.Unit.Location(&v, a.e.pc, a.e.frame())
	if !v.Present() || err != nil || len(base) != 1 {
		return 0, 0, false
	}
	switch o := op.Op(base[0]); {
	case o == op.CallFrameCFA:
		return cfaBase, off, true
	case o >= op.Reg0 && o < op.Reg0+32:
		return uint64(o - op.Reg0), off, true
	}
	return 0, 0, false
}

// atPlace returns why a variable at p has no value in the frame; false if that takes an evaluation.
func (a *Activation) atPlace(p *placement) (error, bool) {
	var base uint64
	switch p.kind {
	case optimised:
		return unknown.ErrOptimisedOut, true
	case fromCFA:
		cfa, ok := a.Frame().CFA()
		if !ok {
			return unknown.ErrNoCFA, true
		}
		base = cfa
	case fromFrame:
		v, err := a.e.DWARFReg(p.reg)
		if err != nil {
			return nil, false
		}
		base = v
	default:
		return nil, false
	}
	if a.Frame().Spend(evalCost) != nil {
		return nil, false // the evaluation says what the limit was
	}
	return a.r.mem.Read(a.r.arch.Truncate(base+uint64(p.off)), a.bytes[:p.size]), true
}
