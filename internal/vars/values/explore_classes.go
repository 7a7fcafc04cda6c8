package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Classes of C++, and where their base classes are in their objects.

// class returns the definition of a class of C++; false for other types.
func (x Explorer) class(t *types.Type) (*types.Type, bool) {
	s := t.Strip()
	if !s.Aggregate() || !types.IsCXX(s.Language) {
		return s, false
	}
	if s.Declared {
		if full, ok := x.P.Types.Complete(s); ok {
			s = full
		}
	}
	return s, true
}

// sameClass reports whether two types are one class.
func sameClass(a, b *types.Type) bool {
	return a == b || a.FullName() != "" && a.FullName() == b.FullName()
}

// Base returns the part of an object of a class that is an object of a base class, or the object itself if that is its
// class; false if it is none.
func (x Explorer) Base(o *Object, base *types.Type) (Object, bool) {
	want, ok := x.class(base)
	if !ok {
		return Object{}, false
	}
	left := types.MaxMembers
	return x.baseIn(x.builder(Options{}), o, want, &left, 0)
}

func (x Explorer) baseIn(b *builder, o *Object, want *types.Type, left *int, depth int) (Object, bool) {
	t, ok := x.class(o.Type)
	*left--
	if !ok || depth > maxSteps || *left < 0 {
		return Object{}, false
	}
	if sameClass(t, want) {
		return *o, true
	}
	for i := range t.Members().Fields {
		f := &t.Members().Fields[i]
		if !f.Base {
			continue
		}
		at, err := b.field(o, f)
		if err != nil {
			continue
		}
		if to, ok := x.baseIn(b, &at, want, left, depth+1); ok {
			return to, true
		}
	}
	return Object{}, false
}

// BaseOffset returns where objects of a base class are in those of a class, in bytes; false if it is none, or virtual.
func (x Explorer) BaseOffset(class, base *types.Type) (uint64, bool) {
	want, ok := x.class(base)
	if !ok {
		return 0, false
	}
	left := types.MaxMembers
	return x.offsetIn(class, want, &left, 0)
}

func (x Explorer) offsetIn(class, want *types.Type, left *int, depth int) (uint64, bool) {
	t, ok := x.class(class)
	*left--
	if !ok || depth > maxSteps || *left < 0 {
		return 0, false
	}
	if sameClass(t, want) {
		return 0, true
	}
	for i := range t.Members().Fields {
		f := &t.Members().Fields[i]
		if !f.Base || f.Virtual || f.Expr.Present() || f.Table != nil {
			continue
		}
		if off, ok := x.offsetIn(x.P.Types.OfField(f), want, left, depth+1); ok {
			return f.Off + off, true
		}
	}
	return 0, false
}

// Derives reports whether a class is derived from another, also virtually.
func (x Explorer) Derives(class, base *types.Type) bool {
	want, ok := x.class(base)
	if !ok {
		return false
	}
	left := types.MaxMembers
	return x.derives(class, want, &left, 0)
}

func (x Explorer) derives(class, want *types.Type, left *int, depth int) bool {
	t, ok := x.class(class)
	*left--
	if !ok || depth > maxSteps || *left < 0 {
		return false
	}
	if sameClass(t, want) {
		return true
	}
	for i := range t.Members().Fields {
		if f := &t.Members().Fields[i]; f.Base && x.derives(x.P.Types.OfField(f), want, left, depth+1) {
			return true
		}
	}
	return false
}

// Polymorphic reports whether the objects of a class of C++ begin with the address of a virtual table.
func (x Explorer) Polymorphic(t *types.Type) bool {
	left := types.MaxMembers
	return x.polymorphic(t, &left, 0)
}

// polymorphic reports whether the objects of a class begin with the address of a virtual table.
func (x Explorer) polymorphic(t *types.Type, left *int, depth int) bool {
	t, ok := x.class(t)
	*left--
	if !ok || depth > maxSteps || *left < 0 {
		return false
	}
	for i := range t.Members().Fields {
		f := &t.Members().Fields[i]
		if strings.HasPrefix(f.Name, "_vptr") || f.Base && f.Off == 0 && (f.Virtual || x.polymorphic(x.P.Types.OfField(f), left, depth+1)) {
			return true
		}
	}
	return false
}

// Whole returns the object that a part of class o, in memory, belongs to by its virtual table (Itanium C++ ABI, 2.5.2):
// in front of the functions that has how far the part is from the start of the whole, and the class. long is the size of C's long.
func (x Explorer) Whole(o *Object, long uint64) (Object, error) {
	left := types.MaxMembers
	if !o.Mem || !x.polymorphic(o.Type, &left, 0) {
		return Object{}, wrong("%s has no virtual functions: its class is not known", describe(o.Type))
	}
	b := x.builder(Options{})
	table, err := x.P.Memory.ReadWord(o.Addr)
	if err != nil {
		return Object{}, err
	}
	off, err := x.P.Memory.ReadWord(table - 2*b.word())
	if err != nil {
		return Object{}, err
	}
	name, ok := b.dynamicType(o.Addr)
	if !ok {
		return Object{}, wrong("no virtual table tells the class of the object")
	}
	class, ok := x.P.Types.Lookup(x.F.Unit(), name, long)
	if !ok {
		return Object{}, wrong("the object is a %s, of which there is no debugging information", name)
	}
	return x.At(class, x.P.Arch.Truncate(o.Addr+off))
}
