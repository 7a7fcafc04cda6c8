package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The other way round: from a register or an address to the variable that lives there.

// A Held is a variable, or a part of one, that some place holds.
type Held struct {
	Var   *LocalVar
	Scope *Scope
	Path  string // of the part: ".head.next"; "" for the whole
	Type  *Type  // of the part
}

// Name is the variable's name with the part's path.
func (h *Held) Name() string { return h.Var.Name + h.Path }

// InRegister lists the variables that live, at a place of the activation's function, in
// register r: those of the innermost inlined call first. Where the frame is does not
// matter.
func (a *Activation) InRegister(pc arch.Address, r arch.Reg) []Held {
	var out []Held
	a.each(pc, func(s *Scope, v *LocalVar, loc *op.Location, t *Type) {
		if a.isRegister(loc, r) {
			out = append(out, a.leaf(s, v, t, 0, 0))
			return
		}
		if loc.Kind != op.Composite {
			return
		}
		bits := uint64(0)
		for i := range loc.Pieces {
			p := &loc.Pieces[i]
			if p.BitOffset == 0 && a.isRegister(&p.Loc, r) {
				out = append(out, a.leaf(s, v, t, bits/8, p.BitSize/8))
				return
			}
			bits += p.BitSize
		}
	})
	return out
}

// InMemory lists the variables that live, at a place of the activation's function, in
// size bytes of memory at addr, the innermost first.
func (a *Activation) InMemory(pc, addr arch.Address, size int) []Held {
	var out []Held
	a.each(pc, func(s *Scope, v *LocalVar, loc *op.Location, t *Type) {
		at := loc.Addr
		if loc.Kind != op.Memory {
			return
		}
		whole, err := a.sizeOf(t)
		if err != nil || addr < at || addr-at >= whole {
			return
		}
		if h := a.leaf(s, v, t, addr-at, uint64(size)); h.Type != nil {
			out = append(out, h)
		}
	})
	return out
}

// Object is the variable of the function that holds an address at pc, whole, and where
// it begins and ends; false where there is none.
func (a *Activation) Object(pc, addr arch.Address) (h Held, low, high arch.Address, ok bool) {
	a.each(pc, func(s *Scope, v *LocalVar, loc *op.Location, t *Type) {
		at := loc.Addr
		if ok || loc.Kind != op.Memory {
			return
		}
		if whole, err := a.sizeOf(t); err == nil && addr >= at && addr-at < whole {
			h, low, high, ok = Held{Var: v, Scope: s, Type: t}, at, at+whole, true
		}
	})
	return h, low, high, ok
}

// each goes over the variables that are alive at a place of the function. The location
// is valid until anything else is evaluated.
func (a *Activation) each(pc arch.Address, do func(*Scope, *LocalVar, *op.Location, *Type)) {
	was := a.e.pc
	defer func() {
		a.e.pc, a.e.based = was, false
	}()
	if a.e.pc = pc - a.bias; a.e.pc != was {
		a.e.based = false
	}
	for _, s := range a.LiveScopes(pc) {
		for _, list := range [...][]*LocalVar{s.Params, s.Locals} {
			for _, v := range list {
				if loc, err := a.locate(v); err == nil && loc.Kind != op.Empty {
					do(s, v, &loc, a.r.types.typeOf(v.attrs.typ))
				}
			}
		}
	}
}

func (a *Activation) isRegister(loc *op.Location, r arch.Reg) bool {
	if loc.Kind != op.Register {
		return false
	}
	reg, ok := a.r.arch.FromDWARF(loc.Reg)
	return ok && reg == r
}

// leaf is the part of a variable at an offset, as small as size asks for: 0 for the
// first member that has none itself. Its Type is nil where there is no such part.
func (a *Activation) leaf(s *Scope, v *LocalVar, t *Type, off, size uint64) Held {
	h := Held{Var: v, Scope: s}
	if path, part, ok := t.Part(off, size); ok {
		h.Path, h.Type = path, part
	}
	return h
}

// CallsPreserve reports whether functions of f's language leave registers alone for
// their callers: those of Go leave none.
func (f *Function) CallsPreserve() bool {
	return f.rec != nil || f.fn.Unit == nil || f.fn.Unit.Language != dwarf.LangGo
}

// ReturnsNothing reports whether the function at an address of code is known to have
// no result.
func (r *Reader) ReturnsNothing(addr arch.Address) bool {
	fn, err := r.functionAt(addr)
	if err != nil || fn.rec != nil {
		return false
	}
	return !gather(fn.fn.DIE).typ.Valid()
}

// maxGlobals bounds the entries that are looked through for a global variable.
const maxGlobals = 1 << 12

// Global is the variable that holds an address of the process's memory and belongs to no
// function: its name, its type, and where in it the address is. The type is nil where
// only a symbol is known. Types are looked for in the unit of the activation's function.
func (a *Activation) Global(addr arch.Address) (name string, t *Type, off uint64) {
	if a.fn.Unit != nil {
		if name, t, off = a.globalIn(a.fn.Unit, addr-a.bias); name != "" {
			return name, t, off
		}
	}
	return a.r.SymbolName(addr), nil, 0
}

// SymbolName names an address by the symbol around it: "main", "table+8"; "" where
// there is none.
func (r *Reader) SymbolName(addr arch.Address) string { return r.mem.symbolText(addr) }

func (a *Activation) globalIn(u *dwarf.Unit, at uint64) (string, *Type, uint64) {
	var e dwarf.Entry
	c := u.Cursor(u.Root())
	if !c.Next(&e) || !e.HasChildren {
		return "", nil, 0
	}
	for n := 0; n < maxGlobals && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag == dwarf.TagNamespace {
			continue // its variables come next
		}
		if e.Tag == dwarf.TagVariable {
			v := gather(dwarf.DIE{Unit: u, Off: e.Off})
			if base, ok := plainAddress(u, &v); ok && v.nameIn != nil && at >= base {
				t := a.r.types.typeOf(v.typ)
				if at-base < t.whole() {
					return v.nameIn.Text(&v.name), t, at - base
				}
			}
		}
		c.SkipChildren()
	}
	return "", nil, 0
}

// plainAddress is the address in the file of a variable that has one.
func plainAddress(u *dwarf.Unit, v *varAttrs) (uint64, bool) {
	b := v.loc.B
	if v.locIn == nil || len(b) < 2 {
		return 0, false
	}
	switch op.Op(b[0]) {
	case op.Addr:
		if len(b) != 1+int(v.locIn.AddrSize) {
			return 0, false
		}
		return decodeUint(b[1:], v.locIn.Data.Big()), true
	case op.Addrx:
		n, i := uint64(0), 1
		for shift := uint(0); i < len(b) && shift < 63; i, shift = i+1, shift+7 {
			n |= uint64(b[i]&0x7f) << shift
			if b[i] < 0x80 {
				return v.locIn.AddressAt(n)
			}
		}
	}
	return 0, false
}

// Bounds tells where the function, or the part of one, begins and ends that holds an
// address of code, by call frame information.
func (r *Reader) Bounds(addr arch.Address) (low, high arch.Address, ok bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return 0, 0, false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return 0, 0, false
	}
	im := r.file(lib)
	if im == nil {
		return 0, 0, false
	}
	bias := im.Bias(lib.LoadBias)
	t := im.EHFrame()
	if t == nil {
		return 0, 0, false
	}
	low, high, ok = t.FDEForPC(addr - bias)
	return low + bias, high + bias, ok
}
