package types

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

func union(size int, members ...any) *node {
	return die(dwarf.TagUnionType, "u", append(members, sized(size))...)
}

// Bytes that members of unions share have all their names, unless these are too many.
func TestArms(t *testing.T) {
	integer, char, short, long := base("int", 4), base("char", 1), base("short", 2), base("long", 8)
	static, virtual := nodeAttr{dwarf.AttrExternal, true}, nodeAttr{dwarf.AttrVirtuality, 1}
	many := func(n int, inner *node) *node {
		u := union(8)
		for i := range n {
			u.kids = append(u.kids, at(0, fmt.Sprint("m", i), inner))
		}
		return u
	}
	names := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("p->m%d int", i))
		}
		return strings.Join(list, ", ")
	}
	halves := structure("halves", sized(4), at(0, "low", short), at(2, "high", short))
	pair := structure("pair", sized(8), at(0, "a", integer), at(4, "b", integer))
	plain := union(8, at(0, "i", integer), at(0, "k", integer), at(0, "l", long))
	deep := func(n int) *node { // an arm of n structures, after two that are numbers
		return union(4, at(0, "i", integer), at(0, "k", integer), at(0, "d", structsIn(n, integer, 4)))
	}
	later := structure("later", declared)
	definition := structure("later", sized(8), at(0, "u", plain))
	for _, c := range []struct {
		what string
		typ  *node // what p points to
		off  int64
		size uint64
		want string
	}{
		{"two", plain, 0, 4, "p->i int, p->k int"},
		{"the one of that size", plain, 0, 8, "p->l long"},
		{"none of that size", plain, 0, 2, ""},
		{"no size", plain, 0, 0, "p->i int"},
		{"one byte", union(1, at(0, "c", char), at(0, "d", char)), 0, 1, "p->c char, p->d char"},
		{"of the second union", plain, 8, 4, "p[1].i int, p[1].k int"},
		{"in a structure", structure("s", sized(16), at(8, "u", plain)), 8, 4, "p->u.i int, p->u.k int"},
		{"in a structure without a name", structure("s", sized(16), at(8, "", plain)), 8, 4, "p->i int, p->k int"},
		{"in what is declared", later, 0, 4, "p->u.i int, p->u.k int"},
		{"in a union without a name", union(8, at(0, "", plain), at(0, "x", integer)), 0, 4, "p->x int, p->i int, p->k int"}, // Follow prefers it
		{"of structures in a union", union(8, at(0, "x", pair), at(0, "y", pair)), 4, 4, "p->x.b int, p->y.b int"},
		{"halves", union(8, at(0, "x", halves), at(0, "h", arrayOf(short, 4))), 2, 2, "p->x.high short, p->h[1] short"},
		{"a structure and a number of its size", union(8, at(0, "x", pair), at(0, "l", long)), 0, 8, "p->x struct pair, p->l long"},
		{"behind the end of an array", union(8, at(0, "x", arrayOf(short, 4)), at(0, "h", arrayOf(short, 1)), at(0, "k", arrayOf(short, 2))), 2, 2, "p->x[1] short, p->k[1] short"},
		{"behind the end of two", union(8, at(0, "x", arrayOf(short, 4)), at(0, "h", arrayOf(short, 1)), at(0, "k", arrayOf(short, 2))), 4, 2, "p->x[2] short"},
		{"not the first", union(8, at(4, "x", integer), at(4, "y", integer)), 4, 4, "p->x int, p->y int"},
		{"before one", union(8, at(0, "x", integer), at(0, "y", integer), at(4, "z", integer)), 0, 4, "p->x int, p->y int"},
		{"not the shared one", union(8, at(0, "s", integer, static), at(0, "x", integer), at(0, "y", integer)), 0, 4, "p->x int, p->y int"},
		{"not the computed one", union(8, typed(dwarf.TagMember, "c", integer, nodeAttr{dwarf.AttrDataMemberLoc, []byte{6}}), at(0, "x", integer), at(0, "y", integer)), 0, 4, "p->x int, p->y int"},
		{"not bits", union(8, at(0, "b", integer, nodeAttr{dwarf.AttrBitSize, 1}), at(0, "x", integer), at(0, "y", integer)), 0, 4, "p->x int, p->y int"},
		{"not a virtual base", structure("s", sized(16), typed(dwarf.TagInheritance, "", pair, virtual, nodeAttr{dwarf.AttrDataMemberLoc, 0}), at(0, "u", plain)), 0, 4, "p->u.i int, p->u.k int"},
		{"as many as may be", many(maxArms, integer), 0, 4, names(maxArms)},
		{"too many", many(maxArms+1, integer), 0, 4, names(1)},
		{"far too many", many(maxArms+4, integer), 0, 4, names(1)},
		{"too many in one of two", union(8, at(0, "i", integer), at(0, "", many(maxArms, integer)), at(0, "k", integer)), 0, 4, "p->i int"},
		{"deep", deep(maxPart - 2), 0, 4, "p->i int, p->k int, p->d" + strings.Repeat(".m", maxPart-2) + " int"},
		{"too deep", deep(maxPart - 1), 0, 4, "p->i int, p->k int"},
		{"deep unions", unionsIn(maxPart-1, integer, long), 0, 4, "p->" + strings.Repeat(".m", maxPart-1)[1:] + " int"},
	} {
		var got []string
		for _, a := range typeOf(t, dwarf.LangC99, pointerTo(c.typ), definition).FollowAll("p", c.off, c.size) {
			got = append(got, a.Text+" "+a.Type.Name())
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}

	// The members of Go's strings are no names.
	text := structure("string", sized(16), at(0, "str", long), at(8, "len", long))
	arms := typeOf(t, dwarf.LangGo, pointerTo(structure("main.s", sized(24), at(8, "name", text)))).FollowAll("p", 16, 8)
	if len(arms) != 1 || arms[0].Text != "p.name" {
		t.Errorf("%v", arms)
	}
}

