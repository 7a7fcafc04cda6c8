package dwarfvars

import (
	"strconv"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The reverse direction: from a register or an address to the variable there.

// frameWhere is an Activation as a where.Frame.
type frameWhere Activation

// readerWhere is a Reader as a where.Process.
type readerWhere Reader

type (
	frameHandle   = where.FrameHandle
	processHandle = where.ProcessHandle
)

// InRegister implements where.Frame.
func (f *frameWhere) InRegister(pc arch.Address, r arch.Reg) []where.Held {
	var out []where.Held
	a := (*Activation)(f)
	a.each(pc, func(s *Scope, v *LocalVar, loc *op.Location, t *types.Type) {
		if a.isRegister(loc, r) {
			out = append(out, leaf(s, v, t, 0, 0))
			return
		}
		bits := uint64(0)
		for i := range loc.Pieces {
			p := &loc.Pieces[i]
			if p.BitOffset == 0 && (bits|p.BitSize)%8 == 0 && a.isRegister(&p.Loc, r) {
				out = append(out, leaf(s, v, t, bits/8, p.BitSize/8))
				return
			}
			bits += p.BitSize
		}
	})
	return out
}

// Momentary implements where.Frame.
func (f *frameWhere) Momentary(pc arch.Address, r arch.Reg) []where.Held {
	var out []where.Held
	a := (*Activation)(f)
	a.eachIn(pc, func(s *Scope, v *LocalVar) {
		at := &v.attrs
		if v.rec != nil || at.locIn == nil || !s.Inlined {
			return
		}
		all, err := at.locIn.Momentary(&at.loc, a.e.pc, a.e.frame())
		if err != nil {
			return
		}
		for _, expr := range all {
			if loc, err := a.e.location(at.locIn, expr); err == nil && a.isRegister(&loc, r) {
				out = append(out, held(s, v, "", a.r.types.Of(at.typ)))
				return
			}
		}
	})
	return out
}

// InMemory implements where.Frame.
func (f *frameWhere) InMemory(pc, addr arch.Address, size int) []where.Held {
	var out []where.Held
	a := (*Activation)(f)
	a.each(pc, func(s *Scope, v *LocalVar, loc *op.Location, t *types.Type) {
		at := loc.Addr
		if loc.Kind != op.Memory {
			return
		}
		whole, _ := a.sizeOf(t)
		if addr-at >= whole { // also before at
			return
		}
		if h := leaf(s, v, t, addr-at, uint64(size)); h.Type != nil {
			out = append(out, h)
		}
	})
	return out
}

// Pointers implements where.Frame.
func (f *frameWhere) Pointers(pc arch.Address) []where.Held {
	var out []where.Held
	(*Activation)(f).each(pc, func(s *Scope, v *LocalVar, _ *op.Location, t *types.Type) {
		if p := t.Strip(); p.Pointer() || p.Reference() {
			out = append(out, held(s, v, "", t))
		}
	})
	return out
}

// Object implements where.Frame.
func (f *frameWhere) Object(pc, addr arch.Address) (h where.Held, low, high arch.Address, ok bool) {
	a := (*Activation)(f)
	a.each(pc, func(s *Scope, v *LocalVar, loc *op.Location, t *types.Type) {
		at := loc.Addr
		if ok || loc.Kind != op.Memory {
			return
		}
		if whole, _ := a.sizeOf(t); addr-at < whole {
			h, low, high, ok = held(s, v, "", t), at, at+whole, true
		}
	})
	return h, low, high, ok
}

// each visits the variables that are in scope at an address of the function. The location is
// valid until the next evaluation.
func (a *Activation) each(pc arch.Address, do func(*Scope, *LocalVar, *op.Location, *types.Type)) {
	a.eachIn(pc, func(s *Scope, v *LocalVar) {
		loc, _ := a.locate(v)
		do(s, v, &loc, a.r.types.Of(v.attrs.typ))
	})
}

// eachIn visits the variables that are in scope at an address of the function, for which locations are evaluated.
func (a *Activation) eachIn(pc arch.Address, do func(*Scope, *LocalVar)) {
	was := a.e.pc
	defer func() {
		a.e.pc, a.e.based = was, false
	}()
	a.e.pc, a.e.based = pc-a.bias, false
	for _, s := range a.LiveScopes(pc) {
		for _, list := range [...][]*LocalVar{s.Params, s.Locals} {
			for _, v := range list {
				if a.declared(v) {
					do(s, v)
				}
			}
		}
	}
}

func (a *Activation) isRegister(loc *op.Location, r arch.Reg) bool {
	if loc.Kind != op.Register {
		return false
	}
	reg, _ := a.r.arch.FromDWARF(loc.Reg)
	return reg == r
}

// leaf returns the part of a variable at an offset and of a size in bytes, as types.Type.Part
// finds it. Its Type is nil if there is no such part.
func leaf(s *Scope, v *LocalVar, t *types.Type, off, size uint64) where.Held {
	path, part, ok := t.Part(off, size)
	if !ok {
		return held(s, v, "", nil)
	}
	h := held(s, v, path, part)
	h.Whole = t
	return h
}

func held(s *Scope, v *LocalVar, path string, t *types.Type) where.Held {
	name := v.Name
	if v.onHeap { // the place has its address
		name = "&" + name
	}
	return where.Held{Variable: name, Param: v.Param, Artificial: v.Artificial, Function: s.Function, Path: path, Type: t, Of: v}
}

// Number implements where.Frame.
func (f *frameWhere) Number(h *where.Held) (uint64, bool) {
	of, ok := h.Of.(*LocalVar)
	if !ok {
		return 0, false
	}
	if of.onHeap {
		o, err := (*Activation)(f).object(of)
		return o.Addr, err == nil && o.Mem
	}
	v := (*Activation)(f).Read(of, Options{Raw: true}) // not what it points to
	text, _, _ := strings.Cut(v.Text(), " ")
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(text, "@"), ":"), 0, 64) // a reference is @0x1000: what is there
	return n, v.Err() == nil && err == nil
}

