package types

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A type that a variable's unit only declares is defined in another unit of the same file,
// or in another library of the process. It is found by its signature if it has one, else by
// its name.

// Limits on the units to search, in bytes of debugging information.
const (
	MaxSearch  = 16 << 20 // for one type, in its own file
	maxForeign = 64 << 20 // for all types together, in other files
)

// Complete returns the definition of a declared type t, which must be stripped; void and
// false if none is found.
func (set *Set) Complete(t *Type) (*Type, bool) {
	v, ok := set.completed.Load(t.Ref)
	if !ok {
		if t.Ref.DB != nil {
			v = t.Ref.DB.defined(t.Ref)
		} else {
			v = Ref{DIE: set.complete(t)}
		}
		set.completed.Store(t.Ref, v)
	}
	ref := v.(Ref)
	return set.Of(ref), ref.Valid()
}

// complete implements Complete for types of DWARF.
func (set *Set) complete(t *Type) dwarf.DIE {
	if t.BareName == "" && t.sig == 0 {
		return dwarf.DIE{}
	}
	name, own, q := t.plainName(), t.Ref.Unit, t.query()
	key := typeKey{own.Data, name, t.sig}
	if v, ok := set.elsewhere.Load(key); ok {
		// Another unit asked. In C++ a program has only one type of a name; in other languages this unit may have its own.
		if !IsCXX(t.Language) {
			if s := set.searchOwn(own, name, own.Data.Listing(q)); s.Try(own) {
				return s.found
			}
		}
		return v.(dwarf.DIE)
	}
	d, inUnit := set.inOwnFile(own, name, q)
	if inUnit {
		return d
	}
	if !d.Valid() {
		d = set.inOtherFiles(t, q)
	}
	set.elsewhere.Store(key, d)
	return d
}

// query is what the indexes of a file are asked for the definition of t; nil if they cannot know.
func (t *Type) query() *dwarf.NameQuery {
	q := &dwarf.NameQuery{Name: t.BareName, Scoped: true, Spaces: true, Fits: structural}
	switch {
	case IsC(t.Language):
		return q
	case !IsCXX(t.Language):
		return nil
	}
	names, spaces, _ := t.Ref.Scopes()
	if strings.Join(append(names, t.BareName), "::") != t.FullName() { // inside a function
		return nil
	}
	q.Scopes, q.Spaces = names, spaces
	return q
}

// structural reports whether entries with a tag may be the definition of a declared type.
func structural(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagInterfaceType:
		return true
	}
	return false
}

// defines reports whether an entry is the definition of the type that is called name in its unit, outside functions.
func (set *Set) defines(d dwarf.DIE, name string) bool {
	t := set.At(d)
	if t.Declared {
		return false
	}
	scopes, _, ok := d.Scopes()
	return ok && t.plainName() == name && (len(scopes) == 0 || !IsC(t.Language))
}

// minRemembered is how many bytes a search must have read for its result to be remembered.
const minRemembered = 1 << 20

// inOwnFile looks for a type in the unit that declares it and in the rest of its file, and reports whether it is in
// that unit. What took long is remembered, also from one run to the next.
func (set *Set) inOwnFile(own *dwarf.Unit, name string, q *dwarf.NameQuery) (found dwarf.DIE, inUnit bool) {
	fresh := false
	a := own.Data.Remember(own, name, func() []byte {
		fresh = true
		s := set.searchOwn(own, name, own.Data.Listing(q))
		if inUnit = s.Try(own); !inUnit {
			s.others()
		}
		if found = s.found; s.read < minRemembered || s.cut {
			return nil
		}
		return packFound(found, name)
	})
	if fresh {
		return found, inUnit
	}
	found, ok := unpackFound(own.Data, a, name)
	if !ok || found.Valid() && !set.defines(found, name) { // another name has the same hash, or what is kept is damaged
		s := set.searchOwn(own, name, own.Data.Listing(q))
		if s.Try(own) {
			return s.found, true
		}
		return s.others(), false
	}
	return found, found.Valid() && found.Unit.Off == own.Off && found.Unit.Sec == own.Sec
}

// What is remembered: the section of the entry plus one, or 0 for none; its offset, eight bytes; the name.

func packFound(d dwarf.DIE, name string) []byte {
	a := make([]byte, 9, 9+len(name))
	if d.Valid() {
		a[0] = 1 + byte(d.Unit.Sec)
		binary.LittleEndian.PutUint64(a[1:], d.Off)
	}
	return append(a, name...)
}

