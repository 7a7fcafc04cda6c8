package dwarfvars

import (
	"slices"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// recordFunction returns the function at an address from the library's PDB; nil if there is none.
// Addresses of a PDB count from the start of the library.
func (r *Reader) recordFunction(lib *libstate.Library, im *image.Image, addr arch.Address) *Function {
	file := im.PDB()
	if file == nil || addr-lib.Start >= 1<<32 {
		return nil
	}
	start, ok := file.FuncStart(uint32(addr - lib.Start))
	if !ok {
		return nil
	}
	key := funcKey{lib, dwarf.DIE{Off: uint64(start)}}
	if v, ok := r.funcs.Load(key); ok {
		return v.(*Function)
	}
	rec, ok, _ := file.FuncAt(uint32(addr - lib.Start))
	if !ok {
		return nil
	}
	f := &Function{
		Name: rec.Name, LinkageName: rec.Linkage, Library: lib,
		Low: lib.Start + uint64(rec.Range.Low), High: lib.Start + uint64(rec.Range.High),
		r: r, im: im, bias: lib.Start,
		rec: rec, db: r.types.Database(file, recordLanguage(rec.Language)),
	}
	f.unpaid.Store(int64(rec.Cost))
	v, _ := r.funcs.LoadOrStore(key, f)
	return v.(*Function)
}

// recordLanguage returns DWARF's number of a language.
func recordLanguage(l pdb.Language) dwarf.Language {
	switch l {
	case pdb.LangC:
		return dwarf.LangC
	case pdb.LangRust:
		return dwarf.LangRust
	case pdb.LangMASM:
		return dwarf.LangAssembly
	}
	return dwarf.LangCPlusPlus
}

// A recordCollector is a collector for a function that a PDB describes.
type recordCollector struct {
	f          *Function
	pc         uint64
	everything bool

	scopes []*Scope // outermost first
}

func (c *recordCollector) run() []*Scope {
	s := &Scope{Function: c.f.Name, block: &block{}}
	c.scopes = append(c.scopes, s)
	c.scope(c.f.rec.Scope, s, s.block)
	for _, s := range c.scopes {
		s.innermostFirst()
	}
	return c.scopes
}

// enumerator reports whether a record is not of a variable but of an enumerator, of a type
// declared in the function.
func (c *recordCollector) enumerator(v *pdb.Var) bool {
	if len(v.Places) != 1 || v.Places[0].Kind != pdb.IsConstant {
		return false
	}
	t := c.f.r.types.Of(c.f.db.Type(v.Type))
	if t.Tag != dwarf.TagEnumerationType {
		return false
	}
	for _, e := range t.Members().Enums {
		if e.Name == v.Name && e.Val == v.Places[0].Value {
			return true
		}
	}
	return false
}

func (c *recordCollector) scope(rec *pdb.Scope, s *Scope, b *block) {
	for i := range rec.Vars {
		v := &rec.Vars[i]
		if c.enumerator(v) {
			continue
		}
		l := &LocalVar{
			Name: v.Name, Param: v.Param, Artificial: v.Generated || v.Name == "this",
			fn: c.f, block: b, rec: v,
		}
		l.attrs.typ = c.f.db.Type(v.Type)
		if v.Param {
			s.Params = append(s.Params, l)
		} else {
			s.Locals = append(s.Locals, l)
		}
	}
	inlined := false
	for _, in := range rec.Inner {
		if !c.everything && (!slices.ContainsFunc(in.Ranges, func(r pdb.Range) bool { return c.pc >= uint64(r.Low) && c.pc < uint64(r.High) }) || in.Inlined && (inlined || len(c.scopes) >= maxLiveDepth)) {
			continue
		}
		ranges := make([]dwarf.Range, 0, len(in.Ranges))
		for _, r := range in.Ranges {
			ranges = append(ranges, dwarf.Range{Low: uint64(r.Low), High: uint64(r.High)})
		}
		inner := &block{parent: b, ranges: ranges}
		if !in.Inlined {
			c.scope(in, s, inner)
			continue
		}
		if len(c.scopes) >= maxScopes {
			return
		}
		inlined = true
		call := &Scope{Function: in.Name, Inlined: true, block: inner}
		c.scopes = append(c.scopes, call)
		c.scope(in, call, inner)
	}
}
