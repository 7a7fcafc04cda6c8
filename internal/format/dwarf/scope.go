package dwarf

import (
	"slices"
	"strings"
)

// The scopes of an entry: the namespaces and classes that contain it (see outline). They are
// looked up only for names that need them: functions of C++ or Rust have their scopes in the
// linkage name, and C has no scopes.

// maxScopeDepth limits the nesting of scopes.
const maxScopeDepth = 64

// isScope reports whether entries with the tag qualify the names inside them. Functions are
// scopes of their local classes and lambdas.
func isScope(t Tag) bool {
	switch t {
	case TagSubprogram, TagNamespace, TagModule, TagClassType, TagStructureType, TagUnionType, TagInterfaceType, TagEnumerationType:
		return true
	}
	return false
}

// maxScopeNames limits how often the scope of a function's declaration is followed.
const maxScopeNames = 8

// scopeName returns the names of the scopes around the entry, joined by "::", or "" if
// there are none.
func (d DIE) scopeName() string { return d.scopeNames(maxScopeNames) }

func (d DIE) scopeNames(depth int) string {
	u := d.Unit
	var parts []string
	for _, in := range slices.Backward(u.outline.scopes(u, d.Off)) {
		if !in.fn {
			parts = append(parts, u.scopePart(in.off))
			continue
		}
		// The scopes around a function are those of its declaration.
		f := DIE{u, in.off}.rawInfo()
		parts = append(parts, f.Name)
		if depth > 0 {
			if outer := f.Origin.scopeNames(depth - 1); outer != "" {
				parts = append(parts, outer)
			}
		}
		break
	}
	slices.Reverse(parts)
	return strings.Join(parts, "::")
}

// Enclosing returns the function that an entry is declared in; false if that is not what is nearest around it.
func (d DIE) Enclosing() (DIE, bool) {
	scopes := d.Unit.outline.scopes(d.Unit, d.Off)
	if n := len(scopes); n > 0 && scopes[n-1].fn {
		return DIE{d.Unit, scopes[n-1].off}, true
	}
	return DIE{}, false
}

// scopePart returns the name of a namespace or type.
func (u *Unit) scopePart(off uint64) string {
	v := u.Value(off, AttrName)
	if name := u.Text(&v); name != "" {
		return name
	}
	e, err := u.Entry(off)
	switch {
	case err != nil:
		return "?"
	case e.Tag == TagNamespace:
		return "(anonymous namespace)"
	}
	return "(anonymous)"
}
