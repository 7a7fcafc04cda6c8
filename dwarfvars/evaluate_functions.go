package dwarfvars

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Functions as values, and the variables that they have once for all calls.

// function returns the function with a name, as the source writes it, with its type; false if debugging information
// describes none.
func (e *evaluation) function(n *paths.Ident) (Object, bool, error) {
	name := strings.TrimPrefix(n.Name, "::")
	atSymbol := func() (Object, bool) {
		addr, ok := e.symbol(name)
		if !ok {
			return Object{}, false
		}
		return e.functionAt(addr)
	}
	c := e.a.fn.Unit == nil || types.IsC(e.a.fn.Unit.Language)
	if c {
		if t, ok := atSymbol(); ok {
			return t, true, nil
		}
	}
	found, err := e.functionNamed(name)
	if err != nil {
		return Object{}, false, err
	}
	if found != nil {
		if t, ok := e.functionAt(found.fn.Entry + found.bias); ok {
			return t, true, nil
		}
	}
	t, ok := Object{}, false
	if !c {
		t, ok = atSymbol()
	}
	return t, ok, nil
}

// functionAt returns the function that begins at an address.
func (e *evaluation) functionAt(addr arch.Address) (Object, bool) {
	fn, err := e.a.r.functionAt(addr)
	if err != nil || fn.fn.Unit == nil || fn.fn.Entry+fn.bias != addr {
		return Object{}, false
	}
	if fn.Library != e.a.Library {
		e.other = fn.Library
	}
	ob := values.Object{Type: e.typeOf(fn.fn.DIE), Mem: true, Addr: addr}
	return Object{in: e.in, ob: ob, at: true}, true
}

// typeOf returns the type of the function with an entry. The entry of code of an inlined function refers to the one that
// has the types of its parameters.
func (e *evaluation) typeOf(d dwarf.DIE) *types.Type {
	result := gather(d).typ
	for range maxOrigins {
		v := d.Unit.Value(d.Off, dwarf.AttrAbstractOrigin)
		to, err := d.Unit.Ref(&v)
		if err != nil || !to.Valid() {
			break
		}
		d = to
	}
	return e.a.r.types.Function(d, result)
}

// maxOverloads is how many functions of one name are looked at.
const maxOverloads = 64

// functionNamed finds the function with a name, with the scopes around it, f(int) if several have the name. It returns nil if there is none.
func (e *evaluation) functionNamed(name string) (*Function, error) {
	name, params := cutParameters(name)
	file := ""
	if module, rest, ok := strings.Cut(name, "::"); ok && strings.Contains(module, ".") {
		file, name = module, rest
	}
	own := e.a.fn.Unit
	if own == nil || name == "" {
		return nil, nil
	}
	names := e.scoped(name)
	if pkg, _, ok := strings.Cut(e.a.Name, "."); ok && own.Language == dwarf.LangGo && !strings.Contains(name, ".") {
		names = append(names, pkg+"."+name)
	}
	if types.IsCXX(own.Language) {
		var list []string
		for _, n := range names {
			list = append(append(list, spellings(n)...), n)
		}
		names = list
	}
	f := funcSearch{names: names, last: lastPart(name)}
	if own.Language == dwarf.LangGo {
		f.last = name
	}
	if file == "" || compiledFrom(own, file) {
		f.in(own)
	}
	for i, last := range [...]string{f.last, inFull(f.last)} {
		if len(f.found) > 0 || i > 0 && last == f.last {
			break
		}
		e.everywhere(&dwarf.NameQuery{Name: last, Fits: func(t dwarf.Tag) bool { return t == dwarf.TagSubprogram }}, func(u *dwarf.Unit) bool {
			if u != own && sameLanguage(u.Language, own.Language) && (file == "" || compiledFrom(u, file)) {
				f.in(u)
			}
			return len(f.found) > 0
		})
	}
	return e.oneOf(f.best(), name, params)
}