// unionsIn puts a type into n unions with another member each, one inside the other.
func unionsIn(n int, inner, other *node) *node {
	for range n {
		inner = union(8, at(0, "m", inner), at(0, "l", other))
	}
	return inner
}

// Go's source names no members of strings and interfaces, which other languages may have, too.
func TestPartsOfStrings(t *testing.T) {
	long := base("long", 8)
	for _, c := range []struct {
		lang dwarf.Language
		name string
		want string
	}{
		{dwarf.LangGo, "string", ".s"}, {dwarf.LangGo, "runtime.iface", ".s"}, {dwarf.LangGo, "runtime.eface", ".s"}, {dwarf.LangGo, "other", ".s.len"},
		{dwarf.LangCPlus14, "string", ".s.len"}, {dwarf.LangCPlus14, "other", ".s.len"},
	} {
		inner := structure(c.name, sized(16), at(0, "str", long), at(8, "len", long))
		outer := structure("outer", sized(16), at(0, "s", inner))
		if got, _, ok := typeOf(t, c.lang, outer).Part(8, 8); !ok || got != c.want {
			t.Errorf("language %#x, %s: %q, %v, want %q", uint16(c.lang), c.name, got, ok, c.want)
		}
		if got, _, ok := typeOf(t, c.lang, inner).Part(8, 8); !ok || got != ".len" {
			t.Errorf("language %#x, %s by itself: %q, %v", uint16(c.lang), c.name, got, ok)
		}
	}
}

// What follows the part of a node that all containers have is no other one of those.
func TestFollowNodes(t *testing.T) {
	for _, c := range []struct {
		name string
		off  int64
		want string
	}{
		{"_List_node_base", 8, "p->prev"}, {"_List_node_base", 16, ""}, {"_List_node_base", 24, ""}, {"_List_node_base", 40, ""}, {"_List_node_base", 0, "p->next"},
		{"__tree_end_node<int>", 16, ""}, {"__tree_end_node", 0, "p->next"}, {"node", 16, "p[1].next"}, {"node", 24, "p[1].prev"}, {"node", 40, "p[2].prev"},
	} {
		long := base("long", 8)
		typ := pointerTo(structure(c.name, sized(16), at(0, "next", long), at(8, "prev", long)))
		got, part, ok := typeOf(t, dwarf.LangCPlus14, typ).Follow("p", c.off, 8)
		if got != c.want || ok != (c.want != "") || ok && part.Name() != "long" {
			t.Errorf("%s, %d bytes behind: %q, %v; want %q", c.name, c.off, got, ok, c.want)
		}
	}
}