func unpackFound(data *dwarf.Data, a []byte, name string) (dwarf.DIE, bool) {
	if len(a) != 9+len(name) || string(a[9:]) != name {
		return dwarf.DIE{}, false
	}
	if a[0] == 0 {
		return dwarf.DIE{}, true
	}
	if sec := dwarf.Section(a[0] - 1); sec != dwarf.SecInfo && sec != dwarf.SecTypes {
		return dwarf.DIE{}, false
	}
	off := binary.LittleEndian.Uint64(a[1:])
	u, err := data.UnitContaining(dwarf.Section(a[0]-1), off)
	return dwarf.DIE{Unit: u, Off: off}, err == nil
}

// An ownSearch looks for a type in the file of the unit that declares it.
type ownSearch struct {
	*dwarf.Search
	set   *Set
	own   *dwarf.Unit
	found dwarf.DIE
	read  uint64 // bytes of the units that were looked through
	cut   bool   // the limit on other files ended the search
}

// searchOwn returns the search for a type in own's file. list is what the file's indexes say of it.
func (set *Set) searchOwn(own *dwarf.Unit, name string, list *dwarf.Listing) *ownSearch {
	s := &ownSearch{set: set, own: own}
	s.Search = list.Search(func(u *dwarf.Unit) (found, end bool) {
		s.read += u.End - u.Off
		s.found, found = set.Named(u, name)
		return found, found
	}, func(d dwarf.DIE) bool {
		if !set.defines(d, name) {
			return false
		}
		s.found = d
		return true
	})
	return s
}

// others looks in the other units of the file. A definition that an index lists behind the limit is found, too; what is read
// for it counts as that of other files.
func (s *ownSearch) others() dwarf.DIE {
	left := uint64(MaxSearch)
	var rest *dwarf.Unit
	s.own.Data.Units(func(u *dwarf.Unit) bool {
		if u.Off == s.own.Off && u.Sec == s.own.Sec {
			return true
		}
		if u.End-u.Off > left {
			rest = u
			return false
		}
		left -= u.End - u.Off
		return !s.Try(u)
	})
	if rest != nil && rest.Sec == dwarf.SecInfo {
		s.From(rest, func(u *dwarf.Unit) bool {
			if u == s.own {
				return true
			}
			s.cut = s.set.foreign.Add(int64(u.End-u.Off)) > maxForeign
			return !s.cut && !s.Try(u)
		})
	}
	return s.found
}

