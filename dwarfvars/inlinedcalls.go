package dwarfvars

import (
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind/arch"
)

// CameIn implements where.Frame.
func (f *frameWhere) CameIn(h *where.Held, pc, at arch.Address) bool {
	v, ok := h.Of.(*LocalVar)
	if !ok || !h.Param {
		return false
	}
	for _, s := range f.Function.LiveScopes(pc) {
		if slices.Contains(s.Params, v) {
			return s.Inlined && s.block != nil && !s.block.at(at-f.bias)
		}
	}
	return false
}

// Ended implements where.Frame.
func (f *frameWhere) Ended(at, pc arch.Address) (list []where.InlinedCall) {
	for _, s := range f.Function.LiveScopes(at) {
		if !s.Inlined || s.block == nil || s.block.at(pc-f.bias) {
			break
		}
		c := where.InlinedCall{Function: s.Function, LLVM: producedWith(f.fn.Unit, "clang")}
		if s.origin.Valid() && f.fn.Unit.Language != dwarf.LangGo {
			c.Known = true
			if typ := gather(s.origin).typ; typ.Valid() {
				c.Result = f.r.types.Of(typ)
			}
		}
		list = append(list, c)
	}
	return list
}
