package dwarfvars

import (
	"fmt"
	"strings"

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
					do(s, v, &loc, a.r.typeOf(v.attrs.typ))
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

// maxPart bounds how deep a part of a type lies.
const maxPart = 16

// Part finds what lies off bytes into a value of type t and takes size bytes: its path
// in the source ("", ".next", "[3].name") and its type; with a size of 0 the outermost
// that begins there. It answers false where nothing of that size is. A base class and a member without a name add nothing to a path.
func (t *Type) Part(off, size uint64) (path string, part *Type, ok bool) {
	var b strings.Builder
	for range maxPart {
		s := t.strip()
		if s.decl {
			if full, ok := s.r.complete(s); ok {
				s = full.strip()
			}
		}
		switch {
		case size == 0 && b.Len() > 0 && off == 0:
			return b.String(), t, true
		case s.aggregate():
			f := s.fieldAt(off, size)
			if f == nil {
				return b.String(), t, off == 0 && size == s.size && size > 0
			}
			if !f.base && f.name != "" {
				b.WriteString("." + f.name)
			}
			t, off = s.r.typeOf(f.typ), off-f.off
		case s.tag == dwarf.TagArrayType && !s.vector:
			if len(s.dims()) > 1 {
				return "", nil, false
			}
			elem := s.target()
			n := elem.Size()
			if n == 0 {
				return "", nil, false
			}
			fmt.Fprintf(&b, "[%d]", off/n)
			t, off = elem, off%n
		default:
			return b.String(), t, off == 0 && (size == 0 || size == t.Size())
		}
	}
	return "", nil, false
}

// fieldAt is the member of t (stripped) that holds the bytes; nil where none does, or
// where several overlap and none is of that size.
func (t *Type) fieldAt(off, size uint64) *field {
	var best *field
	fields := t.all().fields
	for i := range fields {
		f := &fields[i]
		if f.static || f.expr.Present() || f.table != nil || f.bits != 0 || f.virtual {
			continue
		}
		n := t.r.typeOf(f.typ).whole()
		switch {
		case off < f.off || off-f.off >= n || size > n:
		case best == nil, f.off == off && n == size && size > 0 && t.r.typeOf(best.typ).whole() != size:
			best = f
		}
	}
	return best
}

// whole is the type's size, that of an array and of a type declared elsewhere too.
func (t *Type) whole() uint64 {
	s := t.strip()
	if s.decl {
		if full, ok := s.r.complete(s); ok {
			s = full.strip()
		}
	}
	if s.tag != dwarf.TagArrayType || s.size > 0 {
		return s.Size()
	}
	n := s.target().whole()
	for _, d := range s.dims() {
		switch {
		case d.count.Present() && d.count.Form.Class() == dwarf.ClassConstant:
			n *= d.count.U
		case d.upper.Present() && d.upper.Form.Class() == dwarf.ClassConstant:
			n *= d.upper.U + 1
		default:
			return 0
		}
	}
	return n
}

// Follow is what the expression text, whose value is of type t, names size bytes off
// behind the address that it holds: "p->next", "*p", "p[3].x". It answers false where
// t is no pointer, or where nothing of that size is there.
func (t *Type) Follow(text string, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.strip()
	if !s.pointer() && !s.reference() {
		return "", nil, false
	}
	to := s.target()
	whole := to.whole()
	if whole == 0 || off < 0 {
		return "", nil, false
	}
	at := uint64(off)
	index := at / whole
	if size == 0 && index > 0 && at%whole == 0 && !s.reference() {
		return fmt.Sprintf("%s[%d]", text, index), to, true
	}
	path, part, ok := to.Part(at%whole, size)
	if !ok {
		return "", nil, false
	}
	dotted := s.reference() || s.lang == dwarf.LangGo
	switch {
	case index > 0 && (s.reference() || s.lang == dwarf.LangGo || s.lang == dwarf.LangRust):
		return "", nil, false
	case index > 0:
		return fmt.Sprintf("%s[%d]%s", text, index, path), part, true
	case path == "" && s.reference():
		return text, part, true
	case path == "":
		return "*" + text, part, true
	case dotted:
		return text + path, part, true
	case strings.HasPrefix(path, "[") || s.lang == dwarf.LangRust:
		return "(*" + text + ")" + path, part, true
	}
	return text + "->" + path[1:], part, true
}

// Element is what text[index] is, plus off bytes: the element of a pointer or an array
// whose elements take scale bytes.
func (t *Type) Element(text, index string, scale uint64, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.strip()
	if !s.pointer() && s.tag != dwarf.TagArrayType || off < 0 {
		return "", nil, false
	}
	to := s.target()
	if n := to.whole(); n == 0 || n != scale || uint64(off) >= n {
		return "", nil, false
	}
	path, part, ok := to.Part(uint64(off), size)
	return text + "[" + index + "]" + path, part, ok
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
func (r *Reader) SymbolName(addr arch.Address) string { return r.symbolText(addr) }

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
				t := a.r.typeOf(v.typ)
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

// IsPointer reports whether values of the type are addresses of others.
func (t *Type) IsPointer() bool {
	s := t.strip()
	return s.pointer() || s.reference()
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
