package types

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A node is an entry of a hand-made unit.
type node struct {
	tag   dwarf.Tag
	attrs []nodeAttr
	kids  []*node
	off   uint64 // in its section, once written
}

// nodeAttr is an attribute: its value is a string, a flag, a number, an expression, another node, an address or the index
// of one.
type nodeAttr struct {
	attr  dwarf.Attr
	value any
}

type (
	address      uint64
	addressIndex uint64
)

// die makes an entry with a name; "" is none.
//
//go:noinline
func die(tag dwarf.Tag, name string, parts ...any) *node {
	n := &node{tag: tag}
	if name != "" {
		n.attrs = append(n.attrs, nodeAttr{dwarf.AttrName, name})
	}
	for _, p := range parts {
		switch p := p.(type) {
		case nodeAttr:
			n.attrs = append(n.attrs, p)
		case *node:
			n.kids = append(n.kids, p)
		}
	}
	return n
}

// Some entries.

//go:noinline
func structure(name string, parts ...any) *node {
	return die(dwarf.TagStructureType, name, parts...)
}
func space(name string, parts ...any) *node { return die(dwarf.TagNamespace, name, parts...) }

// declared is what a type has that is defined elsewhere.
var declared = nodeAttr{dwarf.AttrDeclaration, true}

// sized is how many bytes a type has.
//
//go:noinline
func sized(n int) nodeAttr { return nodeAttr{dwarf.AttrByteSize, n} }

// typed is an entry with a name and a type.
//
//go:noinline
func typed(tag dwarf.Tag, name string, typ *node, parts ...any) *node {
	return die(tag, name, append(parts, nodeAttr{dwarf.AttrType, typ})...)
}

//go:noinline
func base(name string, size int) *node { return die(dwarf.TagBaseType, name, sized(size)) }

//go:noinline
func pointerTo(typ *node) *node   { return typed(dwarf.TagPointerType, "", typ) }
func referenceTo(typ *node) *node { return typed(dwarf.TagReferenceType, "", typ) }

// arrayOf is an array with so many elements in each dimension; -1 is a dimension of which it is not known.
func arrayOf(typ *node, counts ...int) *node {
	a := typed(dwarf.TagArrayType, "", typ)
	for _, n := range counts {
		d := die(dwarf.TagSubrangeType, "")
		if n >= 0 {
			d = die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, n})
		}
		a.kids = append(a.kids, d)
	}
	return a
}

// at is a member.
func at(off int, name string, typ *node, parts ...any) *node {
	return typed(dwarf.TagMember, name, typ, append(parts, nodeAttr{dwarf.AttrDataMemberLoc, off})...)
}

// typeOf reads the type of an entry, in a unit with others and all that they refer to.
func typeOf(t *testing.T, lang dwarf.Language, n *node, others ...*node) *Type {
	t.Helper()
	u := &tree{lang: lang}
	seen := map[*node]bool{}
	var inside func(*node)
	inside = func(n *node) {
		seen[n] = true
		for _, k := range n.kids {
			inside(k)
		}
	}
	var add, refer func(*node)
	refer = func(n *node) {
		for _, a := range n.attrs {
			if to, ok := a.value.(*node); ok {
				add(to)
			}
		}
		for _, k := range n.kids {
			refer(k)
		}
	}
	add = func(n *node) {
		if !seen[n] {
			inside(n)
			u.kids = append(u.kids, n)
			refer(n)
		}
	}
	for _, o := range others {
		add(o)
	}
	add(n)
	return typeIn(t, open(forest(u)), u, n)
}

// A tree is a unit of DWARF 4.
type tree struct {
	lang  dwarf.Language
	kids  []*node
	types bool    // in .debug_types, with signature 7
	tail  []*node // behind the first entry
	fill  int     // bytes behind it
	off   uint64  // once written
	size  uint64  // once written, in bytes
}

