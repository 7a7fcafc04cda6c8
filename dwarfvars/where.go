package dwarfvars

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind"
)

// Where says in words where a variable is in the frame: "memory at 0x7ffc10", "register rbx",
// "register rbx, saved at 0x7ffc10", "computed" (by an expression), "constant", "optimised away"
// (a pointer to an object that has no address), "pieces: register rbx; memory at 0x7ffc10"; ""
// if the variable has no location there.
func (a *Activation) Where(v *LocalVar) string {
	if !a.owns(v) || !a.inScope(v) {
		return ""
	}
	if v.onHeap {
		if o, err := a.object(v); err == nil && o.Mem {
			return a.where(&op.Location{Kind: op.Memory, Addr: o.Addr})
		}
	}
	loc, _ := a.locate(v)
	if loc.Kind != op.Composite {
		return a.where(&loc)
	}
	const most, nowhere = 4, "nowhere"
	var words []string
	for i := range loc.Pieces {
		w := a.where(&loc.Pieces[i].Loc)
		if w == "" {
			w = nowhere
		}
		if len(words) > 0 && words[len(words)-1] == w {
			continue
		}
		if len(words) == most {
			words = append(words, "...")
			break
		}
		words = append(words, w)
	}
	switch {
	case len(words) == 0, len(words) == 1 && words[0] == nowhere:
		return ""
	case len(words) == 1: // all pieces alike
		return words[0]
	}
	return "pieces: " + strings.Join(words, "; ")
}

func (a *Activation) where(loc *op.Location) string {
	switch loc.Kind {
	case op.Memory:
		return fmt.Sprintf("memory at %#x", loc.Addr)
	case op.Register:
		name := "register " + strings.TrimPrefix(a.r.regName(loc.Reg), "register ")
		r, _ := a.r.arch.FromDWARF(loc.Reg)
		if _, at, _ := a.Frame().Reg(r); at.Kind == unwind.LocAddress {
			return name + ", " + at.Describe(a.r.arch)
		}
		return name
	case op.StackValue:
		return "computed"
	case op.ImplicitValue:
		return "constant"
	case op.ImplicitPointer:
		return "optimised away"
	}
	return ""
}

// Expression returns the DWARF expression for the variable's location at the frame's address,
// "DW_OP_fbreg-24", or what a PDB says in its place, "[rsp+24]"; "" if there is none.
func (a *Activation) Expression(v *LocalVar) string {
	if v.rec != nil {
		return a.recordText(v)
	}
	at := &v.attrs
	if at.locIn == nil {
		if at.cstIn != nil {
			return "DW_AT_const_value"
		}
		return ""
	}
	expr, _, _ := at.locIn.Location(&at.loc, a.e.pc, a.e.frame())
	a.e.unit = at.locIn
	env := a.e.env()
	return op.Format(expr, op.Style{Big: env.Big, AddrSize: env.AddrSize, RefSize: env.RefSize, RegName: a.r.regName})
}