// inOtherFiles looks for a type in the other libraries of the process. In C++ a program has
// only one type of a name. In other languages it may have several; then all those found must
// look alike. q asks the files' indexes.
func (set *Set) inOtherFiles(t *Type, q *dwarf.NameQuery) (found dwarf.DIE) {
	full := t.FullName()
	local := strings.Contains(full, unnamed) // is its own file's only
	for _, lib := range set.libs.All() {
		im := set.libs.File(lib)
		if !im.HasDWARF() { // to ask for it would fetch it
			continue
		}
		d := im.DWARF()
		if d == t.Ref.Unit.Data {
			continue
		}
		if t.sig != 0 {
			if typ, err := d.TypeUnit(t.sig); err == nil {
				return typ
			}
		}
		if full == "" || local {
			continue
		}
		enough := !set.inFile(d, t, full, d.Listing(q), func(typ dwarf.DIE) bool {
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

// inFile calls yield for the types of a file that may be the definition of t. It returns
// false if yield does. It stops without that when the limit of what to search is reached. list is what the
// file's indexes say of the type.
func (set *Set) inFile(d *dwarf.Data, t *Type, full string, list *dwarf.Listing, yield func(dwarf.DIE) bool) bool {
	scoped := strings.ContainsAny(full, ":<") // C has no scopes and no templates
	called := func(l dwarf.Language) string {
		if IsC(l) {
			return keyword(t.Tag) + full
		}
		return full
	}
	on := true
	search := list.Search(func(u *dwarf.Unit) (found, end bool) {
		typ, ok := set.Named(u, called(u.Language))
		on = !ok || yield(typ)
		return ok, !on
	}, nil)
	set.candidates(d, t.Language, scoped, func(u *dwarf.Unit) bool {
		if _, known := set.names.Load(u); !known && set.foreign.Add(int64(u.End-u.Off)) > maxForeign {
			return false
		}
		set.typesOf(u) // an index may save the search: it counts nevertheless
		return !search.Try(u)
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
	return a.ByteSize == b.ByteSize && a.Tag == b.Tag && slices.EqualFunc(x.Fields, y.Fields, func(f, g Field) bool {
		return f.Name == g.Name && f.Off == g.Off && f.BitOff == g.BitOff && f.Bits == g.Bits
	}) && slices.Equal(x.Enums, y.Enums)
}

// A typeKey identifies a type that a file only declares.
type typeKey struct {
	data *dwarf.Data
	name string
	sig  uint64
}

// unitTypes are the complete types of a unit, as far as they were asked for.
type unitTypes struct {
	asked atomic.Int32
	once  sync.Once
	all   map[string]dwarf.DIE

	described   atomic.Int32
	runtimeOnce sync.Once
	runtime     map[uint64]dwarf.DIE // in Go, by their descriptors

	constantsOnce sync.Once
	constants     map[dwarf.DIE][]Enumerator // in Go, by their types
}

func (set *Set) typesOf(u *dwarf.Unit) *unitTypes {
	v, ok := set.names.Load(u)
	if !ok {
		v, _ = set.names.LoadOrStore(u, new(unitTypes))
	}
	return v.(*unitTypes)
}

// maxSearches is how many names are searched in a unit one by one. For more, all its types are
// listed, which takes as long as several searches, and memory.
const maxSearches = 8

// Named returns the first complete type of a unit with a name, in Go the last.
func (set *Set) Named(u *dwarf.Unit, name string) (dwarf.DIE, bool) {
	t := set.typesOf(u)
	if t.asked.Add(1) > maxSearches {
		all := set.InUnit(u)
		if d, ok := all[name]; ok || len(all) < maxTypeNames {
			return d, ok
		}
	}
	return search(u, name)
}

// Described returns the type of a unit of Go that has the descriptor at an offset from the start of the program's descriptors
// (DW_AT_go_runtime_type). Names do not tell types apart: those of descriptors have only the last element of a package's path.
func (set *Set) Described(u *dwarf.Unit, descriptor uint64) (dwarf.DIE, bool) {
	if u.Language != dwarf.LangGo || descriptor == 0 {
		return dwarf.DIE{}, false
	}
	t := set.typesOf(u)
	if t.described.Add(1) > maxSearches {
		t.runtimeOnce.Do(func() {
			t.runtime = map[uint64]dwarf.DIE{}
			eachDescribed(u, func(at, off uint64) {
				if len(t.runtime) < maxTypeNames {
					t.runtime[at] = dwarf.DIE{Unit: u, Off: off}
				}
			})
		})
		if d, ok := t.runtime[descriptor]; ok || len(t.runtime) < maxTypeNames {
			return d, ok
		}
	}
	var found dwarf.DIE
	eachDescribed(u, func(at, off uint64) {
		if at == descriptor {
			found = dwarf.DIE{Unit: u, Off: off}
		}
	})
	return found, found.Valid()
}

// eachDescribed calls yield for the types of a unit of Go that have a descriptor.
func eachDescribed(u *dwarf.Unit, yield func(descriptor, off uint64)) {
	eachOfGo(u, dwarf.AttrGoRuntimeType, func(v *dwarf.Value, off uint64) {
		if at := v.U; v.Form.Class() != dwarf.ClassAddress {
			yield(at, off)
		} else if at, ok := u.Address(v); ok {
			yield(at, off)
		}
	})
}

// InUnit returns the complete types of a unit by their names.
func (set *Set) InUnit(u *dwarf.Unit) map[string]dwarf.DIE {
	t := set.typesOf(u)
	t.once.Do(func() { t.all = findTypes(u) })
	return t.all
}

// unnamed is what namespaces without a name are called.
const unnamed = "(anonymous namespace)"

// search finds a complete type of a unit by the name that typeKey has.
func search(u *dwarf.Unit, name string) (dwarf.DIE, bool) {
	switch {
	case u.Language == dwarf.LangGo:
		return searchGo(u, name)
	case !IsC(u.Language):
		return searchScopes(u, name, unnamed, structural)
	}
	bare := untagged(name)
	return searchScopes(u, bare, unnamed, func(tag dwarf.Tag) bool { return structural(tag) && keyword(tag)+bare == name })
}

// searchScopes finds a complete type of a unit, in any language but Go, by its name with those of the scopes around it. It enters
// only the scopes in the name. Namespaces without a name are called space; if that is empty, they add nothing to names.
func searchScopes(u *dwarf.Unit, name, space string, fits func(dwarf.Tag) bool) (dwarf.DIE, bool) {
	var e dwarf.Entry
	var v dwarf.Value
	var known [maxScopeDepth + 2]int // by depth: how much of name the scopes around are
	cur := u.Cursor(u.Root())
	cur.Next(&e)
	for cur.Level() > 0 && cur.Next(&e) {
		if e.Depth <= maxScopeDepth && Ada(u.Language) && (e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagLexicalBlock) { // packages in a procedure
			known[e.Depth+1] = known[e.Depth]
			continue
		}
		if e.Depth > maxScopeDepth || !scope(e.Tag) && !fits(e.Tag) {
			cur.SkipChildren()
			continue
		}
		var own []byte
		if cur.Find(dwarf.AttrName, &v) {
			own, _ = u.Bytes(&v)
		}
		if e.Tag == dwarf.TagNamespace && len(own) == 0 {
			if own = []byte(space); len(own) == 0 {
				known[e.Depth+1] = known[e.Depth]
				continue
			}
		}
		rest := name[known[e.Depth]:]
		if len(own) > 0 && len(own) <= len(rest) && rest[:len(own)] == string(own) {
			rest = rest[len(own):]
			if rest == "" && fits(e.Tag) {
				if d := u.Value(e.Off, dwarf.AttrDeclaration); !d.Flag() {
					return dwarf.DIE{Unit: u, Off: e.Off}, true
				}
			}
			if strings.HasPrefix(rest, "::") {
				known[e.Depth+1] = len(name) - len(rest) + 2
				continue
			}
		}
		cur.SkipChildren()
	}
	return dwarf.DIE{}, false
}

// NamedInside finds a type that a function declares, by its name.
func NamedInside(function dwarf.DIE, name string) (dwarf.DIE, bool) {
	if !function.Valid() {
		return dwarf.DIE{}, false
	}
	u, bare := function.Unit, untagged(name)
	var e dwarf.Entry
	var v dwarf.Value
	cur := u.Cursor(function.Off)
	cur.Next(&e)
	for cur.Level() > 0 && cur.Next(&e) {
		switch {
		case e.Tag == dwarf.TagLexicalBlock && e.Depth <= maxScopeDepth:
			continue
		case nameableTag(e.Tag):
			at := cur
			if at.Find(dwarf.AttrName, &v) {
				if own, _ := u.Bytes(&v); string(own) == bare {
					return dwarf.DIE{Unit: u, Off: e.Off}, true
				}
			}
		}
		cur.SkipChildren()
	}
	return dwarf.DIE{}, false
}

// HasScope reports whether names may be inside entries with a tag: those of namespaces and of types.
func HasScope(tag dwarf.Tag) bool { return scope(tag) }

// scope reports whether types may be inside entries with a tag.
func scope(tag dwarf.Tag) bool {
	return tag == dwarf.TagNamespace || tag == dwarf.TagModule || structural(tag)
}

// searchGo finds the last type of a name in a unit of Go: the typedef, which the linker writes behind the type that it names.
func searchGo(u *dwarf.Unit, name string) (found dwarf.DIE, ok bool) {
	eachGo(u, func(own []byte, off uint64) {
		if string(own) == name {
			found = dwarf.DIE{Unit: u, Off: off}
		}
	})
	return found, found.Valid()
}

// eachGo calls yield for the types of a unit of Go that have a name.
func eachGo(u *dwarf.Unit, yield func(name []byte, off uint64)) {
	eachOfGo(u, dwarf.AttrName, func(v *dwarf.Value, off uint64) {
		if own, _ := u.Bytes(v); len(own) > 0 {
			yield(own, off)
		}
	})
}

// eachOfGo calls yield with an attribute of the types of a unit of Go that have it.
func eachOfGo(u *dwarf.Unit, attr dwarf.Attr, yield func(v *dwarf.Value, off uint64)) {
	var v dwarf.Value
	topOfGo(u, func(e *dwarf.Entry, cur *dwarf.Cursor) {
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagVariable, dwarf.TagConstant:
		default:
			if cur.Find(attr, &v) {
				yield(&v, e.Off)
			}
		}
	})
}

// topOfGo calls yield for the entries of a unit of Go, which has no scopes. The cursor stands at the entry; yield must leave it there.
func topOfGo(u *dwarf.Unit, yield func(e *dwarf.Entry, cur *dwarf.Cursor)) {
	var e dwarf.Entry
	cur := u.Cursor(u.Root())
	cur.Next(&e)
	for cur.Level() > 0 && cur.Next(&e) {
		yield(&e, &cur)
		cur.SkipChildren()
	}
}

// Limits on the types kept of one unit, and on how deep their scopes are nested.
const (
	maxTypeNames  = 1 << 17
	maxScopeDepth = 64
)

func findTypes(u *dwarf.Unit) map[string]dwarf.DIE {
	names := map[string]dwarf.DIE{}
	if u.Language == dwarf.LangGo {
		eachGo(u, func(name []byte, off uint64) {
			if len(names) < maxTypeNames {
				names[string(name)] = dwarf.DIE{Unit: u, Off: off}
			}
		})
		return names
	}
	var e dwarf.Entry
	var prefix [maxScopeDepth + 2]string // by depth: what is in front of names there
	c := u.Cursor(u.Root())
	c.Next(&e)
	for len(names) < maxTypeNames && c.Level() > 0 && c.Next(&e) {
		if e.Depth > maxScopeDepth || !scope(e.Tag) {
			c.SkipChildren()
			continue
		}
		name, declared := nameAndDeclaration(u, &c)
		if e.Tag == dwarf.TagNamespace && name == "" {
			name = unnamed
		}
		if name == "" { // no name leads to what is inside
			c.SkipChildren()
			continue
		}
		full := prefix[e.Depth] + name
		prefix[e.Depth+1] = full + "::"
		if declared || !structural(e.Tag) {
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