// forest writes units.
func forest(units ...*tree) map[string][]byte {
	le := binary.LittleEndian
	var abbrevs []byte
	codes := uint64(0)
	sections := map[string][]byte{}
	type fix struct {
		section string
		at      int
		to      *node
	}
	var fixes []fix
	var write func(section string, n *node)
	write = func(section string, n *node) {
		b := sections[section]
		n.off = uint64(len(b))
		codes++
		abbrevs = binary.AppendUvarint(binary.AppendUvarint(abbrevs, codes), uint64(n.tag))
		abbrevs = append(abbrevs, byte(min(len(n.kids), 1)))
		b = binary.AppendUvarint(b, codes)
		for _, a := range n.attrs {
			abbrevs = binary.AppendUvarint(abbrevs, uint64(a.attr))
			form := dwarf.FormString
			switch v := a.value.(type) {
			case string:
				b = append(append(b, v...), 0)
			case bool:
				form = dwarf.FormFlag
				b = append(b, map[bool]byte{true: 1}[v])
			case int:
				form = dwarf.FormUdata
				b = binary.AppendUvarint(b, uint64(v))
			case uint64: // a signature
				form = dwarf.FormRefSig8
				b = le.AppendUint64(b, v)
			case address:
				form = dwarf.FormAddr
				b = le.AppendUint64(b, uint64(v))
			case addressIndex:
				form = dwarf.FormGNUAddrIndex
				b = binary.AppendUvarint(b, uint64(v))
			case []byte:
				form = dwarf.FormExprloc
				b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
			case *node:
				form = dwarf.FormRefAddr
				fixes = append(fixes, fix{section, len(b), v})
				b = le.AppendUint32(b, 0)
			}
			abbrevs = binary.AppendUvarint(abbrevs, uint64(form))
		}
		abbrevs = append(abbrevs, 0, 0)
		sections[section] = b
		for _, k := range n.kids {
			write(section, k)
		}
		if len(n.kids) > 0 {
			sections[section] = append(sections[section], 0)
		}
	}
	for _, u := range units {
		section, root := ".debug_info", dwarf.TagCompileUnit
		if u.types {
			section, root = ".debug_types", dwarf.TagTypeUnit
		}
		start := len(sections[section])
		u.off = uint64(start)
		head := []byte{0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8}
		if u.types {
			head = append(le.AppendUint64(head, 7), 0, 0, 0, 0) // and the type is the first child
		}
		sections[section] = append(sections[section], head...)
		top := &node{tag: root, attrs: []nodeAttr{{dwarf.AttrLanguage, int(u.lang)}}, kids: u.kids}
		write(section, top)
		for _, n := range u.tail {
			write(section, n)
		}
		b := append(sections[section], make([]byte, u.fill)...)
		if u.types {
			le.PutUint32(b[start+19:], uint32(u.kids[0].off)-uint32(start))
		}
		le.PutUint32(b[start:], uint32(len(b)-start-4))
		sections[section] = b
		u.size = uint64(len(b) - start)
	}
	for _, f := range fixes {
		le.PutUint32(sections[f.section][f.at:], uint32(f.to.off))
	}
	sections[".debug_abbrev"] = append(abbrevs, 0)
	return sections
}

// firstOfLong is where the first entry of a longUnit is.
const firstOfLong = 14

// longUnit is a unit of Go with an entry that has no attributes and then n others, which have some and are written by kid.
func longUnit(t *testing.T, n int, tag dwarf.Tag, attrs []byte, kid func(b []byte, i int) []byte) *dwarf.Unit {
	t.Helper()
	body := []byte{4, 0, 0, 0, 0, 0, 8, 1, byte(dwarf.LangGo), 0, 2}
	for i := range n {
		body = kid(append(body, 3), i)
	}
	body = append(body, 0)
	return unitAt(t, open(map[string][]byte{
		".debug_abbrev": append(append([]byte{1, byte(dwarf.TagCompileUnit), 1, byte(dwarf.AttrLanguage), byte(dwarf.FormData2), 0, 0,
			2, byte(dwarf.TagBaseType), 0, 0, 0, 3, byte(tag), 0}, attrs...), 0, 0, 0),
		".debug_info": append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...),
	}), 0)
}

// open reads sections.
func open(sections map[string][]byte, options ...dwarf.Option) *dwarf.Data {
	return dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian, options...)
}