// Nothing names the elements of an array that do not follow one another, or are in rows.
func TestPartsOfArrays(t *testing.T) {
	integer := base("int", 4)
	stride := func(attr dwarf.Attr) *node {
		return typed(dwarf.TagArrayType, "", integer, nodeAttr{attr, 4}, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 4}))
	}
	bounded := func(lower any) *node {
		return typed(dwarf.TagArrayType, "", integer, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrLowerBound, lower}, nodeAttr{dwarf.AttrUpperBound, 9}))
	}
	for lower, want := range map[any]string{3: "[4]", -1: "[0]"} { // elements of Pascal have the program's numbers
		if got, _, ok := typeOf(t, dwarf.LangPascal83, bounded(lower)).Part(4, 4); got != want || !ok {
			t.Errorf("from %v: %q, %v, want %q", lower, got, ok, want)
		}
	}
	if got, _, ok := typeOf(t, dwarf.LangPascal83, bounded([]byte{0x30})).Part(4, 4); ok {
		t.Errorf("from what is computed: %q", got)
	}
	for what, c := range map[string]struct {
		typ  *node
		want string
	}{
		"elements":                {arrayOf(integer, 4), "[1]"},
		"strides":                 {stride(dwarf.AttrByteStride), ""},
		"bit strides":             {stride(dwarf.AttrBitStride), ""},
		"rows":                    {arrayOf(integer, 2, 2), "[0][1]"},
		"the second row":          {arrayOf(integer, 2, 1), "[1][0]"},
		"rows of rows":            {arrayOf(integer, 3, 1, 1), "[1][0][0]"},
		"no such row":             {arrayOf(integer, 1, 1), ""},
		"very many rows":          {arrayOf(integer, 1<<62, 2), "[0][1]"},
		"rows of nothing":         {arrayOf(integer, 2, 0), ""},
		"rows past all memory":    {arrayOf(integer, 2, 1<<62), ""},
		"rows of unknown length":  {arrayOf(integer, 2, -1), ""},
		"of C with a lower bound": {bounded(3), "[1]"},
	} {
		if got, _, ok := typeOf(t, dwarf.LangC99, c.typ).Part(4, 4); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", what, got, ok, c.want)
		}
	}
	if got, _, ok := typeOf(t, dwarf.LangC99, arrayOf(integer, 2, 3, 2)).Part(20, 4); got != "[0][2][1]" || !ok {
		t.Errorf("rows of rows: %q, %v", got, ok)
	}
	if got, _, ok := typeOf(t, dwarf.LangCPlus14, arrayOf(integer, 2, 2)).Part(4, 4); got != "[0][1]" || !ok {
		t.Errorf("rows of C++: %q, %v", got, ok)
	}
	if got, _, ok := typeOf(t, dwarf.LangFortran90, arrayOf(integer, 2, 2)).Part(4, 4); ok { // which writes (2,1)
		t.Errorf("rows of Fortran: %q", got)
	}
}

