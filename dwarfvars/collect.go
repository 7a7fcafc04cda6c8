package dwarfvars

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Limits on the scopes of one function.
const (
	maxVars      = 1 << 14
	maxScopes    = 1 << 12
	maxNesting   = 256
	maxEntries   = 1 << 20 // entries looked at
	maxRanges    = 1 << 18 // of blocks; malicious ones may all share one long list
	maxLiveDepth = 64      // inlined calls at one address
)

// A collector walks the entries of a function and collects its variables: all of them, or those
// in the blocks around an address.
type collector struct {
	f          *Function
	pc         uint64
	everything bool

	scopes  []*Scope // outermost first
	vars    int
	entries int
	ranges  int
}

func (c *collector) run() []*Scope {
	var e dwarf.Entry
	d := c.f.fn.DIE
	cur := d.Unit.Cursor(d.Off)
	cur.Next(&e)
	s := &Scope{Function: c.f.Name, block: &block{}}
	s.origin = originOf(d)
	c.scopes = append(c.scopes, s)
	c.children(&cur, d.Unit, &e, s, s.block, s.origin, 0)
	for _, s := range c.scopes {
		s.finish()
	}
	return c.scopes
}

// finish sorts the variables of inner blocks to the front, and parameters by their declarations.
func (s *Scope) finish() {
	s.moved()
	s.innermostFirst()
	inOne := true // unit
	for _, p := range s.Params {
		inOne = inOne && p.attrs.origin.Unit == s.Params[0].attrs.origin.Unit
	}
	if inOne {
		slices.SortStableFunc(s.Params, func(a, b *LocalVar) int { return cmp.Compare(a.attrs.origin.Off, b.attrs.origin.Off) })
	}
}

// moved puts the parameters of a function of Go that are on the heap in the places of what they were copied from.
func (s *Scope) moved() {
	s.Locals = slices.DeleteFunc(s.Locals, func(v *LocalVar) bool {
		if !v.onHeap {
			return false
		}
		i := slices.IndexFunc(s.Params, func(p *LocalVar) bool { return p.Name == v.Name && p.block == v.block && !p.onHeap })
		if i < 0 {
			return false
		}
		v.Param, v.passed, v.Line, v.attrs.origin = true, s.Params[i], s.Params[i].Line, s.Params[i].attrs.origin
		s.Params[i] = v
		return true
	})
}

func (s *Scope) innermostFirst() {
	slices.SortStableFunc(s.Locals, func(a, b *LocalVar) int { return b.block.depth() - a.block.depth() })
}

func (b *block) depth() int {
	n := 0
	for ; b.parent != nil; b = b.parent {
		n++
	}
	return n
}

// children visits the children of entry e, which cur has just read, and then those that only its
// abstract instance has: variables of which nothing is left in the code.
func (c *collector) children(cur *dwarf.Cursor, u *dwarf.Unit, e *dwarf.Entry, s *Scope, b *block, origin dwarf.DIE, depth int) {
	var seen dieSet // abstract instances of the children
	floor, child := e.Depth, dwarf.Entry{}
	if depth > maxNesting {
		cur.SkipChildren()
	} else {
		inlined := false
		for cur.Level() > floor && cur.Next(&child) {
			if c.entries++; c.entries > maxEntries {
				return
			}
			first := c.child(cur, u, &child, s, b, depth, &inlined)
			if first.Valid() {
				seen.list = append(seen.list, first)
			}
		}
	}
	if origin.Valid() {
		c.inherit(origin, &seen, s, b, 0)
	}
}

// A dieSet is a set of entries, to which nothing is added after the first call of has.
type dieSet struct {
	list []dwarf.DIE
	of   map[dwarf.DIE]struct{} // of a list that is long
}

func (s *dieSet) has(d dwarf.DIE) bool {
	if len(s.list) <= 64 {
		return slices.Contains(s.list, d)
	}
	if s.of == nil {
		s.of = make(map[dwarf.DIE]struct{}, len(s.list))
		for _, d := range s.list {
			s.of[d] = struct{}{}
		}
	}
	_, ok := s.of[d]
	return ok
}

