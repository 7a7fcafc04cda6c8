package dwarfvars

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Enumerators as values.

// enumerator returns the value that the name of an enumerator has, of the enumeration's type: GREEN, app::Mode::Busy; false if none is called
// so. It looks in the frame's function, its unit, the rest of its file and the other libraries, in each first for the whole name,
// then for one that ends in it, if it has a scope.
func (e *evaluation) enumerator(name string) (Object, bool, error) {
	name = strings.TrimPrefix(name, "::")
	if scope := outer(name); scope != "" {
		if t, ok := e.lookup(scope); ok {
			switch s := t.Strip(); {
			case s.Tag == dwarf.TagEnumerationType:
				return e.enumeratorOf(t, lastPart(name))
			case !s.Aggregate() || s.FullName() == "" || !types.IsCXX(s.Language):
				return Object{}, false, nil
			}
		}
	}
	own := e.a.fn.Unit
	if own == nil {
		return Object{}, false, nil
	}
	wanted := append(e.inherited(name), e.scoped(name)...)
	f := enumSearch{set: e.a.r.types, names: wanted, last: lastPart(name)}
	if e.a.fn.Valid() {
		f.in(own, e.a.fn.DIE.Off, true)
	}
	if !f.any() {
		f.in(own, own.Root(), false)
	}
	if !f.any() {
		e.everywhere(&dwarf.NameQuery{Name: f.last, Fits: func(t dwarf.Tag) bool { return t == dwarf.TagEnumerator }}, func(u *dwarf.Unit) bool {
			if u != own && sameLanguage(u.Language, own.Language) {
				f.in(u, u.Root(), false)
			}
			return f.any()
		})
	}
	return f.chosen(e, name)
}

// inherited are the names that a name means in the base classes of the class whose method the function is.
func (e *evaluation) inherited(name string) (list []string) {
	if class, ok := e.classNamed(outer(fullName(e.a.fn.DIE))); ok && outer(name) == "" {
		e.lineage(class, func(t *types.Type) bool {
			list = append(list, t.FullName()+"::"+name)
			return false
		})
	}
	return list
}

func (e *evaluation) enumeratorOf(t *types.Type, name string) (Object, bool, error) {
	s := t.Strip()
	if s.Declared {
		if full, ok := e.a.r.types.Complete(s); ok {
			s = full
		}
	}
	for _, v := range s.Members().Enums {
		if v.Name == name {
			ob, err := e.word(t, v.Val)
			return ob, true, err
		}
	}
	return Object{}, false, fmt.Errorf("%s has no enumerator %s", t.Name(), name)
}

// sameLanguage reports whether names of one language mean something in the other.
func sameLanguage(a, b dwarf.Language) bool {
	c := func(l dwarf.Language) bool { return types.IsC(l) || types.IsCXX(l) }
	return a == b || c(a) && c(b)
}

// maxSearched is how many bytes of debugging information are searched for enumerators and functions in one evaluation.
const maxSearched = 2 * maxNamedSearch

// everywhere looks through the units of the frame's file, then of the other libraries, until visit returns true. q is what
// the files' indexes are asked.
func (e *evaluation) everywhere(q *dwarf.NameQuery, visit func(*dwarf.Unit) bool) {
	done := false
	for i, lib := range e.libraries() {
		if i > 0 && lib == e.a.Library {
			continue
		}
		im := e.a.r.file(lib)
		if !im.HasDWARF() {
			continue
		}
		d := im.DWARF()
		if d == nil {
			continue
		}
		search := d.Listing(q).Search(func(u *dwarf.Unit) (found, end bool) {
			done = visit(u)
			return done, done
		}, nil)
		d.Units(func(u *dwarf.Unit) bool {
			if u.End-u.Off > e.left {
				return false
			}
			e.left -= u.End - u.Off
			return !search.Try(u)
		})
		if done {
			return
		}
	}
}

// An enumSearch looks for the enumerators that a name may mean.
type enumSearch struct {
	set   *types.Set
	names []string // the whole names, the best first
	last  string   // the enumerator's own name
	exact []foundEnum
	ends  []foundEnum // whose names end in the one that was written, which has a scope
}

type foundEnum struct {
	t    *types.Type
	val  uint64
	name string
	rank int
}

func (f *enumSearch) any() bool { return len(f.exact) > 0 || len(f.ends) > 0 }

// maxFoundEnums is how many enumerators of a name are looked at in one place.
const maxFoundEnums = 64

// in looks through what is inside an entry. all says to look into all blocks of a function, too.
func (f *enumSearch) in(u *dwarf.Unit, off uint64, all bool) {
	var e dwarf.Entry
	var v dwarf.Value
	var of dwarf.DIE
	c := u.Cursor(off)
	if !c.Next(&e) {
		return
	}
	for c.Level() > 0 && c.Next(&e) && len(f.exact)+len(f.ends) < maxFoundEnums {
		switch e.Tag {
		case dwarf.TagEnumerationType:
			of = dwarf.DIE{Unit: u, Off: e.Off}
			continue
		case dwarf.TagEnumerator:
			if of.Valid() && c.Find(dwarf.AttrName, &v) {
				if own, _ := u.Bytes(&v); string(own) == f.last || strings.HasSuffix(string(own), "__"+f.last) {
					f.found(of, string(own), all)
				}
			}
		case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType:
			continue
		case dwarf.TagLexicalBlock:
			if all {
				continue
			}
		case dwarf.TagSubprogram: // Ada has functions in others, which share their types
			if types.Ada(u.Language) {
				continue
			}
		}
		c.SkipChildren()
	}
}

func (f *enumSearch) found(of dwarf.DIE, own string, local bool) {
	t := f.set.At(of)
	var val uint64
	for _, v := range t.Members().Enums {
		if v.Name == own {
			val = v.Val
			break
		}
	}
	scope := ""
	if scopes, _, ok := of.Scopes(); ok && !types.Ada(of.Unit.Language) && !types.IsC(of.Unit.Language) && !local {
		scope = strings.Join(scopes, "::") + "::"
	}
	full := []string{scope + own, scope + t.BareName + "::" + own}
	if t.EnumClass {
		full = full[1:]
	}
	for _, is := range full {
		is = strings.TrimPrefix(is, "::")
		for rank, want := range f.names {
			if is == want {
				f.exact = append(f.exact, foundEnum{t, val, is, rank})
				return
			}
		}
		if want := f.names[len(f.names)-1]; strings.HasSuffix(is, "::"+want) && outer(want) != "" || types.Ada(of.Unit.Language) && strings.HasSuffix(is, "__"+want) {
			f.ends = append(f.ends, foundEnum{t, val, is, len(f.names)})
			return
		}
	}
}

// chosen returns the enumerator that was found; an error if the name means several.
func (f *enumSearch) chosen(e *evaluation, name string) (Object, bool, error) {
	list := f.exact
	if len(list) == 0 {
		list = f.ends
	}
	if len(list) == 0 {
		return Object{}, false, nil
	}
	best := list[0]
	for _, c := range list {
		if c.rank < best.rank {
			best = c
		}
	}
	for _, c := range list {
		if c.rank == best.rank && (c.val != best.val || c.name != best.name) {
			return Object{}, false, fmt.Errorf("%s means several enumerators: %s = %d, %s = %d", name, best.name, int64(best.val), c.name, int64(c.val))
		}
	}
	ob, err := e.word(best.t, best.val)
	return ob, true, err
}
