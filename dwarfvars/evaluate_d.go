package dwarfvars

import (
	"strings"

	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// What D writes: properties of arrays and types, names in modules.

// dotted returns a name with its scopes: d.Colour.green.
func dotted(n paths.Node) (string, bool) {
	switch n := n.(type) {
	case *paths.Ident:
		return n.Name, true
	case *paths.Member:
		if outer, ok := dotted(n.X); ok {
			return outer + "::" + n.Name, true
		}
	}
	return "", false
}

// dQualified returns what a name with scopes means, whose first part is no variable: Colour.green, module.variable, Point.sizeof; false if the first is one.
func (e *evaluation) dQualified(n *paths.Member) (Object, bool, error) {
	name, ok := dotted(n)
	if !ok {
		return Object{}, false, nil
	}
	if root, _, _ := strings.Cut(name, "::"); !e.unresolved(root) {
		return Object{}, false, nil
	}
	if m := e.module(); strings.ReplaceAll(name, "::", ".") == m+"."+n.Name && m != "" {
		if t, ok, err := e.function(&paths.Ident{Name: n.Name}); ok && err == nil {
			return t, true, nil
		}
	}
	if t, err := e.variable(name); err == nil {
		return t, true, nil
	}
	scope := strings.TrimSuffix(name, "::"+n.Name)
	if t, ok := e.lookup(scope); ok {
		if n.Name == "sizeof" {
			size, err := e.a.sizeOf(t)
			if err != nil {
				return Object{}, true, err
			}
			v, err := e.word(e.integerType(8, false), size)
			return v, true, err
		}
		v, _, err := e.enumeratorOf(t, n.Name)
		return v, true, err
	}
	return Object{}, false, nil
}

// module is the name of the module that the frame's function is in.
func (e *evaluation) module() string {
	m, _, ok := strings.Cut(fullName(e.a.fn.DIE), "::")
	if !ok {
		return ""
	}
	return m
}

// dMember returns a member of an object, or a property that all objects have.
func (e *evaluation) dMember(ob *values.Object, name string) (Object, error) {
	t, err := e.object(e.x.Member(ob, name))
	if err == nil {
		return t, nil
	}
	switch name {
	case "length":
		if n, missing := e.x.Length(ob); missing == nil {
			return e.word(e.integerType(8, false), n)
		}
	case "sizeof":
		return e.word(e.integerType(8, false), e.referred(ob).Size)
	case "ptr":
		if first, missing := e.x.Element(ob, 0); missing == nil && first.Mem {
			return e.word(e.pointerTo(first.Type), first.Addr)
		}
	}
	return t, err
}

// dollar is the length of what is indexed: a[$-1].
func (e *evaluation) dollar(ob *values.Object) (restore func()) {
	before := e.lengthOf
	e.lengthOf = func() (Object, error) {
		n, err := e.x.Length(ob)
		if err != nil {
			return Object{}, err
		}
		return e.word(e.integerType(8, false), n)
	}
	return func() { e.lengthOf = before }
}