// Convention implements where.Frame.
func (f *frameWhere) Convention() where.Convention {
	switch {
	case f.rec != nil || f.fn.Unit == nil || f.fn.Unit.Language != dwarf.LangGo:
		return where.ConventionC
	case producedWith(f.fn.Unit, "regabi"):
		return where.ConventionGoInternal
	}
	return where.ConventionGoStack
}

// ReturnsNothing implements where.Process.
func (r *readerWhere) ReturnsNothing(addr arch.Address) bool {
	fn, err := (*Reader)(r).functionAt(addr)
	if err != nil || fn.rec != nil || fn.fn.Unit.Language == dwarf.LangGo { // Go's results are parameters
		return false
	}
	return !gather(fn.fn.DIE).typ.Valid()
}

// maxParams limits the parameters that Signature lists.
const maxParams = 256

// Signature implements where.Process. The parameters are those of the declaration, as a definition lacks some that are
// optimised out.
func (r *readerWhere) Signature(addr arch.Address) (result *types.Type, params []*types.Type) {
	fn, err := (*Reader)(r).functionAt(addr)
	if err != nil || fn.rec != nil {
		return nil, nil
	}
	a := gather(fn.fn.DIE)
	if a.typ.Valid() {
		result = r.types.Of(a.typ)
	}
	var e dwarf.Entry
	cur := a.origin.Unit.Cursor(a.origin.Off)
	cur.Next(&e)
	for cur.Level() > 0 && len(params) < maxParams && cur.Next(&e) {
		if e.Tag == dwarf.TagFormalParameter {
			params = append(params, r.types.Of(gather(dwarf.DIE{Unit: a.origin.Unit, Off: e.Off}).typ))
		}
		cur.SkipChildren()
	}
	return result, params
}

// maxGlobals is the largest number of entries searched for a global variable.
const maxGlobals = 1 << 12

// Global implements where.Frame.
func (f *frameWhere) Global(addr arch.Address) (name string, t *types.Type, off uint64) {
	a := (*Activation)(f)
	if a.fn.Unit != nil {
		if name, t, off = a.globalIn(a.fn.Unit, addr-a.bias); name != "" {
			return name, t, off
		}
	}
	return f.r.mem.SymbolText(addr), nil, 0
}

// globals are the variables with fixed addresses of a unit's namespaces, in the order of their entries. They are
// read as far as a look-up needs, once: each goroutine may wait for another variable of the same unit.
type globals struct {
	mu    sync.Mutex // held while the variables are read on, which takes the locks of the debug information and of files, never another of these
	begun bool
	rest  dwarf.Cursor // what has not been read
	read  int          // entries, up to maxGlobals
	found []global
}

type global struct {
	low, size uint64 // in the file
	name      string
	typ       *types.Type
}

func (a *Activation) globalIn(u *dwarf.Unit, at uint64) (string, *types.Type, uint64) {
	known, ok := a.r.globals.Load(u)
	if !ok {
		known, _ = a.r.globals.LoadOrStore(u, new(globals))
	}
	k := known.(*globals)
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.found {
		if g := &k.found[i]; at-g.low < g.size {
			return g.name, g.typ, at - g.low
		}
	}
	if !k.begun {
		var root dwarf.Entry
		k.begun, k.rest = true, u.Cursor(u.Root())
		k.rest.Next(&root)
	}
	for g, ok := k.next(a.r.types, u); ok; g, ok = k.next(a.r.types, u) {
		if at-g.low < g.size {
			return g.name, g.typ, at - g.low
		}
	}
	return "", nil, 0
}