// Fortran writes members with %, subscripts in parentheses from the lower bound on, and nothing where a pointer leads.
func TestPartsOfFortran(t *testing.T) {
	integer := base("int", 4)
	bounded := func(lower int) *node {
		return typed(dwarf.TagArrayType, "", integer, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrLowerBound, lower}, nodeAttr{dwarf.AttrUpperBound, 3}))
	}
	location := nodeAttr{dwarf.AttrDataLocation, []byte{0x97, 6}}
	described := func(location nodeAttr, parts ...any) *node { // its first word points to its elements
		return typed(dwarf.TagArrayType, "", integer, append(parts, location, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrUpperBound, []byte{0x97, 0x23, 56, 6}}))...)
	}
	allocated := nodeAttr{dwarf.AttrAllocated, []byte{0x97, 6, 0x30, 0x2e}}
	row := structure("row", sized(100), at(0, "a", integer), at(4, "w", bounded(-2)), at(32, "ids", described(location, allocated)))
	for _, c := range []struct {
		language dwarf.Language
		off      int64
		want     string
	}{{dwarf.LangFortran90, 0, "p%a"}, {dwarf.LangFortran08, 8, "p%w(-1)"}, {dwarf.LangC99, 0, "p->a"}, {dwarf.LangC99, 8, "p->w[1]"}, {dwarf.LangFortran90, 28, ""}} {
		if got, _, ok := typeOf(t, c.language, pointerTo(row)).Follow("p", c.off, 4); got != c.want || ok != (c.want != "") {
			t.Errorf("%v, %d: %q, want %q", c.language, c.off, got, c.want)
		}
	}
	if got, _, _ := typeOf(t, dwarf.LangFortran90, pointerTo(integer)).Follow("p", 0, 4); got != "p" {
		t.Errorf("what a pointer leads to: %q", got)
	}
	if got, _, _ := typeOf(t, dwarf.LangFortran90, pointerTo(row)).Follow("p", 32, 8); got != "p%ids" {
		t.Errorf("the pointer to elements: %q", got)
	}
	for off, size := range map[int64]uint64{32: 4, 40: 8} {
		if got, _, ok := typeOf(t, dwarf.LangFortran90, pointerTo(row)).Follow("p", off, size); ok {
			t.Errorf("%d bytes at %d of what describes an array: %q", size, off, got)
		}
	}
	second := nodeAttr{dwarf.AttrDataLocation, []byte{0x97, 0x23, 8, 6}} // it is the second word
	for _, typ := range []*node{described(location), described(second, allocated)} {
		if got, _, ok := typeOf(t, dwarf.LangFortran90, pointerTo(structure("fixed", sized(16), at(0, "ids", typ)))).Follow("p", 0, 8); ok {
			t.Errorf("what is no pointer to elements that are allocated: %q", got)
		}
	}
	for lower, want := range map[int]string{0: "v(i)", 1: "v(i + 1)", -2: "v(i - 2)"} {
		if got, _, _ := typeOf(t, dwarf.LangFortran90, bounded(lower)).Element("v", "i", 4, 0, 4); got != want {
			t.Errorf("from %d: %q, want %q", lower, got, want)
		}
	}
	apart := typed(dwarf.TagArrayType, "", integer, nodeAttr{dwarf.AttrByteStride, 8}, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 4}))
	for what, typ := range map[string]*node{"no array": pointerTo(integer), "rows": arrayOf(integer, 2, 2), "elements that are apart": apart} {
		if got, _, ok := typeOf(t, dwarf.LangFortran90, typ).Element("p", "i", 4, 0, 4); ok {
			t.Errorf("an element of %s: %q", what, got)
		}
	}
	if got, _, ok := typeOf(t, dwarf.LangFortran90, pointerTo(structure("fixed", sized(16), at(0, "b", integer)))).Follow("p", 16, 4); ok {
		t.Errorf("behind what a pointer leads to: %q", got)
	}
	long := base("integer(8)", 8)
	strided := typed(dwarf.TagArrayType, "", long, nodeAttr{dwarf.AttrByteSize, 64}, nodeAttr{dwarf.AttrByteStride, 16}, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 4}))
	if got, _, ok := typeOf(t, dwarf.LangFortran90, pointerTo(structure("steps", sized(64), at(0, "v", strided)))).Follow("p", 0, 8); ok {
		t.Errorf("an element of a member that is apart: %q", got)
	}
	if got, _, _, _ := typeOf(t, dwarf.LangFortran90, pointerTo(row)).Indexed("p", 8, 4, nil); got != "p%w(-1)" {
		t.Errorf("without an index that was computed: %q", got)
	}
	by := []Multiple{{Times: 4, Name: "i", Value: 2, Known: true}}
	if got, _, _, ok := typeOf(t, dwarf.LangFortran90, pointerTo(integer)).Indexed("p", 0, 4, by); ok {
		t.Errorf("elements where a pointer leads: %q", got)
	}
}

// Types of Swift are called by what their names say; a name of another language that begins so says nothing.
func TestNamesOfSwift(t *testing.T) {
	const name = "$s4shop6CircleV"
	circle := die(dwarf.TagStructureType, name, nodeAttr{dwarf.AttrByteSize, 8})
	for language, want := range map[dwarf.Language]string{dwarf.LangSwift: "Circle", dwarf.LangCPlusPlus: name} {
		if got := typeOf(t, language, circle).FullName(); got != want {
			t.Errorf("%v: %q, want %q", language, got, want)
		}
	}
}

// Variant parts, one in the other, are read so deep that nothing overflows; a discriminant is a member.
func TestVariantParts(t *testing.T) {
	num := base("u8", 1)
	k := at(0, "k", num)
	nest := func(n int) *node {
		part := die(dwarf.TagVariantPart, "", attr(dwarf.AttrDiscr, k))
		for range n {
			part = die(dwarf.TagVariantPart, "", attr(dwarf.AttrDiscr, k), die(dwarf.TagVariant, "", attr(dwarf.AttrDiscrValue, 1), part))
		}
		return part
	}
	for in, want := range map[int]int{0: 1, 3: 4, maxParts: maxParts + 1, maxParts + 1: maxParts + 1, 1000: maxParts + 1} {
		got := 0
		for p := typeOf(t, dwarf.LangAda95, structure("r", sized(1), k, nest(in))).Members().Variant; p != nil; got++ {
			if p.Discr.Name != "k" {
				t.Errorf("the discriminant is %q", p.Discr.Name)
			}
			if len(p.Variants) == 0 {
				got++
				break
			}
			p = p.Variants[0].Part
		}
		if got != want {
			t.Errorf("%d parts in one: %d are read, want %d", in, got, want)
		}
	}
	no := die(dwarf.TagVariantPart, "", attr(dwarf.AttrDiscr, num))
	if p := typeOf(t, dwarf.LangAda95, structure("r", sized(1), no)).Members().Variant; p == nil || p.Discr.DIE.Valid() {
		t.Errorf("%+v", p)
	}
}