// unitAt is the unit of .debug_info at an offset.
func unitAt(t *testing.T, d *dwarf.Data, off uint64) *dwarf.Unit {
	t.Helper()
	u, err := d.UnitAt(dwarf.SecInfo, off)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// typeIn reads the type of an entry in its own set.
func typeIn(t *testing.T, d *dwarf.Data, u *tree, n *node) *Type {
	t.Helper()
	return NewSet(arch.AMD64, noLibraries{}).At(dwarf.DIE{Unit: unitAt(t, d, u.off), Off: n.off})
}

// nested puts a structure called leaf inside n namespaces called n.
func nested(n int, leaf string) (*node, string) {
	inner := structure(leaf)
	for range n {
		inner = space("n", inner)
	}
	return inner, strings.Repeat("n::", n) + leaf
}

// Types are found by their names with those of the scopes around them, one by one, in the list of a unit, and as somebody
// names them.
func TestScopes(t *testing.T) {
	const cxx, c = dwarf.LangCPlus14, dwarf.LangC99
	deep, deepName := nested(maxScopeDepth-1, "deep")
	deeper, deeperName := nested(maxScopeDepth, "deeper")
	deepest, deepestName := nested(maxScopeDepth+1, "deepest")
	first, second := structure("twice"), structure("twice")
	typedef := func(name string) *node { return die(dwarf.TagTypedef, name) }
	kids := []*node{
		structure("a"), die(dwarf.TagSubprogram, "f", structure("local")), die(dwarf.TagVariable, "v"), die(dwarf.TagMember, "member"),
		space("n", structure("b"), die(dwarf.TagClassType, "c", die(dwarf.TagEnumerationType, "in"), die(dwarf.TagUnionType, "later", declared)),
			space("", structure("hidden")), typedef("t"), die(dwarf.TagSubprogram, "g", structure("local2"))),
		space("m", structure("own")), // nothing of it is in n
		space("", structure("anon"), space("q", structure("far"))),
		die(dwarf.TagModule, "mod", structure("part")),
		die(dwarf.TagClassType, "k", declared, structure("inner")),
		die(dwarf.TagInterfaceType, "i", structure("x")), die(dwarf.TagUnionType, "u", structure("x")), die(dwarf.TagEnumerationType, "e", structure("x")),
		typedef("alias"), die(dwarf.TagBaseType, "number"), structure("", structure("nameless")),
		structure("later", declared), structure("later", sized(9)), first, second, deep, deeper, deepest,
	}
	unit := &tree{lang: cxx, kids: kids, tail: []*node{structure("behind")}}
	inC := &tree{lang: c, kids: []*node{structure("a", structure("inner")), die(dwarf.TagUnionType, "a"), die(dwarf.TagEnumerationType, "a"), die(dwarf.TagClassType, "a"), die(dwarf.TagInterfaceType, "a"),
		typedef("t"), die(dwarf.TagBaseType, "b"), die(dwarf.TagUnionType, "u"), structure("s"), structure("s")}}
	d := open(forest(unit, inC))

	full := []string{"a", "n::b", "n::c", "n::c::in", "n::" + unnamed + "::hidden", "m::own", unnamed + "::anon", unnamed + "::q::far", "mod::part", "k::inner", "i", "i::x", "u", "u::x", "e", "e::x", "later", "twice", deepName}
	asNamed := append(slices.DeleteFunc(slices.Clone(full), func(name string) bool { return strings.Contains(name, unnamed) }), "n::hidden", "anon", "q::far", "n::t", "alias", "number", "struct a")
	for _, s := range []struct {
		what string
		u    *tree
		find func(*dwarf.Unit, string) (dwarf.DIE, bool)
		has  []string
	}{
		{"a search", unit, search, full},
		{"somebody's name", unit, named, asNamed},
		{"a search in C", inC, search, []string{"struct a", "union a", "enum a", "class a", "a", "union u", "struct s", "struct a::inner"}},
		{"somebody's name in C", inC, named, []string{"a", "struct a", "union a", "enum a", "class a", "a::inner", "struct a::inner", "t", "b", "u", "union u", "struct u", "enum u", "class u", "s", "struct s", "struct ::s"}},
	} {
		u := unitAt(t, d, s.u.off)
		for _, name := range s.has {
			got, ok := s.find(u, name)
			v := u.Value(got.Off, dwarf.AttrName)
			if _, bare, _ := cutLast(untagged(name)); !ok || u.Text(&v) != bare {
				t.Errorf("%s: %s at %#x, %v", s.what, name, got.Off, ok)
			}
		}
		for _, name := range []string{"", "::", "::a", "a::", "n", "n::", "m::b", "n::own", "b", "c", "c::in", "in", "hidden", "far", "own", "inner", "mod", "part", "q", "f", "g", "v", "member", "local", "f::local", "n::local2", "n::g::local2",
			"n::c::later", "n::later", "k", "x", "t::x", "nameless", "::nameless", "behind", deeperName, deepestName, "n::b::", "n::bc", "twic", "twice::twice", "struct", "struct ", "struct t", "enum t", "struct b", "nope", "n::nope",
			unnamed, unnamed + "::own", "alias", "number", "struct alias", "class number", "a::inner", "struct a::inner", "struct a", "u::a", "t", "b"} {
			if got, ok := s.find(u, name); ok && !slices.Contains(s.has, name) {
				t.Errorf("%s: %q at %#x, want none", s.what, name, got.Off)
			}
		}
	}
	for _, s := range []struct {
		u    *tree
		want []string
	}{{unit, full}, {inC, []string{"struct a", "struct a::inner", "union a", "enum a", "class a", "a", "union u", "struct s"}}} {
		all := NewSet(arch.AMD64, noLibraries{}).InUnit(unitAt(t, d, s.u.off))
		if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, slices.Sorted(slices.Values(s.want))) {
			t.Errorf("all types: %q, want %q", got, s.want)
		}
		for name, die := range all {
			if got, ok := search(unitAt(t, d, s.u.off), name); ok && got != die {
				t.Errorf("%s at %#x, in the list at %#x", name, got.Off, die.Off)
			}
		}
	}
	u := unitAt(t, d, unit.off)
	if got, _ := search(u, "twice"); got.Off != first.off {
		t.Errorf("of two types of a name the one at %#x, not %#x", got.Off, first.off)
	}
}