// cutParameters splits f(int) into the name and what is in the parentheses, "()" at least.
func cutParameters(name string) (bare, params string) {
	if !strings.HasSuffix(name, ")") {
		return name, ""
	}
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return name[:i], strings.ReplaceAll(name[i:], " ", "")
			}
		}
	}
	return name, ""
}

// oneOf returns the function among several that has the parameters; an error if there are others.
func (e *evaluation) oneOf(list []dwarf.DIE, name, params string) (*Function, error) {
	var found *Function
	var written []string
	for _, d := range list {
		fn := e.functionOf(d)
		if fn == nil || found != nil && fn.fn.Entry == found.fn.Entry && fn.Library == found.Library {
			continue
		}
		_, own, _ := strings.Cut(e.typeOf(d).Name(), "(")
		if own = "(" + own; isMethod(d) { // without this
			if _, rest, more := strings.Cut(own, ", "); more {
				own = "(" + rest
			} else {
				own = "(void)"
			}
		}
		if plain := strings.ReplaceAll(own, " ", ""); params != "" && plain != params && !(plain == "(void)" && params == "()") {
			continue
		}
		if found == nil {
			found = fn
		}
		written = append(written, "'"+name+own+"'")
	}
	if len(written) > 1 {
		return nil, fmt.Errorf("%d functions are called %s: write one of %s", len(written), name, strings.Join(written[:min(len(written), 4)], ", "))
	}
	return found, nil
}

// isMethod reports whether the first parameter of a function is this.
func isMethod(d dwarf.DIE) bool {
	for o := range origins(d) {
		if v := o.Unit.Value(o.Off, dwarf.AttrObjectPointer); v.Present() {
			return true
		}
	}
	return false
}

// origins are an entry and those that it is an instance or the definition of, from one to the next.
func origins(d dwarf.DIE) iter.Seq[dwarf.DIE] {
	return func(yield func(dwarf.DIE) bool) {
		for range maxOrigins {
			if !d.Valid() || !yield(d) {
				return
			}
			next := dwarf.DIE{}
			for _, attr := range [...]dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
				v := d.Unit.Value(d.Off, attr)
				if to, err := d.Unit.Ref(&v); err == nil && to.Valid() {
					next = to
				}
			}
			d = next
		}
	}
}

// functionOf returns the function with an entry that has code; nil if it has none.
func (e *evaluation) functionOf(d dwarf.DIE) *Function {
	low := d.Unit.Value(d.Off, dwarf.AttrLowPC)
	at, ok := d.Unit.Address(&low)
	if !ok {
		return nil
	}
	for _, lib := range e.libraries() {
		im := e.a.r.file(lib)
		if !im.HasDWARF() || im.DWARF() != d.Unit.Data {
			continue
		}
		return e.described(lib, at+im.Bias(lib.LoadBias))
	}
	return nil
}

func (e *evaluation) described(lib *libstate.Library, addr arch.Address) *Function {
	fn, err := e.a.r.functionAt(addr)
	if err != nil || fn.Library != lib || fn.fn.Unit == nil {
		return nil
	}
	return fn
}

// A funcSearch looks for functions with code that a name may mean.
type funcSearch struct {
	names []string // the whole names, the best first
	last  string
	found []dwarf.DIE
	ranks []int // of found: the place in names, or their number for those that end in the last, which has a scope
}

// in looks through the functions of a unit, which are outside others.
func (f *funcSearch) in(u *dwarf.Unit) {
	var e dwarf.Entry
	var v dwarf.Value
	c := u.Cursor(u.Root())
	for c.Next(&e) && c.Level() > 0 && len(f.found) < maxOverloads {
		switch e.Tag {
		case 0, dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagNamespace, dwarf.TagModule:
			continue
		case dwarf.TagStructureType: // Rust has functions in types
			if u.Language == dwarf.LangRust {
				continue
			}
		case dwarf.TagSubprogram:
			if c.Find(dwarf.AttrLowPC, &v) {
				f.try(u, &c, e.Off)
			}
		}
		c.SkipChildren()
	}
}