// What follows a star binds closer than it.
func TestBehindStar(t *testing.T) {
	num := base("int", 4)
	point := structure("point", sized(8), at(0, "x", num), at(4, "y", num))
	for _, c := range []struct {
		lang dwarf.Language
		typ  *node
		off  int64
		size uint64
		want string
	}{
		{dwarf.LangC99, point, 4, 4, "(*p)->y"}, {dwarf.LangC99, point, 12, 4, "(*p)[1].y"}, {dwarf.LangC99, num, 4, 4, "(*p)[1]"}, {dwarf.LangC99, num, 0, 4, "**p"},
		{dwarf.LangC99, point, 0, 8, "**p"},
	} {
		if got, _, ok := typeOf(t, c.lang, pointerTo(c.typ)).Follow("*p", c.off, c.size); got != c.want || !ok {
			t.Errorf("%d bytes behind: %q, %v, want %q", c.off, got, ok, c.want)
		}
	}
}

// A type of Go refers to others; where there is none, there is none.
func TestGoType(t *testing.T) {
	num := base("int", 4)
	typ := typeOf(t, dwarf.LangGo, die(dwarf.TagPointerType, "chan int", attr(dwarf.AttrGoElem, num)))
	if of := typ.GoType(dwarf.AttrGoElem); of == nil || of.Name() != "int" {
		t.Errorf("%v", of)
	}
	if of := typ.GoType(dwarf.AttrGoKey); of != nil {
		t.Errorf("%v", of.Name())
	}
	if of := typ.set.Of(Ref{}).GoType(dwarf.AttrGoElem); of != nil {
		t.Errorf("%v", of.Name())
	}
}

// The discriminant is a member of the part, or of the record; what is referred to and is no member is none.
func TestDiscriminantsOfParts(t *testing.T) {
	num := base("u8", 1)
	for what, build := range map[string]func() *node{
		"of the part": func() *node {
			k := at(0, "k", num)
			return structure("r", sized(1), die(dwarf.TagVariantPart, "", attr(dwarf.AttrDiscr, k), at(0, "other", num), k, at(0, "more", num)))
		},
		"of the record": func() *node {
			k := at(0, "k", num)
			return structure("r", sized(1), k, die(dwarf.TagVariantPart, "", attr(dwarf.AttrDiscr, k), at(0, "other", num)))
		},
		"none": func() *node {
			return structure("r", sized(1), die(dwarf.TagVariantPart, "", at(0, "k", num)))
		},
	} {
		p := typeOf(t, dwarf.LangAda95, build()).Members().Variant
		if want := map[bool]string{true: "k"}[what != "none"]; p == nil || p.Discr.Name != want || p.Has != (want != "") {
			t.Errorf("%s: %+v", what, p)
		}
	}
	k := at(0, "k", num)
	other := &tree{lang: dwarf.LangAda95, kids: []*node{num, structure("q", sized(1), k)}}
	r := structure("r", sized(1), die(dwarf.TagVariantPart, "", attr(dwarf.AttrDiscr, k)))
	uses := &tree{lang: dwarf.LangAda95, kids: []*node{r}}
	if p := typeIn(t, open(forest(other, uses)), uses, r).Members().Variant; p == nil || p.Discr.Name != "k" {
		t.Errorf("of another unit: %+v", p)
	}
}

// A list of values has an end; without one, a single value counts.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		v      Variant
		got    uint64
		signed bool
		want   bool
	}{
		{Variant{}, 0, false, false}, {Variant{val: 3, has: true}, 3, false, true}, {Variant{val: 3, has: true}, 4, false, false}, {Variant{val: 3}, 3, false, false},
		{Variant{list: []byte{0, 5}}, 5, false, true}, {Variant{list: []byte{0, 5}}, 6, false, false}, {Variant{list: []byte{0}}, 0, false, false}, {Variant{list: []byte{1, 2, 4}}, 3, false, true},
		{Variant{list: []byte{1, 2, 4}}, 5, false, false}, {Variant{list: []byte{1, 0x7e, 1}}, ^uint64(0), true, true}, {Variant{list: []byte{2, 5}}, 5, false, false}, {Variant{list: []byte{0, 1, 0, 7}}, 7, false, true},
	} {
		if got := c.v.Holds(c.got, 8, c.signed); got != c.want {
			t.Errorf("%+v, %d: %t", c.v, int64(c.got), got)
		}
	}
}