// child looks at one entry and returns its abstract instance.
func (c *collector) child(cur *dwarf.Cursor, u *dwarf.Unit, e *dwarf.Entry, s *Scope, b *block, depth int, inlined *bool) dwarf.DIE {
	switch e.Tag {
	case dwarf.TagFormalParameter, dwarf.TagVariable, dwarf.TagConstant:
		first := c.variable(dwarf.DIE{Unit: u, Off: e.Off}, e.Tag, s, b)
		cur.SkipChildren()
		return first
	case dwarf.TagGNUFormalParameterPack, dwarf.TagCommonBlock: // its parameters, or the variables of Fortran's COMMON, come next
	case dwarf.TagLexicalBlock, dwarf.TagTryBlock, dwarf.TagCatchBlock, dwarf.TagWithStmt:
		origin, ranges, has := c.readBlock(cur, u, e)
		if has && !c.everything && !contains(ranges, c.pc) {
			cur.SkipChildren()
			return origin
		}
		in := b
		if has {
			in = &block{parent: b, ranges: ranges}
		}
		c.children(cur, u, e, s, in, origin, depth+1)
		return origin
	case dwarf.TagInlinedSubroutine:
		origin, ranges, has := c.readBlock(cur, u, e)
		live := contains(ranges, c.pc) && !*inlined && len(c.scopes) < maxLiveDepth
		if c.everything {
			live = has && len(c.scopes) < maxScopes
		}
		if !live {
			cur.SkipChildren()
			return origin
		}
		*inlined = true
		in := &Scope{Function: origin.FuncInfo().Name, Inlined: true, block: &block{parent: b, ranges: ranges}, origin: origin}
		c.scopes = append(c.scopes, in)
		c.children(cur, u, e, in, in.block, origin, depth+1)
	default:
		cur.SkipChildren()
	}
	return dwarf.DIE{}
}

// written reports whether a programmer may have written the name of a variable that the
// compiler declared: gcc declares what a lambda captured and the parameters of a coroutine
// under their own names, and clang the object and the selector of a method of Objective-C. Names with two underscores are reserved. In Fortran a name begins with a letter: gfortran marks
// the descriptors of arguments, and gives a name of its own only to what it adds, such as the length of a string.
func written(name string, param bool, l dwarf.Language) bool {
	if types.Fortran(l) {
		return name[0] != '_' && !strings.ContainsAny(name, ".$ ")
	}
	if name == "self" || name == "_cmd" { // of a method of Objective-C
		return true
	}
	return !param && name != "this" && !strings.HasPrefix(name, "_Coro_") && !strings.Contains(name, "__") && !strings.ContainsAny(name, ".<$ ")
}