// next reads on up to the next variable. The caller holds the lock.
func (k *globals) next(set *types.Set, u *dwarf.Unit) (global, bool) {
	var e dwarf.Entry
	for ; k.read < maxGlobals; k.read++ {
		if !k.rest.Next(&e) {
			k.read = maxGlobals
			break
		}
		if e.Tag == dwarf.TagNamespace {
			continue // its variables come next
		}
		var g global
		if e.Tag == dwarf.TagVariable {
			v := gather(dwarf.DIE{Unit: u, Off: e.Off})
			if base, ok := plainAddress(u, &v); ok && v.nameIn != nil {
				g.typ = set.Of(v.typ)
				g.low, g.size, g.name = base, g.typ.Whole(), v.nameIn.Text(&v.name)
			}
		}
		k.rest.SkipChildren()
		if g.size > 0 {
			k.read++
			k.found = append(k.found, g)
			return g, true
		}
	}
	return global{}, false
}

// maxAllGlobals is how many bytes of units are searched for the variables of one library.
const maxAllGlobals = 256 << 20

// Globals implements where.Process.
func (r *readerWhere) Globals(lib *libstate.Library, yield func(where.Global) bool) {
	im := (*Reader)(r).localFile(lib)
	if !im.HasDWARF() {
		return
	}
	d, left := im.DWARF(), uint64(maxAllGlobals)
	bias := im.Bias(lib.LoadBias)
	d.Units(func(u *dwarf.Unit) bool {
		if u.End-u.Off > left {
			return false
		}
		left -= u.End - u.Off
		var root dwarf.Entry
		k := &globals{begun: true, rest: u.Cursor(u.Root())}
		k.rest.Next(&root)
		for g, ok := k.next(r.types, u); ok; g, ok = k.next(r.types, u) {
			if !yield(where.Global{Name: g.name, Low: g.low + bias, Size: g.size, Type: g.typ}) {
				return false
			}
		}
		return true
	})
}

// TypeNamed implements where.Process.
func (r *readerWhere) TypeNamed(name string) (*types.Type, bool) {
	return r.types.Lookup(nil, name, uint64(r.proc.Arch().WordSize))
}

// TypeOfUnit implements where.Process.
func (r *readerWhere) TypeOfUnit(code arch.Address, name string) (*types.Type, bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return nil, false
	}
	lib, ok := libs.LibraryAt(code)
	if !ok {
		return nil, false
	}
	im := (*Reader)(r).localFile(lib)
	if !im.HasDWARF() {
		return nil, false
	}
	u, err := im.DWARF().UnitForPC(code - im.Bias(lib.LoadBias))
	if err != nil {
		return nil, false
	}
	d, ok := types.NamedIn(u, name)
	return r.types.At(d), ok
}

// GoType implements where.Process.
func (r *readerWhere) GoType(lib *libstate.Library, like *types.Type, descriptor arch.Address) (*types.Type, bool) {
	im := (*Reader)(r).localFile(lib)
	s, ok := im.SymbolByName("runtime.types")
	if start := s.Value + im.Bias(lib.LoadBias); ok && s.Value != 0 && descriptor > start && like.Ref.DB == nil && like.Ref.Unit != nil {
		if d, ok := r.types.Described(like.Ref.Unit, descriptor-start); ok {
			return r.types.At(d), true
		}
	}
	return nil, false
}

// plainAddress returns the address in the file of a variable with a fixed address.
func plainAddress(u *dwarf.Unit, v *varAttrs) (uint64, bool) {
	b := v.loc.B
	if len(b) == 0 {
		return 0, false
	}
	switch op.Op(b[0]) {
	case op.Addr:
		if len(b) != 1+int(v.locIn.AddrSize) {
			return 0, false
		}
		return types.Uint(b[1:], v.locIn.Data.Big()), true
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

// Bounds implements where.Process.
func (r *readerWhere) Bounds(addr arch.Address) (low, high arch.Address, ok bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return 0, 0, false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return 0, 0, false
	}
	im := (*Reader)(r).file(lib)
	bias := im.Bias(lib.LoadBias)
	t := im.EHFrame()
	if t == nil {
		return 0, 0, false
	}
	low, high, ok = t.FDEForPC(addr - bias)
	return low + bias, high + bias, ok
}