// cutLast cuts a name before its last part.
func cutLast(name string) (scopes, last string, ok bool) {
	i := strings.LastIndex(name, "::")
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+2:], true
}

// In Go the last type of a name is found, and what has no name or is no type is not.
func TestScopesOfGo(t *testing.T) {
	kids := []*node{}
	want := map[string]*node{}
	for i, tag := range []dwarf.Tag{dwarf.TagStructureType, dwarf.TagTypedef, dwarf.TagBaseType, dwarf.TagPointerType, dwarf.TagArrayType, dwarf.TagSubroutineType, dwarf.TagInterfaceType} {
		name := fmt.Sprint("main.t", i)
		n := die(tag, name, die(dwarf.TagMember, "main.member"), structure("main.inner"))
		kids = append(kids, n)
		want[name] = n
	}
	last := structure("main.t1")
	want["x"] = structure("x")
	want["main.t1"] = last
	kids = append(kids, die(dwarf.TagSubprogram, "main.f", structure("main.local")), die(dwarf.TagVariable, "main.v"), die(dwarf.TagConstant, "main.c"), die(dwarf.TagPointerType, ""),
		die(dwarf.TagStructureType, "", nodeAttr{dwarf.AttrName, ""}), want["x"], last)
	unit := &tree{lang: dwarf.LangGo, kids: kids, tail: []*node{structure("main.behind")}}
	d := open(forest(unit))
	u := unitAt(t, d, 0)
	for name, n := range want {
		for what, find := range map[string]func(*dwarf.Unit, string) (dwarf.DIE, bool){"a search": search, "somebody's name": named, "another name": NewSet(arch.AMD64, nil).Named} {
			if got, ok := find(u, name); !ok || got.Off != n.off {
				t.Errorf("%s: %s at %#x, %v; want %#x", what, name, got.Off, ok, n.off)
			}
		}
	}
	for _, name := range []string{"", "main", "main.", "main.f", "main.v", "main.c", "main.member", "main.inner", "main.local", "main.behind", "t1"} {
		if got, ok := search(u, name); ok {
			t.Errorf("%q at %#x", name, got.Off)
		}
	}
	all := NewSet(arch.AMD64, nil).InUnit(u)
	if !slices.Equal(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("all types: %q", slices.Sorted(maps.Keys(all)))
	}
	for name, n := range want {
		if all[name].Off != n.off {
			t.Errorf("%s is listed at %#x, not %#x", name, all[name].Off, n.off)
		}
	}
}

