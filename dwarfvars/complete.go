package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/dwarf"
)

// A type that is only declared in the unit of a variable is defined in another:
// it is looked for by name.

// maxCompletion bounds the units that are searched for one type, in bytes of
// debugging information.
const maxCompletion = 16 << 20

// complete returns the definition of a declared type (stripped).
func (r *Reader) complete(t *Type) (*Type, bool) {
	if !t.die.Valid() || t.name == "" {
		return nil, false
	}
	name := t.plainName()
	own := t.die.Unit
	key := typeKey{own.Data, name}
	if _, ok := r.missing.Load(key); ok {
		return nil, false
	}
	if d, ok := r.typesOf(own)[name]; ok {
		return r.typeOf(d), true
	}
	var found dwarf.DIE
	left := uint64(maxCompletion)
	own.Data.Units(func(u *dwarf.Unit) bool {
		if u.Off == own.Off || u.Type == dwarf.UnitSkeleton {
			return true
		}
		if u.End-u.Off > left {
			return false
		}
		left -= u.End - u.Off
		d, ok := r.typesOf(u)[name]
		found = d
		return !ok
	})
	if !found.Valid() {
		r.missing.Store(key, true)
		return nil, false
	}
	return r.typeOf(found), true
}

// A typeKey is the name of a type that a file only declares.
type typeKey struct {
	data *dwarf.Data
	name string
}

// typesOf lists the complete types of a unit that have names.
func (r *Reader) typesOf(u *dwarf.Unit) map[string]dwarf.DIE {
	if v, ok := r.names.Load(u); ok {
		return v.(map[string]dwarf.DIE)
	}
	v, _ := r.names.LoadOrStore(u, r.findTypes(u))
	return v.(map[string]dwarf.DIE)
}

// Bounds on the types listed of one unit, and on the scopes around one.
const (
	maxTypeNames  = 1 << 17
	maxScopeDepth = 64
)

func (r *Reader) findTypes(u *dwarf.Unit) map[string]dwarf.DIE {
	names := map[string]dwarf.DIE{}
	var e dwarf.Entry
	c := u.Cursor(u.Root())
	var prefix []string // by depth: what is in front of names there
	for len(names) < maxTypeNames && c.Next(&e) && c.Level() >= 0 {
		if e.Depth > maxScopeDepth {
			c.SkipChildren()
			continue
		}
		switch e.Tag {
		case 0, dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit:
			continue
		case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagInterfaceType:
		default:
			if u.Language == dwarf.LangGo && e.Tag != dwarf.TagSubprogram && e.Tag != dwarf.TagVariable && e.Tag != dwarf.TagConstant {
				if name, _ := nameAndDeclaration(u, &c); name != "" {
					names[name] = dwarf.DIE{Unit: u, Off: e.Off}
				}
			}
			c.SkipChildren()
			continue
		}
		name, declared := nameAndDeclaration(u, &c)
		for len(prefix) <= e.Depth+1 {
			prefix = append(prefix, "")
		}
		full := prefix[e.Depth] + name
		if e.Tag == dwarf.TagNamespace && name == "" {
			full = prefix[e.Depth] + "(anonymous namespace)"
		}
		prefix[e.Depth+1] = full + "::"
		if name == "" || declared || e.Tag == dwarf.TagNamespace || e.Tag == dwarf.TagModule {
			continue
		}
		if isC(u.Language) {
			full = keyword(e.Tag) + full
		}
		if _, dup := names[full]; !dup {
			names[full] = dwarf.DIE{Unit: u, Off: e.Off}
		}
	}
	return names
}

// keyword is what C writes before the name of a type.
func keyword(tag dwarf.Tag) string {
	switch tag {
	case dwarf.TagStructureType:
		return "struct "
	case dwarf.TagUnionType:
		return "union "
	case dwarf.TagClassType:
		return "class "
	case dwarf.TagEnumerationType:
		return "enum "
	}
	return ""
}

func nameAndDeclaration(u *dwarf.Unit, c *dwarf.Cursor) (name string, declared bool) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			name = u.Text(&v)
		case dwarf.AttrDeclaration:
			declared = v.Flag()
		}
	}
	return name, declared
}
