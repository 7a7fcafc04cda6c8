package dwarf

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// The scopes of a unit: the namespaces and classes that contain an entry. Entries do not
// refer to their parents, so a pass over the unit records where each scope begins and ends.
// It is done only for names that need it: functions of C++ or Rust have their scopes in the
// linkage name, and C has no scopes.

type scopeIndex struct {
	once   sync.Once
	scopes []scopeSpan // by start, parents before children
}

// A scopeSpan is the extent of a namespace, class or module among the entries.
type scopeSpan struct {
	start, end uint64 // from the unit's start
	parent     int32
	fn         bool // a function
	closed     bool // the contents of the function were skipped
}

// scopes returns the index.
func (u *Unit) scopes() []scopeSpan {
	u.scope.once.Do(func() { u.scope.scopes = u.findScopes(u.entries, false) })
	return u.scope.scopes
}

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

// findScopes lists the scopes in the entry at from, including itself. Unless deep is set,
// it skips the contents of functions where it can.
func (u *Unit) findScopes(from uint64, deep bool) []scopeSpan {
	type open struct {
		scope int32
		depth int
	}
	var stack []open
	var all []scopeSpan
	var e Entry
	c := u.Cursor(from)
	for c.Next(&e) {
		if e.Tag == 0 {
			if n := len(stack); n > 0 && c.Level() == stack[n-1].depth {
				all[stack[n-1].scope].end = e.Off - u.Off
				stack = stack[:n-1]
			}
			if c.Level() <= 0 {
				break
			}
			continue
		}
		if e.Tag == TagSubprogram && c.ab.declared {
			c.SkipChildren() // parameters
			continue
		}
		if e.HasChildren && isScope(e.Tag) && len(stack) < maxScopeDepth {
			parent := int32(-1)
			if n := len(stack); n > 0 {
				parent = stack[n-1].scope
			}
			span := scopeSpan{start: e.Off - u.Off, end: u.End - u.Off, parent: parent, fn: e.Tag == TagSubprogram}
			if span.fn && !deep && c.hasSibling() {
				c.SkipChildren()
				span.end, span.closed = uint64(c.in.Off)-u.Off, true
			} else {
				stack = append(stack, open{int32(len(all)), e.Depth})
			}
			all = append(all, span)
		}
	}
	return slices.Clip(all)
}

// maxScopeNames limits how often the scope of a function's declaration is followed.
const maxScopeNames = 8

// scopeName returns the names of the scopes around the entry, joined by "::", or "" if
// there are none.
func (d DIE) scopeName() string { return d.scopeNames(maxScopeNames) }

func (d DIE) scopeNames(depth int) string {
	u := d.Unit
	scopes := u.scopes()
	i := scopeAround(scopes, d.Off-u.Off)
	if i >= 0 && scopes[i].closed {
		scopes = u.findScopes(u.Off+scopes[i].start, true)
		i = scopeAround(scopes, d.Off-u.Off)
	}
	var parts []string
	for ; i >= 0; i = scopes[i].parent {
		at := DIE{u, u.Off + scopes[i].start}
		if !scopes[i].fn {
			parts = append(parts, u.scopePart(at.Off))
			continue
		}
		// The scopes around a function are those of its declaration.
		f := at.rawInfo()
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

// scopeAround returns the innermost scope that contains an entry (other than itself), or
// -1.
func scopeAround(scopes []scopeSpan, off uint64) int32 {
	i := int32(sort.Search(len(scopes), func(i int) bool { return scopes[i].start >= off }) - 1)
	for i >= 0 && scopes[i].end <= off {
		i = scopes[i].parent
	}
	return i
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