// A unit whose types are asked for often is listed, and its list is believed unless that is full.
func TestNamedOften(t *testing.T) {
	unit := &tree{lang: dwarf.LangC99, kids: []*node{structure("a"), structure("b")}}
	u := unitAt(t, open(forest(unit)), 0)
	set := NewSet(arch.AMD64, nil)
	for i := range maxSearches + 1 {
		if set.typesOf(u).all != nil {
			t.Errorf("all types are listed after %d searches", i)
		}
		if _, ok := set.Named(u, "struct a"); !ok {
			t.Error("not found")
		}
	}
	if len(set.typesOf(u).all) != 2 {
		t.Errorf("%d types are listed", len(set.typesOf(u).all))
	}
	other := dwarf.DIE{Unit: u, Off: unit.kids[1].off}
	for _, c := range []struct {
		listed, all int
		want        *node
	}{{0, 0, nil}, {1, 1, unit.kids[1]}, {0, maxTypeNames - 1, nil}, {0, maxTypeNames, unit.kids[0]}, {1, maxTypeNames, unit.kids[1]}} {
		list := map[string]dwarf.DIE{}
		for i := range c.all - c.listed {
			list[fmt.Sprint(i)] = other
		}
		if c.listed > 0 {
			list["struct a"] = other
		}
		set.typesOf(u).all = list
		if got, ok := set.Named(u, "struct a"); ok != (c.want != nil) || ok && got.Off != c.want.off {
			t.Errorf("%d of %d types are listed: %#x, %v", c.listed, c.all, got.Off, ok)
		}
	}
}

// A member whose type is only declared ends where the next one begins; the others have their size.
func TestExtent(t *testing.T) {
	unknown, number := structure("u", declared), die(dwarf.TagBaseType, "int", sized(4))
	member := func(off int, typ *node, parts ...any) *node {
		return die(dwarf.TagMember, "m", append(parts, nodeAttr{dwarf.AttrType, typ}, nodeAttr{dwarf.AttrDataMemberLoc, off})...)
	}
	static := nodeAttr{dwarf.AttrExternal, true}
	whole := structure("s", sized(40), member(0, unknown), member(4, number, static), member(8, unknown), member(8, unknown), member(20, number), member(28, number), member(32, unknown), member(48, unknown))
	u := &tree{lang: dwarf.LangC99, kids: []*node{unknown, number, whole}}
	d := open(forest(u))
	typ := typeIn(t, d, u, whole)
	fields := typ.Members().Fields
	for i, want := range []uint64{8, 4, 12, 12, 4, 4, 8, 0} {
		if got := typ.extent(fields, i); got != want {
			t.Errorf("member %d at %d has %d bytes, want %d", i, fields[i].Off, got, want)
		}
	}
}

// What a member has, and what a type refers to, is looked up once.
func TestKeptTypes(t *testing.T) {
	number := die(dwarf.TagBaseType, "int", sized(4))
	typedef := die(dwarf.TagTypedef, "t", nodeAttr{dwarf.AttrType, number})
	whole := structure("s", sized(4), die(dwarf.TagMember, "m", nodeAttr{dwarf.AttrType, typedef}))
	u := &tree{lang: dwarf.LangC99, kids: []*node{number, typedef, whole}}
	d := open(forest(u))
	s := typeIn(t, d, u, whole)
	f := &s.Members().Fields[0]
	if f.typ.Load() != nil {
		t.Error("the type of a member is read although nobody asked for it")
	}
	got := s.set.OfField(f)
	if got.Name() != "t" || f.typ.Load() != got || s.set.OfField(f) != got {
		t.Errorf("%s, kept %p", got.Name(), f.typ.Load())
	}
	if to := got.Target(); to.Name() != "int" || got.target.Load() != to || got.Target() != to {
		t.Errorf("%s, kept %p", to.Name(), got.target.Load())
	}
	if got := s.set.OfField(&Field{Type: f.Type}); got.Name() != "t" { // of no type that is kept
		t.Errorf("%s", got.Name())
	}
}