func (f *funcSearch) try(u *dwarf.Unit, c *dwarf.Cursor, off uint64) {
	var v dwarf.Value
	d := dwarf.DIE{Unit: u, Off: off}
	var own []byte
	if c.Find(dwarf.AttrName, &v) {
		own, _ = u.Bytes(&v)
	} else if a := gather(d); a.nameIn != nil { // what is declared elsewhere has its name there
		own, _ = a.nameIn.Bytes(&a.name)
	}
	name, _, _ := strings.Cut(string(own), "<")
	last, _, instance := strings.Cut(f.last, "<")
	if string(own) != f.last && name != f.last && !(instance && name == last) { // to find the scopes around takes longest
		return
	}
	full := fullName(d)
	for rank, want := range f.names {
		if full == want {
			f.found, f.ranks = append(f.found, d), append(f.ranks, rank)
			return
		}
	}
	if own := f.names[len(f.names)-1]; outer(own) != "" && strings.HasSuffix(full, "::"+own) {
		f.found, f.ranks = append(f.found, d), append(f.ranks, len(f.names))
	}
}

// best returns the functions that fit best.
func (f *funcSearch) best() (list []dwarf.DIE) {
	least := len(f.names) + 1
	for _, r := range f.ranks {
		least = min(least, r)
	}
	for i, d := range f.found {
		if f.ranks[i] == least {
			list = append(list, d)
		}
	}
	return list
}

// ofFunction returns a variable of a function that is not one of a call: static in C.
func (e *evaluation) ofFunction(function, name string) (Object, error) {
	fn := (*Function)(nil)
	if addr, ok := e.symbol(function); ok {
		fn, _ = e.a.r.functionAt(addr)
	}
	if fn == nil || fn.fn.Unit == nil {
		var err error
		if fn, err = e.functionNamed(function); err != nil {
			return Object{}, err
		}
	}
	if fn == nil || fn.fn.Unit == nil {
		return Object{}, errNoVariable
	}
	var found *LocalVar
	for _, s := range fn.Scopes() {
		if s.Inlined {
			continue
		}
		for _, v := range s.Locals {
			if v.Name != name {
				continue
			}
			if _, fixed := plainAddress(v.die.Unit, &v.attrs); !fixed && v.attrs.cstIn == nil {
				continue
			}
			if found != nil {
				return Object{}, fmt.Errorf("%s has several variables %s", function, name)
			}
			found = v
		}
	}
	if found == nil {
		if lastPart(fn.Name) == lastPart(e.a.Name) {
			return Object{}, errNoVariable
		}
		return Object{}, notOfFunction(fn, name)
	}
	if fn.Library != e.a.Library {
		e.other = fn.Library
	}
	return e.programVariable(fn, found.die)
}

// notOfFunction says that a variable is one of calls alone.
func notOfFunction(fn *Function, name string) error {
	for _, s := range fn.Scopes() {
		for _, list := range [...][]*LocalVar{s.Params, s.Locals} {
			for _, v := range list {
				if v.Name == name {
					return errors.New(name + " is a variable of calls of " + fn.Name + ": look at it in a frame of one")
				}
			}
		}
	}
	return errNoVariable
}

// methodOf returns a function of the class that an object or what a pointer points to is of, or of its bases, by the static type.
func (e *evaluation) methodOf(ob *values.Object, name string) (Object, bool) {
	t := e.referred(ob).Type.Strip()
	if t.Pointer() {
		t = t.Target().Strip()
	}
	list := []*types.Type{t}
	for i := 0; i < len(list) && i < maxOuter*maxOuter; i++ {
		t := list[i].Defined()
		if !t.Aggregate() || t.FullName() == "" {
			continue
		}
		if f, ok, err := e.function(&paths.Ident{Name: t.FullName() + "::" + name}); ok && err == nil {
			return f, true
		}
		for k := range t.Members().Fields {
			if f := &t.Members().Fields[k]; f.Base {
				list = append(list, e.a.r.types.OfField(f).Strip())
			}
		}
	}
	return Object{}, false
}