// added reports whether a name is one that a compiler makes up: GNAT writes those of the source in lower case alone, Free Pascal
// passes the frame of the call around and the bounds of open arrays, and has the result once more; Crystal numbers what it makes, and
// Nim has some names.
func added(name string, u *dwarf.Unit) bool {
	switch l := u.Language; {
	case types.IsCXX(l):
		return strings.HasPrefix(name, "__temp_")
	case types.IsC(l):
		return u.OfNim() && (name == "FR_" || strings.HasPrefix(name, "nimErr") || strings.HasPrefix(name, "colontmp") || strings.HasPrefix(name, "TM__") || nimTemporary(name))
	case types.Ada(l):
		return strings.ContainsAny(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	case l == dwarf.LangPascal83:
		return name[0] == '$'
	}
	return false
}

// nimTemporary reports whether a name is that of a value without one in Nim: T12_.
func nimTemporary(name string) bool {
	n, ok := strings.CutPrefix(strings.TrimSuffix(name, "_"), "T")
	return ok && n != "" && strings.Trim(n, "0123456789") == "" && strings.HasSuffix(name, "_")
}

// sourceName is the name that the source has. Nim's compiler writes o1_ for o1.
func sourceName(name string, u *dwarf.Unit) string {
	plain, ok := strings.CutSuffix(name, "_")
	if ok && plain != "" && '0' <= plain[len(plain)-1] && plain[len(plain)-1] <= '9' && types.IsC(u.Language) && u.OfNim() && !nimTemporary(name) {
		return plain
	}
	return name
}

// variable adds one variable and returns its abstract instance.
func (c *collector) variable(d dwarf.DIE, tag dwarf.Tag, s *Scope, b *block) dwarf.DIE {
	a := gather(d)
	if a.nameIn == nil || c.vars >= maxVars || a.declaration && a.locIn == nil && a.cstIn == nil {
		return a.first // without a name, or only declared here
	}
	name := a.nameIn.Text(&a.name)
	if name == "" {
		return a.first
	}
	c.vars++
	onHeap := len(name) > 1 && name[0] == '&' && a.nameIn.Language == dwarf.LangGo
	if onHeap {
		name = name[1:]
	}
	v := &LocalVar{
		Name: sourceName(name, a.nameIn), Param: tag == dwarf.TagFormalParameter, Artificial: a.artificial && !written(name, tag == dwarf.TagFormalParameter, a.nameIn.Language) || added(name, a.nameIn), Line: a.line,
		fn: c.f, block: b, die: d, attrs: a, inlined: s.Inlined, onHeap: onHeap,
	}
	if v.Param {
		s.Params = append(s.Params, v)
	} else {
		s.Locals = append(s.Locals, v)
	}
	return a.first
}

// inherit adds the variables of an abstract instance that have no concrete entry.
func (c *collector) inherit(origin dwarf.DIE, seen *dieSet, s *Scope, b *block, depth int) {
	var e dwarf.Entry
	cur := origin.Unit.Cursor(origin.Off)
	cur.Next(&e)
	if depth > maxOrigins {
		return
	}
	for cur.Level() > 0 && cur.Next(&e) {
		if c.entries++; c.entries > maxEntries {
			return
		}
		d := dwarf.DIE{Unit: origin.Unit, Off: e.Off}
		known := seen.has(d)
		switch e.Tag {
		case dwarf.TagFormalParameter, dwarf.TagVariable, dwarf.TagConstant:
			if !known {
				c.variable(d, e.Tag, s, b)
			}
		case dwarf.TagLexicalBlock, dwarf.TagGNUFormalParameterPack:
			// The variables of a block without code have no values.
			if !known {
				c.inherit(d, seen, s, b, depth+1)
			}
		}
		cur.SkipChildren()
	}
}

// readBlock reads the abstract instance and the addresses of the block that cur has just read.
// has is false if the block has no addresses of its own.
func (c *collector) readBlock(cur *dwarf.Cursor, u *dwarf.Unit, e *dwarf.Entry) (origin dwarf.DIE, ranges []dwarf.Range, has bool) {
	var v, low, high dwarf.Value
	list := false
	for cur.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrAbstractOrigin:
			origin, _ = u.Ref(&v)
		case dwarf.AttrLowPC:
			low = v
		case dwarf.AttrHighPC:
			high = v
		case dwarf.AttrRanges:
			list = true
		}
	}
	if !list && (!low.Present() || !high.Present()) {
		return origin, nil, false
	}
	left := maxRanges - c.ranges
	ranges = u.Ranges(e.Off, &left)
	c.ranges = maxRanges - max(left, 0)
	if ranges == nil {
		ranges = []dwarf.Range{}
	}
	return origin, ranges, true
}

func contains(ranges []dwarf.Range, pc uint64) bool {
	for _, r := range ranges {
		if r.Contains(pc) {
			return true
		}
	}
	return false
}

// originOf returns the abstract instance of a concrete entry.
func originOf(d dwarf.DIE) dwarf.DIE {
	v := d.Unit.Value(d.Off, dwarf.AttrAbstractOrigin)
	to, _ := d.Unit.Ref(&v)
	if to == d {
		return dwarf.DIE{}
	}
	return to
}
