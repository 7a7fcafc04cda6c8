package types

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A type that is only declared in the unit of a variable is defined in another, of
// the same file or of another library of the process: it is looked for by its
// signature where it has one, else by name.

// Bounds on the units that are searched, in bytes of debugging information: of its
// own file for one type, of all other files for all types together.
const (
	MaxSearch  = 16 << 20
	maxForeign = 64 << 20
)

// complete returns the definition of a declared type (stripped).
func (set *Set) Complete(t *Type) (*Type, bool) {
	if t.Ref.DB != nil {
		return set.defined(t)
	}
	if !t.Ref.Valid() || t.BareName == "" && t.sig == 0 {
		return nil, false
	}
	name := t.plainName()
	own := t.Ref.Unit
	key := typeKey{own.Data, name, t.sig}
	if v, ok := set.completed.Load(key); ok {
		d := v.(dwarf.DIE)
		return set.At(d), d.Valid()
	}
	if d, ok := set.InUnit(own)[name]; ok {
		return set.At(d), true
	}
	d := set.inOwnFile(own, name)
	if !d.Valid() {
		d = set.inOtherFiles(t)
	}
	set.completed.Store(key, d)
	return set.At(d), d.Valid()
}

// inOwnFile looks for a type in the other units of a unit's file.
func (set *Set) inOwnFile(own *dwarf.Unit, name string) (found dwarf.DIE) {
	left := uint64(MaxSearch)
	own.Data.Units(func(u *dwarf.Unit) bool {
		if u.Off == own.Off && u.Sec == own.Sec || u.Type == dwarf.UnitSkeleton {
			return true
		}
		if u.End-u.Off > left {
			return false
		}
		left -= u.End - u.Off
		d, ok := set.InUnit(u)[name]
		found = d
		return !ok
	})
	return found
}

// inOtherFiles looks for a type in the other libraries of the process. C++ has one
// type of a name in a program. Other languages may have several: then all that are
// found must look alike.
func (set *Set) inOtherFiles(t *Type) (found dwarf.DIE) {
	full := t.FullName()
	unnamed := strings.Contains(full, "(anonymous namespace)") // is its own file's only
	for _, lib := range set.libs.All() {
		im := set.libs.File(lib)
		if !im.HasDWARF() || im.Unfetched() {
			continue
		}
		d := im.DWARF()
		if d == nil || d == t.Ref.Unit.Data {
			continue
		}
		if t.sig != 0 {
			if typ, err := d.TypeUnit(t.sig); err == nil {
				return typ
			}
		}
		if full == "" || unnamed {
			continue
		}
		enough := !set.inFile(d, t, full, func(typ dwarf.DIE) bool {
			if found.Valid() && !set.alike(set.At(found), set.At(typ)) {
				found = dwarf.DIE{}
				return false
			}
			found = typ
			return !IsCXX(t.Language)
		})
		if enough {
			return found
		}
	}
	return found
}

// inFile calls yield for the types of a file that may be t's definition, until it
// answers false; then so does inFile. It also stops where enough was searched.
func (set *Set) inFile(d *dwarf.Data, t *Type, full string, yield func(dwarf.DIE) bool) bool {
	on := true
	d.Units(func(u *dwarf.Unit) bool {
		if u.Type == dwarf.UnitSkeleton || !sameTypeNames(u.Language, t.Language) {
			return true
		}
		if _, known := set.names.Load(u); !known && set.foreign.Add(int64(u.End-u.Off)) > maxForeign {
			return false
		}
		name := full
		if IsC(u.Language) {
			name = keyword(t.Tag) + full
		}
		if typ, ok := set.InUnit(u)[name]; ok {
			on = yield(typ)
		}
		return on
	})
	return on
}

// sameTypeNames reports whether a type that language a declares may be one that b
// defines: C++ programs use those of C.
func sameTypeNames(a, b dwarf.Language) bool {
	c := func(l dwarf.Language) bool { return IsC(l) || IsCXX(l) }
	return a == b || c(a) && c(b)
}

// alike reports whether two definitions are of the same size and have members of
// the same names at the same places.
func (set *Set) alike(a, b *Type) bool {
	x, y := a.Members(), b.Members()
	if a.Ref == b.Ref {
		return true
	}
	return a.ByteSize == b.ByteSize && a.Tag == b.Tag && slices.EqualFunc(x.Fields, y.Fields, func(f, g Field) bool {
		return f.Name == g.Name && f.Off == g.Off && f.BitOff == g.BitOff && f.Bits == g.Bits
	}) && slices.Equal(x.Enums, y.Enums)
}

// A typeKey is the name of a type that a file only declares.
type typeKey struct {
	data *dwarf.Data
	name string
	sig  uint64
}

// typesOf lists the complete types of a unit that have names.
func (set *Set) InUnit(u *dwarf.Unit) map[string]dwarf.DIE {
	if v, ok := set.names.Load(u); ok {
		return v.(map[string]dwarf.DIE)
	}
	v, _ := set.names.LoadOrStore(u, set.findTypes(u))
	return v.(map[string]dwarf.DIE)
}

// Bounds on the types listed of one unit, and on the scopes around one.
const (
	maxTypeNames  = 1 << 17
	maxScopeDepth = 64
)

func (set *Set) findTypes(u *dwarf.Unit) map[string]dwarf.DIE {
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
		if IsC(u.Language) {
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
